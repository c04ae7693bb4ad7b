"""The chat lock with other implementations of its ports: an engine that only notes turns, and locks that another server could share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from anycowork.domain.chats import Turn
from anycowork.domain.people import AccessLevel
from anycowork.domain.principals import Principal, PrincipalKind
from anycowork.turns.chat_coordinator import ChatCoordinator
from support.stored import SOON, add_chat, new_chat, opened

ANN = Principal("ann", PrincipalKind.PERSON, "Ann", AccessLevel.ADMIN)


class NotedTurns:
    def __init__(self) -> None:
        self.started: list[str] = []
        self.stopped: list[str] = []

    def start(self, turn: Turn) -> None:
        self.started.append(turn.id)

    async def stop(self, turn: Turn, *, principal: str, note: str) -> None:
        self.stopped.append(turn.id)


class CountedLocks:
    """One lock for all chats, as a table of a shared database could give it."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self.order: list[str] = []

    @asynccontextmanager
    async def holding(self, chat_id: str) -> AsyncIterator[None]:
        async with self._lock:
            self.order.append(f"+{chat_id}")
            yield
            self.order.append(f"-{chat_id}")

    def forget(self, chat_id: str) -> None: ...


async def test_another_engine_runs_the_turns(tmp_path: Path) -> None:
    engine = NotedTurns()
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        lock = ChatCoordinator(journal=database.journal, store=database.store, scheduler=engine)
        turn = Turn("t1", "c1", "actor", ANN.label(), "m1")
        async with lock.exclusive("c1") as chat:
            await lock.begin(ANN, chat, turn)
        assert engine.started == ["t1"] and (await database.store.turns.find("t1")) is not None
        assert await lock.stop(ANN, "c1") and engine.stopped == ["t1"]


async def test_other_locks_serialise_requests_of_all_chats(tmp_path: Path) -> None:
    locks = CountedLocks()
    async with opened(tmp_path) as database:
        for chat_id in ("c1", "c2"):
            await database.journal.write(add_chat(chat_id))
        lock = ChatCoordinator(journal=database.journal, store=database.store, scheduler=NotedTurns(), locks=locks)

        async def hold(chat_id: str) -> None:
            async with lock.exclusive(chat_id) as chat:
                assert chat.title == new_chat(chat_id).title
                await asyncio.sleep(0)

        async with asyncio.timeout(SOON), asyncio.TaskGroup() as tasks:
            for chat_id in ("c1", "c2", "c1"):
                tasks.create_task(hold(chat_id))
    assert locks.order == ["+c1", "-c1", "+c2", "-c2", "+c1", "-c1"]
