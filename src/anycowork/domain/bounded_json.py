"""Reads JSON from outside, bounded in depth and in the number of its values: deeper and more than anything people write, and safe for
recursive code and for memory.

The number is counted before anything is parsed: a parser holds the interpreter, and each value takes a hundred bytes.
"""

import json
import re
from collections.abc import Iterator

import msgspec
from pydantic import JsonValue

MAX_DEPTH = 64
STORED_DEPTH = 4 * MAX_DEPTH  # of records of our own, which hold what came from outside
MAX_VALUES = 250_000  # twice the paths of the largest change, and some more
# A pair of surrogates, half of one (the group), or any other escape: they are passed over from left to right, so that none is misread.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)  # one that does not end takes the rest


class UnboundedJson(ValueError):
    """It is nested too deeply, or has too many values; the message ends a sentence."""


def read_json(
    source: str | bytes, *, strict: bool = True, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES
) -> JsonValue:
    """Reads this JSON. Not `strict`: NaN passes, and half of a surrogate pair, which nothing could store or send, becomes U+FFFD.

    Raises: UnboundedJson; any other ValueError for what is no JSON.
    """
    if has_more_values(source, max_values):
        raise UnboundedJson(f"it has more than {max_values:,} values")
    try:
        value: JsonValue = msgspec.json.decode(source) if strict else json.loads(_without_halves(source))  # noqa: TID251  # this is the reader
    except RecursionError:
        raise _too_deep(max_depth) from None
    if is_too_deep(value, source, max_depth):
        raise _too_deep(max_depth)
    return value


def _without_halves(source: str | bytes) -> str:
    """Returns it without escapes of half a surrogate pair. Raises: ValueError if its bytes are no text."""
    text = source if isinstance(source, str) else source.decode(json.detect_encoding(source))
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPE.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)


def has_more_values(source: str | bytes, most: int) -> bool:
    """Tells whether it has more values than this, without parsing it. Names of fields do not count."""
    if len(source) <= most:
        return False
    text = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if _separators(text) <= most:
        return False
    # Text may hold any number of commas, so they are counted without it. A value or a name is at least half a string by this count.
    if text.count(b'"') - text.count(b'\\"') > 4 * most:
        return True
    return _separators(_STRING.sub(b"", text)) > most


def is_too_deep(value: JsonValue, source: str | bytes, most: int = MAX_DEPTH) -> bool:
    """Tells whether this value, as read from `source`, is nested deeper than this many lists and objects."""
    # A text with few brackets cannot be deep, so most texts need no walk.
    brackets = (
        source.count("[") + source.count("{") if isinstance(source, str) else source.count(b"[") + source.count(b"{")
    )
    return brackets > most and _depth(value) > most


def widest_object(value: JsonValue, source: bytes, most: int) -> int:
    """Returns how many fields the object with the most of them has; `most` if none has more."""
    if source.count(b":") <= most:
        return most
    return max(
        (len(container) for level in _levels(value) for container in level if isinstance(container, dict)), default=0
    )


def _separators(text: bytes) -> int:
    """Returns at least the number of values: each but the first stands behind one of these."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _too_deep(most: int) -> UnboundedJson:
    return UnboundedJson(f"it is nested deeper than {most} levels")


def _depth(value: JsonValue) -> int:
    """Returns the nesting depth of lists and objects."""
    return sum(1 for _ in _levels(value))


def _levels(value: JsonValue) -> Iterator[list[dict[str, JsonValue] | list[JsonValue]]]:
    """Yields the lists and objects of each depth, from the outermost."""
    values = [value]
    while level := [container for container in values if isinstance(container, dict | list)]:
        yield level
        values = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
