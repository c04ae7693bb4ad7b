"""Whoever can write to the job engine's tables runs no code in a worker: rows are JSON, also where they claim to be something else."""

import asyncio
import base64
import pickle  # the attack
from pathlib import Path

import pytest

from anycowork.domain.messages import Json
from anycowork.engine.dbos_runtime import APPLICATION_VERSION, QUEUE, WORKFLOW
from anycowork.engine.run_table import RunSegment
from support.engine_sessions import engine_session
from support.postgres import has_a_name
from support.postgres_process import own_postgres

pytestmark = pytest.mark.skipif(not has_a_name(), reason="PostgreSQL starts for no user who has no name")


class _Touch:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.path,)


async def test_queued_row_that_names_pickle_is_not_unpickled(tmp_path: Path) -> None:
    planted, ran = tmp_path / "planted", asyncio.Event()

    async def handler(segment: RunSegment) -> Json:
        ran.set()
        return {}

    inputs = base64.b64encode(pickle.dumps({"args": (_Touch(planted), 0), "kwargs": {}})).decode()
    with own_postgres() as server:
        url = server.new_database()
        database = url.split("@/")[1].split("?")[0]
        async with engine_session(url, {"test": handler}, name="victim", most_runs=4, poll_seconds=0.05) as session:
            engine = session.engine
            await engine.submit("test", {}, key="honest")
            async with asyncio.timeout(60):
                await ran.wait()
                await session.result("honest")
            columns = "status, name, queue_name, application_version, created_at, updated_at, application_name"
            server.run(
                f"INSERT INTO dbos.workflow_status (workflow_uuid, inputs, serialization, {columns}) SELECT 'evil', '{inputs}',"
                f" 'py_pickle', 'ENQUEUED', '{WORKFLOW}', '{QUEUE}', '{APPLICATION_VERSION}', created_at, updated_at, application_name"
                " FROM dbos.workflow_status LIMIT 1",
                database,
            )
            async with asyncio.timeout(60):
                while (
                    server.run("SELECT status FROM dbos.workflow_status WHERE workflow_uuid = 'evil'", database)
                    == "ENQUEUED"
                ):
                    await asyncio.sleep(0.05)
                while (
                    server.run("SELECT status FROM dbos.workflow_status WHERE workflow_uuid = 'evil'", database)
                    == "PENDING"
                ):
                    await asyncio.sleep(0.05)
            assert (
                server.run("SELECT status FROM dbos.workflow_status WHERE workflow_uuid = 'evil'", database) == "ERROR"
            )
            assert not planted.exists()
