"""How deep JSON may be nested that comes from outside: deeper than anything people write, and safe for whatever goes through it."""

from pydantic import JsonValue

MAX_DEPTH = 64


def is_too_deep(value: JsonValue, source: str | bytes) -> bool:
    """Whether this value, as read from `source`, has more than `MAX_DEPTH` lists and objects in one another."""
    # Few brackets cannot be deep: most texts are never walked.
    brackets = (
        source.count("[") + source.count("{") if isinstance(source, str) else source.count(b"[") + source.count(b"{")
    )
    return brackets > MAX_DEPTH and _depth(value) > MAX_DEPTH


def _depth(value: JsonValue) -> int:
    """How many lists and objects stand in one another."""
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        depth += 1
        level = [inner for outer in level for inner in _inside(outer)]
    return depth


def _inside(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
