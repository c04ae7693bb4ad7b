"""Explains mistakes in definition files and suggests what the author probably meant. Pure."""

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from anycowork.domain.boundary import Boundary
from anycowork.domain.bounded_json import read_json

_LOOSE = re.compile(r"\{\{ *([A-Za-z][A-Za-z0-9_-]*) *\}\}")
_LONGEST_WORD = 60  # characters: nothing that is longer was meant as one of our keys
_MOST_FAULTS = 20  # of one file, of which the plainest is reported
_ALIKE = 0.8  # `tools` is meant as `tool`, `toml` is not
_MADE_OF = {
    "name": "must be a lower-case letter, then lower-case letters, digits and _ (at most 40)",
    "category": "must be a lower-case letter, then lower-case letters, digits, spaces, _ and - (at most 40)",
}


def near(word: str, candidates: Iterable[str]) -> str:
    """Return a "did you mean" suggestion with the nearest word; empty if none is near."""
    matches = get_close_matches(word.lower(), list(candidates), n=1) if len(word) <= _LONGEST_WORD else []
    return f"; did you mean '{matches[0]}'?" if matches else ""


def meant_block(kind: str, content: str, kinds: Collection[str]) -> str | None:
    """Return which of our blocks a lone block was probably meant to be; None if it is an ordinary block."""
    if kind in ("", "json"):
        return _by_its_keys(content)
    if len(kind) > _LONGEST_WORD:
        return None
    return next(iter(get_close_matches(kind, list(kinds), n=1, cutoff=_ALIKE)), None)


def _by_its_keys(content: str) -> str | None:
    try:
        block = read_json(content, strict=False)
    except ValueError:
        return None
    keys = set(block) if isinstance(block, dict) else set()
    return "tool" if keys >= {"tool", "parameters"} else "ask" if keys >= {"question", "options"} else None


def misspelt_placeholders(text: str, names: Collection[str]) -> list[tuple[str, str]]:
    """Return misspelt placeholders, each with the parameter that was probably meant."""
    loose = ((name, name.lower().replace("-", "_")) for name in _LOOSE.findall(text))
    return [(name, suggestion) for name, suggestion in loose if name != suggestion and suggestion in names]


def plainest(error: ValidationError, fields: Collection[str]) -> ErrorDetails:
    """Return the fault to report: a misspelt key before the key that is missing because of it."""
    faults = error.errors(include_url=False)[:_MOST_FAULTS]
    misspelt = (fault for fault in faults if fault["type"] == "extra_forbidden" and near(_key(fault), fields))
    return next(misspelt, faults[0])


def in_plain_words(error: ErrorDetails, head: type[Boundary]) -> str:
    """Explain what is wrong with this key, and what would be right."""
    name = _key(error)
    match error["type"]:
        case "extra_forbidden":
            return unknown_key(name, head.model_fields)
        case "missing":
            return f"'{name}' is missing"
        case "string_too_short":
            return f"'{name}' must not be empty"
        case "string_pattern_mismatch" if name in _MADE_OF:
            return f"'{name}' {_MADE_OF[name]}"
        case _ if name == "parameters" and "valid array" in error["msg"]:
            return "'parameters' must be tables: begin each one with a line [[parameters]]"
        case _:
            return f"'{name}': {error['msg'].replace('a valid array', 'a list, in [ ]')}"


def unknown_key(name: str, keys: Collection[str]) -> str:
    return f"'{name[:60]}' is not a known key (known keys: {', '.join(keys)}){near(name, keys)}"


def _key(error: ErrorDetails) -> str:
    return next((str(word) for word in reversed(error["loc"]) if isinstance(word, str)), "")
