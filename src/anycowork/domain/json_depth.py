"""Limits the nesting depth of JSON from outside: deeper than anything people write, and safe for recursive code."""

from pydantic import JsonValue

MAX_DEPTH = 64


def is_too_deep(value: JsonValue, source: str | bytes) -> bool:
    """Whether this value, as read from `source`, is nested deeper than `MAX_DEPTH` lists and objects."""
    # A text with few brackets cannot be deep, so most texts need no walk.
    brackets = (
        source.count("[") + source.count("{") if isinstance(source, str) else source.count(b"[") + source.count(b"{")
    )
    return brackets > MAX_DEPTH and _depth(value) > MAX_DEPTH


def _depth(value: JsonValue) -> int:
    """Return the nesting depth of lists and objects."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for outer in level for inner in _inside(outer)]
    return depth


def _inside(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
