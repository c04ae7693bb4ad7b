"""Renders a tool's JSON schema as a short signature: `path: string, depth?: integer`. Pure; never fails on an unusual schema."""

import json
from collections.abc import Mapping

from pydantic import JsonValue

Schema = Mapping[str, JsonValue]
_DEEPEST = 4  # a schema may refer to itself


def signature(schema: Schema) -> str:
    """The parameters of this schema, each with its type; `?` marks those that may be left out."""
    return _fields(schema, schema, _DEEPEST)


def _fields(schema: Schema, root: Schema, depth: int) -> str:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return ""
    needed = required if isinstance(required, list) else []
    return ", ".join(
        f"{name}{'' if name in needed else '?'}: {_type(property_schema, root, depth)}"
        for name, property_schema in properties.items()
    )


def _type(schema: JsonValue, root: Schema, depth: int) -> str:
    if not isinstance(schema, dict) or depth == 0:
        return "any"
    if isinstance(reference := schema.get("$ref"), str):
        return _type(_referred(reference, root), root, depth - 1)
    if "const" in schema:
        return json.dumps(schema["const"])
    if isinstance(values := schema.get("enum"), list):
        return "|".join(json.dumps(value) for value in values)
    if isinstance(branches := schema.get("anyOf", schema.get("oneOf")), list):
        return _either([_type(branch, root, depth - 1) for branch in branches])
    return _plain(schema, root, depth)


def _plain(schema: Schema, root: Schema, depth: int) -> str:
    match schema.get("type"):
        case "array":
            return f"[{_type(schema.get('items'), root, depth - 1)}]"
        case "object":
            fields = _fields(schema, root, depth - 1)
            return f"{{{fields}}}" if fields else "object"
        case str(name):
            return name
        case list(names):
            return _either([str(name) for name in names])
        case _:
            return "any"


def _referred(reference: str, root: Schema) -> JsonValue:
    """What `#/$defs/Name` stands for; nothing outside the schema is ever looked up."""
    target: JsonValue = dict(root)
    for step in reference.removeprefix("#/").split("/"):
        target = target.get(step) if isinstance(target, dict) else None
    return target


def _either(types: list[str]) -> str:
    """`null` says only that the parameter may be left out, which `?` says already."""
    return "|".join(dict.fromkeys(name for name in types if name != "null")) or "null"
