"""Extracts tool calls and results from fields of an imported message and makes separate messages of them. Lenient and pure."""

from collections.abc import Callable, Iterator

import msgspec
from pydantic import JsonValue

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
    for place, card in enumerate(cards):
        if place == 0 and not has_text:
            yield card, raw
        else:
            card_id = new_id()
            yield replace(card, id=card_id), {**raw, "id": card_id}


def _repeats(message: Message, cards: list[Message]) -> bool:
    """Tells whether the text only repeats a card: a result is often stored twice."""
    return any(card.message_type is MessageType.TOOL_RESULT and card.content == message.content for card in cards)


def _calls(message: Message, found: JsonValue) -> Iterator[Message]:
    for one in found if isinstance(found, list) else []:
        if not isinstance(one, dict):
            continue
        function = one.get("function")
        call = {**one, **function} if isinstance(function, dict) else one
        name = _first(call, _NAMES)
        if not isinstance(name, str) or not name:
            continue
        parameters = _object(_first(call, _ARGUMENTS))
        strict: Json = {"tool": name, "parameters": parameters, "terminate": call.get("terminate") is True}
        payload: Json = {"id": str(call.get("id") or ""), **strict}
        yield _card(message, MessageType.TOOL_CALL, Speaker.ASSISTANT, msgspec.json.encode(strict).decode(), payload)


def _results(message: Message, raw: Json) -> Iterator[Message]:
    found = raw.get("tool_result")
    if not isinstance(found, dict):
        return
    error = found.get("error")
    failed = (
        bool(error) or found.get("success") is False or found.get("is_error") is True or found.get("status") == "error"
    )
    words = text_of(_first(found, _OUTPUTS)) or text_of(error) or message.content
    payload: Json = {
        "tool_call_id": _call_id(found, raw),
        "tool": str(_first(found, _NAMES) or ""),
        "status": "error" if failed else "ok",
    }
    yield _card(message, MessageType.TOOL_RESULT, Speaker.TOOL, words, payload)


def _call_id(result: Json, raw: Json) -> str | None:
    """The id of the call that this result answers: its own word, else that of its message. A plain `id` may be the result's own."""
    named = [_first(result, _CALL_IDS), _first(raw, _CALL_IDS), result.get("id")]
    return next((str(one) for one in named if type(one) in (str, int) and one != ""), None)


def _card(message: Message, kind: MessageType, speaker: Speaker, content: str, payload: Json) -> Message:
    return replace(message, message_type=kind, role=speaker, content=content, payload=payload)


def _first(found: Json, keys: tuple[str, ...]) -> JsonValue:
    return next((found[key] for key in keys if found.get(key) is not None), None)


def _object(found: JsonValue) -> Json:
    """Reads arguments, which some stores keep as text. Other values stay readable under a separate key."""
    if isinstance(found, str):
        try:
            found = msgspec.json.decode(found)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return {"arguments": found}
    return found if isinstance(found, dict) else {} if found is None else {"arguments": found}
