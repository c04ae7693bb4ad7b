"""Parameters that a model wrote: field types, their JSON schema, and precise error messages. Pure."""

from copy import deepcopy
from functools import cache
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from anycowork.domain.boundary import Boundary, reason_of
from anycowork.domain.errors import BadParameters
from anycowork.domain.tools import Parameters

P = TypeVar("P", bound=Boundary)
_MOST_PROBLEMS = 20  # of one call; a model that sends thousands of unknown keys needs no more to mend it

EXPECTED = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain NUL characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode text") from None
    return text


PlainText = Annotated[str, AfterValidator(storable)]
PathText = Annotated[PlainText, Field(min_length=1, max_length=4096)]
LineNumber = Annotated[int, Field(ge=1)]


def parsed(model: type[P], tool: str, parameters: Parameters) -> P:
    """Raises: BadParameters with every problem in it."""
    try:
        return model.model_validate(parameters)
    except ValidationError as error:
        raise BadParameters(f"{tool}: " + " ".join(_sentences(model, error))) from None


def problems_in(model: type[Boundary], parameters: Parameters) -> list[str]:
    try:
        model.model_validate(parameters)
    except ValidationError as error:
        return _sentences(model, error)
    return []


def schema_of(model: type[Boundary]) -> dict[str, JsonValue]:
    """Returns the JSON schema in the form that small models read best: no titles, no references, no `null` beside an optional field's type."""
    return deepcopy(_schema_of(model))


@cache
def _schema_of(model: type[Boundary]) -> dict[str, JsonValue]:
    """Made once per model: pydantic takes milliseconds for it."""
    full_schema: dict[str, JsonValue] = model.model_json_schema()
    parts = full_schema.pop("$defs", {})
    assert isinstance(parts, dict)
    schema = _simplified(full_schema, parts)
    assert isinstance(schema, dict)
    return schema


def _simplified(node: JsonValue, parts: dict[str, JsonValue]) -> JsonValue:
    if isinstance(node, list):
        return [_simplified(item, parts) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(reference := node.get("$ref"), str):
        return _simplified(parts[reference.removeprefix("#/$defs/")], parts)
    simplified = {key: _simplified(value, parts) for key, value in node.items() if not _is_noise(key, value)}
    choices = simplified.get("anyOf")
    if isinstance(choices, list):
        real = [choice for choice in choices if choice != {"type": "null"}]
        if len(real) == 1 and isinstance(real[0], dict):
            del simplified["anyOf"]
            simplified = real[0] | simplified
    return simplified


def _is_noise(key: str, value: JsonValue) -> bool:
    # "title" and "default" are noise as schema keywords, not as names of parameters (whose value is an object).
    return (key == "title" and isinstance(value, str)) or (key == "default" and value is None)


def _sentences(model: type[Boundary], error: ValidationError) -> list[str]:
    problems = error.errors(include_url=False, include_context=True)
    sentences = [_sentence(model, details) for details in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        sentences.append(f"There are {len(problems) - _MOST_PROBLEMS:,} more problems.")
    return sentences


def _sentence(model: type[Boundary], details: ErrorDetails) -> str:
    field = ".".join(str(step) for step in details["loc"])
    match details["type"]:
        case "missing":
            return f"'{field}' is missing; it is required{_expectation(model, details)}."
        case "extra_forbidden":
            return f"'{field}' is not a parameter; the parameters are {_known(model)}."
        case "value_error":
            reason = details["msg"].removeprefix("Value error, ")
            return f"'{field}' {reason}." if field else f"{reason}."
        case "model_type" | "model_attributes_type":
            return f"{f'{field!r}' if field else 'The parameters'} must be an object."
        case _:
            return f"'{field}' is {seen(details['input'])}, which does not fit: it {reason_of(details['msg'])}."


def _known(model: type[Boundary]) -> str:
    properties = _schema_of(model).get("properties")
    return ", ".join(properties) if isinstance(properties, dict) else ""


def _expectation(model: type[Boundary], details: ErrorDetails) -> str:
    properties = _schema_of(model).get("properties")
    described = properties.get(str(details["loc"][0])) if isinstance(properties, dict) else None
    kind = described.get("type") if isinstance(described, dict) and len(details["loc"]) == 1 else None
    return f" ({EXPECTED[kind]})" if isinstance(kind, str) and kind in EXPECTED else ""


def seen(value: object) -> str:
    text = repr(value)
    kinds = {
        str: "the text",
        int: "the number",
        float: "the number",
        list: "the list",
        dict: "the object",
        bool: "the value",
    }
    return f"{kinds.get(type(value), 'the value')} {text if len(text) <= 80 else text[:80] + '…'}"
