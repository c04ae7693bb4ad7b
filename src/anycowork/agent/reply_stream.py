"""Hears one answer: streams it to the readers as it comes, thinking apart from words, and stops it when it runs away."""

import asyncio
from dataclasses import dataclass, field
from typing import assert_never

from anycowork.agent.reply_parser import safe_to_show
from anycowork.agent.think_splitter import ThinkPiece, ThinkSplitter
from anycowork.domain.errors import Runaway
from anycowork.domain.events import EventType
from anycowork.domain.model import (
    LONGEST_REPLY,
    CallChunk,
    Finished,
    ModelRequest,
    Provider,
    ReasoningChunk,
    TextChunk,
    UsageChunk,
)
from anycowork.domain.ports import Journal

_FORM = 100  # characters that the strict form adds to a call
_TAIL, _REPEATS = 240, 12
_AT_A_TIME = 16  # chunks


@dataclass(slots=True)
class Reply:
    """What has been heard so far. `shown` characters of the text have been published as deltas."""

    message_id: str
    text: str = ""
    reasoning: str = ""
    shown: int = 0
    usage: UsageChunk | None = None
    finish: str | None = None
    called: list[str] = field(default_factory=list)  # calls that came apart from the words

    @property
    def was_shown(self) -> bool:
        """Readers have seen some of it."""
        return bool(self.shown or self.reasoning)

    @property
    def cut_off(self) -> bool:
        return self.finish == "length"


class ReplyStream:
    """One answer of one model, in one turn. Raises what the provider raises, and Runaway."""

    def __init__(self, *, journal: Journal, chat_id: str, turn_id: str, message_id: str) -> None:
        self._journal = journal
        self._chat_id = chat_id
        self._turn_id = turn_id
        self._splitter = ThinkSplitter()
        self._looked_at = 0
        self.heard = Reply(message_id)

    async def hear(self, provider: Provider, request: ModelRequest) -> Reply:
        chunks = 0
        async for chunk in provider.answer(request):
            match chunk:
                case TextChunk(text) | ReasoningChunk(text) if len(text) > LONGEST_REPLY:
                    raise Runaway(f"The reply was stopped at {LONGEST_REPLY} characters. Answer shortly.")
                case TextChunk(text):
                    self._take(self._splitter.feed(text))
                case ReasoningChunk(text):
                    self._take([ThinkPiece(thinking=True, text=text)])
                case CallChunk(text):
                    self._take_call(text)
                case UsageChunk():
                    self.heard.usage = chunk
                case Finished(reason):
                    self.heard.finish = reason
                case _:
                    assert_never(chunk)
            chunks += 1
            if chunks % _AT_A_TIME == 0:
                await asyncio.sleep(0)  # a provider that never waits must not starve stop and the other chats
        if rest := self._splitter.flush():
            self._take(rest)
        return self.heard

    def show_rest(self) -> None:
        """The reply turned out to be words for a person: what was held back is shown too."""
        self._say(EventType.TEXT_DELTA, self.heard.shown, self.heard.text[self.heard.shown :])
        self.heard.shown = len(self.heard.text)

    def _take_call(self, text: str) -> None:
        self.heard.called.append(text)
        if sum(map(len, self.heard.called)) > LONGEST_REPLY + _FORM * len(self.heard.called):
            raise Runaway(f"The calls were stopped at {LONGEST_REPLY} characters. Make a shorter call.")

    def _take(self, pieces: list[ThinkPiece]) -> None:
        heard = self.heard
        if thought := "".join(piece.text for piece in pieces if piece.thinking):
            self._say(EventType.REASONING_DELTA, len(heard.reasoning), thought)
            heard.reasoning += thought
        heard.text += "".join(piece.text for piece in pieces if not piece.thinking)
        safe = safe_to_show(heard.text, heard.shown)
        self._say(EventType.TEXT_DELTA, heard.shown, heard.text[heard.shown : safe])
        heard.shown = max(heard.shown, safe)
        self._stop_if_running_away()

    def _say(self, kind: EventType, offset: int, text: str) -> None:
        if text:
            self._journal.say(self._chat_id, self._turn_id, self.heard.message_id, kind, offset, text)

    def _stop_if_running_away(self) -> None:
        length = len(self.heard.text) + len(self.heard.reasoning)
        if length > LONGEST_REPLY:
            raise Runaway(f"The reply was stopped at {LONGEST_REPLY} characters. Answer shortly.")
        if length - self._looked_at < _TAIL:
            return
        self._looked_at = length
        if repeats_itself(self.heard.text) or repeats_itself(self.heard.reasoning):
            raise Runaway("The reply was stopped because it repeated itself. Answer shortly, and say each thing once.")


def repeats_itself(text: str) -> bool:
    """The end of the text is one passage of at most `_TAIL` characters, with letters in it, said over and over."""
    end = text[-_TAIL * _REPEATS :]
    if len(end) < _TAIL * _REPEATS:
        return False
    last = end[-_TAIL:]
    period = _TAIL - last.rfind(last[-40:], 0, _TAIL - 1) - 40
    if not 0 < period <= _TAIL - 40:
        period = _TAIL
    passage = end[-period:]
    return any(letter.isalpha() for letter in passage) and end.endswith(passage * (len(end) // period))
