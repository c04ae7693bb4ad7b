"""The words of a plan, a question or a review that a model wrote as JSON, for people who read a line of it. Pure."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from anycowork.domain.bounded_json import read_json
from anycowork.domain.messages import Json, Message, Speaker

_FENCE = "```json"
_LARGEST = 2_000_000  # characters: a larger text is shown as it is
# In the order in which people read them. Marks, ids and numbers are no words.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "plan": ("goal", "steps", "risks", "prerequisites"),
    "question": ("question", "context", "options"),
    "review": ("summary", "findings"),
}
_PART_FIELDS = ("action", "reason", "check", "commands", "label", "value", "path", "paths", "problem", "suggestion")


def words_of(message: Message) -> str:
    """Return the message as a person reads it: a document's words instead of its JSON, anything else as it is stored."""
    try:
        return _document_words(message) or message.content
    except RecursionError:  # a model may nest a thousand lists
        return message.content


def _document_words(message: Message) -> str:
    document = _document(message)
    if document is None:
        return ""
    values = (document.get(field) for field in _FIELDS[str(document["type"])])
    return "\n".join((*_introduction(message), *(line for value in values for line in _lines(value))))


def _introduction(message: Message) -> tuple[str, ...]:
    """Return what an approved plan is handed over with: it stands before the plan."""
    return (message.content.partition(_FENCE)[0].strip(),) if _is_approval(message) else ()


def _is_approval(message: Message) -> bool:
    return message.role is Speaker.USER and "plan_id" in (message.payload or {})


def _document(message: Message) -> Json | None:
    if message.role is Speaker.ASSISTANT and message.payload and _is_document(message.payload):
        return message.payload
    content = message.content.partition(_FENCE)[2] if _is_approval(message) else message.content
    text = content.strip().removeprefix(_FENCE).removeprefix("```").removesuffix("```").strip()
    if not text.startswith("{") or len(text) > _LARGEST:
        return None
    try:
        document = read_json(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) and _is_document(document) else None


def _is_document(document: Json) -> bool:
    return str(document.get("type")) in _FIELDS


def _lines(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _lines(part)
    elif isinstance(value, dict):
        for field in _PART_FIELDS:
            yield from _lines(value.get(field))
