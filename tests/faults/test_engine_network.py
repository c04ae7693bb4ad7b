"""Three workers on three machines of a network, with PostgreSQL on a fourth: one is cut off, one is killed, and all runs end right."""

import asyncio
import os
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from anycowork.domain.messages import Json
from anycowork.engine.run_table import RunSegment
from support.engine_processes import TIMEOUT, logged, until, worker
from support.engine_sessions import engine_session
from support.network_namespaces import HUB_ADDRESS, machines, namespaces_missing
from support.postgres_process import own_postgres
from support.spec import proves

MISSING = "only root can make network namespaces" if os.geteuid() else namespaces_missing()
HELD = tuple(f"p{n}" for n in range(6))  # more than one worker takes at a time


async def _never(segment: RunSegment) -> Json:
    raise AssertionError("the server takes no runs")


@proves("JOB-7/4")
@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
async def test_workers_on_three_machines_survive_a_partition_and_a_kill(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    for run in HELD:
        (tmp_path / f"hold-{run}-1").touch()
    with ExitStack() as stack:
        network = stack.enter_context(machines(*names))
        server = stack.enter_context(own_postgres(HUB_ADDRESS, inside=network.inside("hub")))
        url = server.new_database(HUB_ADDRESS)
        async with engine_session(server.by_socket(url), {"steps": _never}, name="server") as session:
            engine = session.engine
            processes = {
                name: stack.enter_context(worker(url, name, tmp_path, inside=network.inside(name))) for name in names
            }
            await until(lambda: all((tmp_path / f"ready-{name}").exists() for name in names))
            for run in HELD:
                await engine.submit("steps", {"steps": 3}, key=run)
            await until(lambda: len({line[1] for line in logged(tmp_path, "begin") if line[2] == "1"}) == len(HELD))
            held_by = {line[1]: line[3] for line in logged(tmp_path, "begin") if line[2] == "1"}
            cut, killed = sorted(set(held_by.values()))[:2]
            network.cut_off(cut)
            processes[killed].kill()
            lost = {run for run, name in held_by.items() if name == cut}
            await until(lambda: {line[1] for line in logged(tmp_path, "lost") if line[3] == cut} >= lost)
            for run in HELD:
                (tmp_path / f"hold-{run}-1").unlink()
            async with asyncio.timeout(TIMEOUT):
                results = {run: await session.result(run) for run in HELD}
            taken = {run for run, name in held_by.items() if name in (cut, killed)}
            assert {results[run]["worker"] for run in taken}.isdisjoint({cut, killed})
            network.connect(cut)
            await engine.submit("steps", {"steps": 1}, key="after")
            async with asyncio.timeout(TIMEOUT):
                await session.result("after")
                while cut not in await session.workers():
                    await asyncio.sleep(0.1)
    ends = Counter((run, step) for _, run, step, _, _ in logged(tmp_path, "end"))
    assert ends == Counter([*((run, str(step)) for run in HELD for step in range(3)), ("after", "0")]), "each step once"
    assert {line[1] for line in logged(tmp_path, "begin") if line[2] == "1" and line[3] not in (cut, killed)} >= taken
