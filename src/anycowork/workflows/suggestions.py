"""Explains mistakes in definition files and suggests what the author probably meant. Pure."""

import json
import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from anycowork.domain.boundary import Boundary

_LOOSE = re.compile(r"\{\{ *([A-Za-z][A-Za-z0-9_-]*) *\}\}")
_ALIKE = 0.8  # `tools` is meant as `tool`, `toml` is not
_MADE_OF = {
    "name": "must be a lower-case letter, then lower-case letters, digits and _ (at most 40)",
    "category": "must be a lower-case letter, then lower-case letters, digits, spaces, _ and - (at most 40)",
}


def near(word: str, words: Iterable[str]) -> str:
    """Return a "did you mean" suggestion with the nearest word; empty if none is near."""
    found = get_close_matches(word.lower(), list(words), n=1)
    return f"; did you mean '{found[0]}'?" if found else ""


def meant_block(kind: str, content: str, kinds: Collection[str]) -> str | None:
    """Return which of our blocks a lone block was probably meant to be; None if it is an ordinary block."""
    if kind in ("", "json"):
        return _by_its_keys(content)
    return next(iter(get_close_matches(kind, list(kinds), n=1, cutoff=_ALIKE)), None)


def _by_its_keys(content: str) -> str | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    keys = set(found) if isinstance(found, dict) else set()
    return "tool" if keys >= {"tool", "parameters"} else "ask" if keys >= {"question", "options"} else None


def misspelt_placeholders(text: str, known: Collection[str]) -> list[tuple[str, str]]:
    """Return misspelt placeholders, each with the parameter that was probably meant."""
    loose = ((name, name.lower().replace("-", "_")) for name in _LOOSE.findall(text))
    return [(name, meant) for name, meant in loose if name != meant and meant in known]


def plainest(error: ValidationError, fields: Collection[str]) -> ErrorDetails:
    """Return the fault to report: a misspelt key before the key that is missing because of it."""
    faults = error.errors()
    misspelt = (one for one in faults if one["type"] == "extra_forbidden" and near(_key(one), fields))
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


def unknown_key(name: str, known: Collection[str]) -> str:
    return f"'{name[:60]}' is not a known key (known keys: {', '.join(known)}){near(name, known)}"


def _key(error: ErrorDetails) -> str:
    return next((str(word) for word in reversed(error["loc"]) if isinstance(word, str)), "")
