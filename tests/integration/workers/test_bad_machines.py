"""What a joined worker's machine or a workspace may lack: room, names that are told apart, files that stand still, a tree that is small."""

import asyncio
import os
import shutil
import subprocess
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from anycowork.domain.errors import ToolFault
from anycowork.domain.job_workers import JoinedWorker
from anycowork.sandbox.remote import tree_reader
from anycowork.sandbox.remote.remote_run import RemoteRun
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.sandbox.remote.tree_manifest import FILE, CannotTravel, TreeEntry
from anycowork.sandbox.remote.tree_reader import TreeReader
from anycowork.server import remote_worker, worker_connection
from anycowork.server.worker_cache import ContentCache
from anycowork.server.worker_connection import WorkerConnection
from anycowork.workspace.jail import Jail
from support.jobs import approved, by_task, plan, report, until
from support.live_server import live_server
from support.scripted_model import call
from support.workers import joined_process, joined_worker, relay, until_workers

SECONDS = 20.0


SHIFTED_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += atol(getenv("CLOCK_AHEAD"));
    return failed;
}
"""


def small_disks_missing() -> str | None:
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=2m none /mnt"]
    can = os.geteuid() == 0 and subprocess.run(probe, capture_output=True, timeout=60).returncode == 0
    return None if can else "no mounts here"


async def test_a_worker_with_a_full_disk_is_listed_as_refused_and_its_task_goes_on_elsewhere(tmp_path: Path) -> None:
    if reason := small_disks_missing():
        pytest.skip(reason)
    (home := tmp_path / "home").mkdir()
    async with live_server(home) as server:
        (server.workspace / "large.bin").write_bytes(os.urandom(4 << 20))
        invite = await server.ask("POST", "/workers/invites", {}, expect=201)
        command = "wc -c < large.bin > size.txt"
        answers: dict[str, Any] = {"t": [call("execute_command", command=command)] * 2 + [report("t")]}
        server.model.mind = by_task(answers)
        with joined_process(tmp_path / "small", server.url, invite["token"], hidden=home, disk="2m"):
            await until_workers(server, bool)
            chat = await server.chat()
            step = {"id": "t", "action": "count", "commands": [command], "paths": ["size.txt"]}
            job = await approved(server, chat, plan=plan(step))
            done = await until(server, chat, job["id"], "completed", "failed")
            results = [result for result in await chat.results() if result["tool"] == "execute_command"]
            assert done["status"] == "completed", results
            assert "No space left" in str(results[0]) and results[0]["error"]["code"] == "worker_gone"
            assert (server.workspace / "size.txt").read_text().strip() == str(4 << 20)
            [worker] = await until_workers(server, bool)
            assert "No space left" in worker["refused"][0]["reason"]


async def test_a_small_disk_that_earlier_contents_fill_makes_room_for_new_ones(tmp_path: Path) -> None:
    if reason := small_disks_missing():
        pytest.skip(reason)
    (home := tmp_path / "home").mkdir()
    command = "sha256sum large.bin > sum.txt"
    async with live_server(home) as server:
        invite = await server.ask("POST", "/workers/invites", {}, expect=201)
        with joined_process(tmp_path / "small", server.url, invite["token"], hidden=home, disk="300m"):
            [worker] = await until_workers(server, bool)
            for _ in range(3):
                (server.workspace / "large.bin").write_bytes(content := os.urandom(30 << 20))
                server.model.mind = by_task({"t": [call("execute_command", command=command), report("t")]})
                chat = await server.chat()
                step = {"id": "t", "action": "sum", "commands": [command], "paths": ["sum.txt"]}
                job = await approved(server, chat, plan=plan(step))
                done = await until(server, chat, job["id"], "completed", "failed")
                [result] = [result for result in await chat.results() if result["tool"] == "execute_command"]
                assert (done["status"], result["facts"].get("worker")) == ("completed", worker["id"]), result
                assert (server.workspace / "sum.txt").read_text().startswith(sha256(content).hexdigest())
            assert not (await until_workers(server, bool))[0]["refused"]


@pytest.mark.parametrize("ahead", [3_600, -3_600])
async def test_a_worker_whose_clock_is_an_hour_off_does_its_task_like_any_other(tmp_path: Path, ahead: int) -> None:
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("no compiler to build another clock with")
    (home := tmp_path / "home").mkdir()
    source, library = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(SHIFTED_CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
    variables = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(ahead)}
    shown = subprocess.run(["date", "+%s"], env=variables, capture_output=True, check=True, timeout=60).stdout
    assert abs(int(shown) - time.time() - ahead) < 600
    async with live_server(home, files={"a.txt": "a\n"}) as server:
        invite = await server.ask("POST", "/workers/invites", {}, expect=201)
        commands = ["cp a.txt b.txt", "cat b.txt b.txt > a.txt"]
        server.model.mind = by_task({"t": [*(call("execute_command", command=each) for each in commands), report("t")]})
        with joined_process(tmp_path / "off", server.url, invite["token"], hidden=home, variables=variables):
            await until_workers(server, bool)
            chat = await server.chat()
            step = {"id": "t", "action": "copy", "commands": commands, "paths": ["a.txt", "b.txt"]}
            job = await approved(server, chat, plan=plan(step))
            done = await until(server, chat, job["id"], "completed", "failed")
            results = [result for result in await chat.results() if result["tool"] == "execute_command"]
            assert done["status"] == "completed" and all(result["facts"]["worker"] for result in results), results
            assert (server.workspace / "a.txt").read_text() == "a\na\n"
            [worker] = await until_workers(server, bool)
            assert worker["refused"] == []


async def test_worker_on_a_slow_line_says_that_it_is_there_while_contents_travel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_worker, "ALIVE_SECONDS", 0.05)
    monkeypatch.setattr(remote_worker, "QUIET_SECONDS", 0.05)
    said, ask = asyncio.Semaphore(0), WorkerConnection.ask

    async def slow(self: WorkerConnection, method: str, path: str, body: object = None, **data: Any) -> bytes:
        if path.endswith("/contents"):
            async with asyncio.timeout(SECONDS):
                for _ in range(3):
                    await said.acquire()
        answer = await ask(self, method, path, body, **data)
        if path.endswith("/output"):
            said.release()
        return answer

    monkeypatch.setattr(WorkerConnection, "ask", slow)
    async with live_server(tmp_path, files={"a.txt": "a\n"}) as server, joined_worker(tmp_path / "far", server, runs=1):
        command = "cp a.txt b.txt"
        server.model.mind = by_task({"t": [call("execute_command", command=command), report("t")]})
        chat = await server.chat()
        step = {"id": "t", "action": "copy", "commands": [command], "paths": ["b.txt"]}
        job = await approved(server, chat, plan=plan(step))
        assert (await until(server, chat, job["id"], "completed", "failed"))["status"] == "completed"
        results = [result for result in await chat.results() if result["tool"] == "execute_command"]
        assert "worker" in results[0]["facts"] and (server.workspace / "b.txt").read_text() == "a\n"


async def test_a_command_ends_well_on_a_line_that_is_slow_far_and_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 Mbit/s, 300 ms there and back; connections break in the middle of contents that come and go."""
    monkeypatch.setattr(worker_connection, "RETRY_SECONDS", 0.1)
    come, go = os.urandom(150_000), os.urandom(100_000)
    command = "tail -c 100000 come.bin | rev > go.bin; cat come.bin >> go.bin"
    async with (
        live_server(tmp_path) as server,
        relay(server) as line,
        joined_worker(tmp_path / "far", server, url=line.url) as far,
    ):
        (server.workspace / "come.bin").write_bytes(come + go)
        line.delay, line.bytes_per_second = 0.15, 125_000
        line.breaks = [line.carried + size for size in (60_000, 200_000, 450_000)]
        server.model.mind = by_task({"t": [call("execute_command", command=command), report("t")]})
        chat = await server.chat()
        step = {"id": "t", "action": "copy", "commands": [command], "paths": ["go.bin"]}
        job = await approved(server, chat, plan=plan(step))
        done = await until(server, chat, job["id"], "completed", "failed")
        [result] = [result for result in await chat.results() if result["tool"] == "execute_command"]
        assert (done["status"], result["facts"].get("worker")) == ("completed", far), result
        assert (server.workspace / "go.bin").read_bytes().endswith(come + go)
        assert not line.breaks and not (await until_workers(server, bool))[0]["refused"]


async def test_a_worker_with_many_free_places_asks_its_server_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, most, next_run = 0, 0, RemoteRuns.next_run

    async def counting(
        self: RemoteRuns, worker: JoinedWorker, cache_bytes: int, runs: list[str] | None = None
    ) -> RemoteRun | None:
        nonlocal asking, most
        asking += 1
        most = max(most, asking)
        try:
            return await next_run(self, worker, cache_bytes, runs)
        finally:
            asking -= 1

    monkeypatch.setattr(RemoteRuns, "next_run", counting)
    async with live_server(tmp_path, files={"a.txt": "a\n"}) as server, joined_worker(tmp_path / "w", server, runs=8):
        server.model.mind = by_task({"t": [call("execute_command", command="true"), report("t")]})
        chat = await server.chat()
        step = {"id": "t", "action": "look", "commands": ["true"], "paths": ["b.txt"]}
        job = await approved(server, chat, plan=plan(step))
        assert (await until(server, chat, job["id"], "completed", "failed"))["status"] == "completed"
    assert most == 1


def test_a_tree_above_the_limit_is_refused_with_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_reader, "MOST_ENTRIES", 5)
    for number in range(6):
        (tmp_path / f"{number}.txt").write_text("x")
    with pytest.raises(CannotTravel, match="more than 5 paths"):
        TreeReader().read(Jail(str(tmp_path)))


async def test_a_command_in_a_workspace_of_too_many_files_fails_with_the_limit_and_its_worker_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_reader, "MOST_ENTRIES", 1_000)
    async with live_server(tmp_path) as server, joined_worker(tmp_path / "far", server):
        for number in range(1_001):
            (server.workspace / f"{number}.txt").touch()
        commands = ["true", "rm -f *.txt"]
        server.model.mind = by_task({"t": [*(call("execute_command", command=each) for each in commands), report("t")]})
        chat = await server.chat()
        step = {"id": "t", "action": "look", "commands": commands, "paths": ["b.txt"]}
        job = await approved(server, chat, plan=plan(step))
        await until(server, chat, job["id"], "completed", "failed")
        results = [result for result in await chat.results() if result["tool"] == "execute_command"]
        assert {result["error"]["code"] for result in results} == {"cannot_travel"}
        assert all("1,000 paths" in str(result) and ".gitignore" in str(result) for result in results)
        assert len(list(server.workspace.iterdir())) == 1_001 and not (await until_workers(server, bool))[0]["refused"]


def test_names_that_a_file_system_takes_for_the_same_are_named(tmp_path: Path) -> None:
    (tree := tmp_path / "tree").mkdir()
    (tree / "readme").write_text("as if it were README")  # what a case-insensitive file system answers
    cache = ContentCache(tmp_path / "contents")
    cache.add(name := sha256(b"x").hexdigest(), b"x")
    with pytest.raises(ToolFault, match=r"'readme' and another path .* case"):
        cache.lay([TreeEntry("readme", FILE, 0o644, name, 1)], tree)
