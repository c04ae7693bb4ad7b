"""Derives the JSON schema of a function's parameters from its annotations. Avoids `inspect`, which is slow to import."""

import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
_KEYWORDS_TOO = 0x08  # the code flag of a function that accepts **kwargs
_MORE_TOO = 0x04


def schema_from(function: Callable[..., object]) -> Mapping[str, object]:
    """Raises: TypeError that names the parameter and the way out."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if code.co_flags & (_KEYWORDS_TOO | _MORE_TOO) or code.co_posonlyargcount:
        raise TypeError("parameters are given by name: *args, **kwargs and positional-only ones cannot be described")
    hints = typing.get_type_hints(function, include_extras=True)
    defaults = _defaults(function, names[: code.co_argcount])
    properties: dict[str, object] = {}
    for name in names:
        if name not in hints:
            raise TypeError(f"the parameter '{name}' has no annotation; write one, or give a schema")
        properties[name] = _described(hints[name], name)
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in names if name not in defaults],
        "additionalProperties": False,
    }


def _defaults(function: Callable[..., object], positional: tuple[str, ...]) -> set[str]:
    defaults: tuple[object, ...] = function.__defaults__ or ()
    by_name: Mapping[str, object] = function.__kwdefaults__ or {}
    return {*positional[len(positional) - len(defaults) :], *by_name}


def _described(hint: object, name: str) -> dict[str, object]:
    if typing.get_origin(hint) is typing.Annotated:
        kind, *notes = typing.get_args(hint)
        text = next((note for note in notes if isinstance(note, str)), None)
        return {**_described(kind, name), **({"description": text} if text else {})}
    if isinstance(hint, type) and hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and issubclass(hint, str) and issubclass(hint, Enum):
        return {"type": "string", "enum": [member.value for member in hint]}
    return _composed(hint, name)


def _composed(hint: object, name: str) -> dict[str, object]:
    origin, inner = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin is list:
        return {"type": "array", **({"items": _described(inner[0], name)} if inner else {})}
    if origin is dict:
        return {"type": "object"}
    if origin in (typing.Union, types.UnionType):
        kinds = [kind for kind in inner if kind is not type(None)]
        if len(kinds) == 1:
            return _described(kinds[0], name)
        return {"anyOf": [_described(kind, name) for kind in kinds]}
    raise TypeError(
        f"the annotation of '{name}' has no JSON equivalent; use str, int, float, bool, list, dict, Literal or a union of them, "
        "or give a schema"
    )
