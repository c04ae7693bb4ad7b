"""What the processes on one database cost each other: who is told of a write, and who looks at a job that waits for a worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.peer_table import PeerDescription
from anycowork.store.postgres.peers import PostgresPeers
from anycowork.store.sql.database import ForeignWrites
from support.postgres import run_sql
from support.store_factories import opened_postgres

SECONDS = 30.0
_JOB = (
    "INSERT INTO jobs (id, chat_id, request, message_id, principal, status, on_failure, parallel, limits, created_at)"
    " VALUES ('j1', 'c1', 'r', 'm', 'person:ann', 'running', 'retry', 1, '{}', '2026-01-01')"
)
_RUN = "INSERT INTO engine_runs (run_id, kind, payload) VALUES ('j1', 'job', '{}')"


@asynccontextmanager
async def joined(database_url: str, name: str, *, is_worker: bool = False) -> AsyncIterator[PostgresPeers]:
    peers = PostgresPeers(read_address(database_url), name, is_worker=is_worker)
    try:
        await peers.join()
        kind = "worker" if is_worker else "server"
        await peers.table.announce(lambda: PeerDescription(kind, "host", 1, "1", "same"))
        yield peers
    finally:
        await peers.aclose()


async def test_what_is_written_at_the_same_time_is_told_to_servers_in_one_note_and_to_no_worker(
    tmp_path: Path, database_url: str
) -> None:
    told: asyncio.Queue[ForeignWrites] = asyncio.Queue()
    async with (
        asyncio.timeout(SECONDS),
        opened_postgres(database_url, tmp_path) as first,
        joined(database_url, "second") as second,
        joined(database_url, "worker", is_worker=True) as worker,
        asyncio.TaskGroup() as tasks,
    ):
        assert first.peers is not None
        keeping = [tasks.create_task(peers.keep(told.put_nowait)) for peers in (first.peers, second)]
        while (await told.get()).chat_ids is not None:
            pass  # until the first has heard that the second is there
        chat_ids = tuple(f"c{number}" for number in range(200))
        for chat_id in chat_ids:
            first.peers.tell((chat_id,), list_changed=chat_id == "c7")
        assert await told.get() == ForeignWrites(chat_ids, list_changed=True)
        rows = await worker.fetch("SELECT pg_listening_channels()")
        assert [row[0] for row in rows] == ["anycowork.public"], "what concerns it is on this one, writes are not"
        for task in keeping:
            task.cancel()


async def test_what_was_not_told_yet_is_told_at_the_end(tmp_path: Path, database_url: str) -> None:
    told: asyncio.Queue[ForeignWrites] = asyncio.Queue()
    async with (
        asyncio.timeout(SECONDS),
        opened_postgres(database_url, tmp_path),
        joined(database_url, "second") as second,
        asyncio.TaskGroup() as tasks,
    ):
        keeping = tasks.create_task(second.keep(told.put_nowait))
        async with joined(database_url, "first") as first:
            first.has_others = True
            first.tell(("c1",), list_changed=False)
            await asyncio.sleep(0)
        while (writes := await told.get()).chat_ids is None:
            pass  # a server has joined
        assert writes == ForeignWrites(("c1",), list_changed=False)
        keeping.cancel()


async def test_a_job_that_waits_in_the_queue_for_a_worker_is_looked_at_by_nobody_else(
    tmp_path: Path, database_url: str
) -> None:
    async with (
        asyncio.timeout(SECONDS),
        opened_postgres(database_url, tmp_path),
        joined(database_url, "server") as server,
    ):
        run_sql(database_url, _JOB)
        run_sql(database_url, _RUN)
        waiting = [("c1", False)]
        assert await server.table.free_chats() == waiting, "no worker is there"
        async with joined(database_url, "worker", is_worker=True) as worker:
            assert await server.table.free_chats() == [] == await worker.table.free_chats()
            await worker.table.refuse("j1", "another folder")
            assert await server.table.free_chats() == waiting, "no worker takes it"
            await worker.table.accept("j1")
            run_sql(database_url, "UPDATE engine_runs SET state = 'parked'")
            assert await server.table.free_chats() == waiting, "the queue does not have it"
