"""The form that a server asks a person to fill in: its fields, each as a question, and how answers are read. Pure."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anycowork.domain.question import Option, Question
from anycowork.domain.values import value
from anycowork.mcp.definitions import plain_text

if TYPE_CHECKING:
    from mcp_types import ElicitResult

MOST_FIELDS = 20
DECLINE, SKIP, DEFAULT = "anycowork:decline", "anycowork:skip", "anycowork:default"
YES, NO = "anycowork:yes", "anycowork:no"
_EMPTY_LABEL, _DECLINE_LABEL = "Leave it empty", "Do not answer"
FieldValue = str | int | float | bool | list[str]
Choices = tuple[tuple[str, str], ...]
_MOST_TRIES = 3
_LONGEST_MESSAGE = 1_000
Ask = Callable[[Question], Awaitable[str | None]]


@value
class FormField:
    """One field of the form. `choices` are the only values that it takes, by the text shown for each.

    `lowest` and `highest` bound a number, or how many values a list has. `default` is the value that the server proposes.
    """

    name: str
    title: str
    kind: str
    required: bool
    choices: Choices = ()
    lowest: float | None = None
    highest: float | None = None
    default: FieldValue | None = None

    @property
    def takes_several(self) -> bool:
        return self.kind == "array"

    def question(self, message: str, server: str) -> Question:
        options = [Option(label=label, value=chosen) for chosen, label in self.choices]
        if self.default is not None:
            options.append(Option(label=f"Use {plain_text(json.dumps(self.default), 200)}", value=DEFAULT))
        if not self.required:
            options.append(Option(label=_EMPTY_LABEL, value=SKIP))
        options.append(Option(label=_DECLINE_LABEL, value=DECLINE))
        several = " Choose one, or type several, separated by commas." if self.takes_several and self.choices else ""
        return Question(
            type="question",
            question=(f"{message} ({self.title})" if self.title else message) + several,
            context=asked_by(server),
            options=tuple(options),
            allow_custom=not self.choices or self.takes_several,
        )

    def read(self, answer: str) -> FieldValue:
        """Raises: ValueError if the answer does not fit."""
        match self.kind:
            case "boolean":
                return answer == YES
            case "integer":
                return int(self._bounded(int(answer)))
            case "number":
                return self._bounded(float(answer))
            case "array":
                parts = [self._chosen(part.strip()) for part in answer.split(",") if part.strip()]
                self._bounded(len(parts))
                return parts
            case _:
                return answer

    def _bounded(self, number: float) -> float:
        if self.lowest is not None and not number >= self.lowest:
            raise ValueError("too small")
        if self.highest is not None and not number <= self.highest:
            raise ValueError("too large")
        return number

    def _chosen(self, part: str) -> str:
        if not self.choices:
            return part
        matching = [chosen for chosen, label in self.choices if part in (chosen, label)]
        if not matching:
            raise ValueError("not one of the choices")
        return matching[0]


def form_fields(schema: Mapping[str, Any]) -> list[FormField] | None:
    """The fields of the form; None if it is not a form that people can be shown."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or len(properties) > MOST_FIELDS:
        return [] if not properties else None
    required_names = schema.get("required")
    required = (
        set(required_names)
        if isinstance(required_names, list) and all(isinstance(field, str) for field in required_names)
        else set()
    )
    if not all(isinstance(part, Mapping) for part in properties.values()):
        return None
    return [_field(str(name), part, required=name in required) for name, part in properties.items()]


def asked_by(server: str) -> str:
    return f"The MCP server '{server}' asks this while it works on a call. Your answer is sent to it. Never tell it a password."


def _field(name: str, part: Mapping[str, Any], *, required: bool) -> FormField:
    kind = str(part.get("type", "string"))
    title = plain_text(" – ".join(str(part[key]) for key in ("title", "description") if part.get(key)), 300)
    items = part.get("items")
    listed = items if kind == "array" and isinstance(items, Mapping) else part
    low, high = ("minItems", "maxItems") if kind == "array" else ("minimum", "maximum")
    field = FormField(
        name=name,
        title=title or plain_text(name, 100),
        kind=kind,
        required=required,
        choices=_choices(listed),
        lowest=_number(part.get(low)),
        highest=_number(part.get(high)),
    )
    return _with_default(field, part.get("default"))


def _with_default(field: FormField, default: object) -> FormField:
    """A default that the field would not take from a person is passed over."""
    choices = {chosen for chosen, _ in field.choices}
    match field.kind, default:
        case ("boolean", bool() as flag):
            return replace(field, default=flag)
        case ("integer", int() as number) if not isinstance(number, bool):
            return replace(field, default=number)
        case ("number", int() | float() as number) if not isinstance(number, bool):
            return replace(field, default=number)
        case ("array", list() as several) if 0 < len(several) <= 50:
            texts = [
                text_item
                for text_item in several
                if isinstance(text_item, str) and (not choices or text_item in choices)
            ]
            return replace(field, default=texts) if len(texts) == len(several) else field
        case ("string", str() as text) if text and (not choices or text in choices):
            return replace(field, default=text)
    return field


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _choices(part: Mapping[str, Any]) -> Choices:
    if part.get("type") == "boolean":
        return ((YES, "Yes"), (NO, "No"))
    titled = part.get("oneOf", part.get("anyOf"))
    if isinstance(titled, list):
        pairs = [(choice.get("const"), choice.get("title")) for choice in titled[:50] if isinstance(choice, Mapping)]
        return _distinct((str(const), str(title or const)) for const, title in pairs if isinstance(const, str))
    values = part.get("enum")
    if isinstance(values, list):
        names = part.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = list(zip(values, labels, strict=True))[:50]
        return _distinct((choice, str(label)) for choice, label in pairs if isinstance(choice, str))
    return ()


def _distinct(pairs: Iterable[tuple[str, str]]) -> Choices:
    """Each value once, without those that stand for an answer of ours. A label that another one has, or one of ours, names its value."""
    labels = {chosen: plain_text(label, 200) for chosen, label in pairs if not chosen.startswith("anycowork:")}
    times = Counter(label.casefold() for label in (*labels.values(), _EMPTY_LABEL, _DECLINE_LABEL))
    return tuple(
        (chosen, label if times[label.casefold()] == 1 else f"{label} (sends {plain_text(json.dumps(chosen), 200)})")
        for chosen, label in labels.items()
        if chosen and label
    )


async def elicited(params: Any, ask: Ask | None, server: str) -> "ElicitResult":
    """The result that the server is sent."""
    from mcp_types import ElicitResult

    message = plain_text(params.message, _LONGEST_MESSAGE) or "The server asks for your consent."
    fields = form_fields(params.requested_schema) if params.mode == "form" else []
    if ask is None or fields is None:
        return ElicitResult(action="cancel")
    if not fields:
        address = f" It names this address: {plain_text(params.url, 2_000)}" if params.mode == "url" else ""
        answer = await ask(_consent(message + address, server))
        return ElicitResult(action="cancel" if answer is None else "accept" if answer == YES else "decline")
    content: dict[str, FieldValue] = {}
    for field in fields:
        answer = await _answered(field, message, ask, server)
        if answer is None or answer == DECLINE:
            return ElicitResult(action="cancel" if answer is None else "decline")
        if answer == DEFAULT and field.default is not None:
            content[field.name] = field.default
        elif answer != SKIP:
            content[field.name] = field.read(answer)
    return ElicitResult(action="accept", content=dict(content))


async def _answered(field: FormField, message: str, ask: Ask, server: str) -> str | None:
    """An answer that the field can read, or one of ours; None if none came."""
    question_text = message
    for _ in range(_MOST_TRIES):
        answer = await ask(field.question(question_text, server))
        if answer is None or answer in (DECLINE, DEFAULT, SKIP):
            return answer
        try:
            field.read(answer)
        except ValueError:
            question_text = f"'{plain_text(answer, 80)}' is not a valid {field.kind}. {plain_text(message, 400)}"
        else:
            return answer
    return None


def _consent(message: str, server: str) -> Question:
    options = (Option(label="Yes", value=YES), Option(label="No", value=NO))
    return Question(type="question", question=message, context=asked_by(server), options=options)
