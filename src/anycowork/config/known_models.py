"""Prices and context sizes of well-known models: the dated list of the package, and a person's own `models.toml` over it."""

import re
import tomllib
from collections.abc import Iterable
from datetime import date
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from anycowork.config.settings import BadSettings, PriceEntry, ProviderEntry
from anycowork.domain import metering
from anycowork.domain.metering import Price
from anycowork.domain.model import UNKNOWN_MODEL, ModelFacts
from anycowork.domain.visible_text import os_reason

PACKAGED = Path(__file__).with_name("known_models.toml")
OWN_FILE = "models.toml"
_DATED = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})\Z")


class KnownModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    context_tokens: int | None = Field(None, gt=0)
    price: PriceEntry | None = None


class ModelVendor(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    hosts: tuple[str, ...] = ()
    models: dict[str, KnownModel] = Field(default_factory=dict)


class KnownModelFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    read_on: date | None = None
    makers: dict[str, ModelVendor] = Field(default_factory=dict)


class KnownModels:
    """Knows prices and context sizes of models. Later files come before earlier ones."""

    def __init__(self, files: Iterable[KnownModelFile]) -> None:
        self._makers = [maker for file in reversed(list(files)) for maker in file.makers.values()]

    def facts(self, address: str | None, model: str) -> ModelFacts:
        """Returns what is known of the model at this address. A dated name (`-20251001`) counts as the one without the date; a maker's
        name in front (`openai/gpt-4o`), as gateways write it, is passed over for the context size alone."""
        host = urlsplit(address or "").hostname
        name = model.strip().lower()
        plain = name.rpartition("/")[2]
        price = next(
            (
                listed.price
                for maker in self._makers
                if host in maker.hosts
                for listed in _named(maker, name)
                if listed.price
            ),
            None,
        )
        sizes = (
            listed.context_tokens for maker in self._makers for listed in _named(maker, plain) if listed.context_tokens
        )
        size = next(sizes, None)
        if price is None and size is None:
            return UNKNOWN_MODEL
        return ModelFacts(size, None if price is None else Price(price.input, price.output, price.cached))


def _named(maker: ModelVendor, name: str) -> list[KnownModel]:
    return [
        maker.models[model_name]
        for model_name in dict.fromkeys((name, _DATED.sub("", name)))
        if model_name in maker.models
    ]


def known_models(data_dir: Path) -> KnownModels:
    """Reads the package's list and, if there is one, the `models.toml` of the data folder. Raises: BadSettings."""
    own_file = data_dir / OWN_FILE
    try:
        text = own_file.read_text("utf-8")
    except FileNotFoundError:
        return KnownModels([_packaged()])
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(
            f"{own_file} cannot be read: {os_reason(error)}. Correct or remove it.", param=OWN_FILE
        ) from error
    try:
        return KnownModels([_packaged(), KnownModelFile.model_validate(tomllib.loads(text))])
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        reason = str(error).splitlines()[0] if isinstance(error, tomllib.TOMLDecodeError) else _first_problem(error)
        raise BadSettings(f"{own_file} is not usable: {reason}. Correct or remove it.", param=OWN_FILE) from error


@cache
def _packaged() -> KnownModelFile:
    return KnownModelFile.model_validate(tomllib.loads(PACKAGED.read_text("utf-8")))


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"


FREE_PROVIDERS = frozenset({"guide", "local", "agent"})


def price_of(providers: Iterable[ProviderEntry], model: str) -> PriceEntry | None:
    """`model` includes its provider in front, as usage is recorded."""
    provider, _, name = model.partition("/")
    if provider in FREE_PROVIDERS:
        return PriceEntry(input=0, output=0)
    for entry in providers:
        if entry.name == provider:
            settings = entry.model_settings.get(name)
            return settings.price if settings and settings.price else entry.prices.get(name)
    return None


def entry_of(price: metering.Price | None) -> PriceEntry | None:
    return None if price is None else PriceEntry(input=price.input, output=price.output, cached=price.cached)


def cost_of(price: PriceEntry, *, prompt: int, completion: int, cached: int) -> float:
    """Returns US dollars. `cached` is the part of the prompt that the provider had cached."""
    used = metering.TokenUsage(prompt, completion, cached)
    return metering.Price(price.input, price.output, price.cached).of(used) / metering.NANOS
