"""A server's JSON schema, reduced to the part that the plugins' checker understands. Pure, linear, and never fails on a strange schema.

The server checks its parameters itself; this is what the model reads and is held to. No `pattern` of another party runs here.
"""

import re
from collections.abc import Mapping

from pydantic import JsonValue

from anycowork.tools.plugins.schemas import DEEPEST, BadSchema, validated

LONGEST_TEXT = 300
MOST_PARTS = 500
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
Schema = dict[str, JsonValue]


def reduced(schema: Mapping[str, JsonValue]) -> Schema:
    """Raises: BadSchema if a required parameter could not be given, or it is no object's schema."""
    if schema.get("type", "object") != "object":
        raise BadSchema("its schema must be of type 'object'")
    reduced_schema = _Reducer(schema).part({**schema, "type": "object"}, DEEPEST - 1)
    missing = [name for name in _texts(schema.get("required")) if name not in _names(reduced_schema)]
    if missing:
        raise BadSchema(f"it requires a parameter '{missing[0][:80]}' that cannot be given")
    return validated(reduced_schema)


def plain_text(text: str, most: int) -> str:
    """One printable line, bounded: a stranger's text is data."""
    head = text[: most * 4]
    line = " ".join("".join(c if c.isprintable() else " " for c in head).split())
    return line if len(line) <= most and len(text) <= most * 4 else f"{line[:most]}…"


class _Reducer:
    """Keeps count of the parts, so that references that multiply end."""

    def __init__(self, root: Mapping[str, JsonValue]) -> None:
        self._root = root
        self._left = MOST_PARTS

    def part(self, schema: JsonValue, depth: int) -> Schema:
        self._left -= 1
        if not isinstance(schema, dict) or depth <= 0 or self._left <= 0:
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            return self.part(self._referred(reference), depth - 1)
        reduced_part: Schema = {}
        if isinstance(text := schema.get("description"), str):
            reduced_part["description"] = plain_text(text, LONGEST_TEXT)
        if isinstance(values := schema.get("enum"), list) and 0 < len(values) <= 100 and all(map(_is_plain, values)):
            reduced_part["enum"] = [value[:LONGEST_TEXT] if isinstance(value, str) else value for value in values]
        branches = schema.get("anyOf", schema.get("oneOf"))
        if isinstance(branches, list) and 0 < len(branches) <= 20:
            reduced_part["anyOf"] = [self.part(branch, depth - 1) for branch in branches]
            return reduced_part
        if (kind := _kind(schema.get("type"))) is not None:
            reduced_part["type"] = kind
        if kind == "array" and isinstance(schema.get("items"), dict):
            reduced_part["items"] = self.part(schema["items"], depth - 1)
        if kind == "object":
            self._fields(schema, reduced_part, depth)
        return reduced_part

    def _fields(self, schema: Schema, reduced_part: Schema, depth: int) -> None:
        properties = schema.get("properties")
        if not isinstance(properties, dict):
            return
        kept_fields: Schema = {
            name: self.part(part, depth - 1) for name, part in list(properties.items())[:100] if _NAME.fullmatch(name)
        }
        reduced_part["properties"] = kept_fields
        reduced_part["required"] = [name for name in _texts(schema.get("required")) if name in kept_fields]

    def _referred(self, reference: str) -> JsonValue:
        """What `#/$defs/Name` stands for; nothing outside the schema is looked up."""
        value: JsonValue = dict(self._root)
        for step in reference.removeprefix("#/").split("/"):
            value = value.get(step) if isinstance(value, dict) else None
        return value


def _kind(kind: JsonValue) -> JsonValue:
    if isinstance(kind, list):
        kinds: list[JsonValue] = [name for name in kind if name in _TYPES]
        return kinds or None
    return kind if kind in _TYPES else None


def _is_plain(value: JsonValue) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _texts(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _names(schema: Schema) -> list[str]:
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []
