"""Parses an event of a chat completion leniently, and converts native function calls to and from the strict form. Pure.

Servers differ in every field except the text. The agent reads and records the same for every model.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from pydantic import JsonValue

from anycowork.domain.errors import RunawayReply
from anycowork.domain.messages import Json
from anycowork.domain.metering import reported_tokens
from anycowork.domain.model import (
    LONGEST_REPLY,
    CallChunk,
    ContentPart,
    PromptMessage,
    ReasoningChunk,
    TextChunk,
    UsageChunk,
)
from anycowork.domain.values import value
from anycowork.providers.images import openai_content

MOST_CALLS = 100  # calls of one answer that are accepted
DONE = b"[DONE]"


def strict(tool: str, arguments: str) -> CallChunk:
    """Converts a native call to the strict form. Arguments that are not JSON stay unchanged: the reply parser reports the error."""
    try:
        parameters = json.loads(arguments or "{}")  # noqa: TID251  # bounded by LONGEST_REPLY, and a depth that is too large is caught
        return CallChunk(msgspec.json.encode({"tool": tool, "parameters": parameters, "terminate": False}).decode())
    except (ValueError, RecursionError):
        return CallChunk(f'{{"tool": {json.dumps(tool)}, "parameters": {arguments}, "terminate": false}}')


class CallPieces:
    """Collects the calls of one streamed answer: each arrives in pieces under its number.

    Their total length is limited like a text reply.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._arguments: dict[int, list[str]] = {}
        self._length = 0

    def add(self, index: int, *, name: str = "", arguments: str = "") -> None:
        """Raises: RunawayReply."""
        self._length += len(name) + len(arguments)
        if self._length > LONGEST_REPLY:
            raise RunawayReply(f"The calls were stopped at {LONGEST_REPLY} characters. Make a shorter call.")
        if index not in self._names and len(self._names) >= MOST_CALLS:
            raise RunawayReply(
                f"The reply was stopped because it made more than {MOST_CALLS} calls. Make fewer at a time."
            )
        self._names[index] = self._names.get(index) or name
        pieces = self._arguments.setdefault(index, [])
        if arguments:
            pieces.append(arguments)

    def whole(self) -> Iterator[CallChunk]:
        for index in sorted(self._names):
            yield strict(self._names[index], "".join(self._arguments[index]))


def answered_calls(messages: Sequence[PromptMessage]) -> frozenset[str]:
    """Returns the ids of calls that are shown together with their results: only these can be sent as calls."""
    parts = [part for prompt_message in messages for part in prompt_message.parts]
    call_ids = {str(part.call["id"]) for part in parts if part.call and part.call.get("id")}
    return frozenset(call_ids & {part.answers for part in parts if part.answers})


def openai_messages(messages: Sequence[PromptMessage], image_bytes: Mapping[str, bytes]) -> list[Json]:
    """Returns messages in OpenAI's format: an assistant's `tool_calls`, each followed by a message of role `tool`."""
    answered = answered_calls(messages)
    return [message for prompt_message in messages for message in _openai(prompt_message, answered, image_bytes)]


def _openai(
    prompt_message: PromptMessage, answered: frozenset[str], image_bytes: Mapping[str, bytes]
) -> Iterator[Json]:
    calls = [part.call for part in prompt_message.parts if part.call and part.call.get("id") in answered]
    for part in prompt_message.parts:
        if part.answers in answered:
            yield {"role": "tool", "tool_call_id": part.answers, "content": well_formed(part.text)}
    text = text_of(prompt_message, answered)
    if calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": [_openai_call(call) for call in calls]}
    elif text:
        yield {"role": prompt_message.role, "content": openai_content(prompt_message, text, image_bytes)}


def _openai_call(call: Json) -> Json:
    arguments = msgspec.json.encode(call.get("parameters") or {}).decode()
    return {"id": call["id"], "type": "function", "function": {"name": call.get("tool"), "arguments": arguments}}


def text_of(prompt_message: PromptMessage, answered: frozenset[str]) -> str:
    """Returns the text that remains when calls and results are sent natively."""
    if not answered or not prompt_message.parts:  # the system prompt has no parts
        return well_formed(prompt_message.content)
    return "\n\n".join(well_formed(part.text) for part in prompt_message.parts if not _shown_apart(part, answered))


def _shown_apart(part: ContentPart, answered: frozenset[str]) -> bool:
    return part.answers in answered or bool(part.call and part.call.get("id") in answered)


class UnreadableDelta(ValueError):
    """The event is not JSON, or not an object."""


@value
class CallPiece:
    """A piece of a native call: its name comes once, its arguments in any number of pieces."""

    index: int
    name: str
    arguments: str


@value
class CompletionDelta:
    """One event: what is new, and its data about the whole so far. `error` is the server's message for a failure mid-stream."""

    chunks: tuple[TextChunk | ReasoningChunk, ...] = ()
    calls: tuple[CallPiece, ...] = ()
    finish: str | None = None
    usage: UsageChunk | None = None
    error: str | None = None


def read_delta(data: bytes) -> CompletionDelta:
    """Raises: UnreadableDelta."""
    return _read(_object(data), "delta")


def read_whole(data: bytes) -> CompletionDelta:
    """Parses the response of a server that ignores `stream` and answers at once. Raises: UnreadableDelta."""
    return _read(_object(data), "message")


def error_words(data: bytes) -> str:
    """Returns the server's message about an error, from any of the shapes that servers use; its bare text if it is not JSON."""
    try:
        return _words(_object(data)) or ""
    except UnreadableDelta:
        return data.decode("utf-8", "replace").strip()


def error_code(data: bytes) -> str:
    """Returns the server's code for an error, if it gives one."""
    try:
        error = _object(data).get("error")
    except UnreadableDelta:
        return ""
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, str) else ""


def well_formed(text: str) -> str:
    """Joins adjacent halves of surrogate pairs, and replaces single halves."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _object(data: bytes) -> Json:
    try:
        document = json.loads(data.decode("utf-8", "replace"))  # noqa: TID251  # bounded by its line, and a depth that is too large is caught
    except (ValueError, RecursionError) as error:
        raise UnreadableDelta(str(error)) from None
    if not isinstance(document, dict):
        raise UnreadableDelta("not an object")
    return document


def _read(event: Json, part: str) -> CompletionDelta:
    choices = event.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    delta = choice.get(part) if isinstance(choice, dict) else None
    finish = choice.get("finish_reason") if isinstance(choice, dict) else None
    return CompletionDelta(
        chunks=tuple(_chunks(delta)) if isinstance(delta, dict) else (),
        calls=tuple(_calls(delta.get("tool_calls"))) if isinstance(delta, dict) else (),
        finish=finish if isinstance(finish, str) else None,
        usage=_usage(event.get("usage")),
        error=_words(event),
    )


def _chunks(delta: Json) -> Iterator[TextChunk | ReasoningChunk]:
    # Some servers send the same reasoning under both names; one is enough.
    reasoning = next((t for name in ("reasoning_content", "reasoning") if (t := _text(delta.get(name)))), "")
    if reasoning:
        yield ReasoningChunk(reasoning)
    content = delta.get("content")
    if text := _text(content):
        yield TextChunk(text)
    if isinstance(content, list):
        for piece in content:
            yield from _part(piece)


def _calls(calls: JsonValue) -> Iterator[CallPiece]:
    for position, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(call, dict) and isinstance(function, dict):
            index = call.get("index")
            number = index if isinstance(index, int) else position
            yield CallPiece(number, _text(function.get("name")), _text(function.get("arguments")))


def _part(piece: JsonValue) -> Iterator[TextChunk | ReasoningChunk]:
    """Reads one entry of a content list: `text`, or `thinking` with a nested list."""
    if not isinstance(piece, dict):
        return
    if text := _text(piece.get("text")):
        yield TextChunk(text)
    thinking = piece.get("thinking")
    for thought in thinking if isinstance(thinking, list) else [{"text": thinking}]:
        if isinstance(thought, dict) and (text := _text(thought.get("text"))):
            yield ReasoningChunk(text)


def _text(value: JsonValue) -> str:
    return well_formed(value) if isinstance(value, str) else ""


def _usage(usage: JsonValue) -> UsageChunk | None:
    if not isinstance(usage, dict):
        return None
    return UsageChunk(
        prompt=_count(usage, "prompt_tokens"),
        completion=_count(usage, "completion_tokens"),
        cached=_count(usage.get("prompt_tokens_details"), "cached_tokens") or _count(usage, "prompt_cache_hit_tokens"),
        reasoning=_count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(counts: JsonValue, name: str) -> int:
    return reported_tokens(counts.get(name) if isinstance(counts, dict) else None)


def _words(event: Json) -> str | None:
    # A normal event may have other fields with these names; only `error` always means one.
    names = ("error",) if event.get("choices") else ("error", "detail", "message")
    for error in map(event.get, names):
        message = error.get("message") if isinstance(error, dict) else error
        if message:
            return well_formed(message) if isinstance(message, str) else json.dumps(message)
    return None
