"""Reads a workflow's parameters from typed text or a form, validates them all at once, and fills them in. Pure.

A value is data: it is inserted into text that is already parsed, so it never becomes a step, a call or another parameter.
"""

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import assert_never

from pydantic import JsonValue

from anycowork.domain.errors import Invalid
from anycowork.domain.workflows import (
    JobTemplate,
    ParameterType,
    UnfittingParameters,
    Value,
    Workflow,
    WorkflowParameter,
)

PLACEHOLDER = re.compile(r"\{\{ *([a-z][a-z0-9_]*) *\}\}")
LONGEST_VALUE = 20_000
LONGEST_TYPED = 64_000
_NAMED = re.compile(r"([a-z][a-z0-9_]*)=(.*)", re.DOTALL)
_FLAG = re.compile(r"--?([a-z][a-z0-9_-]*)(?:=|$)")
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


# --- typed text


def split_words(text: str) -> list[str]:
    """Splits text like a shell: quotes keep words together. Raises: Invalid."""
    if len(text) > LONGEST_TYPED:
        raise Invalid(
            f"The parameters of a workflow may have at most {LONGEST_TYPED:,} characters. Send long values with the API or the form.",
            param="content",
        )
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Invalid(
            f"The parameters cannot be read: {str(error).lower()}. Put text with spaces or quotes between double quotes, "
            'as in description="it is small".',
            param="content",
        ) from None


def read_words(workflow: Workflow, arguments: Sequence[str]) -> dict[str, JsonValue]:
    """Assigns `name=value` by name, and a bare word to the first parameter without a value. Raises: UnfittingParameters."""
    values: dict[str, JsonValue] = {}
    bare: list[str] = []
    faults: dict[str, str] = {}
    names = [parameter.name for parameter in workflow.parameters]
    for word in arguments:
        pair = _NAMED.fullmatch(word)
        if (flag := _FLAG.match(word)) and (suggestion := flag[1].replace("-", "_")) in names:
            faults[word[:80]] = f"is written without dashes: {suggestion}=…"
        elif pair is None:
            bare.append(word)
        elif pair[1] in values:
            faults[pair[1]] = "is given twice"
        else:
            values[pair[1]] = pair[2]
    free = [name for name in names if name not in values]
    values |= dict(zip(free, bare, strict=False))
    for word in bare[len(free) :]:
        faults[word[:80]] = f"is one word too many ({usage(workflow)}); put text with spaces between quotes"
    if faults:
        raise UnfittingParameters.of(workflow.name, faults)
    return values


def as_typed(name: str, values: Mapping[str, Value]) -> str:
    """Returns the text that would start the same run again."""
    return " ".join([f"/{name}", *(f"{key}={shlex.quote(_as_text(value))}" for key, value in values.items())])


def usage(workflow: Workflow) -> str:
    """Returns how to type it: `/explain_code path=<path> [depth=brief|thorough]`."""
    return " ".join([f"/{workflow.name}", *map(_usage_of, workflow.parameters)])


def _usage_of(parameter: WorkflowParameter) -> str:
    kind = "|".join(map(_as_text, parameter.choices)) or f"<{parameter.type.value}>"
    usage_text = f"{parameter.name}={kind}"
    return usage_text if parameter.required else f"[{usage_text}]"


# --- checking


def fit(definition: Workflow | JobTemplate, arguments: Mapping[str, JsonValue]) -> dict[str, Value]:
    """Returns every parameter's value in its type, with defaults. Raises: UnfittingParameters, with all faults."""
    parameters = {parameter.name: parameter for parameter in definition.parameters}
    takes = ", ".join(parameters) or "none"
    faults = {name[:80]: f"is not a parameter (it takes: {takes})" for name in arguments if name not in parameters}
    values: dict[str, Value] = {}
    for name, parameter in parameters.items():
        value = arguments.get(name)
        if value is None or _is_blank(value):
            if parameter.required:
                faults[name] = "is missing" + (f" ({parameter.description})" if parameter.description else "")
            elif parameter.default is not None:
                values[name] = parameter.default
            continue
        fitted = fitting(parameter, value)
        if isinstance(fitted, UnfitValue):
            faults[name] = fitted.reason
        else:
            values[name] = fitted
    if faults:
        raise UnfittingParameters.of(definition.name, faults)
    return values


class UnfitValue:
    """Why a value does not fit its parameter."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def fitting(parameter: WorkflowParameter, value: JsonValue) -> Value | UnfitValue:
    """Returns the value in its parameter's type, or why it does not fit."""
    fitted = _of_type(parameter.type, value)
    if isinstance(fitted, UnfitValue) or not parameter.choices or fitted in parameter.choices:
        return fitted
    return UnfitValue(f"must be one of {', '.join(map(_as_text, parameter.choices))}")


def _of_type(kind: ParameterType, value: JsonValue) -> Value | UnfitValue:
    match kind:
        case ParameterType.STRING:
            return _text(value)
        case ParameterType.PATH:
            return _path(value)
        case ParameterType.INTEGER:
            if isinstance(value, int) and not isinstance(value, bool):
                return value
            if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
                return int(value)
            return UnfitValue("must be a whole number")
        case ParameterType.NUMBER:
            return _number(value)
        case ParameterType.BOOLEAN:
            if isinstance(value, bool):
                return value
            if isinstance(value, str) and value.strip().lower() in _WORDS:
                return _WORDS[value.strip().lower()]
            return UnfitValue("must be true or false")
        case _:
            assert_never(kind)


def _text(value: JsonValue) -> str | UnfitValue:
    if not isinstance(value, str):
        return UnfitValue("must be text")
    if len(value) > LONGEST_VALUE:
        return UnfitValue(f"is longer than {LONGEST_VALUE:,} characters")
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        return UnfitValue("contains characters that are not text")
    return value


def _path(value: JsonValue) -> str | UnfitValue:
    text = _text(value)
    if isinstance(text, UnfitValue):
        return text
    path = PurePosixPath(text.strip())
    if path.is_absolute() or ".." in path.parts or "\n" in text:
        return UnfitValue("must be a path inside the workspace, without '..' and without a leading '/'")
    return str(path)


def _number(value: JsonValue) -> int | float | UnfitValue:
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        number = math.nan
    return number if math.isfinite(number) else UnfitValue("must be a number")


def _is_blank(value: JsonValue) -> bool:
    return isinstance(value, str) and not value.strip()


# --- filling in values


def placeholders(template: JsonValue) -> list[str]:
    """Returns the names of all `{{name}}` placeholders in its texts."""
    if isinstance(template, str):
        return PLACEHOLDER.findall(template)
    if isinstance(template, dict):
        return [name for value in template.values() for name in placeholders(value)]
    if isinstance(template, list):
        return [name for value in template for name in placeholders(value)]
    return []


def render(template: str, values: Mapping[str, Value]) -> str:
    """Fills in the values in one pass, so that placeholders inside a value are not expanded. A missing value becomes empty."""
    return PLACEHOLDER.sub(lambda match: _as_text(values.get(match[1], "")), template)


def render_json(template: JsonValue, values: Mapping[str, Value]) -> JsonValue:
    """Fills in the values. A text that is only one placeholder becomes the typed value; without a value its entry is dropped."""
    if isinstance(template, str):
        alone = PLACEHOLDER.fullmatch(template)
        return values[alone[1]] if alone and alone[1] in values else render(template, values)
    if isinstance(template, dict):
        return {key: render_json(value, values) for key, value in template.items() if not _is_gone(value, values)}
    if isinstance(template, list):
        return [render_json(value, values) for value in template if not _is_gone(value, values)]
    return template


def _is_gone(template: JsonValue, values: Mapping[str, Value]) -> bool:
    alone = PLACEHOLDER.fullmatch(template) if isinstance(template, str) else None
    return alone is not None and alone[1] not in values


def _as_text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
