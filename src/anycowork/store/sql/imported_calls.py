"""Extracts tool calls and results from fields of an imported message and makes separate messages of them. Lenient and pure."""

from collections.abc import Callable, Iterator

import msgspec
from pydantic import JsonValue

from anycowork.domain.bounded_json import read_json
from anycowork.domain.messages import Json, Message, MessageType, Speaker, text_of
from anycowork.domain.values import replace

_NAMES = ("tool", "tool_name", "name")
_ARGUMENTS = ("parameters", "arguments", "input")
_CALL_IDS = ("tool_call_id", "call_id")
_OUTPUTS = ("result", "content", "output")


def with_cards(message: Message, raw: Json, new_id: Callable[[], str]) -> Iterator[tuple[Message, Json]]:
    """Yields the message and a card for each call or result in it. The text keeps the message id; without text, the first card gets it."""
    cards = [*_calls(message, raw.get("tool_calls")), *_results(message, raw)]
    if message.message_type is not MessageType.TEXT or not cards:
        yield message, raw
        return
    has_text = message.content.strip() and not _repeats(message, cards)
    if has_text:
        yield message, raw
    for index, card in enumerate(cards):
        if index == 0 and not has_text:
            yield card, raw
        else:
            card_id = new_id()
            yield replace(card, id=card_id), {**raw, "id": card_id}


def _repeats(message: Message, cards: list[Message]) -> bool:
    """Tells whether the text only repeats a card: a result is often stored twice."""
    return any(card.message_type is MessageType.TOOL_RESULT and card.content == message.content for card in cards)


def _calls(message: Message, entries: JsonValue) -> Iterator[Message]:
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        function = entry.get("function")
        call = {**entry, **function} if isinstance(function, dict) else entry
        name = _first(call, _NAMES)
        if not isinstance(name, str) or not name:
            continue
        parameters = _object(_first(call, _ARGUMENTS))
        strict: Json = {"tool": name, "parameters": parameters, "terminate": call.get("terminate") is True}
        payload: Json = {"id": str(call.get("id") or ""), **strict}
        yield _card(message, MessageType.TOOL_CALL, Speaker.ASSISTANT, msgspec.json.encode(strict).decode(), payload)


def _results(message: Message, raw: Json) -> Iterator[Message]:
    result = raw.get("tool_result")
    if not isinstance(result, dict):
        return
    error = result.get("error")
    failed = (
        bool(error)
        or result.get("success") is False
        or result.get("is_error") is True
        or result.get("status") == "error"
    )
    output = text_of(_first(result, _OUTPUTS)) or text_of(error) or message.content
    payload: Json = {
        "tool_call_id": _call_id(result, raw),
        "tool": str(_first(result, _NAMES) or ""),
        "status": "error" if failed else "ok",
    }
    yield _card(message, MessageType.TOOL_RESULT, Speaker.TOOL, output, payload)


def _call_id(result: Json, raw: Json) -> str | None:
    """The id of the call that this result answers: its own word, else that of its message. A plain `id` may be the result's own."""
    candidates = [_first(result, _CALL_IDS), _first(raw, _CALL_IDS), result.get("id")]
    return next((str(candidate) for candidate in candidates if type(candidate) in (str, int) and candidate != ""), None)


def _card(message: Message, kind: MessageType, speaker: Speaker, content: str, payload: Json) -> Message:
    return replace(message, message_type=kind, role=speaker, content=content, payload=payload)


def _first(document: Json, keys: tuple[str, ...]) -> JsonValue:
    return next((document[key] for key in keys if document.get(key) is not None), None)


def _object(value: JsonValue) -> Json:
    """Reads arguments, which some stores keep as text. Other values stay readable under a separate key."""
    if isinstance(value, str):
        try:
            value = read_json(value)
        except ValueError:
            return {"arguments": value}
    return value if isinstance(value, dict) else {} if value is None else {"arguments": value}
