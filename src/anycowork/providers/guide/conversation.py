"""Reads the role, the current request and its progress from the messages. Pure.

A result's text is data up to the end of its message, whatever it says; a paragraph in square brackets is a note from the server.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from pydantic import JsonValue

from anycowork.domain.attached_files import ATTACHED
from anycowork.domain.bounded_json import read_json
from anycowork.domain.messages import Json
from anycowork.domain.model import PromptMessage
from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import value
from anycowork.providers.guide.grammar import understand


@value
class CallOutcome:
    """A call that was made, and its result."""

    tool: str
    status: str
    text: str
    parameters: Json | None = field(default=None, hash=False)

    @property
    def ok(self) -> bool:
        return self.status == "ok"


@value
class AnsweredQuestion:
    """The person's answer to a question."""

    text: str


Observation = CallOutcome | AnsweredQuestion


@value
class GuideConversation:
    role: str
    request: str
    inputs: tuple[Observation, ...] = ()


def read_conversation(messages: Sequence[PromptMessage]) -> GuideConversation:
    """Never raises, whatever the messages hold."""
    conversation = [message for message in messages if message.role != "system"]
    start = _request_at(conversation)
    if start is None:
        return GuideConversation(role=_role(messages), request="")
    return GuideConversation(
        role=_role(messages),
        request=_words(conversation[start]),
        inputs=tuple(_inputs(conversation[start + 1 :])),
    )


_ROLE = late_pattern(r"operating in ([A-Z][A-Z0-9_ -]*?) role")
_RESULT = late_pattern(r"Result of (\S+) \((\w+)\)(?::[ \t]*|\. [^\n]*)\n?")  # after a dot: a remark from the server
_NOTE = late_pattern(r"\s*\[[^\[\]\n]*\]\s*(?:\n\n|\Z)")
_FILES = late_pattern(r"\[Files in the workspace:\n.*?\]\n\n", re.DOTALL)


def _role(messages: Sequence[PromptMessage]) -> str:
    prompts = "\n".join(message.content for message in messages if message.role == "system")
    match = _ROLE.search(prompts)
    return match[1].lower() if match else "actor"


def _words(message: PromptMessage) -> str:
    """Returns the person's text without the server's notes before it and the files after it. The list of files comes right before
    the turn's request: earlier text in the same message belongs to a turn that did not get an answer."""
    text, start = message.content, 0
    if files := _FILES.search(text):
        start = files.end()
    while (note := _NOTE.match(text, start)) and note.end() > start:
        start = note.end()
    return text[start:].partition(f"\n\n{ATTACHED}")[0].strip()


def _request_at(conversation: Sequence[PromptMessage]) -> int | None:
    """Returns the index of the current request: the person's newest text that is not the answer to a question."""
    mine = [
        index
        for index, message in enumerate(conversation)
        if message.role == "user" and not _RESULT.match(message.content) and _words(message)
    ]
    for index in reversed(mine):
        if not _is_answer(conversation, index):
            return index
    return mine[-1] if mine else None


def _is_answer(conversation: Sequence[PromptMessage], index: int) -> bool:
    if index == 0 or not any(
        document.get("type") == "question" for document in _objects(conversation[index - 1].content)
    ):
        return False
    request = understand(_words(conversation[index]))
    return not request.intents and not request.planned


def _inputs(messages: Sequence[PromptMessage]) -> Iterator[Observation]:
    calls: list[Json] = []
    for message in messages:
        if message.role == "assistant":
            calls += [document for document in _objects(message.content) if "tool" in document]
        elif result := _RESULT.match(message.content):
            yield CallOutcome(result[1], result[2], message.content[result.end() :], _parameters(calls, result[1]))
        elif answer := _words(message):
            yield AnsweredQuestion(answer)


def _parameters(calls: list[Json], tool: str) -> Json | None:
    """Returns the parameters of the oldest call of this tool that has no result yet."""
    for position, call in enumerate(calls):
        if call["tool"] == tool:
            del calls[: position + 1]
            parameters = call.get("parameters")
            return parameters if isinstance(parameters, dict) else None
    return None


def _objects(text: str) -> Iterator[Json]:
    """Yields the JSON objects in an assistant's message, one after the other."""
    decoder, start = json.JSONDecoder(), text.find("{")
    while start >= 0:
        try:
            document, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            return
        if isinstance(document, dict):
            yield document
        start = text.find("{", end)


def fenced_json(text: str) -> JsonValue:
    """Returns the first fenced block of JSON in a text; None if there is none."""
    fence = text.find("```json")
    while fence >= 0:
        start = text.find("\n", fence)
        end = text.find("\n```", start) if start >= 0 else -1
        if end < 0:
            return None
        try:
            document = read_json(text[start + 1 : end], strict=False)
        except ValueError:
            fence = text.find("```json", end + 4)
            continue
        return document
    return None
