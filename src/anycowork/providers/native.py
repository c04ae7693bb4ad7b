"""Native function calling, to and from the strict form: what the agent reads and records is the same whichever way a model calls."""

import json
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from anycowork.domain.asking import CallChunk, Part, Said
from anycowork.domain.messages import Json
from anycowork.providers.deltas import well_formed
from anycowork.providers.images import openai_content


def strict(tool: str, arguments: str) -> CallChunk:
    """A native call in the strict form. Arguments that are no JSON stay as they came: the reader of the reply says what is wrong."""
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return CallChunk(f'{{"tool": {json.dumps(tool)}, "parameters": {arguments}, "terminate": false}}')
    return CallChunk(msgspec.json.encode({"tool": tool, "parameters": given, "terminate": False}).decode())


class CallPieces:
    """The calls of one streamed answer: each comes in pieces under its own number."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._arguments: dict[int, list[str]] = {}

    def add(self, index: int, *, name: str = "", arguments: str = "") -> None:
        self._names[index] = self._names.get(index) or name
        self._arguments.setdefault(index, []).append(arguments)

    def whole(self) -> Iterator[CallChunk]:
        for index in sorted(self._names):
            yield strict(self._names[index], "".join(self._arguments[index]))


def answered_calls(messages: Sequence[Said]) -> frozenset[str]:
    """The ids of the calls that are shown together with their results: only these can be shown as calls."""
    parts = [part for said in messages for part in said.parts]
    made = {str(part.call["id"]) for part in parts if part.call and part.call.get("id")}
    return frozenset(made & {part.answers for part in parts if part.answers})


def openai_messages(messages: Sequence[Said], image_bytes: Mapping[str, bytes]) -> list[Json]:
    """As OpenAI's API has it: an assistant's `tool_calls`, each followed by a message of role `tool`."""
    known = answered_calls(messages)
    return [shown for said in messages for shown in _openai(said, known, image_bytes)]


def _openai(said: Said, known: frozenset[str], image_bytes: Mapping[str, bytes]) -> Iterator[Json]:
    calls = [part.call for part in said.parts if part.call and part.call.get("id") in known]
    for part in said.parts:
        if part.answers in known:
            yield {"role": "tool", "tool_call_id": part.answers, "content": well_formed(part.text)}
    words = text_of(said, known)
    if calls:
        yield {"role": "assistant", "content": words or None, "tool_calls": [_openai_call(call) for call in calls]}
    elif words:
        yield {"role": said.role, "content": openai_content(said, words, image_bytes)}


def _openai_call(call: Json) -> Json:
    arguments = msgspec.json.encode(call.get("parameters") or {}).decode()
    return {"id": call["id"], "type": "function", "function": {"name": call.get("tool"), "arguments": arguments}}


def text_of(said: Said, known: frozenset[str]) -> str:
    """What is left of it when calls and results are shown as such."""
    if not known or not said.parts:  # the system prompt has no parts
        return well_formed(said.content)
    return "\n\n".join(well_formed(part.text) for part in said.parts if not _shown_apart(part, known))


def _shown_apart(part: Part, known: frozenset[str]) -> bool:
    return part.answers in known or bool(part.call and part.call.get("id") in known)
