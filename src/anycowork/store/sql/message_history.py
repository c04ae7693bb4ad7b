"""Reads the messages of a chat in chunks, so that other requests are served in between."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from functools import partial

from anycowork.domain.chats import Turn
from anycowork.domain.messages import Message, MessageType
from anycowork.domain.ports import MessagePage, RecentMessages
from anycowork.domain.values import value
from anycowork.store.sql import message_search, messages
from anycowork.store.sql.connection import SqlReader, Table, large_query, query
from anycowork.store.sql.held_rows import HeldRows, messages_of
from anycowork.store.sql.messages import Cursor, message_in
from anycowork.store.sql.records import RecordTable

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
    """Keeps tails of chats in the order in which they were read, and forgets the earliest one first."""

    def __init__(self) -> None:
        self._tails: dict[str, tuple[ChatTail, int]] = {}
        self.size = 0

    def of(self, chat_id: str) -> ChatTail | None:
        entry = self._tails.get(chat_id)
        return None if entry is None else entry[0]

    def keep(self, chat_id: str, tail: ChatTail) -> None:
        """Keeps the tail instead of an earlier one; of a large one only its newest part."""
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
    """Returns as much of the tail as may be kept, and its bytes."""
    size = _OVERHEAD
    for count, (_, length, _) in enumerate(tail.rows):
        if size + length + _OVERHEAD > MOST_BYTES_OF_A_CHAT:
            oldest = tail.rows[count - 1][0] if count else tail.newest + 1
            return ChatTail(tail.newest, tail.mark, oldest, tail.rows[:count]), size
        size += length + _OVERHEAD
    return tail, size


MOST_RECENT = 5_000  # messages of a long chat that a turn starts with
MOST_RECENT_BYTES = 16_000_000
_AT_A_TIME, _BYTES_AT_A_TIME = 100, 500_000
_BACK_AT_A_TIME = 50  # about half of the last ones are read in vain
_LENGTHS_AT_A_TIME = 500


class MessageTable(Table):
    """Reads messages. Lists are ascending."""

    find = query(messages.find)
    first = query(messages.first)
    search = large_query(message_search.search)

    def __init__(self, reader: SqlReader, records: RecordTable, held_rows: HeldRows) -> None:
        super().__init__(reader)
        self._records, self._tails, self._held_rows = records, ChatTails(), held_rows

    async def page(self, chat_id: str, *, after: Cursor = None, before: Cursor = None, limit: int) -> MessagePage:
        """Returns a page. A reader who then follows the events after its `last_seq` misses nothing. Raises: Invalid."""
        # In this order: a message that arrives between the two reads is on the page, and again in the stream.
        [last_seq] = await self._records.last_seqs([chat_id])
        return await self._reader.read(
            messages.page, chat_id, after=after, before=before, limit=limit, last_seq=last_seq
        )

    async def all(self, chat_id: str) -> list[Message]:
        """Returns every message of the chat."""
        return await self._messages(chat_id, await self._reader.read(messages.lengths, chat_id))

    async def pages(self, chat_id: str, *, up_to: int) -> AsyncIterator[list[Message]]:
        """Yields all messages up to this number, oldest first, in pages of bounded size."""
        seq = 0
        while lengths := await self._reader.read(messages.lengths_after, chat_id, seq, up_to=up_to, limit=_AT_A_TIME):
            for first, last in _chunks(lengths):
                yield await self._reader.read(messages.between, chat_id, first, last)
            seq = lengths[-1][0]

    async def since(self, chat_id: str, message_id: str) -> list[Message]:
        """Returns this message and all newer ones."""
        return await self._messages(chat_id, await self._reader.read(messages.lengths_since, chat_id, message_id))

    async def of_turn(self, turn: Turn) -> list[Message]:
        """Returns the turn's own messages from its first on; from memory if it has just begun in a chat that is held here."""
        return list(await self._held_rows.read(turn.chat_id, messages_of(turn.id), partial(self._of_turn, turn)))

    async def _of_turn(self, turn: Turn) -> list[Message]:
        since = await self.since(turn.chat_id, turn.message_id)
        return [message for message in since if message.turn_id == turn.id]

    async def recent(
        self, chat_id: str, *, since: str, until: Callable[[Message], bool] | None = None
    ) -> RecentMessages:
        """Returns recent messages outside tasks. Memory depends on the part that is shown, not on the length of the chat.

        Reads back to the first message for which `until` is true, or to the limits, but never less than to `since`.
        """
        messages_back: list[Message] = []  # newest first
        size = 0
        may_end = await self._reader.read(messages.number_of, chat_id, since) is None
        reading = _BackwardReading(self._reader, chat_id, await self._known_tail(chat_id))
        try:
            async with aclosing(reading.pages()) as pages:
                async for page in pages:
                    for _, length, message in page:
                        size += length
                        if (
                            may_end
                            and messages_back
                            and (len(messages_back) >= MOST_RECENT or size > MOST_RECENT_BYTES)
                        ):
                            return await self._end_of_chat(chat_id, messages_back)
                        messages_back.append(message)
                        may_end = may_end or message.id == since
                        if until is not None and until(message):
                            return await self._end_of_chat(chat_id, messages_back)
        finally:
            if (tail := reading.tail()) is not None:
                self._tails.keep(chat_id, tail)
        return RecentMessages(messages_back[::-1], complete=True)

    async def _known_tail(self, chat_id: str) -> ChatTail | None:
        """Returns what is kept of the chat, if its newest record is still there, unchanged."""
        tail = self._tails.of(chat_id)
        if tail is None or await self._reader.read(messages.hash_of, chat_id, tail.newest) == tail.mark:
            return tail
        return None

    async def _end_of_chat(self, chat_id: str, newest_first: Sequence[Message]) -> RecentMessages:
        (oldest,) = await self._reader.read(messages.first, chat_id, 1)
        if oldest.id == newest_first[-1].id:
            return RecentMessages(list(newest_first[::-1]), complete=True)
        return RecentMessages(_with_whole_calls(newest_first[::-1]), complete=False)

    async def _messages(self, chat_id: str, lengths: Sequence[tuple[int, int]]) -> list[Message]:
        """Reads in chunks, so that other requests are served in between."""
        read_messages: list[Message] = []
        for first, last in _chunks(lengths):
            if read_messages:
                await asyncio.sleep(0)
            read_messages += await self._reader.read(messages.between, chat_id, first, last)
        return read_messages


class _BackwardReading:
    """Reads the messages of a chat outside tasks, the newest first. What is in `known` is not read again."""

    def __init__(self, reader: SqlReader, chat_id: str, tail: ChatTail | None) -> None:
        self._reader = reader
        self._chat_id = chat_id
        self._known = tail
        self._newest = 0 if tail is None else tail.newest
        self._mark = None if tail is None else tail.mark
        self._oldest = 2**62
        self._rows: list[TailRow] = []

    async def pages(self) -> AsyncGenerator[Sequence[TailRow], None]:
        tail = self._known
        if tail is None:
            async for page in self._read(since=0, before=2**62):
                yield page
            return
        async for page in self._read(since=tail.newest + 1, before=2**62):
            yield page
        for page in tail.pages(_AT_A_TIME):
            await asyncio.sleep(0)
            yield self._take(page, oldest=page[-1][0])
        self._oldest = tail.oldest
        async for page in self._read(since=0, before=tail.oldest):
            yield page

    async def _read(self, *, since: int, before: int) -> AsyncIterator[Sequence[TailRow]]:
        while lengths := await self._reader.read(
            messages.lengths, self._chat_id, newest=_LENGTHS_AT_A_TIME, since=since, before=before
        ):
            if lengths[-1][0] > self._newest:  # the mark is read before the messages: it can only be older than they
                self._newest = lengths[-1][0]
                self._mark = await self._reader.read(messages.hash_of, self._chat_id, self._newest)
            for first, last in _chunks_back(lengths):
                await asyncio.sleep(0)
                bodies = await self._reader.read(messages.bodies_between, self._chat_id, first, last)
                rows = [(seq, len(body), message_in(self._chat_id, body)) for seq, body in reversed(bodies)]
                yield self._take([row for row in rows if row[2].task_id is None], oldest=first)
            before = lengths[0][0]

    def _take(self, rows: Sequence[TailRow], *, oldest: int) -> Sequence[TailRow]:
        self._rows += rows
        self._oldest = oldest
        return rows

    def tail(self) -> ChatTail | None:
        """Returns what was read, without a gap; None if that is nothing, or cannot be recognised later."""
        if self._mark is None or self._oldest > self._newest:
            return None
        return ChatTail(self._newest, self._mark, self._oldest, self._rows)


def _chunks(lengths: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields the first and last number of each chunk."""
    first, total = 0, 0
    for index, (_, length) in enumerate(lengths):
        if index > first and (index - first >= _AT_A_TIME or total + length > _BYTES_AT_A_TIME):
            yield lengths[first][0], lengths[index - 1][0]
            first, total = index, 0
        total += length
    if lengths:
        yield lengths[first][0], lengths[-1][0]


def _chunks_back(lengths: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields the first and last number of each chunk, the newest chunk first."""
    for end in range(len(lengths), 0, -_BACK_AT_A_TIME):
        yield from reversed(list(_chunks(lengths[max(0, end - _BACK_AT_A_TIME) : end])))


def _with_whole_calls(history: Sequence[Message]) -> list[Message]:
    """Drops results whose calls are too far back to be included."""
    call, result = MessageType.TOOL_CALL, MessageType.TOOL_RESULT
    call_ids = {_named(message, "id") for message in history if message.message_type is call}
    return [
        message
        for message in history
        if message.message_type is not result
        or _named(message, "tool_call_id") is None
        or _named(message, "tool_call_id") in call_ids
    ]


def _named(message: Message, key: str) -> object:
    return (message.payload or {}).get(key)
