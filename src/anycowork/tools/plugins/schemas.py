"""Validates untrusted JSON schemas, and checks parameters against them. Pure.

It supports a part of the standard completely: no `$ref`, and no `pattern`, because an untrusted expression would run in the server.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from anycowork.domain.tools import Parameters
from anycowork.tools.parameters import EXPECTED, seen, storable

Schema = dict[str, JsonValue]
LARGEST = 20_000
DEEPEST = 6
MOST_PROBLEMS = 10
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


class BadSchema(ValueError):
    """The reason, to follow the tool's name."""


def validated(schema: Schema) -> dict[str, JsonValue]:
    """Returns the schema, closed to parameters that it does not name. Raises: BadSchema if a part of it is not supported."""
    if len(json.dumps(schema)) > LARGEST:
        raise BadSchema(f"its schema has more than {LARGEST:,} letters")
    if schema.get("type") != "object":
        raise BadSchema("its schema must be of type 'object'")
    if schema.get("additionalProperties", False) is not False:
        raise BadSchema("its schema must not allow additional properties")
    _require_understood(schema, "parameters", DEEPEST)
    return {**schema, "properties": schema.get("properties", {}), "additionalProperties": False}


def problems_by(schema: Schema, parameters: Parameters) -> list[str]:
    """Returns what is wrong with the parameters, in sentences; empty if they are valid."""
    problems: list[str] = []
    for problem in _problems(schema, dict(parameters), ""):
        problems.append(problem)
        if len(problems) == MOST_PROBLEMS:
            break
    return problems


# --- is the schema supported?


def _require_understood(schema: JsonValue, where: str, depth: int) -> None:
    if not isinstance(schema, dict):
        raise BadSchema(f"the schema of '{where}' must be an object")
    if depth == 0:
        raise BadSchema(f"its schema is nested more than {DEEPEST} deep at '{where}'")
    for keyword, value in schema.items():
        fits = _KEYWORDS.get(keyword)
        if fits is None:
            raise BadSchema(f"the schema of '{where}' has '{keyword}', which is not supported; {_known()}")
        if not fits(value):
            raise BadSchema(f"'{keyword}' in the schema of '{where}' is not what it should be")
    _require_parts_understood(schema, where, depth)


def _require_parts_understood(schema: dict[str, JsonValue], where: str, depth: int) -> None:
    properties = schema.get("properties", {})
    assert isinstance(properties, dict)
    for name, part in properties.items():
        if not _NAME.fullmatch(name):
            raise BadSchema(f"'{name[:80]}' is no name for a parameter")
        _require_understood(part, name, depth - 1)
    for name in _texts(schema.get("required")):
        if name not in properties:
            raise BadSchema(f"'{name[:80]}' is required in the schema of '{where}', but not among its properties")
    if "items" in schema:
        _require_understood(schema["items"], f"{where}[]", depth - 1)
    choices = schema.get("anyOf", [])
    assert isinstance(choices, list)
    for choice in choices:
        _require_understood(choice, where, depth - 1)


def _known() -> str:
    return f"supported are {', '.join(sorted(_KEYWORDS))}"


def _is_type(value: JsonValue) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


def _is_text(value: JsonValue) -> bool:
    return isinstance(value, str)


def _is_texts(value: JsonValue) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_list(value: JsonValue) -> bool:
    return isinstance(value, list) and bool(value)


_KEYWORDS: dict[str, Callable[[JsonValue], bool]] = {
    "type": _is_type,
    "title": _is_text,
    "description": _is_text,
    "default": lambda value: True,
    "enum": _is_list,
    "const": lambda value: True,
    "anyOf": _is_list,
    "properties": lambda value: isinstance(value, dict),
    "required": _is_texts,
    "additionalProperties": lambda value: isinstance(value, bool),
    "items": lambda value: isinstance(value, dict),
    "minItems": _is_count,
    "maxItems": _is_count,
    "minLength": _is_count,
    "maxLength": _is_count,
    "minimum": _is_number,
    "maximum": _is_number,
}


# --- are the parameters valid?


def _problems(schema: JsonValue, value: JsonValue, where: str) -> Iterator[str]:
    assert isinstance(schema, dict)  # it was validated before
    kinds = _types(schema)
    if kinds and not any(_is_of(value, kind) for kind in kinds):
        expected = " or ".join(EXPECTED.get(kind, "null") for kind in kinds)
        yield f"{_named(where)} is {seen(value)}, which does not fit: it should be {expected}."
        return
    yield from _of_choices(schema, value, where)
    if isinstance(value, str):
        yield from _of_text(schema, value, where)
    elif isinstance(value, list):
        yield from _of_list(schema, value, where)
    elif isinstance(value, dict):
        yield from _of_object(schema, value, where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _of_size(value, "", schema, ("minimum", "maximum"), where)


def _of_choices(schema: Schema, value: JsonValue, where: str) -> Iterator[str]:
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list) and not any(_same(value, choice) for choice in values):
        choices = ", ".join(json.dumps(choice, ensure_ascii=False) for choice in values[:20])
        yield f"{_named(where)} is {seen(value)}, which does not fit: it should be one of {choices}."
    if "enum" in schema and "const" in schema and not _same(value, schema["const"]):
        yield f"{_named(where)} should be {json.dumps(schema['const'], ensure_ascii=False)}."
    branches = schema.get("anyOf")
    if isinstance(branches, list) and all(any(_problems(branch, value, where)) for branch in branches):
        yield f"{_named(where)} is {seen(value)}, which fits none of its forms."


def _of_text(schema: Schema, text: str, where: str) -> Iterator[str]:
    try:
        storable(text)
    except ValueError as error:
        yield f"{_named(where)} {error}."
        return
    yield from _of_size(len(text), " letters", schema, ("minLength", "maxLength"), where)


def _of_list(schema: Schema, items: Sequence[JsonValue], where: str) -> Iterator[str]:
    yield from _of_size(len(items), " items", schema, ("minItems", "maxItems"), where)
    for index, item in enumerate(items):
        yield from _problems(schema.get("items", {}), item, f"{where}.{index}".lstrip("."))


def _of_object(schema: Schema, value: Mapping[str, JsonValue], where: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    assert isinstance(properties, dict)
    for name in _texts(schema.get("required")):
        if name not in value:
            kind = next(iter(_types(properties.get(name, {}))), "")
            expected = f" ({EXPECTED[kind]})" if kind in EXPECTED else ""
            yield f"'{_below(where, name)}' is missing; it is required{expected}."
    for name, part in value.items():
        if name in properties:
            yield from _problems(properties[name], part, _below(where, name))
        elif schema.get("additionalProperties", True) is False:
            parameter_names = ", ".join(properties) or "none"
            yield f"'{_below(where, name)[:80]}' is not a parameter; the parameters are {parameter_names}."
        else:
            yield from _of_text({}, name, where)
            yield from _problems({}, part, _below(where, name))


def _of_size(size: float, unit: str, schema: Schema, keywords: tuple[str, str], where: str) -> Iterator[str]:
    least, most = (schema.get(keyword) for keyword in keywords)
    if isinstance(least, int | float) and size < least:
        yield f"{_named(where)} must not be less than {least:g}{unit}."
    if isinstance(most, int | float) and size > most:
        yield f"{_named(where)} must not be more than {most:g}{unit}."


def _types(schema: JsonValue) -> list[str]:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return _texts(kind if isinstance(kind, list) else [kind] if kind else [])


def _is_of(value: JsonValue, kind: str) -> bool:
    """`1.0` is not an integer here: the function would get a float it did not ask for."""
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "null":
            return value is None
        case _:
            return isinstance(value, {"object": dict, "array": list, "string": str, "boolean": bool}[kind])


def _same(first: JsonValue, second: JsonValue) -> bool:
    """Compares as JSON does: true is not 1."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _texts(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _named(where: str) -> str:
    return f"'{where}'" if where else "The parameters"
