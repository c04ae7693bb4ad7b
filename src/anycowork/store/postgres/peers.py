"""The other servers on the same database: which of them live, who holds which chat, and what they have written.

A session of its own holds one advisory lock for this server and one for each of its chats. They end with the session, so nobody waits for
a server that died. What others wrote is announced by NOTIFY, which is only a hint: who gets it reads again. Only servers listen to that: a
worker shows nothing to people, and reads a chat again when it takes it.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any  # rows have no types

import asyncpg

from anycowork.domain.errors import StorageFault
from anycowork.store.postgres.address import DatabaseAddress, open_session
from anycowork.store.postgres.chat_fence import CLAIM, HELD_BY_OTHERS, KEPT, ChatFence
from anycowork.store.postgres.connection import RETRY_SECONDS, unreachable
from anycowork.store.postgres.dialect import is_lost
from anycowork.store.postgres.forwarded_requests import ForwardedRequests
from anycowork.store.postgres.layer_requests import LayerRequests
from anycowork.store.postgres.peer_table import LIVING, PeerTable
from anycowork.store.sql.connection import SqlConnection, WriteConnection
from anycowork.store.sql.database import ForeignWrites

CHANNEL = "anycowork"  # of writes, followed by the schema
CHANNEL_OF_PEERS = "anycowork."  # of what concerns workers, too
REQUEST = "?"  # marks a note about a forwarded request, which names the process that it is for
JOINED = "+"  # marks the note of a process that joins, or joins again
MISSED = "*"  # marks a note that some writes may have gone untold
LARGEST_NOTE = 7_000  # bytes; PostgreSQL takes 8,000
TOGETHER_SECONDS = 0.01  # what is written in this time is told together
PING_SECONDS = 5.0
OTHERS_JOIN_SECONDS = 5.0  # after the database was away, each process gets so long to take its locks again
WORKER_PING_SECONDS = 0.6  # after the last answer, whatever was asked
ANSWER_SECONDS = 5.0
WORKER_ANSWER_SECONDS = 2.9  # a worker stops before the database lets go of its locks, after four seconds of silence
_ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
_NOTIFY = "SELECT pg_notify($1 || current_schema(), $2)"
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended($1 || ' ' || current_schema(), 0))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended($1 || ' ' || current_schema(), 0))"
_PRESENCE = "hashtextextended('anycowork servers ' || current_schema(), 0)"
log = logging.getLogger(__name__)


class Announcements:
    """Collects which chats the writer's thread wrote to, and hands that over when it is durable.

    Not in the transaction of the write: PostgreSQL lets only one transaction that notifies commit at a time.
    """

    def __init__(self, peers: "PostgresPeers") -> None:
        self._peers = peers
        self._chat_ids: dict[str, None] = {}
        self._list_changed = False

    def add(self, chat_ids: Iterable[str], list_changed: bool) -> None:
        self._chat_ids.update(dict.fromkeys(chat_ids))
        self._list_changed = self._list_changed or list_changed

    def send(self, connection: WriteConnection) -> None:
        """Sends the notes once. A lost one is not repeated: when a process dies, the one that takes over its chat notifies the readers."""
        chat_ids, list_changed = self._chat_ids, self._list_changed
        self._chat_ids, self._list_changed = {}, False
        if chat_ids and self._peers.has_others:
            self._peers.tell(chat_ids, list_changed)


def _notes(header: list[str], chat_ids: Iterable[str]) -> Iterable[str]:
    note = list(header)
    for chat_id in chat_ids:
        note.append(chat_id)
        if sum(len(word.encode()) + 1 for word in note) > LARGEST_NOTE:
            yield " ".join(note)
            note = list(header)
    if len(note) > len(header):
        yield " ".join(note)


def others_are_there(connection: SqlConnection) -> bool:
    """Tells whether a server uses the database. If none does, none joins before this connection ends."""
    return not connection.execute(f"SELECT pg_try_advisory_lock({_PRESENCE})").fetchone()[0]


class PostgresPeers:
    """This process among the others. Belongs to the event loop. A worker does not outlive its session: see `keep`. A server connects again,
    and goes on unless another process took one of its chats meanwhile. `away` is set while the database does not answer."""

    def __init__(self, address: DatabaseAddress, server_id: str, *, is_worker: bool = False) -> None:
        self.server_id = server_id
        self.session_name = address.session_name
        self.schema = ""
        """The database's current one; known after `join`."""
        self.table = PeerTable(self.fetch, server_id)
        self.requests = ForwardedRequests(
            self.fetch, server_id, find_holder=self.find_holder, wake=self._tell_of_request
        )
        self.layers = LayerRequests(self.fetch, server_id)
        self._is_worker = is_worker
        self.is_broken: Callable[[], bool] = lambda: False
        """Tells whether the session of this process that writes is lost."""
        self._lost: StorageFault | None = None
        self._failed = asyncio.Event()
        self._woken = asyncio.Event()
        self.away = asyncio.Event()
        self._joined_again_at = self._answered_at = -math.inf
        self._answer_seconds = WORKER_ANSWER_SECONDS if is_worker else ANSWER_SECONDS
        self._address = address
        self._session: asyncpg.Connection | None = None
        self._one_at_a_time = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.fence = ChatFence(server_id, self._wake)
        self._held = self.fence.held
        self._early: list[ForeignWrites] = []
        self._on_writes: Callable[[ForeignWrites], None] = self._early.append
        self.has_others = True
        """False until a server joins, if no other process was there when this one did."""
        self._owes_note = False
        self._untold: dict[str, None] = {}
        self._list_changed = False

    async def join(self) -> bool:
        """Connects. Returns True if no other server uses the database; no other one joins then before `settled`. Raises: StorageFault."""
        self._loop = asyncio.get_running_loop()
        try:
            self._session = await self._open()
            if await self._session.fetchval(f"SELECT pg_try_advisory_lock({_PRESENCE})"):
                self.has_others = False
                return True
            await self._session.execute(f"SELECT pg_advisory_lock_shared({_PRESENCE})")
            return False
        except _ERRORS as error:
            raise unreachable(self._address, error) from None

    async def settled(self) -> None:
        """Lets others join, after `join` has returned True: what an earlier server left is repaired."""
        session = self._connected()
        await session.execute(f"SELECT pg_advisory_lock_shared({_PRESENCE})")
        await session.execute(f"SELECT pg_advisory_unlock({_PRESENCE})")

    # --- chats

    async def claim(self, chat_id: str) -> bool:
        """Takes the chat for this server, until `release` or the end of the session. Returns False while another server has it.

        Raises: StorageFault while the database is away.
        """
        if (await self.fetch(CLAIM, *self._about(chat_id)))[0][0]:
            self._held[chat_id] = object()
            return True
        return False

    async def release(self, chat_id: str) -> None:
        if chat_id in self._held:
            del self._held[chat_id]
            await self._ask(_UNLOCK, _of_chat(chat_id))

    async def at_work_in(self, chat_id: str) -> tuple[str, str] | None:
        """Returns the id and the kind of the process that works in the chat now. Raises: StorageFault."""
        return await self.table.at_work_in(chat_id)

    async def find_holder(self, chat_id: str) -> str | None:
        """Returns the other process that works in the chat, or that has what it needs to go on; None if this one could take it.

        Raises: StorageFault.
        """
        if (at_work := await self.at_work_in(chat_id)) is not None:
            return at_work[0] if at_work[0] != self.server_id else None
        rows = await self.fetch(KEPT, *self._about(chat_id))
        return str(rows[0][0]) if rows else None

    def _about(self, chat_id: str) -> tuple[str, str, str, str]:
        """Returns the parameters of `CLAIM` and `KEPT`. Content in our own data folder is here, even if another process names it too."""
        return _of_chat(chat_id), chat_id, self.server_id, self.table.data_folder or ""

    async def _tell_of_request(self, peer_id: str) -> None:
        await self._notify(CHANNEL_OF_PEERS, f"{REQUEST} {peer_id}")

    async def _notify(self, channel: str, message: str) -> None:
        await self.fetch(_NOTIFY, channel, f"{self.server_id} {message}")

    def holds(self, chat_id: str) -> bool:
        return chat_id in self._held

    def holding(self, chat_id: str) -> object | None:
        """Returns the same object from the chat's claim to its release; None while it is not held, or may have been lost."""
        return None if self.fence.is_taken_over or self._failed.is_set() else self._held.get(chat_id)

    @property
    def living(self) -> str:
        """SQL that selects the ids of the processes that live."""
        return LIVING

    @property
    def held(self) -> frozenset[str]:
        """The chats of this server."""
        return frozenset(self._held)

    async def lives(self, server_id: str) -> bool:
        """Tells whether this server is connected to the database."""
        if server_id == self.server_id:
            return True
        if not await self._ask(_LOCK, _of_server(server_id)):
            return True
        await self._ask(_UNLOCK, _of_server(server_id))
        return False

    def joined_lately(self) -> bool:
        """Tells whether this process connected again a moment ago: the others may still be about to, and hold no locks until then."""
        return asyncio.get_running_loop().time() < self._joined_again_at + OTHERS_JOIN_SECONDS

    # --- what others write

    async def keep(self, on_writes: Callable[[ForeignWrites], None]) -> None:
        """Calls `on_writes` with what others write, until it is cancelled. Connects again if the session is lost, and takes its locks again.

        Raises: StorageFault in a worker whose session is lost, TakenOver in a server whose chats others took meanwhile: it has to stop.
        """
        self._on_writes = on_writes
        for writes in self._early:
            on_writes(writes)
        self._early.clear()
        if self._is_worker:
            await self._until_lost()
        while not self.fence.is_taken_over:
            try:
                await self._see()
            except StorageFault:
                await self._join_again()
                continue
            self._has_answered()
            await self._until_woken(PING_SECONDS)
        raise self.fence.give_up()

    async def _until_lost(self) -> None:
        """Raises: StorageFault as soon as one statement of the session, whosever it was, got no answer."""
        while self._lost is None:
            if self.is_broken():
                raise StorageFault("The session that writes was ended.")
            now = asyncio.get_running_loop().time()
            if self.table.is_due() or now >= self._answered_at + WORKER_PING_SECONDS:
                await self._see()
            await self._until_woken(max(0.0, self._answered_at + WORKER_PING_SECONDS - now))
        raise self._lost

    async def _see(self) -> None:
        """Tells the others that this process is there, and one that has joined that it was not told of writes until now."""
        await self.table.see()
        if self._owes_note:
            self._owes_note = False
            await self._notify(CHANNEL, MISSED)

    async def _until_woken(self, seconds: float) -> None:
        """Tells the others of writes until the session fails or is fenced, or a server joins, at most so long."""
        now = asyncio.get_running_loop().time
        until = now() + seconds
        while (remaining := until - now()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(remaining):
                    await self._woken.wait()
            self._woken.clear()
            if not self._untold:
                return
            await asyncio.sleep(TOGETHER_SECONDS)
            await self._send_notes()
            if self._failed.is_set() or self.fence.is_taken_over or self._owes_note:
                return

    def tell(self, chat_ids: Iterable[str], list_changed: bool) -> None:
        """Has the other servers told of writes that are durable, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell, chat_ids, list_changed)

    def _tell(self, chat_ids: Iterable[str], list_changed: bool) -> None:
        self._untold.update(dict.fromkeys(chat_ids))
        self._list_changed = self._list_changed or list_changed
        self._woken.set()

    async def _send_notes(self) -> None:
        chat_ids, list_changed = self._untold, self._list_changed
        self._untold, self._list_changed = {}, False
        try:
            for note in _notes([self.server_id, "!" if list_changed else "."], chat_ids):
                await self.fetch(_NOTIFY, CHANNEL, note)
        except StorageFault as error:
            self._owes_note = True
            log.warning("the other servers could not be told of a write: %s", error.message)

    def _has_answered(self) -> None:
        self._lost = None
        self.away.clear()
        if not self.fence.is_taken_over:
            self._failed.clear()

    def _wake(self) -> None:
        """Ends the wait of `keep`, from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._fail)

    def _fail(self) -> None:
        self._failed.set()
        self._woken.set()

    async def aclose(self) -> None:
        """Tells the others what they were not told yet."""
        if self._untold and not self._failed.is_set():
            await self._send_notes()
        if self._session is not None:
            self._session.terminate()
            self._session = None

    async def _open(self) -> asyncpg.Connection:
        session = await open_session(self._address, keeps_statements=True)
        self.schema = str(await session.fetchval("SELECT current_schema()"))
        await session.add_listener(f"{CHANNEL_OF_PEERS}{self.schema}", self._on_note)
        if not self._is_worker:
            await session.add_listener(f"{CHANNEL}{self.schema}", self._on_note)
        await session.fetchval(_LOCK, _of_server(self.server_id))
        if not self._is_worker:
            await session.execute(_NOTIFY, CHANNEL_OF_PEERS, f"{self.server_id} {JOINED}")
        return session

    async def _join_again(self) -> None:
        async with self._one_at_a_time:
            try:
                if self._session is not None:
                    self._session.terminate()
                self._session = session = await self._open()
                await session.execute(f"SELECT pg_advisory_lock_shared({_PRESENCE})")
                self.has_others = self._owes_note = True  # one may have joined unheard
                self.table.say_again()
                if not await self._took_chats_again(session):
                    self.fence.give_up()
            except _ERRORS as error:
                self.away.set()
                log.warning("the database is away: %s", self._address.without_secrets(str(error)))
                await asyncio.sleep(RETRY_SECONDS)
                return
        self._has_answered()
        self.requests.came.set()  # a note about one may have been lost
        self._joined_again_at = asyncio.get_running_loop().time()
        self._on_writes(ForeignWrites(None))

    async def _took_chats_again(self, session: asyncpg.Connection) -> bool:
        """Returns False if another process has, or had meanwhile, a chat of this one."""
        chats = list(self._held)
        for chat_id in chats:
            if not await session.fetchval(_LOCK, _of_chat(chat_id)):
                return False
        return not await session.fetch(HELD_BY_OTHERS, chats, self.server_id)

    async def _ask(self, sql: str, name: str) -> object:
        return (await self.fetch(sql, name))[0][0]

    async def fetch(self, sql: str, *values: object) -> Sequence[Any]:
        """Runs a statement in the session that holds the locks. Raises: StorageFault while the database is away."""
        async with self._one_at_a_time:
            try:
                rows = await self._connected().fetch(sql, *values, timeout=self._answer_seconds)
            except _ERRORS as error:
                fault = unreachable(self._address, error)
                if is_lost(error):
                    self._lost = fault
                    self._fail()
                raise fault from None
            self._answered_at = asyncio.get_running_loop().time()
            return rows  # type: ignore[no-any-return]  # asyncpg has no type hints

    def _connected(self) -> asyncpg.Connection:
        if self._session is None:
            raise asyncpg.InterfaceError("the session has ended")
        return self._session

    def _on_note(self, session: object, pid: int, channel: str, note: object) -> None:
        server_id, _, message = str(note).partition(" ")
        mark, *chat_ids = message.split(" ")
        if mark == REQUEST:
            if self.server_id in chat_ids:
                self.requests.came.set()
        elif server_id == self.server_id:
            return
        elif mark == JOINED:
            self._owes_note = self._owes_note or not self.has_others
            self.has_others = True
            self._woken.set()
        elif mark == MISSED:
            self._on_writes(ForeignWrites(None))
        else:
            self._on_writes(ForeignWrites(tuple(chat_ids), list_changed=mark == "!"))


def _of_chat(chat_id: str) -> str:
    return f"anycowork chat {chat_id}"


def _of_server(server_id: str) -> str:
    return f"anycowork server {server_id}"
