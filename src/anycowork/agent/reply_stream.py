"""Receives one reply: publishes it while it streams, separates reasoning from text, and stops it if it is too long or repeats itself."""

import asyncio
from collections.abc import Iterator
from dataclasses import field
from typing import assert_never

from anycowork.agent.reply_parser import safe_to_show
from anycowork.domain import event_factory
from anycowork.domain.errors import RunawayReply
from anycowork.domain.events import EventType
from anycowork.domain.model import (
    LONGEST_REPLY,
    CallChunk,
    ModelRequest,
    Provider,
    ReasoningChunk,
    ReplyFinished,
    RetryChunk,
    TextChunk,
    UsageChunk,
)
from anycowork.domain.ports import Clock
from anycowork.domain.times import later
from anycowork.domain.values import mutable_value, value
from anycowork.store.sql.journal import Journal

OPEN, CLOSE = "<think>", "</think>"


@value
class ThinkPiece:
    thinking: bool
    text: str


class ThinkSplitter:
    """Splits streamed text; returns pieces as soon as they cannot be part of a tag."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False

    def feed(self, text: str) -> list[ThinkPiece]:
        if not self._held and "<" not in text:  # the usual case
            return [ThinkPiece(self._thinking, text)] if text else []
        buffer, start = self._held + text, 0
        pieces: list[ThinkPiece] = []
        while (position := buffer.find(self._tag, start)) >= 0:
            pieces.append(ThinkPiece(self._thinking, buffer[start:position]))
            start = position + len(self._tag)
            self._thinking = not self._thinking
        end = len(buffer) - _tag_start_at_end(buffer[start:], self._tag)
        pieces.append(ThinkPiece(self._thinking, buffer[start:end]))
        self._held = buffer[end:]
        return [piece for piece in pieces if piece.text]

    def flush(self) -> list[ThinkPiece]:
        """Returns the text that is still held at the end of the stream."""
        remaining, self._held = self._held, ""
        return [ThinkPiece(self._thinking, remaining)] if remaining else []

    @property
    def _tag(self) -> str:
        return CLOSE if self._thinking else OPEN


def _tag_start_at_end(text: str, tag: str) -> int:
    """Returns how many characters at the end of the text may be the beginning of the tag."""
    return next((n for n in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:n])), 0)


_FORM = 100  # characters that the strict form adds to a call
_TAIL, _REPEATS = 240, 12
_AT_A_TIME = 16  # chunks
_PIECE = 4_096  # characters that are looked through before others get their turn


@mutable_value
class Reply:
    """The reply received so far. `shown` characters of the text have been published as deltas."""

    message_id: str
    text: str = ""
    reasoning: str = ""
    shown: int = 0
    usage: UsageChunk | None = None
    finish: str | None = None
    called: list[str] = field(default_factory=list)  # native calls

    @property
    def was_shown(self) -> bool:
        """Whether some of it has been published."""
        return bool(self.shown or self.reasoning)

    @property
    def has_begun(self) -> bool:
        """Whether the model has said something."""
        return bool(self.text or self.reasoning or self.called)

    @property
    def cut_off(self) -> bool:
        return self.finish == "length"


class ReplyStream:
    """Streams one reply of a model in one turn. Raises the provider's errors, and Runaway."""

    def __init__(self, *, journal: Journal, clock: Clock, chat_id: str, turn_id: str, message_id: str) -> None:
        self._journal = journal
        self._clock = clock
        self._chat_id = chat_id
        self._turn_id = turn_id
        self._splitter = ThinkSplitter()
        self._looked_at = 0
        self.reply = Reply(message_id)

    async def receive(self, provider: Provider, request: ModelRequest) -> Reply:
        chunks = 0
        async for chunk in provider.answer(request):
            match chunk:
                case TextChunk(text) | ReasoningChunk(text) if len(text) > LONGEST_REPLY:
                    raise RunawayReply(f"The reply was stopped at {LONGEST_REPLY} characters. Keep the answer short.")
                case TextChunk(text):
                    await self._append_text(text)
                case ReasoningChunk(text):
                    self._append([ThinkPiece(thinking=True, text=text)])
                case CallChunk(text):
                    self._append_call(text)
                case UsageChunk():
                    self.reply.usage = chunk
                case RetryChunk():
                    self._show_retry(chunk)
                case ReplyFinished(reason):
                    self.reply.finish = reason
                case _:
                    assert_never(chunk)
            chunks += 1
            if chunks % _AT_A_TIME == 0:
                await asyncio.sleep(0)  # a provider that never waits must not starve stop and the other chats
        if remaining := self._splitter.flush():
            self._append(remaining)
        return self.reply

    def show_rest(self) -> None:
        """Publishes the text that was held back, because the reply is an answer for a person."""
        self._publish(EventType.TEXT_DELTA, self.reply.shown, self.reply.text[self.reply.shown :])
        self.reply.shown = len(self.reply.text)

    def _show_retry(self, retry: RetryChunk) -> None:
        until = later(self._clock.now(), retry.seconds)
        self._journal.show_event(self._chat_id, event_factory.model_retry(self._turn_id, retry, until))

    def _append_call(self, text: str) -> None:
        self.reply.called.append(text)
        if sum(map(len, self.reply.called)) > LONGEST_REPLY + _FORM * len(self.reply.called):
            raise RunawayReply(f"The calls were stopped at {LONGEST_REPLY} characters. Make a shorter call.")

    async def _append_text(self, text: str) -> None:
        if 0 < len(text) < _PIECE:  # the usual case
            self._append(self._splitter.feed(text))
            return
        for piece in _in_pieces(text):
            self._append(self._splitter.feed(piece))
            if len(piece) == _PIECE:
                await asyncio.sleep(0)

    def _append(self, pieces: list[ThinkPiece]) -> None:
        reply, thought, said = self.reply, "", ""
        for piece in pieces:
            if piece.thinking:
                thought += piece.text
            else:
                said += piece.text
        if thought:
            self._publish(EventType.REASONING_DELTA, len(reply.reasoning), thought)
            reply.reasoning += thought
        reply.text += said
        safe = safe_to_show(reply.text, reply.shown)
        self._publish(EventType.TEXT_DELTA, reply.shown, reply.text[reply.shown : safe])
        reply.shown = max(reply.shown, safe)
        self._stop_if_running_away()

    def _publish(self, kind: EventType, offset: int, text: str) -> None:
        if text:
            self._journal.publish_delta(self._chat_id, self._turn_id, self.reply.message_id, kind, offset, text)

    def _stop_if_running_away(self) -> None:
        length = len(self.reply.text) + len(self.reply.reasoning)
        if length > LONGEST_REPLY:
            raise RunawayReply(f"The reply was stopped at {LONGEST_REPLY} characters. Keep the answer short.")
        if length - self._looked_at < _TAIL:
            return
        self._looked_at = length
        if repeats_itself(self.reply.text) or repeats_itself(self.reply.reasoning):
            raise RunawayReply(
                "The reply was stopped because it repeated itself. Keep the answer short, and say each thing once."
            )


def _in_pieces(text: str) -> Iterator[str]:
    """A provider may send a whole reply as one piece of text, and looking through it must not block the loop."""
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def repeats_itself(text: str) -> bool:
    """Whether the text ends with many repetitions of one passage of at most `_TAIL` characters that contains letters."""
    end = text[-_TAIL * _REPEATS :]
    if len(end) < _TAIL * _REPEATS:
        return False
    last = end[-_TAIL:]
    period = _TAIL - last.rfind(last[-40:], 0, _TAIL - 1) - 40
    if not 0 < period <= _TAIL - 40:
        period = _TAIL
    passage = end[-period:]
    return any(letter.isalpha() for letter in passage) and end.endswith(passage * (len(end) // period))
