"""What a server asks the person while it works on a call, as questions of the chat: one card for each field of its form.

The server's words are shown as its words. Only a person's answer is sent; without one the request is cancelled.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from anycowork.domain.question import Option, Question
from anycowork.mcp.elicitation_form import DECLINE, DEFAULT, NO, SKIP, YES, FieldValue, FormField, asked_by, form_fields
from anycowork.mcp.schemas import plain_text

if TYPE_CHECKING:
    from mcp_types import ElicitResult

_MOST_TRIES = 3
_LONGEST_MESSAGE = 1_000
Ask = Callable[[Question], Awaitable[str | None]]


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
