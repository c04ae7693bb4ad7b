"""Client keys."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class KeyLimitsShape(DescribedSchema):
    """null: no such limit. A day is a day of UTC."""

    requests_per_minute: int | None
    tokens_per_day: int | None
    spend_per_day: float | None = Field(description="US dollars, by the prices that the providers' entries name.")


class KeyUsageShape(DescribedSchema):
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = Field(description="Part of prompt_tokens.")
    reasoning_tokens: int = Field(description="Part of completion_tokens.")
    spend: float = Field(description="US dollars.")
    estimated: float = Field(description="The share of the tokens, 0 to 1, that is an estimate: no usage was reported.")
    unpriced_requests: int = Field(description="Counted in tokens only: no price is known.")


class KeyShape(DescribedSchema):
    id: str
    name: str
    created_at: str
    limits: KeyLimitsShape
    today: KeyUsageShape
    total: KeyUsageShape
    last_used_at: str | None
    hint: str | None = Field(description="What to do for its limits to hold; null if they do.")


class KeyList(DescribedSchema):
    keys: list[KeyShape]


class NewKey(KeyShape):
    key: str = Field(description="Shown this once; only its hash is stored.")
