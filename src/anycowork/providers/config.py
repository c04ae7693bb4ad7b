"""How a provider is configured. The key itself is never here: `api_key_env` names the variable that holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from anycowork.domain.asking import ModelOptions
from anycowork.domain.errors import Invalid
from anycowork.domain.metering import Price

Kind = Literal["openai", "anthropic", "local", "guide"]
CONTEXT_TOKENS = 32_768
OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
_USUAL_CONTEXT: dict[Kind, int] = {"anthropic": 200_000}


def usual_context(kind: Kind) -> int:
    """Tokens that a model of this kind can be shown, if nobody says otherwise."""
    return _USUAL_CONTEXT.get(kind, CONTEXT_TOKENS)


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """`models` are those it is known to have, the first being its own default; empty = whatever it lists when first asked."""

    name: str
    kind: Kind = "openai"
    base_url: str | None = None
    api_key_env: str | None = None
    models: tuple[str, ...] = ()
    context_tokens: int = CONTEXT_TOKENS
    options: ModelOptions = field(default_factory=ModelOptions)
    prices: Mapping[str, Price] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises: Invalid."""
        if not self.name or "/" in self.name:
            raise Invalid(
                f"A provider cannot be called '{self.name}': its name must be a word without '/'.", param="name"
            )
        if self.base_url is None:
            return
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Invalid(f"The base_url of {self.name} must begin with http:// or https://.", param="base_url")
        if parts.username or parts.password:
            raise Invalid(
                f"The base_url of {self.name} holds a password. Put it into an environment variable, named by 'api_key_env'.",
                param="base_url",
            )
