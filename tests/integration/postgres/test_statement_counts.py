"""What a task of a job costs PostgreSQL in round trips, beside its calls of the model; and that nobody waits for another chat's writer."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from anycowork.domain.journal import Change
from anycowork.store.postgres.connection import PostgresConnection
from anycowork.store.postgres.dialect import TAKE_POSITIONS
from anycowork.store.postgres.pending_writes import numbered
from support.jobs import approved, by_task, plan, report, until
from support.live_server import LiveServer, live_server
from support.scripted_model import call
from support.store_factories import opened_postgres
from support.stored import add_chat, note, said

FEW, MANY = 4, 24
# 3 commits, and 3 reads of what a person may change on another server: rules, folders, files' origins; the rest is for what is read by time.
# It took 73 before writes were merged, 41 before a held chat's rows were kept, 25 before a commit was one statement, 11 before what begins
# with a turn was kept.
MOST_FOR_A_TASK = 7
MOST_FOR_A_CALL = 5
SECONDS = 30.0


@contextmanager
def counted_statements(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts each statement that waits for an answer of the database, by its text."""
    counts: Counter[str] = Counter()
    run = PostgresConnection._run

    def counting(self: PostgresConnection, work: Coroutine[Any, Any, Any]) -> Any:
        counts[str(work.cr_frame.f_locals.get("sql"))] += 1  # type: ignore[attr-defined]  # a coroutine of ours that has not begun
        return run(self, work)

    with monkeypatch.context() as patch:
        patch.setattr(PostgresConnection, "_run", counting)
        yield counts


async def test_a_task_of_a_job_costs_few_round_trips(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with live_server(tmp_path, database_url=database_url) as server:
        (server.workspace / "a.txt").write_text("hello")
        await run_tasks(server, 2, calls=1)
        alone = await counted(server, monkeypatch, calls=0)
        with_call = await counted(server, monkeypatch, calls=1)
    assert sum(alone.values()) <= MOST_FOR_A_TASK, json.dumps(alone, indent=1)
    assert sum(with_call.values()) - sum(alone.values()) <= MOST_FOR_A_CALL, json.dumps(with_call, indent=1)
    every = {**alone, **with_call}
    assert not [sql for sql in every if "anycowork writer" in sql], "no write of a task waits for all other writers"


async def counted(server: LiveServer, monkeypatch: pytest.MonkeyPatch, *, calls: int) -> dict[str, float]:
    """How often each statement is sent for one task."""
    with counted_statements(monkeypatch) as few:
        await run_tasks(server, FEW, calls=calls)
    with counted_statements(monkeypatch) as many:
        await run_tasks(server, MANY, calls=calls)
    return {sql: count / (MANY - FEW) for sql, count in (many - few).items()}


async def run_tasks(server: LiveServer, count: int, *, calls: int) -> None:
    names = [f"t{number}" for number in range(count)]
    reading = [call("read_file", path="a.txt")] * calls
    server.model.mind = by_task({name: [*reading, report(f"{name} is read")] for name in names})
    chat = await server.chat()
    steps = [{"id": name, "action": f"read {name}", "tools_needed": ["read_file"]} for name in names]
    job = await approved(server, chat, plan=plan(*steps))
    done = await until(server, chat, job["id"], "completed", "failed")
    assert done["status"] == "completed", done


@asynccontextmanager
async def transaction(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A transaction of another process, open until the block ends."""
    session = await asyncpg.connect(database_url)
    try:
        async with session.transaction():
            yield session
    finally:
        await session.close()


async def test_a_write_to_one_chat_does_not_wait_for_the_writer_of_another(tmp_path: Path, database_url: str) -> None:
    (tmp_path / "b").mkdir()
    async with (
        asyncio.timeout(SECONDS),
        opened_postgres(database_url, tmp_path) as first,
        opened_postgres(database_url, tmp_path / "b") as second,
    ):
        for chat_id in ("c1", "c2"):
            await first.journal.write(add_chat(chat_id))
        async with transaction(database_url) as session:
            await session.execute("SELECT id FROM chats WHERE id = 'c1' FOR UPDATE")
            waiting = first.journal.submit_change(said("held", chat_id="c1"))
            await second.journal.write(said("free", chat_id="c2"))
            assert not waiting.done(), "the chat's own row is still locked"
        await waiting
        assert [message.id for message in await second.store.messages.all("c1")] == ["held"]


async def test_the_sidebar_misses_no_record_that_becomes_visible_late(tmp_path: Path, database_url: str) -> None:
    async with asyncio.timeout(SECONDS), opened_postgres(database_url, tmp_path) as database:
        await database.journal.write(add_chat("c1"))
        async with transaction(database_url) as session:
            await session.fetchval(numbered(TAKE_POSITIONS), 1)  # a lower position, which nobody sees yet
            await database.journal.write(Change("c1", (), (note("late"),)))
            assert await database.store.records.sidebar_page(0, 10) == ([], True), "one before it may still come"
        [record], more_come = await database.store.records.sidebar_page(0, 10)
        assert record.chat_id == "c1" and not more_come
