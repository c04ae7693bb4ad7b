"""The records table: one durable fact per row, ordered across all chats and within each."""

from collections.abc import Iterable, Sequence

from anycowork.domain.audit import link
from anycowork.domain.events import DELTAS, SIDEBAR, EventType, Record
from anycowork.domain.ports import UnfinishedText
from anycowork.store.sql import message_search, messages
from anycowork.store.sql.chat_sequencer import ChatSequencer
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.delta_buffer import DeltaBuffer
from anycowork.store.sql.envelopes import RecordRow
from anycowork.store.sql.row_mapper import from_json_text

_MESSAGE = EventType.MESSAGE.value


Row = tuple[int, str, int, str, str, bytes]
"""position, chat_id, seq, type, then `hash` of a record in the chain, or `message_id` of a piece outside it; body

Omitting a column costs nothing, while Python's SQLite binds a None more slowly than a text.
"""


def chained(entries: Sequence[RecordRow], *, positions: Sequence[int], chain: str) -> tuple[list[Row], str]:
    """Returns the rows with these positions, and the new end of the chain."""
    rows: list[Row] = []
    for row_position, entry in zip(positions, entries, strict=True):
        chain = link(chain, entry.body)
        rows.append((row_position, entry.chat_id, entry.seq, str(entry.type), chain, entry.body))
    return rows, chain


def pieces(entries: Sequence[RecordRow], *, positions: Sequence[int]) -> list[Row]:
    """Returns the rows of delta pieces. They are not part of the chain: they are deleted when their message is complete."""
    return [
        (row_position, entry.chat_id, entry.seq, str(entry.type), entry.message_id or "", entry.body)
        for row_position, entry in zip(positions, entries, strict=True)
    ]


def insert(connection: SqlConnection, rows: Sequence[Row]) -> None:
    """Inserts records of the chain, and indexes the messages among them."""
    connection.write_later(
        "INSERT INTO records (position, chat_id, seq, type, hash, body) VALUES (?, ?, ?, ?, ?, ?)", rows
    )
    message_search.index(connection, ((row[0], row[5]) for row in rows if row[3] == _MESSAGE))


def insert_pieces(connection: SqlConnection, rows: Sequence[Row]) -> None:
    connection.write_later(
        "INSERT INTO records (position, chat_id, seq, type, message_id, body) VALUES (?, ?, ?, ?, ?, ?)", rows
    )


def remove_of_chat(connection: SqlConnection, chat_id: str) -> None:
    [position] = connection.dialect.take_positions(connection, 1)
    connection.execute("UPDATE house SET last_position = ?", (position - 1,))
    for page in messages.recorded_pages(connection, chat_id):
        message_search.unindex(connection, page)
    connection.execute("DELETE FROM records WHERE chat_id = ?", (chat_id,))


def compact(connection: SqlConnection, chat_id: str, message_id: str) -> None:
    connection.write_later("DELETE FROM records WHERE chat_id = ? AND message_id = ?", [(chat_id, message_id)])


class RecordTable(Table):
    """Reads records, together with those of a chat that are not on disk yet. Belongs to the journal's event loop."""

    def __init__(self, reader: SqlReader, sequencer: ChatSequencer, buffer: DeltaBuffer) -> None:
        super().__init__(reader)
        self._sequencer, self._buffer = sequencer, buffer

    async def after(self, chat_id: str, seq: int, limit: int) -> list[Record]:
        """Returns records that readers have seen after this number, including text not yet on disk.

        A result shorter than `limit` is complete.
        """
        # What is only in memory is looked at before the read: meanwhile it may become durable, never the other way round.
        buffered, up_to = self._buffer.of(chat_id), self._sequencer.bound(chat_id)
        rows = await self._reader.read(_after, chat_id, seq, up_to=up_to, limit=limit)
        by_seq = {record.seq: record for record in rows}
        for piece in buffered:
            if piece.last.seq > seq and piece.last.seq not in by_seq:
                by_seq[piece.last.seq] = piece.record()
        return [by_seq[number] for number in sorted(by_seq)[:limit]]

    async def last_number(self, chat_id: str) -> int:
        """Returns the highest number under which an event of the chat was shown."""
        bound = self._sequencer.bound(chat_id)
        return await self._reader.read(next_seq, chat_id) - 1 if bound is None else bound

    async def last_seqs(self, chat_ids: Sequence[str]) -> list[int]:
        """Returns where a reader of each history must continue: the last number shown, but before any text whose message is still missing."""
        limits = [self._limits_in_memory(chat_id) for chat_id in chat_ids]  # before the read, as above
        ends = await self._reader.read(_ends, chat_ids)
        for chat_limits, (last, first_unfinished) in zip(limits, ends, strict=True):
            chat_limits += [last] if first_unfinished is None else [last, first_unfinished - 1]
        return list(map(min, limits))

    async def unfinished_text(self, chat_id: str, turn_id: str) -> list[UnfinishedText]:
        """Returns the shown text of messages that were not completed in this turn: after a crash, it is left to recover."""
        deltas = {piece.last.seq: piece.record() for piece in self._buffer.of(chat_id)}
        deltas |= {record.seq: record for record in await self._reader.read(_deltas, chat_id)}
        return _unfinished([deltas[seq] for seq in sorted(deltas)], turn_id)

    @query
    def sidebar_page(connection: SqlConnection, position: int, limit: int) -> tuple[list[Record], bool]:
        """Returns the next records of all chats, and whether newer ones wait for writers that have not ended."""
        settled = connection.dialect.settled_position(connection)
        rows = connection.execute(
            f"SELECT chat_id, seq, type, body, position FROM records WHERE position > ? AND type IN ({_SIDEBAR_MARKS}) ORDER BY position LIMIT ?",
            (position, *_SIDEBAR_TYPES, limit),
        )
        records = [Record(row[0], row[1], EventType(row[2]), row[3], row[4]) for row in rows]
        settled_records = records if settled is None else [record for record in records if record.position <= settled]
        return settled_records, len(settled_records) < len(records)

    @query
    def last_position(connection: SqlConnection) -> int:
        settled = connection.dialect.settled_position(connection)
        last = int(connection.execute("SELECT COALESCE(MAX(position), 0) FROM records").fetchone()[0])
        return last if settled is None else min(last, settled)

    def _limits_in_memory(self, chat_id: str) -> list[int]:
        bound = self._sequencer.bound(chat_id)
        return [*(() if bound is None else (bound,)), *(piece.first.seq - 1 for piece in self._buffer.of(chat_id))]


def next_seq(connection: SqlConnection, chat_id: str) -> int:
    row = connection.execute("SELECT next_seq FROM chats WHERE id = ?", (chat_id,)).fetchone()
    return 1 if row is None else int(row[0])


def _after(connection: SqlConnection, chat_id: str, seq: int, *, up_to: int | None, limit: int) -> list[Record]:
    rows = connection.execute(
        "SELECT seq, type, body, position FROM records WHERE chat_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (chat_id, seq, _NO_END if up_to is None else up_to, limit),
    )
    return [Record(chat_id, row[0], EventType(row[1]), row[2], row[3]) for row in rows]


_NO_END = 2**62
_SIDEBAR_TYPES = sorted(type_.value for type_ in SIDEBAR)
_SIDEBAR_MARKS = ", ".join("?" for _ in _SIDEBAR_TYPES)


def _ends(connection: SqlConnection, chat_ids: Sequence[str]) -> list[tuple[int, int | None]]:
    """Returns the number of each chat's last record, and of the first delta whose message is still missing."""
    if not chat_ids:
        return []
    marks = ", ".join("?" for _ in chat_ids)
    rows = connection.execute(
        "SELECT id, (SELECT MAX(seq) FROM records WHERE chat_id = chats.id),"
        " (SELECT MIN(+seq) FROM records WHERE chat_id = chats.id AND message_id IS NOT NULL)"
        f" FROM chats WHERE id IN ({marks})",
        tuple(chat_ids),
    )
    ends_by_chat = {row[0]: (row[1] or 0, row[2]) for row in rows}
    return [ends_by_chat.get(chat_id, (0, None)) for chat_id in chat_ids]


def _deltas(connection: SqlConnection, chat_id: str) -> list[Record]:
    rows = connection.execute(
        "SELECT seq, type, body, position FROM records WHERE chat_id = ? AND message_id IS NOT NULL ORDER BY seq",
        (chat_id,),
    )
    return [Record(chat_id, row[0], EventType(row[1]), row[2], row[3]) for row in rows]


def _unfinished(deltas_of_chat: Iterable[Record], turn_id: str) -> list[UnfinishedText]:
    """Joins the pieces of this turn into texts; an offset gives the place of each piece."""
    texts: dict[tuple[str, EventType], str] = {}
    for record in deltas_of_chat:
        assert record.type in DELTAS
        body = from_json_text(record.body)
        offset, text = body["offset"], body["text"]
        if body["turn_id"] == turn_id and isinstance(offset, int) and isinstance(text, str):
            key = (str(body["message_id"]), record.type)
            texts[key] = texts.get(key, "")[:offset] + text
    return [UnfinishedText(message_id, kind, text) for (message_id, kind), text in texts.items()]
