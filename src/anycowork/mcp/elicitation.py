"""What a server asks the person while it works on a call, as questions of the chat: one card for each field of its form.

The server's words are shown as its words. Only a person's answer is sent; without one the request is cancelled.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from anycowork.domain.question import Option, Question
from anycowork.domain.values import value
from anycowork.mcp.schemas import plain_text

if TYPE_CHECKING:
    from mcp_types import ElicitResult

MOST_FIELDS = 10
_MOST_TRIES = 3
_DECLINE, _SKIP, _YES, _NO = "anycowork:decline", "anycowork:skip", "anycowork:yes", "anycowork:no"
_LONGEST_MESSAGE = 1_000
FieldValue = str | int | float | bool | list[str]


@value
class FormField:
    """One field of the form. `choices` are the only values that it takes, by the text shown for each."""

    name: str
    title: str
    kind: str
    required: bool
    choices: tuple[tuple[str, str], ...] = ()

    def question(self, message: str, server: str) -> Question:
        options = [Option(label=label, value=chosen) for chosen, label in self.choices]
        if not self.required:
            options.append(Option(label="Leave it empty", value=_SKIP))
        options.append(Option(label="Do not answer", value=_DECLINE))
        return Question(
            type="question",
            question=f"{message} ({self.title})" if self.title else message,
            context=_context(server),
            options=tuple(options),
            allow_custom=not self.choices,
        )

    def read(self, answer: str) -> FieldValue:
        """Raises: ValueError if the answer does not fit."""
        match self.kind:
            case "boolean":
                return answer == _YES
            case "integer":
                return int(answer)
            case "number":
                return float(answer)
            case "array":
                return [part.strip() for part in answer.split(",") if part.strip()]
            case _:
                return answer


async def elicited(params: Any, ask: Callable[[Question], Awaitable[str | None]] | None, server: str) -> "ElicitResult":
    """The result that the server is sent."""
    from mcp_types import ElicitResult

    message = plain_text(params.message, _LONGEST_MESSAGE) or "The server asks for your consent."
    fields = form_fields(params.requested_schema) if params.mode == "form" else []
    if ask is None or fields is None:
        return ElicitResult(action="cancel")
    if not fields:
        address = f" It names this address: {plain_text(params.url, 2_000)}" if params.mode == "url" else ""
        answer = await ask(_consent(message + address, server))
        return ElicitResult(action="cancel" if answer is None else "accept" if answer == _YES else "decline")
    content: dict[str, FieldValue] = {}
    for field in fields:
        for _ in range(_MOST_TRIES):
            answer = await ask(field.question(message, server))
            if answer is None or answer == _DECLINE:
                return ElicitResult(action="cancel" if answer is None else "decline")
            if answer == _SKIP:
                break
            try:
                content[field.name] = field.read(answer)
                break
            except ValueError:
                message = f"'{plain_text(answer, 80)}' is not a valid {field.kind}. {plain_text(params.message, 400)}"
        else:
            return ElicitResult(action="cancel")
    return ElicitResult(action="accept", content=dict(content))


def form_fields(schema: Mapping[str, Any]) -> list[FormField] | None:
    """The fields of the form; None if it is not a form that people can be shown."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or len(properties) > MOST_FIELDS:
        return [] if not properties else None
    wanted = schema.get("required")
    required = set(wanted) if isinstance(wanted, list) and all(isinstance(one, str) for one in wanted) else set()
    found = []
    for name, part in properties.items():
        if not isinstance(part, Mapping):
            return None
        kind = str(part.get("type", "string"))
        title = plain_text(" – ".join(str(part[key]) for key in ("title", "description") if part.get(key)), 300)
        found.append(FormField(str(name), title or plain_text(str(name), 100), kind, name in required, _choices(part)))
    return found


def _choices(part: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    if part.get("type") == "boolean":
        return ((_YES, "Yes"), (_NO, "No"))
    titled = part.get("oneOf")
    if isinstance(titled, list):
        pairs = [(one.get("const"), one.get("title")) for one in titled[:50] if isinstance(one, Mapping)]
        return _distinct((str(const), str(title or const)) for const, title in pairs if isinstance(const, str))
    values = part.get("enum")
    if isinstance(values, list):
        names = part.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        pairs = list(zip(values, labels, strict=True))[:50]
        return _distinct((one, str(label)) for one, label in pairs if isinstance(one, str))
    return ()


def _distinct(pairs: Any) -> tuple[tuple[str, str], ...]:
    """Each value once, without those that stand for an answer of ours."""
    known = {chosen: plain_text(label, 200) for chosen, label in pairs if not chosen.startswith("anycowork:")}
    return tuple((chosen, label) for chosen, label in known.items() if chosen and label)


def _consent(message: str, server: str) -> Question:
    options = (Option(label="Yes", value=_YES), Option(label="No", value=_NO))
    return Question(type="question", question=message, context=_context(server), options=options)


def _context(server: str) -> str:
    return f"The MCP server '{server}' asks this while it works on a call. Your answer is sent to it. Never tell it a password."
