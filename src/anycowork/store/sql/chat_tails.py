"""Keeps the newest messages of chats as they were read, because each turn of a chat reads them again. Bounded.

A record is never changed, and its hash covers all records of its chat before it. So what is kept holds as long as the newest
record that was read is still in the database with the same hash, whichever server wrote to the chat since.
"""

from collections.abc import Iterator, Sequence

from anycowork.domain.messages import Message
from anycowork.domain.values import value

MOST_BYTES = 16_000_000  # of all tails: their records, and `_OVERHEAD` for each
MOST_BYTES_OF_A_CHAT = 4_000_000
_OVERHEAD = 1_000  # bytes that a message takes beside its text

TailRow = tuple[int, int, Message]
"""Number of a record, its bytes, and its message."""


@value
class ChatTail:
    """The messages outside tasks from the record `oldest` to `newest`, newest first. `mark` is the hash of `newest`."""

    newest: int
    mark: str
    oldest: int
    rows: Sequence[TailRow]

    def pages(self, length: int) -> Iterator[Sequence[TailRow]]:
        for start in range(0, len(self.rows), length):
            yield self.rows[start : start + length]


class ChatTails:
    """The chat that was read last comes last; the first is forgotten first."""

    def __init__(self) -> None:
        self._tails: dict[str, tuple[ChatTail, int]] = {}
        self.size = 0

    def of(self, chat_id: str) -> ChatTail | None:
        entry = self._tails.get(chat_id)
        return None if entry is None else entry[0]

    def keep(self, chat_id: str, tail: ChatTail) -> None:
        """Keep the tail instead of an earlier one; of a large one only its newest part."""
        self.forget(chat_id)
        shortened, size = _shortened(tail)
        self._tails[chat_id] = shortened, size
        self.size += size
        while self.size > MOST_BYTES:
            self.forget(next(iter(self._tails)))

    def forget(self, chat_id: str) -> None:
        _, size = self._tails.pop(chat_id, (None, 0))
        self.size -= size


def _shortened(tail: ChatTail) -> tuple[ChatTail, int]:
    """Return as much of the tail as may be kept, and its bytes."""
    size = _OVERHEAD
    for count, (_, length, _) in enumerate(tail.rows):
        if size + length + _OVERHEAD > MOST_BYTES_OF_A_CHAT:
            oldest = tail.rows[count - 1][0] if count else tail.newest + 1
            return ChatTail(tail.newest, tail.mark, oldest, tail.rows[:count]), size
        size += length + _OVERHEAD
    return tail, size
