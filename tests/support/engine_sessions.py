"""The distributed engine in a test's process, with the session that says who lives."""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from anycowork.domain.errors import StorageFault
from anycowork.domain.messages import Json
from anycowork.engine.dbos_engine import DbosEngine
from anycowork.engine.run_table import RunState, SegmentHandler
from anycowork.server.clock import SystemClock
from anycowork.server.cluster.server_peers import end_hung_peers
from anycowork.store.postgres import peer_table
from anycowork.store.postgres.database import open_postgres
from anycowork.store.postgres.peer_table import PeerDescription
from anycowork.store.postgres.peers import PostgresPeers

OVER = (RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED)


class EngineSession:
    """`lost` is set when the session has ended: the process must drop the engine then."""

    def __init__(self, engine: DbosEngine, peers: PostgresPeers, poll_seconds: float = 0.1) -> None:
        self.poll_seconds = poll_seconds
        self.engine = engine
        self.peers = peers
        self.lost = asyncio.Event()

    async def until(self, key: str, *states: RunState, after: int = 0) -> RunState:
        """Wait until the run is in one of these states, after its segment number `after` or later. The test bounds the wait."""
        while True:
            position = await self.engine.find(key)
            assert position is not None, f"there is no run {key}"
            if position.state in states and position.segment >= after:
                return position.state
            await asyncio.sleep(self.poll_seconds)

    async def result(self, key: str) -> Json:
        """Wait for the end of the run, and return what its handler returned."""
        assert await self.until(key, *OVER) is RunState.COMPLETED
        [[result]] = await self.peers.fetch("SELECT result FROM engine_runs WHERE run_id = $1", key)
        return msgspec.json.decode(result)  # type: ignore[no-any-return]  # the column holds an object

    async def failure(self, key: str) -> tuple[str, str]:
        """Wait for the end of the run, and return the code and the message of its handler's error."""
        assert await self.until(key, *OVER) is RunState.FAILED
        [[error]] = await self.peers.fetch("SELECT error FROM engine_runs WHERE run_id = $1", key)
        return tuple(msgspec.json.decode(error))

    async def workers(self) -> set[str]:
        """The names of the living ones."""
        return {worker.host for worker in await self.peers.table.workers()}


@asynccontextmanager
async def engine_session(
    url: str,
    handlers: dict[str, SegmentHandler],
    *,
    name: str,
    most_runs: int | None = None,
    poll_seconds: float = 0.1,
    hung_seconds: float = 8.0,
) -> AsyncIterator[EngineSession]:
    """Without `most_runs` it is a server, which only submits. The engine has started."""
    peer_table.HUNG_SECONDS = hung_seconds
    kind = "server" if most_runs is None else "worker"
    with tempfile.TemporaryDirectory() as folder:
        heads = Path(folder) / "heads"
        database = await open_postgres(url, heads, SystemClock(), lambda record: None, is_worker=most_runs is not None)
        peers = database.peers
        assert peers is not None
        engine = DbosEngine(
            url,
            peers,
            schema=peers.schema,
            session_name=peers.session_name,
            most_runs=most_runs,
            announce=lambda: peers.table.announce(lambda: PeerDescription(kind, name, os.getpid(), "test", "")),
            poll_seconds=poll_seconds,
        )
        for kind_of_run, handler in handlers.items():
            engine.register(kind_of_run, handler)
        session = EngineSession(engine, peers, poll_seconds)

        async def keep() -> None:
            try:
                await peers.keep(lambda writes: None)
            except StorageFault:
                database.abandon()
                session.lost.set()

        try:
            async with asyncio.TaskGroup() as tasks:
                watches = [tasks.create_task(keep()), tasks.create_task(end_hung_peers(peers))]
                try:
                    await engine.start()
                    yield session
                finally:
                    await engine.aclose()
                    for watch in watches:
                        watch.cancel()
        finally:
            await database.aclose()
