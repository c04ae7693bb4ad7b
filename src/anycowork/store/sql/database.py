"""Assembles the parts of an open store, whatever database it is in, and closes it cleanly."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol  # Any: rows have no types

from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.store.sql import chats, idempotency, ledger
from anycowork.store.sql.audit_heads import AuditHeads
from anycowork.store.sql.blobs import Blobs
from anycowork.store.sql.change_writer import ChangeWriter, Notify
from anycowork.store.sql.chat_sequencer import ChatSequencer
from anycowork.store.sql.connection import SqlConnection, SqlReader, WriteConnection
from anycowork.store.sql.delta_buffer import DeltaBuffer
from anycowork.store.sql.idempotency import SqlIdempotency
from anycowork.store.sql.job_turns import JobTurns
from anycowork.store.sql.journal import SKIPPED_NUMBERS, SqlJournal
from anycowork.store.sql.ledger import SqlKeyLedger
from anycowork.store.sql.people import SqlPeople
from anycowork.store.sql.principals import SqlPrincipals
from anycowork.store.sql.rules import SqlRules
from anycowork.store.sql.snapshots import SqlRetention
from anycowork.store.sql.store import SqlStore
from anycowork.store.sql.system_prompts import SqlSystemPrompts
from anycowork.store.sql.turns import RunningTurnCache, task_states
from anycowork.store.sql.workspaces import SqlLeases, SqlWorkspaceRoots
from anycowork.store.sql.writer import Writer

if TYPE_CHECKING:
    from anycowork.store.postgres.forwarded_requests import ForwardedRequests
    from anycowork.store.postgres.layer_requests import LayerRequests
    from anycowork.store.postgres.peer_table import PeerTable


class ClosableReader(SqlReader, Protocol):
    def close(self) -> object: ...


class Peers(Protocol):
    """The other servers on the same database."""

    table: "PeerTable"
    requests: "ForwardedRequests"
    layers: "LayerRequests"
    away: asyncio.Event
    """Set while the database does not answer."""

    session_name: str
    """How the database lists the sessions of this process."""

    schema: str

    @property
    def server_id(self) -> str: ...
    @property
    def living(self) -> str:
        """SQL that selects the ids of the processes that live."""

    async def fetch(self, sql: str, *values: object) -> Sequence[Any]:
        """Run a statement in the session that holds the locks. Raises: StorageFault."""

    @property
    def held(self) -> frozenset[str]:
        """The chats of this server."""

    async def claim(self, chat_id: str) -> bool:
        """Take the chat for this server; False while another one has it. Raises: StorageFault."""

    async def release(self, chat_id: str) -> None: ...
    async def held_by_worker(self, chat_id: str) -> bool: ...
    def holds(self, chat_id: str) -> bool: ...
    async def lives(self, server_id: str) -> bool: ...
    async def keep(self, on_writes: Callable[["ForeignWrites"], None]) -> None:
        """Call `on_writes` with what others write, until it is cancelled. Raises: StorageFault if others take over what this process does."""

    def joined_lately(self) -> bool:
        """Whether this process connected again a moment ago, so that the others may still be about to."""

    async def aclose(self) -> None: ...


@value
class ForeignWrites:
    """Chats that another server wrote to; None if they are unknown, because the connection was lost for a while."""

    chat_ids: tuple[str, ...] | None
    list_changed: bool = True


@value
class Database:
    """An open store. `ended_cleanly` is False if the previous server was killed: then there may be turns to recover."""

    journal: SqlJournal
    store: SqlStore
    principals: SqlPrincipals
    people: SqlPeople
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
    peers: Peers | None
    """The other servers on this database; None if it has only one."""
    _clock: Clock
    _reader: ClosableReader
    _connection: WriteConnection
    abandon: Callable[[], None] = lambda: None
    """Ends what waits for a database that is silent. Nothing can be read or written afterwards."""

    def pack_folders(self, *, besides: str) -> list[tuple[str, str, str, str]]:
        """Returns the id, kind, host and folder of the packs of other processes. Blocking; not for the event loop. Raises: StorageFault."""
        return self._reader.read_now(_pack_folders, besides)

    async def aclose(self) -> None:
        """Makes everything durable and marks the database as cleanly closed. Raises: StorageFault; it is closed even then."""
        try:
            await self.journal.aclose()
            await self.ledger.aclose()
            if self.peers is None:
                await self.writer.run(partial(_mark_closed, at=self._clock.now()))
        finally:
            if self.peers is not None:
                await self.peers.aclose()
            self.writer.close()
            self._reader.close()
            self._connection.close()


def _pack_folders(connection: SqlConnection, besides: str) -> list[tuple[str, str, str, str]]:
    rows = connection.execute(
        "SELECT id, kind, host, folder FROM pack_folders WHERE id <> ? ORDER BY kind DESC, host, folder", (besides,)
    )
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def mark_open(connection: WriteConnection, at: str, *, alone: bool = True) -> bool:
    """Marks the database as open, and repairs what an unclean end left. Returns whether the last end was clean.

    Not `alone`: other servers use it, and what is unfinished may be theirs.
    """
    connection.begin()
    if not alone:
        connection.rollback()
        return True
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
    connection.commit()
    return clean


def _mark_closed(connection: SqlConnection, at: str) -> None:
    connection.execute("UPDATE house SET closed_at = ?", (at,))


def assemble(
    connection: WriteConnection,
    reader: ClosableReader,
    clock: Clock,
    publish: Callable[[Record], None],
    chats_changed: Callable[[], None],
    heads: AuditHeads,
    *,
    ended_cleanly: bool,
    peers: Peers | None = None,
    notify: Notify | None = None,
    abandon: Callable[[], None] = lambda: None,
) -> Database:
    """Builds the parts. `connection` belongs to the writer's thread from now on."""
    shared = peers is not None
    job_turns = JobTurns(task_states(connection))
    change_writer = ChangeWriter(heads.note, notify)
    writer = Writer(connection, undone=change_writer.forget, committed=heads.write)
    lines = ChatSequencer(lambda chat_id: reader.read_now(chats.next_seq, chat_id))
    pieces, running = DeltaBuffer(), RunningTurnCache()
    rules = SqlRules(reader, writer, clock, shared=shared)
    return Database(
        journal=SqlJournal(
            reader,
            writer,
            change_writer,
            lines,
            pieces,
            running,
            clock,
            publish,
            rules.changed,
            chats_changed,
            job_turns,
        ),
        store=SqlStore(reader, lines, pieces, running, heads),
        principals=SqlPrincipals(reader, writer, clock, shared=shared),
        people=SqlPeople(reader, writer, clock, heads.note, shared=shared),
        ledger=SqlKeyLedger(reader, writer, shared=shared),
        roots=SqlWorkspaceRoots(reader, writer, clock),
        rules=rules,
        system_prompts=SqlSystemPrompts(reader, writer, clock),
        leases=SqlLeases(reader, writer, clock),
        idempotency=SqlIdempotency(reader, writer, clock),
        blobs=Blobs(reader, writer),
        retention=SqlRetention(writer),
        writer=writer,
        ended_cleanly=ended_cleanly,
        peers=peers,
        _clock=clock,
        _reader=reader,
        _connection=connection,
        abandon=abandon,
    )
