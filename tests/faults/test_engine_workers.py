"""Workers of the distributed engine as real processes: killed, stopped and told to leave. Their runs go on elsewhere, and only there."""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from support.engine_processes import HUNG_SECONDS, TIMEOUT, logged, until, worker
from support.engine_sessions import EngineSession, engine_session
from support.postgres import PostgresCluster
from support.postgres_process import PostgresProcess, own_postgres
from support.spec import proves

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def submitter(postgres: PostgresCluster) -> AsyncIterator[tuple[EngineSession, str]]:
    """A process that takes no runs itself, as a server can; and the database."""
    url = await asyncio.to_thread(postgres.new_database)
    async with engine_session(url, {"steps": _never}, name="server", hung_seconds=HUNG_SECONDS) as session:
        yield session, url


async def _never(segment: object) -> dict[str, object]:
    raise AssertionError("the server takes no runs")


@proves("JOB-6/2", "JOB-7/4")
async def test_killed_workers_runs_are_taken_over_and_no_finished_step_runs_twice(
    submitter: tuple[EngineSession, str], tmp_path: Path
) -> None:
    (session, url), engine = submitter, submitter[0].engine
    (tmp_path / "hold-k0-2").touch()  # the first run stays in its third step
    with ExitStack() as stack:
        processes = {name: stack.enter_context(worker(url, name, tmp_path)) for name in ("a", "b", "c")}
        await until(lambda: all((tmp_path / f"ready-{name}").exists() for name in processes))
        await engine.submit("steps", {"steps": 5}, key="k0")
        for n in range(1, 6):
            await engine.submit("steps", {"steps": 5}, key=f"k{n}")
        await until(lambda: bool([line for line in logged(tmp_path, "begin", "k0") if line[2] == "2"]))
        holder = logged(tmp_path, "begin", "k0")[-1][3]
        processes[holder].kill()
        await until(lambda: logged(tmp_path, "begin", "k0")[-1][3] != holder)
        (tmp_path / "hold-k0-2").unlink()
        async with asyncio.timeout(TIMEOUT):
            results = [await session.result(f"k{n}") for n in range(6)]
            assert await session.workers() == {"a", "b", "c"} - {holder}
    assert results[0]["attempt"] == 2 and results[0]["worker"] != holder
    ends = Counter((run, step) for _, run, step, _, _ in logged(tmp_path, "end"))
    assert ends == Counter((f"k{n}", str(step)) for n in range(6) for step in range(5)), "each step once"
    twice = {
        (run, step)
        for (run, step), n in Counter((r, s) for _, r, s, _, _ in logged(tmp_path, "begin")).items()
        if n > 1
    }
    assert ("k0", "2") in twice and all(("end", *each) not in _before_kill(tmp_path, holder) for each in twice)


def _before_kill(folder: Path, holder: str) -> set[tuple[str, str, str]]:
    return {("end", run, step) for _, run, step, name, _ in logged(folder, "end") if name == holder}


@proves("JOB-7/4")
async def test_stopped_worker_is_replaced_and_fenced_when_it_comes_back(
    submitter: tuple[EngineSession, str], tmp_path: Path
) -> None:
    (session, url), engine = submitter, submitter[0].engine
    (tmp_path / "hold-s0-0").touch()
    with ExitStack() as stack:
        processes = {name: stack.enter_context(worker(url, name, tmp_path)) for name in ("d", "e")}
        await until(lambda: all((tmp_path / f"ready-{name}").exists() for name in processes))
        await engine.submit("steps", {"steps": 1}, key="s0")
        await until(lambda: bool(logged(tmp_path, "begin", "s0")))
        [[_, _, _, holder, first]] = logged(tmp_path, "begin", "s0")
        processes[holder].send_signal(signal.SIGSTOP)
        await until(lambda: len(logged(tmp_path, "begin", "s0")) > 1)
        second = logged(tmp_path, "begin", "s0")[1]
        assert second[3] != holder and int(second[4]) > int(first)
        processes[holder].send_signal(signal.SIGCONT)
        await until(lambda: [holder] == [line[3] for line in logged(tmp_path, "lost", "s0")])
        (tmp_path / "hold-s0-0").unlink()
        async with asyncio.timeout(TIMEOUT):
            assert (await session.result("s0"))["worker"] == second[3]
        assert [line[3] for line in logged(tmp_path, "end", "s0")] == [second[3]]
        processes[second[3]].kill()
        await engine.submit("steps", {"steps": 1}, key="s1")
        async with asyncio.timeout(TIMEOUT):
            assert (await session.result("s1"))["worker"] == holder, "it has joined again"


async def test_worker_that_is_told_to_leave_hands_its_runs_back(
    submitter: tuple[EngineSession, str], tmp_path: Path
) -> None:
    (session, url), engine = submitter, submitter[0].engine
    (tmp_path / "hold-l0-0").touch()
    with ExitStack() as stack:
        leaver = stack.enter_context(worker(url, "f", tmp_path))
        await until(lambda: (tmp_path / "ready-f").exists())
        await engine.submit("steps", {"steps": 1}, key="l0")
        await until(lambda: bool(logged(tmp_path, "begin", "l0")))
        leaver.terminate()
        assert leaver.wait(TIMEOUT) == 0
        assert [line[3] for line in logged(tmp_path, "lost", "l0")] == ["f"]
        assert "f" not in await session.workers()
        stack.enter_context(worker(url, "g", tmp_path))
        (tmp_path / "hold-l0-0").unlink()
        async with asyncio.timeout(TIMEOUT):
            assert (await session.result("l0"))["worker"] == "g"


async def test_database_that_restarts_stops_no_run_for_good(tmp_path: Path) -> None:
    with own_postgres() as server, ExitStack() as stack:
        url = server.new_database()
        (tmp_path / "hold-r0-0").touch()
        stack.enter_context(worker(url, "h", tmp_path))
        await until(lambda: (tmp_path / "ready-h").exists())
        _submit(server, url, "r0")
        await until(lambda: bool(logged(tmp_path, "begin", "r0")))
        server.stop(immediate=True)
        await until(lambda: bool(logged(tmp_path, "lost", "r0")))
        server.start()
        (tmp_path / "hold-r0-0").unlink()
        await until(lambda: bool(logged(tmp_path, "end", "r0")))
    assert len(logged(tmp_path, "end", "r0")) == 1


def _submit(server: PostgresProcess, url: str, key: str) -> None:
    """As a server does that died right after its first write: the workers find what the queue does not know."""
    database = url.split("@/")[1].split("?")[0]
    insert = f"INSERT INTO engine_runs (run_id, kind, payload) VALUES ('{key}', 'steps', '{{\"steps\": 1}}')"
    server.run(insert, database)
