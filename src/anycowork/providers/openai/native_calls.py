"""Converts native function calls to and from the strict form, so that the agent reads and records the same for every model."""

import json
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from anycowork.domain.errors import RunawayReply
from anycowork.domain.messages import Json
from anycowork.domain.model import LONGEST_REPLY, CallChunk, ContentPart, PromptMessage
from anycowork.providers.images import openai_content
from anycowork.providers.openai.deltas import well_formed

MOST_CALLS = 100  # calls of one answer that are accepted


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
