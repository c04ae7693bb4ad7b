"""What is kept of a held chat is what the database has, after every write, and nothing is kept of a chat that was given back."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from anycowork.domain.chats import ChatState, EndReason, Turn, TurnState
from anycowork.domain.events import EventType
from anycowork.domain.jobs import Job, JobStatus, JobTask
from anycowork.domain.journal import Change, SetChat, Write
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.tools import Call, CallState
from anycowork.domain.values import replace
from anycowork.store.sql.calls import CallTable
from anycowork.store.sql.chats import ChatTable
from anycowork.store.sql.database import Database
from anycowork.store.sql.held_rows import MOST_CHATS, HeldRows
from anycowork.store.sql.jobs import JobTable, TaskTable
from anycowork.store.sql.message_history import MessageTable
from anycowork.store.sql.store import Store
from anycowork.store.sql.turns import RunningTurnCache, TurnTable
from support.stored import CLOCK, add_chat, message, note, opened

STEPS = 150
TURNS, TASKS = ("t1", "t2", "t3"), ("a", "b", "c")
STATES = (JobStatus.RUNNING, JobStatus.PAUSED)


@asynccontextmanager
async def holding(folder: Path, monkeypatch: pytest.MonkeyPatch, held: dict[str, object]) -> AsyncIterator[Database]:
    """A database whose chats are held as `held` says."""
    monkeypatch.setattr("anycowork.store.sql.database.HeldRows", partial(HeldRows, held.get))
    async with opened(folder) as database:
        yield database


def without_memory(database: Database, running: RunningTurnCache) -> Store:
    """The same tables, which read the database each time."""
    store, reader, none = database.store, database._reader, HeldRows()
    tables = Store.__new__(Store)
    tables.chats = ChatTable(reader, store.records, running, none)
    tables.messages = MessageTable(reader, store.records, none)
    tables.turns, tables.calls = TurnTable(reader, running, none), CallTable(reader, none)
    tables.jobs, tables.tasks = JobTable(reader, none), TaskTable(reader, none)
    return tables


async def read_all(store: Store) -> dict[str, object]:
    found: dict[str, object] = {
        "chat": await store.chats.find_row("c1"),
        "open turns": await store.turns.all_current("c1"),
        "job": await store.jobs.find_in("c1", "j1"),
        "jobs": await store.jobs.in_states(*STATES, chat_id="c1"),
        "tasks": await store.tasks.of_job_in("c1", "j1"),
        "changed": [await store.tasks.since("c1", "j1", seq) for seq in (-1, 5, 50, 10_000)],
    }
    for turn_id in TURNS:
        turn = Turn(turn_id, "c1", "actor", "person:ann", "m1", job_id="j1", task_id=TASKS[0])
        found[f"turns like {turn_id}"] = await store.turns.of_task(turn)
        found[f"calls of {turn_id}"] = await store.calls.of(turn)
    begun = [turn for task_id in TASKS for turn in await store.turns.of_job("j1", task_id) if turn.message_id != "m1"]
    for turn in begun[-3:]:
        found[f"turns like {turn.id}"] = await store.turns.of_task(turn)
        found[f"calls of {turn.id}"] = await store.calls.of(turn)
        found[f"messages of {turn.id}"] = await store.messages.of_turn(turn)
    for task_id in (*TASKS, "missing"):
        found[task_id] = await store.tasks.find_in("c1", "j1", task_id)
    return found


def any_write(choose: random.Random, number: int) -> Write:
    at = f"2026-01-01T00:00:{TURNS.index(turn_id := choose.choice(TURNS)):02}Z"
    match choose.randrange(5):
        case 0:
            state = choose.choice([TurnState.RUNNING, TurnState.PARKED, TurnState.ENDED])
            reason = EndReason.ANSWERED if state is TurnState.ENDED else None
            turn = Turn(turn_id, "c1", "actor", "person:ann", "m1", job_id="j1", task_id=TASKS[0], created_at=at)
            return replace(turn, state=state, reason=reason, steps=number)
        case 1:
            task_id = choose.choice(TASKS)
            task = JobTask("j1", "c1", task_id, TASKS.index(task_id), f"do {task_id}")
            return replace(task, status=choose.choice([*TaskStatus]), result=choose.choice([None, f"result {number}"]))
        case 2:
            return Job(
                "j1", "c1", "do it", "m1", "person:ann", status=choose.choice([*JobStatus]), parallel=1 + number % 3
            )
        case 3:
            return SetChat(choose.choice([None, *ChatState]), title=choose.choice([None, None, f"title {number}"]))
        case _:
            call = Call(f"k{number % 7}", "c1", "t1", "b", number % 7, "read_file", {"path": "a"})
            return replace(call, state=choose.choice([*CallState]))


def begun_turn(choose: random.Random, number: int) -> tuple[Write, ...]:
    """A turn with its first message, sometimes with more of what an attempt begins with, or what an earlier one goes on with."""
    job_turn = {"job_id": "j1", "task_id": choose.choice(TASKS)}
    turn = Turn(f"t{number}", "c1", "actor", "person:ann", f"m{number}", created_at="2026-01-01T00:01:00Z", **job_turn)
    writes: list[Write] = [replace(message(f"m{number}", turn_id=turn.id), **job_turn), turn]
    if choose.random() < 0.3:
        writes.append(Call(f"k{number}", "c1", turn.id, "b", 1, "read_file", {"path": "a"}))
    if choose.random() < 0.3:
        writes.append(replace(turn, state=TurnState.PARKED))
    if choose.random() < 0.3:
        writes.append(replace(message(f"more{number}", turn_id=choose.choice([turn.id, "t1"])), **job_turn))
    choose.shuffle(writes)
    return tuple(writes)


async def test_what_is_kept_is_what_the_database_has_after_every_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = random.Random(30)
    async with holding(tmp_path, monkeypatch, {"c1": object()}) as database:
        plain = without_memory(database, database.journal._running)
        first = Turn(
            "t1", "c1", "actor", "person:ann", "m1", job_id="j1", task_id="a", created_at="2026-01-01T00:00:00Z"
        )
        await database.journal.write(add_chat("c1"))
        await database.journal.write(Change("c1", (Job("j1", "c1", "do it", "m1", "person:ann"), first), ()))
        for number in range(STEPS):
            writes = tuple(any_write(choose, number) for _ in range(choose.randint(1, 3)))
            if choose.random() < 0.3:
                writes += begun_turn(choose, number + 10)
            events = (note("told", EventType.ERROR),) if choose.random() < 0.5 else ()
            await database.journal.write(Change("c1", writes, events))
            assert await read_all(database.store) == await read_all(plain), writes


async def test_a_chat_that_was_given_back_and_claimed_again_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[str, object] = {"c1": object()}
    async with holding(tmp_path, monkeypatch, held) as database:
        await database.journal.write(add_chat("c1", title="Mine"))
        assert (await database.store.chats.find_row("c1")).title == "Mine"  # type: ignore[union-attr]
        del held["c1"]
        await written_elsewhere(database, "Theirs")
        assert (await database.store.chats.find_row("c1")).title == "Theirs"  # type: ignore[union-attr]
        held["c1"] = object()
        await written_elsewhere(database, "Theirs again")
        assert (await database.store.chats.find_row("c1")).title == "Theirs again"  # type: ignore[union-attr]


async def written_elsewhere(database: Database, title: str) -> None:
    update = "UPDATE chats SET title = ? WHERE id = 'c1'"
    await database.writer.run(lambda connection: connection.execute(update, (title,)).rowcount)


async def test_a_read_that_a_write_overtook_is_not_kept() -> None:
    rows, may_end = HeldRows(lambda chat_id: "held"), asyncio.Event()

    async def late() -> str:
        await may_end.wait()
        return "old"

    async def now() -> str:
        return "new"

    reading = asyncio.create_task(rows.read("c1", "key", late))
    await asyncio.sleep(0)
    rows.update("c1", (), seq=1, recorded_at=CLOCK.now(), step=False)
    may_end.set()
    assert await reading == "old"
    assert await rows.read("c1", "key", now) == "new"


async def test_the_rows_of_chats_that_were_given_back_do_not_pile_up() -> None:
    held: dict[str, object] = {}
    rows = HeldRows(held.get)

    async def something() -> str:
        return "row"

    for number in range(3 * MOST_CHATS):
        held.clear()
        held[f"c{number}"] = object()
        await rows.read(f"c{number}", "key", something)
    assert len(rows._chats) <= MOST_CHATS
