"""Workers on lines that are slow, far away, lose packets and break: commands end well, and a worker that lives is not taken for gone."""

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from anycowork.api.middleware import body
from anycowork.server import worker_connection
from support.jobs import approved, by_task, plan, report, until
from support.live_server import LiveServer, live_server
from support.network_namespaces import machines, namespaces_missing
from support.scripted_model import call
from support.slow_line import NEAR, SlowLine, slow_line, tun_missing
from support.spec import proves
from support.workers import Relay, joined_process, joined_worker, relay, until_workers

MISSING = "only root can make network namespaces" if os.geteuid() else namespaces_missing() or tun_missing()


async def run_once(server: LiveServer, command: str, *paths: str) -> dict[str, Any]:
    """The result of the only call of a job's only task."""
    server.model.mind = by_task({"t": [call("execute_command", command=command), report("t")]})
    chat = await server.chat()
    step = {"id": "t", "action": "run", "commands": [command], "paths": [*paths]}
    job = await approved(server, chat, plan=plan(step))
    done = await until(server, chat, job["id"], "completed", "failed", seconds=180)
    results = [result for result in await chat.results() if result["tool"] == "execute_command"]
    assert done["status"] == "completed" and len(results) == 1, results
    assert not (await until_workers(server, bool))[0]["refused"]
    return results[0]


@proves("JOB-12/2")
@pytest.mark.timeout(300)  # what travels takes some 30 seconds at the rate that TCP reaches on this line
@pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
async def test_a_command_ends_well_on_a_line_that_loses_packets(tmp_path: Path) -> None:
    """1 Mbit/s, 300 ms there and back, one packet of twenty is lost."""
    (home := tmp_path / "home").mkdir()
    line = SlowLine(bytes_per_second=125_000, delay=0.15, loss=0.05)
    async with live_server(home, allowed_hosts=(NEAR,)) as server, AsyncExitStack() as stack:
        network = stack.enter_context(machines("far"))
        stack.enter_context(slow_line(network, "hub", "far", line))
        near = await stack.enter_async_context(relay(server, network.listener(NEAR)))
        runs = server.server.services.server.joined_workers.runs
        runs.silent_seconds = 10.0  # so a worker that is silent while contents travel would be gone
        invite = await server.ask("POST", "/workers/invites", {}, expect=201)
        far = joined_process(tmp_path / "far", near.url, invite["token"], hidden=home, inside=network.inside("far"))
        await asyncio.to_thread(stack.enter_context, far)
        [worker] = await until_workers(server, bool)
        (server.workspace / "come.bin").write_bytes(come := os.urandom(200_000))
        result = await run_once(server, "tail -c 100000 come.bin | tee go.bin | wc -c", "go.bin")
        assert result["facts"]["worker"] == worker["id"], result
        assert (server.workspace / "go.bin").read_bytes() == come[-100_000:]
        assert line.carried > 300_000 and line.lost > 10


async def test_a_body_of_a_worker_may_take_long_as_long_as_something_of_it_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result with its output is one body, whatever the line carries."""
    monkeypatch.setattr(body, "READ_SECONDS", 1.0)
    async with (
        live_server(tmp_path, files={"a.txt": "a\n"}) as server,
        relay(server) as line,
        joined_worker(tmp_path / "far", server, url=line.url) as far,
    ):
        line.bytes_per_second = 60_000
        result = await run_once(
            server, "head -c 90000 /dev/urandom | base64 -w 0; head -c 150000 /dev/urandom > go.bin", "go.bin"
        )
        assert result["facts"].get("worker") == far, result
        assert (server.workspace / "go.bin").stat().st_size == 150_000


async def test_contents_go_on_where_their_connection_broke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that breaks after each 200,000 bytes carries files that are larger, there and back."""
    monkeypatch.setattr(worker_connection, "RETRY_SECONDS", 0.05)
    size = 800_000
    async with (
        live_server(tmp_path) as server,
        relay(server) as line,
        joined_worker(tmp_path / "far", server, url=line.url) as far,
    ):
        (server.workspace / "come.bin").write_bytes(come := os.urandom(size))
        line.bytes_per_second = 2_000_000
        line.breaks = [line.carried + number * 200_000 for number in range(1, 60)]
        result = await run_once(server, "rev come.bin | rev > go.bin; cat come.bin >> go.bin", "go.bin")
        assert result["facts"].get("worker") == far, result
        assert (server.workspace / "go.bin").read_bytes().endswith(come)
        assert _broke_at_least(line, 6)


def _broke_at_least(line: Relay, times: int) -> bool:
    return 59 - len(line.breaks) >= times


async def test_a_command_whose_way_to_its_worker_broke_is_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        live_server(tmp_path, files={"a.txt": "a\n"}) as server,
        relay(server) as line,
        joined_worker(tmp_path / "far", server, url=line.url, runs=1) as far,
    ):
        await until_workers(server, bool)
        runs = server.server.services.server.joined_workers.runs
        next_run, broken = runs.next_run, list[str]()

        async def breaking(*asked: Any) -> Any:
            run = await next_run(*asked)
            if run is not None and not broken:
                broken.append(run.id)
                line.break_all()
            return run

        monkeypatch.setattr(runs, "next_run", breaking)
        result = await run_once(server, "cp a.txt b.txt", "b.txt")
        assert broken and result["facts"].get("worker") == far, result
        assert (server.workspace / "b.txt").read_text() == "a\n"
