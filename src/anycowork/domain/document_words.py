"""The words of a plan, a question or a review that a model wrote as JSON, for people who read a line of it. Pure."""

from collections.abc import Iterator, Mapping

import msgspec
from pydantic import JsonValue

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
    named = (document.get(field) for field in _FIELDS[str(document["type"])])
    return "\n".join((*_introduction(message), *(line for found in named for line in _lines(found))))


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
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return found if isinstance(found, dict) and _is_document(found) else None


def _is_document(found: Json) -> bool:
    return str(found.get("type")) in _FIELDS


def _lines(found: JsonValue) -> Iterator[str]:
    if isinstance(found, str) and found:
        yield found
    elif isinstance(found, list):
        for part in found:
            yield from _lines(part)
    elif isinstance(found, dict):
        for field in _PART_FIELDS:
            yield from _lines(found.get(field))
