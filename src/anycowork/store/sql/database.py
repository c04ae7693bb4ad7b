"""Assembles the parts of an open store, whatever database it is in, and closes it cleanly."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol  # Any: rows have no types

from anycowork.domain.events import Record
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.store.sql import chats, idempotency, ledger, records
from anycowork.store.sql.audit import AuditHeads
from anycowork.store.sql.blobs import Blobs
from anycowork.store.sql.change_writer import ChangeWriter, SharedChats
from anycowork.store.sql.chat_sequencer import ChatSequencer
from anycowork.store.sql.connection import SqlConnection, SqlReader, WriteConnection
from anycowork.store.sql.delta_buffer import DeltaBuffer
from anycowork.store.sql.held_rows import HeldRows
from anycowork.store.sql.idempotency import IdempotencyKeys
from anycowork.store.sql.joined_workers import JoinedWorkerTable
from anycowork.store.sql.journal import SKIPPED_NUMBERS, Journal
from anycowork.store.sql.ledger import KeyLedger
from anycowork.store.sql.limits import LimitTable, SpendingLimits
from anycowork.store.sql.notifications import NotificationTable
from anycowork.store.sql.people import People
from anycowork.store.sql.principals import ClientKeys
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.schedules import Schedules
from anycowork.store.sql.snapshots import Retention
from anycowork.store.sql.store import Store
from anycowork.store.sql.system_prompts import SystemPrompts
from anycowork.store.sql.turns import JobTurns, RunningTurnCache, task_states
from anycowork.store.sql.waits import WaitTable
from anycowork.store.sql.workspaces import Leases, RegisteredRoots
from anycowork.store.sql.writer import Writer

if TYPE_CHECKING:
    from anycowork.store.postgres.peers import PostgresPeers


class ClosableReader(SqlReader, Protocol):
    def close(self) -> object: ...


@value
class ForeignWrites:
    """Chats that another server wrote to; None if they are unknown, because the connection was lost for a while."""

    chat_ids: tuple[str, ...] | None
    list_changed: bool = True


@value
class Database:
    """An open store. `ended_cleanly` is False if the previous server was killed: then there may be turns to recover."""

    journal: Journal
    store: Store
    principals: ClientKeys
    people: People
    limits: LimitTable
    ledger: KeyLedger
    roots: RegisteredRoots
    rules: Rules
    schedules: Schedules
    notifications: NotificationTable
    waits: WaitTable
    system_prompts: SystemPrompts
    leases: Leases
    joined_workers: JoinedWorkerTable
    idempotency: IdempotencyKeys
    blobs: Blobs
    retention: Retention
    writer: Writer
    ended_cleanly: bool
    peers: "PostgresPeers | None"
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
                await self.writer.run(partial(_mark_closed, closed_at=self._clock.now()))
            else:
                await self.writer.run(lambda connection: None, exclusive=False)  # by then, `peers` knows of every write
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


def mark_open(connection: WriteConnection, opened_at: str, *, alone: bool = True) -> bool:
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
        (opened_at,),
    )
    connection.commit()
    return clean


def _mark_closed(connection: SqlConnection, closed_at: str) -> None:
    connection.execute("UPDATE house SET closed_at = ?", (closed_at,))


def assemble(
    connection: WriteConnection,
    reader: ClosableReader,
    clock: Clock,
    publish: Callable[[Record], None],
    chats_changed: Callable[[], None],
    heads: AuditHeads,
    *,
    ended_cleanly: bool,
    peers: "PostgresPeers | None" = None,
    shared_chats: SharedChats | None = None,
    announce: Callable[[WriteConnection], None] = lambda connection: None,
    abandon: Callable[[], None] = lambda: None,
) -> Database:
    """Builds the parts. `connection` belongs to the writer's thread from now on."""
    shared = peers is not None
    job_turns = JobTurns(task_states(connection))
    held_limits = SpendingLimits(clock, shared=shared)
    change_writer = ChangeWriter(heads.note, shared_chats, held_limits)

    def undone() -> None:
        change_writer.forget()
        held_limits.forget()
        heads.forget_ends()

    writer = Writer(connection, undone=undone, committed=heads.write, settled=partial(announce, connection))
    sequencer = ChatSequencer(lambda chat_id: reader.read_now(records.next_seq, chat_id))
    pieces, running = DeltaBuffer(), RunningTurnCache()
    held_rows = HeldRows() if peers is None else HeldRows(peers.holding)

    def note_people(chain: str) -> None:
        heads.note(chain)
        held_limits.forget()  # people may be in other groups now

    rules = Rules(reader, writer, clock, shared=shared)
    return Database(
        journal=Journal(
            reader,
            writer,
            change_writer,
            sequencer,
            pieces,
            running,
            held_rows,
            clock,
            publish,
            rules.changed,
            chats_changed,
            job_turns,
        ),
        store=Store(reader, sequencer, pieces, running, held_rows, heads, lambda: None if shared else writer.changes),
        principals=ClientKeys(reader, writer, clock, shared=shared),
        people=People(reader, writer, clock, note_people, shared=shared),
        limits=LimitTable(reader, writer, clock, held_limits, note_people),
        ledger=KeyLedger(reader, writer, shared=shared),
        roots=RegisteredRoots(reader, writer, clock),
        rules=rules,
        schedules=Schedules(reader, writer),
        notifications=NotificationTable(reader, writer),
        waits=WaitTable(reader),
        system_prompts=SystemPrompts(reader, writer, clock),
        leases=Leases(reader, writer, clock),
        joined_workers=JoinedWorkerTable(reader, writer, clock),
        idempotency=IdempotencyKeys(reader, writer, clock),
        blobs=Blobs(reader, writer),
        retention=Retention(writer),
        writer=writer,
        ended_cleanly=ended_cleanly,
        peers=peers,
        _clock=clock,
        _reader=reader,
        _connection=connection,
        abandon=abandon,
    )
