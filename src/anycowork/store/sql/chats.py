"""The chats table: configuration, state, the next sequence number and the end of the audit chain."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial

from anycowork.domain.chats import Chat, ChatConfig, ChatState
from anycowork.domain.errors import Conflict, Invalid
from anycowork.domain.journal import AddChat, RequireState, SetChat
from anycowork.domain.values import leaf_value
from anycowork.domain.visibility import Viewer
from anycowork.store.sql import calls, messages, records, usage
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table
from anycowork.store.sql.held_rows import CHAT, HeldRows
from anycowork.store.sql.records import RecordTable
from anycowork.store.sql.row_mapper import (
    BOOLEAN,
    JSON_OBJECT,
    ColumnType,
    RowMapper,
    enum_of,
    from_json_text,
    to_json_text,
)
from anycowork.store.sql.turns import RunningTurnCache
from anycowork.store.sql.visibility import values_of, visible_to

_UNINDEXED = "COALESCE(updated_at, '')"


@lru_cache(maxsize=256)
def _config_in(config: str) -> ChatConfig:
    """Cached: read with every chat and before every call, nearly always for the same few configurations."""
    return ChatConfig.from_stored(from_json_text(config))


_ROWS = RowMapper(
    Chat,
    "id, title, workspace, config, state, extra, created_at, updated_at, pinned, archived, visibility, owner",
    types={
        "config": ColumnType(None, _config_in),
        "state": enum_of(ChatState),
        "extra": JSON_OBJECT,
        "pinned": BOOLEAN,
        "archived": BOOLEAN,
    },
)


class ChatTable(Table):
    """Reads chats and their configurations."""

    def __init__(self, reader: SqlReader, records: RecordTable, running: RunningTurnCache, held_rows: HeldRows) -> None:
        super().__init__(reader)
        self._records, self._running, self._held_rows = records, running, held_rows

    async def find(self, chat_id: str) -> Chat | None:
        [last_seq] = await self._records.last_seqs([chat_id])
        chat = await self.find_row(chat_id)
        return None if chat is None else replace(chat, last_seq=last_seq)

    async def find_row(self, chat_id: str) -> Chat | None:
        """Returns the chat without its `last_seq`; from memory while it is held here."""
        return await self._held_rows.read(chat_id, CHAT, partial(self._reader.read, stored_chat, chat_id))

    async def config_of(self, chat_id: str) -> ChatConfig | None:
        """Returns the chat's current config, with its role and autonomy."""
        if self._held_rows.holds(chat_id):
            chat = await self.find_row(chat_id)
            return None if chat is None else chat.config
        config = self._running.config_of(chat_id)
        if config is None and (config := await self._reader.read(_config_of, chat_id)) is not None:
            self._running.remember_config(chat_id, config)
        return config

    async def chain(self, chat_id: str) -> str | None:
        """Returns the end of the chat's chain, which every record moves; None if the chat does not exist."""
        return await self._reader.read(chain, chat_id)

    async def page(
        self,
        *,
        limit: int,
        cursor: str | None = None,
        q: str | None = None,
        states: Collection[ChatState] = (),
        pinned: bool | None = None,
        archived: bool | None = None,
        viewer: Viewer | None = None,
    ) -> tuple[list[Chat], str | None]:
        """Returns the most recently updated first, and the cursor for the page beyond. Raises: Invalid for a cursor that is none.

        `q` is searched in the titles, ignoring case; `states` limits the result to these states; `pinned` and `archived` to
        chats that are so, or are not; `viewer` to what that person may see.
        """
        page, further = await self._reader.read(_page, limit, cursor, q, states, pinned, archived, viewer)
        lasts = await self._records.last_seqs([chat.id for chat in page])
        return [replace(chat, last_seq=last) for chat, last in zip(page, lasts, strict=True)], further


def add(connection: SqlConnection, write: AddChat, *, import_hash: str | None = None) -> None:
    chat = write.chat
    connection.execute(
        "INSERT INTO chats (id, title, title_folded, workspace, config, state, next_seq, extra, import_hash, created_by, created_at, updated_at,"
        " visibility, owner) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?)",
        (
            chat.id,
            chat.title,
            chat.title.casefold(),
            chat.workspace,
            to_json_text(chat.config.to_json()),
            chat.state.value,
            to_json_text(chat.extra),
            import_hash,
            write.principal,
            chat.created_at,
            chat.updated_at or chat.created_at,
            chat.visibility,
            chat.owner,
        ),
    )


def set_fields(connection: SqlConnection, chat_id: str, write: SetChat) -> None:
    """Rewrites the whole row, so that a configuration read with defaults is saved with them."""
    chat = stored_chat(connection, chat_id)
    if chat is None:  # the change as a whole is refused for that
        return
    config = chat.config
    if write.config is not None:
        config = replace(write.config, extra={**chat.config.extra, **write.config.extra})
    changed = replace(
        chat,
        state=write.state or chat.state,
        config=replace(config, model_id=config.model_id or write.first_model),
        title=chat.title if write.title is None else write.title,
        pinned=chat.pinned if write.pinned is None else write.pinned,
        archived=chat.archived if write.archived is None else write.archived,
        visibility=write.visibility or chat.visibility,
    )
    connection.execute(
        "UPDATE chats SET title = ?, title_folded = ?, config = ?, state = ?, pinned = ?, archived = ?, visibility = ? WHERE id = ?",
        (
            changed.title,
            changed.title.casefold(),
            to_json_text(changed.config.to_json()),
            changed.state.value,
            int(changed.pinned),
            int(changed.archived),
            changed.visibility,
            chat_id,
        ),
    )


_ROWS_OF_A_CHAT = (
    "turns",
    "approvals",
    "questions",
    "plans",
    "rules",
    "usage",
    "snapshots",
    "workflow_runs",
    "tasks",
    "jobs",
    "queued_messages",
    "receipts",
)


def remove(connection: SqlConnection, chat_id: str) -> None:
    hashes = messages.remove_of_chat(connection, chat_id)
    records.remove_of_chat(connection, chat_id)
    calls.remove_of_chat(connection, chat_id)
    usage.keep_of_removed_chat(connection, chat_id)
    for table in _ROWS_OF_A_CHAT:
        connection.execute(f"DELETE FROM {table} WHERE chat_id = ?", (chat_id,))
    connection.execute("DELETE FROM chats WHERE id = ?", (chat_id,))
    for hash_ in hashes:
        messages.remove_unnamed_image(connection, hash_)


def require_state(connection: SqlConnection, chat_id: str, write: RequireState, *, new_state: ChatState | None) -> None:
    """`new_state` is the one that the transaction gives the chat and has not written yet."""
    if new_state is None:
        row = connection.execute("SELECT state FROM chats WHERE id = ?", (chat_id,)).fetchone()
        new_state = None if row is None else ChatState(row[0])
    if new_state is not None and new_state not in write.states:
        raise write.error


def chain(connection: SqlConnection, chat_id: str) -> str | None:
    """Returns the end of the chat's chain; None if the chat does not exist."""
    row = connection.execute("SELECT chain FROM chats WHERE id = ?", (chat_id,)).fetchone()
    return None if row is None else str(row[0])


@leaf_value
class ChatEnd:
    """A chat's new next number and chain end, and the chain end it had before. With `at` None, `updated_at` stays."""

    next_seq: int
    chain: str
    updated_at: str | None
    chat_id: str
    before: str


def advance_locked(connection: SqlConnection, ends: Collection[ChatEnd], states: Mapping[str, ChatState]) -> None:
    """Stores the new ends and states of chats whose rows this transaction has locked: each chain ends where it was read to end."""
    statement = (
        "UPDATE chats SET next_seq = ?, chain = ?, updated_at = COALESCE(CAST(? AS TEXT), updated_at),"
        " state = COALESCE(CAST(? AS TEXT), state) WHERE id = ?"
    )
    connection.write_later(
        statement, [(end.next_seq, end.chain, end.updated_at, states.get(end.chat_id), end.chat_id) for end in ends]
    )


def advance(connection: SqlConnection, ends: Collection[ChatEnd]) -> None:
    """Stores the new ends. Raises: Conflict if a chain ends elsewhere than expected, or a chat was deleted."""
    moved = [
        (end.next_seq, end.chain, end.updated_at, end.chat_id, end.before) for end in ends if end.updated_at is not None
    ]
    still = [(end.next_seq, end.chain, end.chat_id, end.before) for end in ends if end.updated_at is None]
    advanced = 0
    if moved:
        statement = "UPDATE chats SET next_seq = ?, chain = ?, updated_at = ? WHERE id = ? AND chain = ?"
        advanced += connection.executemany(statement, moved).rowcount
    if still:
        statement = "UPDATE chats SET next_seq = ?, chain = ? WHERE id = ? AND chain = ?"  # no index holds these
        advanced += connection.executemany(statement, still).rowcount
    if advanced != len(ends):
        raise Conflict("A chat was changed by another program while this was written. Try again.")


def advance_locked_numbers(connection: SqlConnection, next_seqs: Iterable[tuple[str, int]]) -> None:
    """Stores the next free numbers of chats whose rows this transaction has locked."""
    connection.write_later(_ADVANCE_NUMBERS, [(next_seq, chat_id) for chat_id, next_seq in next_seqs])


def advance_numbers(connection: SqlConnection, chat_id: str, next_seq: int) -> bool:
    """Returns False if the chat does not exist."""
    return connection.execute(_ADVANCE_NUMBERS, (next_seq, chat_id)).rowcount == 1


_ADVANCE_NUMBERS = "UPDATE chats SET next_seq = CASE WHEN next_seq > ?1 THEN next_seq ELSE ?1 END WHERE id = ?2"


def skip_numbers(connection: SqlConnection, count: int) -> None:
    """Skips numbers in chats that may have shown some that never reached the disk."""
    connection.execute("UPDATE chats SET next_seq = next_seq + ? WHERE state <> 'idle'", (count,))


def skip_numbers_of(connection: SqlConnection, chat_id: str, count: int) -> None:
    """Skips numbers in a chat that a server was at work in when it died."""
    statement = "UPDATE chats SET next_seq = next_seq + ? WHERE id = ? AND state = 'running'"
    connection.execute(statement, (count, chat_id))


def stored_chat(connection: SqlConnection, chat_id: str) -> Chat | None:
    row = connection.execute(f"SELECT {_ROWS.columns} FROM chats WHERE id = ?", (chat_id,)).fetchone()
    return None if row is None else _ROWS.value(row)


def _config_of(connection: SqlConnection, chat_id: str) -> ChatConfig | None:
    row = connection.execute("SELECT config FROM chats WHERE id = ?", (chat_id,)).fetchone()
    return None if row is None else _config_in(row[0])


def imported(connection: SqlConnection, import_hash: str) -> bool:
    return connection.execute("SELECT id FROM chats WHERE import_hash = ?", (import_hash,)).fetchone() is not None


def _page(
    connection: SqlConnection,
    limit: int,
    cursor: str | None,
    q: str | None,
    states: Collection[ChatState],
    pinned: bool | None,
    archived: bool | None,
    viewer: Viewer | None,
) -> tuple[list[Chat], str | None]:
    clauses, values, order = ["1 = 1"], list[str | int](), "updated_at"
    if viewer is not None:
        clauses.append(visible_to(viewer))
        values += values_of(viewer)
    if cursor is not None:
        clauses.append("(updated_at, id) < (?, ?)")
        values += _read_cursor(cursor)
    if q:
        clauses.append("title_folded LIKE ? ESCAPE '\\'")
        values.append(f"%{_escaped(q.casefold())}%")
    if states:
        clauses.append(f"state IN ({', '.join('?' for _ in states)})")
        values += [state.value for state in states]
        order = _UNINDEXED  # few match among many: one table scan is seven times as fast as the index
    for column, flag in (("pinned", pinned), ("archived", archived)):
        if flag is not None:
            clauses.append(f"{column} = ?")
            values.append(int(flag))
    if pinned or archived:
        order = _UNINDEXED
    rows = connection.execute(
        f"SELECT {_ROWS.columns} FROM chats WHERE {' AND '.join(clauses)} ORDER BY {order} DESC, id DESC LIMIT ?",
        (*values, limit + 1),
    ).fetchall()
    chats = [_ROWS.value(row) for row in rows[:limit]]
    return chats, f"{chats[-1].updated_at}~{chats[-1].id}" if len(rows) > limit else None


def _read_cursor(cursor: str) -> tuple[str, str]:
    updated_at, mark, chat_id = cursor.partition("~")
    if not mark:
        raise Invalid(f"'{cursor}' is not a cursor. Send the 'next' value of the previous page.", param="cursor")
    return updated_at, chat_id


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
