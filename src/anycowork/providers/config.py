"""Configuration of a provider. It never holds the key: `api_key_env` names the variable that does."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.metering import Price
from anycowork.domain.model import ModelOptions, ToolCallStyle
from anycowork.domain.network import is_loopback

Kind = Literal["openai", "anthropic", "local", "guide", "agent"]
GUIDE = "guide"
CONTEXT_TOKENS = 32_768
OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
# Model families that accept images, by name, when this was written; `images` of a provider adds others. A name may follow its
# maker's (`openai/gpt-4o`).
_FAMILIES = (
    "gpt-4o*", "gpt-4.1*", "gpt-5*", "o3*", "o4-mini*", "chatgpt-4o*",
    "claude-3*", "claude-opus-*", "claude-sonnet-*", "claude-haiku-*",
    "gemini-*", "gemma3*", "gemma-3*", "pixtral*", "llava*", "bakllava*", "moondream*", "minicpm-v*", "*-vl", "*-vl-*", "*-vl:*",
    "qwen*vl*", "llama*-vision*",
)  # fmt: skip
_BLIND = ("gpt-3.5*", "gpt-4", "gpt-4-0*", "o1-mini*", "o3-mini*", "deepseek-chat*", "deepseek-reasoner*", "codestral*")
_KNOWN_TO_SEE = tuple(pattern for family in _FAMILIES for pattern in (family, f"*/{family}"))
_BILLIONS = re.compile(r"(?:^|[-_:./ ])(\d{1,4}(?:\.\d{1,3})?)([bm])(?![a-z0-9])")
_SMALL_BILLIONS = 4.0
_USUAL_CONTEXT: dict[Kind, int] = {"anthropic": 200_000}


def usual_context(kind: Kind) -> int:
    """Returns the context size in tokens that is assumed for this kind unless configured."""
    return _USUAL_CONTEXT.get(kind, CONTEXT_TOKENS)


def is_small(model: str) -> bool:
    """Tells whether the name says that the model has few parameters, as in `qwen2.5-coder:1.5b`."""
    sizes = [float(number) / (1_000 if unit == "m" else 1) for number, unit in _BILLIONS.findall(model.lower())]
    return bool(sizes) and max(sizes) <= _SMALL_BILLIONS


class Privacy(StrEnum):
    """Who sees what is sent to a model server, from the fewest to the most."""

    LOCAL = "local"
    COMPANY = "company"
    ANYONE = "anyone"

    def admits(self, other: "Privacy") -> bool:
        """Tells whether what was meant for a server of this class may go to one of the other."""
        classes = list(Privacy)
        return classes.index(other) <= classes.index(self)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """What a person said of one model; None: what is known of it holds. `fallbacks` go on, in this order, where it cannot answer."""

    images: bool | None = None
    calling: ToolCallStyle | None = None
    context_tokens: int | None = None
    price: Price | None = None
    fallbacks: tuple[str, ...] = ()

    def to_json(self) -> Json:
        price = self.price
        return {
            "images": self.images,
            "calling": self.calling.value if self.calling else None,
            "context_tokens": self.context_tokens,
            "price": {"input": price.input, "output": price.output, "cached": price.cached} if price else None,
            **({"fallbacks": [*self.fallbacks]} if self.fallbacks else {}),
        }


@dataclass(frozen=True, slots=True)
class ProviderConfig:
    """`models` are the known models, the first is the default; empty = the list that the server returns on first use.

    `images` are names or patterns of models that accept images; None = those with a known name. `small_by_name`: a model whose name says
    that it is small gets the options of one.
    """

    name: str
    kind: Kind = "openai"
    base_url: str | None = None
    api_key_env: str | None = None
    models: tuple[str, ...] = ()
    context_tokens: int = CONTEXT_TOKENS
    context_assumed: bool = False  # nobody named it: what is known of a model comes first
    options: ModelOptions = field(default_factory=ModelOptions)
    small_by_name: bool = True
    images: tuple[str, ...] | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    model_settings: Mapping[str, ModelSettings] = field(default_factory=dict)
    ca_file: str | None = None
    privacy_set: Privacy | None = None

    @property
    def privacy(self) -> Privacy:
        """As a person set it; otherwise by where the server runs."""
        if self.privacy_set is not None:
            return self.privacy_set
        host = urlsplit(self.base_url or "").hostname
        is_here = self.kind in ("local", "guide") or (host is not None and is_loopback(host))
        return Privacy.LOCAL if is_here else Privacy.ANYONE

    def sees(self, model: str) -> bool | None:
        """Tells whether this model accepts images; None if nobody said so and its name is not known."""
        if self.kind not in ("openai", "anthropic"):
            return False
        if (settings := self.model_settings.get(model)) is not None and settings.images is not None:
            return settings.images
        if self.images is not None:
            return any(fnmatchcase(model, pattern) for pattern in self.images)
        name = model.lower().rpartition("/")[2]
        if any(fnmatchcase(name, pattern) for pattern in _BLIND):
            return False
        if self.kind == "anthropic" or any(fnmatchcase(model.lower(), pattern) for pattern in _KNOWN_TO_SEE):
            return True  # all of Anthropic's models accept images
        return None

    def __post_init__(self) -> None:
        """Raises: Invalid."""
        if not self.name or "/" in self.name:
            raise Invalid(
                f"A provider cannot be called '{self.name}': its name must be a word without '/'.", param="name"
            )
        if self.ca_file is not None and not Path(self.ca_file).is_absolute():
            raise Invalid(f"The ca_file of {self.name} must be an absolute path: /…", param="ca_file")
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
        if parts.query or parts.fragment:
            raise Invalid(
                f"The base_url of {self.name} must end with its path, because requests append to it. Remove everything from "
                f"'{'?' if parts.query else '#'}' on.",
                param="base_url",
            )


def why_no_fallback(before: ProviderConfig, after: ProviderConfig | None) -> str | None:
    """Returns why no model of the second server may go on with requests that were meant for the first; None if it may."""
    if after is None:
        return "there is no such model server"
    if after.kind in ("guide", "agent"):
        return f"{after.name} is no model server"
    if not before.privacy.admits(after.privacy):
        return f"{before.name} is for '{before.privacy}', and what is sent to {after.name} is seen by '{after.privacy}'"
    return None


def allowed_fallbacks(config: ProviderConfig, model: str, configs: Mapping[str, ProviderConfig]) -> tuple[str, ...]:
    """Returns the models that the person named to go on where this one cannot answer, without those that may not."""
    settings = config.model_settings.get(model) or ModelSettings()
    allowed = (
        model_id
        for model_id in settings.fallbacks
        if why_no_fallback(config, configs.get(model_id.partition("/")[0])) is None
    )
    return tuple(dict.fromkeys(allowed))
