"""People of the server."""

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema
from anycowork.domain.people import AccessLevel, PeopleChangeType


class PersonResponse(DescribedSchema):
    id: str = Field(description="`owner` for the owner of the server.")
    name: str
    access: AccessLevel
    groups: list[str] = Field(description="Those whose limits hold for them too.")
    owner: bool
    created_at: str | None = Field(description="null for the owner.")


class PeopleList(DescribedSchema):
    people: list[PersonResponse]


class PersonWithToken(PersonResponse):
    token: str = Field(description="Shown this once; only its digest is stored.")


class NamedAccess(DescribedSchema):
    name: str
    access: AccessLevel
    groups: list[str]


class ChangedPerson(NamedAccess):
    id: str


class PeopleChangeResponse(DescribedSchema):
    seq: int
    type: PeopleChangeType
    at: str
    principal: str = Field(description="Who made the change: `person:owner`, or `person:<id>:<name>`.")
    by: str | None = Field(description="The name of who made it, as it was then; null for the owner.")
    person: ChangedPerson = Field(description="Whom it was about, with name and access after the change.")
    before: NamedAccess | None = Field(description="Name and access before it; null for a person who was added.")


class PeopleChangeList(DescribedSchema):
    changes: list[PeopleChangeResponse]
    next: int | None = Field(description="`before` of the next page; null on the last one.")


class SignOnResponse(DescribedSchema):
    name: str | None = Field(description="The OpenID provider with which people sign on; null without one.")


class SignedInResponse(DescribedSchema):
    id: str
    name: str = Field(description="The person's name, or the program's that acts for them.")
    access: AccessLevel
    owner: bool
    scopes: list[str] = Field(description="What may be done: read, send, decide, manage, passthrough.")
    confirmed: bool = Field(
        description="Not after a sign-in with a link alone: it manages nothing until it is confirmed."
    )
    shared: bool = Field(description="Whether this server has had people besides its owner.")
    groups: list[str] = Field(
        description="The groups they are in, with which they can share chats; for the owner every group here."
    )


class SessionResponse(DescribedSchema):
    page_key: str = Field(
        description="Sent as X-AnyCowork-Page-Key with every request that uses the cookie. Kept by the page in its origin's storage."
    )


class CodeResponse(DescribedSchema):
    code: str = Field(description="Works once.")
    confirmation: str = Field(description="Six digits. With them the session may manage settings, keys and people.")
    expires_in: int = Field(description="Seconds.")


class KeyLimitsResponse(DescribedSchema):
    """null: no such limit. A day is a day of UTC."""

    requests_per_minute: int | None
    tokens_per_day: int | None
    spend_per_day: float | None = Field(description="US dollars, by the prices that the providers' entries name.")


class KeyUsageResponse(DescribedSchema):
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = Field(description="Part of prompt_tokens.")
    reasoning_tokens: int = Field(description="Part of completion_tokens.")
    spend: float = Field(description="US dollars.")
    estimated: float = Field(description="The share of the tokens, 0 to 1, that is an estimate: no usage was reported.")
    unpriced_requests: int = Field(description="Counted in tokens only: no price is known.")


class KeyResponse(DescribedSchema):
    id: str
    name: str
    created_at: str
    limits: KeyLimitsResponse
    today: KeyUsageResponse
    total: KeyUsageResponse
    last_used_at: str | None
    hint: str | None = Field(description="What to do for its limits to hold; null if they do.")


class KeyList(DescribedSchema):
    keys: list[KeyResponse]


class NewKey(KeyResponse):
    key: str = Field(description="Shown this once; only its hash is stored.")
