"""Limits what a remote server answers, before any of it is decoded or parsed: by size, and by the number of values in it. Pure.

Parsing happens on the event loop, so an answer that takes long to parse holds up everybody.
"""

from collections.abc import Iterable
from typing import Protocol

from anycowork.providers.http.sse import EventTooLarge, SseReader

LARGEST_ANSWER = 4_000_000  # bytes of one event, and of any other answer
MOST_VALUES = 40_000  # objects, lists and their members; the text inside strings does not count
_TOO_LARGE = f"the answer has more than {LARGEST_ANSWER:,} bytes"


class AnswerRefused(ValueError):
    """The answer is not passed on. The text says why."""


class AnswerLimit(Protocol):
    """Takes an answer piece by piece. Both methods return what may be passed on now. Raises: AnswerRefused."""

    def checked(self, piece: bytes) -> bytes: ...
    def rest(self) -> bytes: ...


def answer_limit(content_type: str) -> AnswerLimit:
    """An event stream is limited event by event, everything else as a whole."""
    kind = content_type.partition(";")[0].strip().lower()
    return EventStreamLimit() if kind == "text/event-stream" else WholeAnswerLimit()


class EventStreamLimit:
    """Passes on each piece once the events that it completes were checked."""

    def __init__(self) -> None:
        self._reader = SseReader(LARGEST_ANSWER)

    def checked(self, piece: bytes) -> bytes:
        try:
            events = self._reader.feed(piece)
        except EventTooLarge:
            raise AnswerRefused(_TOO_LARGE) from None
        _require_few_values(events)
        return piece

    def rest(self) -> bytes:
        """Some readers take what the stream left unfinished for an event."""
        _require_few_values(self._reader.close())
        return b""


class WholeAnswerLimit:
    """Holds the answer back until all of it is there."""

    def __init__(self) -> None:
        self._held = bytearray()

    def checked(self, piece: bytes) -> bytes:
        if len(self._held) + len(piece) > LARGEST_ANSWER:
            raise AnswerRefused(_TOO_LARGE)
        self._held += piece
        return b""

    def rest(self) -> bytes:
        answer = bytes(self._held)
        _require_few_values([answer])
        return answer


def _require_few_values(messages: Iterable[bytes]) -> None:
    if any(map(has_too_many_values, messages)):
        raise AnswerRefused("a message has too many values")


def has_too_many_values(line: bytes) -> bool:
    """Tells whether the JSON in this line has more values than one message may have. Takes a small part of the time of parsing it."""
    if line.count(b",") + line.count(b"[") + line.count(b"{") <= MOST_VALUES:
        return False
    plain = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 8 * MOST_VALUES:
        return True
    outside = b"".join(plain.split(b'"')[::2])
    return outside.count(b",") + outside.count(b"[") + outside.count(b"{") > MOST_VALUES
