"""Opens a database, assembles the parts of the store, and closes it cleanly."""

import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from anycowork.domain.errors import DatabaseDamaged, StorageFault
from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.store.sql import chats, idempotency, ledger, turns
from anycowork.store.sql.audit_heads import AuditHeads, heads_path
from anycowork.store.sql.blobs import Blobs
from anycowork.store.sql.change_writer import ChangeWriter
from anycowork.store.sql.chat_sequencer import ChatSequencer
from anycowork.store.sql.delta_buffer import DeltaBuffer
from anycowork.store.sql.idempotency import SqlIdempotency
from anycowork.store.sql.job_turns import JobTurns
from anycowork.store.sql.journal import SqlJournal
from anycowork.store.sql.ledger import SqlKeyLedger
from anycowork.store.sql.principals import SqlPrincipals
from anycowork.store.sql.rules import SqlRules
from anycowork.store.sql.snapshots import SqlRetention
from anycowork.store.sql.store import SqlStore
from anycowork.store.sql.system_prompts import SqlSystemPrompts
from anycowork.store.sql.turns import Running
from anycowork.store.sql.workspaces import SqlLeases, SqlWorkspaceRoots
from anycowork.store.sql.writer import Writer
from anycowork.store.sqlite.compaction import compact
from anycowork.store.sqlite.connection import BUSY_SECONDS, connect_to_read, connect_to_write, create_file, is_damaged
from anycowork.store.sqlite.schema import migrate

# More deltas than can have been shown but not made durable just before a crash.
SKIPPED_NUMBERS = 100_000


@value
class Database:
    """An open store. `ended_cleanly` is False if the previous server was killed: then there may be turns to recover."""

    journal: SqlJournal
    store: SqlStore
    principals: SqlPrincipals
    ledger: SqlKeyLedger
    roots: SqlWorkspaceRoots
    rules: SqlRules
    system_prompts: SqlSystemPrompts
    leases: SqlLeases
    idempotency: SqlIdempotency
    blobs: Blobs
    retention: SqlRetention
    writer: Writer
    ended_cleanly: bool
    _clock: Clock
    _reader: sqlite3.Connection
    _connection: sqlite3.Connection

    async def aclose(self) -> None:
        """Makes everything durable and marks the database as cleanly closed. Raises: StorageFault; it is closed even then."""
        try:
            await self.journal.aclose()
            await self.ledger.aclose()
            await self.writer.run(partial(_mark_closed, at=self._clock.now()))
        finally:
            self.writer.close()
            self._reader.close()
            self._connection.close()


def open_store(
    path: Path,
    clock: Clock,
    publish: Callable[[Record], None],
    chats_changed: Callable[[], None] = lambda: None,
    *,
    busy_seconds: float = BUSY_SECONDS,
) -> Database:
    """Opens the database. Raises: StorageFault if it cannot be opened, or belongs to a newer release."""
    create_file(path)
    try:
        migrate(path)
        with ExitStack() as undo:
            connection = undo.enter_context(closing(connect_to_write(path, busy_seconds=busy_seconds)))
            ended_cleanly = _mark_open(connection, clock.now())
            compact(connection, path)
            reader = undo.enter_context(closing(connect_to_read(path, busy_seconds=busy_seconds)))
            undo.pop_all()  # opened: from now on the Database closes them
    except sqlite3.Error as error:
        if is_damaged(error):
            raise DatabaseDamaged(
                f"The database '{path}' is damaged or not a database ({error}). Replace it with a backup, or move it away to start with an empty one."
            ) from error
        raise StorageFault(
            f"The database '{path}' cannot be opened ({error}). Check that it belongs to AnyCowork and that no other program locks it."
        ) from error
    heads = AuditHeads(heads_path(path), connection, clock)
    return _assemble(connection, reader, clock, publish, chats_changed, heads, ended_cleanly=ended_cleanly)


def _mark_open(connection: sqlite3.Connection, at: str) -> bool:
    """Marks the database as open, and repairs what an unclean end left."""
    connection.execute("BEGIN IMMEDIATE")
    row = connection.execute("SELECT closed_at FROM house").fetchone()
    clean = row is None or row[0] is not None
    if not clean:
        chats.skip_numbers(connection, SKIPPED_NUMBERS)
    idempotency.mark_interrupted(connection)
    ledger.settle_reservations(connection)
    connection.execute(
        "INSERT INTO house (opened_at) VALUES (?) ON CONFLICT (tenant_id) DO UPDATE SET opened_at = excluded.opened_at, closed_at = NULL",
        (at,),
    )
    connection.execute("COMMIT")
    return clean


def _mark_closed(connection: sqlite3.Connection, at: str) -> None:
    connection.execute("UPDATE house SET closed_at = ?", (at,))


def _assemble(
    connection: sqlite3.Connection,
    reader: sqlite3.Connection,
    clock: Clock,
    publish: Callable[[Record], None],
    chats_changed: Callable[[], None],
    heads: AuditHeads,
    *,
    ended_cleanly: bool,
) -> Database:
    change_writer = ChangeWriter(heads.note)
    writer = Writer(connection, undone=change_writer.forget, committed=heads.write)
    lines = ChatSequencer(partial(chats.next_seq, reader))
    pieces, running = DeltaBuffer(), Running()
    rules = SqlRules(reader, writer, clock)
    return Database(
        journal=SqlJournal(
            writer,
            change_writer,
            lines,
            pieces,
            running,
            clock,
            publish,
            rules.changed,
            chats_changed,
            JobTurns(turns.task_states(reader)),
        ),
        store=SqlStore(reader, lines, pieces, running, heads),
        principals=SqlPrincipals(reader, writer, clock),
        ledger=SqlKeyLedger(reader, writer),
        roots=SqlWorkspaceRoots(reader, writer, clock),
        rules=rules,
        system_prompts=SqlSystemPrompts(reader, writer, clock),
        leases=SqlLeases(writer, clock),
        idempotency=SqlIdempotency(reader, writer, clock),
        blobs=Blobs(reader, writer),
        retention=SqlRetention(writer),
        writer=writer,
        ended_cleanly=ended_cleanly,
        _clock=clock,
        _reader=reader,
        _connection=connection,
    )
