"""A hostile worker that joined over HTTP: it can spoil its own commands, and nothing else."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from anycowork import __version__
from anycowork.domain.errors import NotFound
from anycowork.sandbox.remote import remote_runs
from anycowork.sandbox.remote.remote_run import RemoteResult
from support.attempts import Attempts
from support.jobs import approved, by_task, plan, report
from support.live_server import Caller, LiveServer, RequestRefused, live_server
from support.people import end_access, person
from support.scripted_model import call
from support.spec import proves

COMMAND = "make all"
CONTENT = b"new\n"
HASH = sha256(CONTENT).hexdigest()
FILES = {
    "base.txt": "base\n",
    "folder/in.txt": "in\n",
    ".env": "KEY=1\n",
    "ignored/stay.txt": "s\n",
    ".gitignore": "ignored/\n",
}


class HostileWorker(Caller):
    """Speaks the worker's side of the protocol by hand."""

    run = ""

    async def offer(self, token: str, **more: Any) -> None:
        offer = {"token": token, "host": "evil", "labels": [], "level": "full", "version": __version__, **more}
        joined = await self.ask("POST", "/workers/join", offer, expect=201)
        self.session.headers["Authorization"] = f"Bearer {joined['secret']}"

    async def take(self) -> None:
        async with asyncio.timeout(60):
            while not (run := (await self.ask("POST", "/worker-runs/next", {}))["run"]):
                pass
        self.run = f"/worker-runs/{run['id']}"

    async def send(self, content: bytes, name: str = "", *, expect: int = 204) -> None:
        path = f"{self.run}/contents/{name or sha256(content).hexdigest()}"
        async with self.session.put(self.url + path, data=content) as response:
            assert response.status == expect, await response.text()

    async def finish(self, *changes: list[Any], expect: int = 204) -> None:
        output = base64.b64encode(b"done\n").decode()
        await self.ask("POST", f"{self.run}/result", {"output": output, "changes": [*changes]}, expect=expect)


@asynccontextmanager
async def hostile(server: LiveServer) -> AsyncIterator[HostileWorker]:
    invite = await server.ask("POST", "/workers/invites", {}, expect=201)
    async with aiohttp.ClientSession() as session:
        worker = HostileWorker(server.url, session)
        await worker.offer(invite["token"])
        yield worker


@asynccontextmanager
async def job_on(server: LiveServer, worker: HostileWorker) -> AsyncIterator[Any]:
    """A job whose only task runs a command on this worker. Yields what waits for the job's end."""
    server.model.mind = by_task({"t": [call("execute_command", command=COMMAND), report("t", status="failed")]})
    chat = await server.chat()
    step = {"id": "t", "action": "build", "commands": [COMMAND], "paths": ["*", "**"]}
    job = await approved(server, chat, plan=plan(step), on_failure="ask", commit="job")
    await worker.take()

    async def results() -> list[dict[str, Any]]:
        async with asyncio.timeout(60):
            while not (found := [one for one in await chat.results() if one["tool"] == "execute_command"]):
                await asyncio.sleep(0.05)
        return found

    yield results
    await server.ask("POST", f"/jobs/{job['id']}/cancel", {})


def file(path: str, hash_: str = HASH, mode: int = 0o644) -> list[Any]:
    return [path, "file", mode, hash_, len(CONTENT), ""]


FORGED = {
    "a path that leads out": [file("../out.txt")],
    "an absolute path": [file("/etc/out.txt")],
    "a path through a link of its own": [["l", "link", 0, "", 0, "/tmp"], file("l/out.txt")],
    "a path twice": [file("a.txt"), file("a.txt")],
    "an empty part": [file("a//b.txt")],
    "a mode with setuid": [file("a.txt", mode=0o4755)],
    "a kind that there is not": [["a", "device", 0o600, "", 0, ""]],
    "no manifest": [["a.txt"]],
    "a hash that is none": [file("a.txt", "0" * 63 + "/")],
}
REFUSED = {
    "a content that never came": [file("a.txt", "0" * 64)],
    "a key file": [file(".env")],
    "git's own folder": [file(".git/hooks/post-checkout", mode=0o755)],
    "a removed path that never travelled": [["ignored", "removed", 0, "", 0, ""]],
}


@proves("JOB-12/5")
@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_manifest_is_refused(tmp_path: Path, name: str) -> None:
    async with (
        live_server(tmp_path, files=FILES) as server,
        hostile(server) as worker,
        job_on(server, worker) as results,
    ):
        await worker.send(CONTENT)
        await worker.finish(*FORGED[name], expect=422)
        [result] = await results()
        assert result["status"] == "error" and not (tmp_path / "out.txt").exists()
        assert not Path("/tmp/out.txt").exists() and not Path("/etc/out.txt").exists()


@proves("JOB-12/5")
@pytest.mark.parametrize("name", REFUSED)
async def test_a_change_that_no_worker_may_make_spoils_its_command(tmp_path: Path, name: str) -> None:
    async with (
        live_server(tmp_path, files=FILES) as server,
        hostile(server) as worker,
        job_on(server, worker) as results,
    ):
        await worker.send(CONTENT)
        await worker.finish(*REFUSED[name])
        [result] = await results()
        assert result["status"] == "error", result
        assert (server.workspace / ".env").read_text() == "KEY=1\n" and (server.workspace / "ignored/stay.txt").exists()


@proves("JOB-12/5")
async def test_what_stayed_at_home_is_neither_written_replaced_nor_removed(tmp_path: Path, attempts: Attempts) -> None:
    stayed = {"folder/ignored/deep.txt": "d\n", "folder/more/gone.txt": "g\n"}
    refused = {
        "an ignored file": file("ignored/stay.txt"),
        "a new file among ignored ones": file("ignored/new.txt"),
        "an ignored folder becomes a file": file("ignored"),
        "an ignored folder becomes a link": ["ignored", "link", 0, "", 0, "/etc"],
        "a folder above ignored files becomes a link": ["folder", "link", 0, "", 0, "base.txt"],
        "a folder above ignored files becomes a file": file("folder"),
    }
    async with live_server(tmp_path, files={**FILES, **stayed}) as server, hostile(server) as worker:

        async def is_refused(name: str) -> None:
            async with job_on(server, worker) as results:
                await worker.send(CONTENT)
                await worker.finish(refused[name])
                [result] = await results()
                assert result["error"]["code"] == "bad_manifest", result

        await attempts.each(refused, is_refused)
        async with job_on(server, worker) as results:
            await worker.finish(["folder", "removed", 0, "", 0, ""])
            [result] = await results()
            changed = sorted((each["path"], each["change"]) for each in result["facts"]["files"])
            assert changed == [("folder/in.txt", "deleted"), ("folder/more", "deleted")]


async def test_a_request_that_began_before_its_worker_was_removed_brings_it_no_command(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as server, hostile(server) as worker:
        [listed] = (await server.ask("GET", "/workers"))["workers"]
        removed = asyncio.Event()
        at_once = asyncio.Event()

        async def slow_body() -> AsyncIterator[bytes]:
            yield b"{"
            at_once.set()
            await removed.wait()
            yield b"}"

        headers = {"Content-Type": "application/json"}
        address = worker.url + "/worker-runs/next"
        asked = asyncio.ensure_future(worker.session.post(address, data=slow_body(), headers=headers))
        await at_once.wait()
        await server.ask("DELETE", f"/workers/{listed['id']}", expect=204)
        removed.set()
        async with await asked as answer:
            assert answer.status == 401
        assert not server.server.services.server.joined_workers.runs.living()


async def test_contents_without_bytes_do_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_runs, "MOST_RETURNED", 3 * 4096)
    async with live_server(tmp_path, files=FILES) as server, hostile(server) as worker, job_on(server, worker):
        for number in range(4):
            await worker.send(b"", f"{number:064}", expect=413 if number == 3 else 204)


@proves("JOB-12/5")
async def test_a_content_under_another_hash_is_refused(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, files=FILES) as server,
        hostile(server) as worker,
        job_on(server, worker) as results,
    ):
        await worker.send(b"something else\n", HASH)
        await worker.finish(file("a.txt"))
        [result] = await results()
        assert result["status"] == "error" and "hash" in str(result)


@proves("JOB-12/5")
async def test_a_worker_reaches_nothing_but_its_own_run(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, files=FILES) as server,
        hostile(server) as worker,
        job_on(server, worker),
        hostile(server) as other,
    ):
        for address in ("/context", "/jobs", "/settings", "/workers", "/keys", "/v1/models"):
            with pytest.raises(RequestRefused, match=r"401|403"):
                await worker.ask("GET", address)
        with pytest.raises(RequestRefused, match="404"):
            await other.ask("POST", f"{worker.run}/result", {"error": "not mine"})
        with pytest.raises(RequestRefused, match="404"):
            await other.ask("POST", f"{worker.run}/contents", {"hashes": [HASH]})
        secret_content = sha256(b"KEY=1\n").hexdigest()
        with pytest.raises(RequestRefused, match="422"):
            await worker.ask("POST", f"{worker.run}/contents", {"hashes": [secret_content]})
        async with worker.session.get(worker.url + f"{worker.run}/manifest") as answer:
            manifest = await answer.text()
        assert "base.txt" in manifest and ".env" not in manifest and "ignored/" not in manifest


@proves("JOB-12/5")
async def test_what_differs_from_a_tree_is_told_to_the_worker_that_was_told_of_the_tree(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, files=FILES) as server,
        hostile(server) as worker,
        job_on(server, worker),
        hostile(server) as other,
        job_on(server, other),
    ):
        own, theirs = worker.run.rpartition("/")[2], other.run.rpartition("/")[2]

        async def told(base: str) -> dict[str, Any]:
            async with worker.session.get(worker.url + f"{worker.run}/manifest", params={"base": base}) as answer:
                told: dict[str, Any] = await answer.json(content_type=None)
                return told

        async with other.session.get(other.url + f"{other.run}/manifest") as answer:
            assert answer.status == 200
        for base in (theirs, "guess", "", "../.."):
            everything = await told(base)
            assert everything["base"] == "" and everything["gone"] == []
            assert "base.txt" in [row[0] for row in everything["changed"]]
        assert await told(own) == {"base": own, "changed": [], "gone": []}


@proves("JOB-12/5")
async def test_a_run_that_is_over_cannot_be_used_again(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, files=FILES) as server,
        hostile(server) as worker,
        job_on(server, worker) as results,
    ):
        await worker.send(CONTENT)
        await worker.finish(file("a.txt"))
        await results()
        await worker.send(CONTENT, expect=404)
        await worker.finish(file("b.txt"), expect=404)


@proves("JOB-12/5")
async def test_a_result_is_not_replaced_while_the_server_takes_it_over(tmp_path: Path) -> None:
    """No moment passes between the two: what came first is not merged yet."""
    async with (
        live_server(tmp_path, files=FILES) as server,
        hostile(server) as worker,
        job_on(server, worker) as results,
    ):
        joined = server.server.services.server.joined_workers
        known = await joined.authenticated(worker.session.headers["Authorization"].removeprefix("Bearer "))
        run_id, result = worker.run.rpartition("/")[2], RemoteResult("ITSELF", 0, b"done\n", 0.1)
        joined.runs.finish(known, run_id, result, [])
        with pytest.raises(NotFound):
            joined.runs.finish(known, run_id, result, [file("b.txt")])
        [command] = await results()
        assert command["status"] == "ok" and not (server.workspace / "b.txt").exists()


async def test_a_file_that_changes_while_it_travels_makes_the_command_begin_again(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, files=FILES) as server,
        hostile(server) as worker,
        job_on(server, worker) as results,
    ):
        (server.workspace / "base.txt").write_text("changed meanwhile\n")
        with pytest.raises(RequestRefused, match="409"):
            await worker.ask("POST", f"{worker.run}/contents", {"hashes": [sha256(b"base\n").hexdigest()]})
        await worker.take()
        async with worker.session.get(worker.url + f"{worker.run}/manifest") as answer:
            assert sha256(b"changed meanwhile\n").hexdigest() in await answer.text()
        await worker.finish()
        [result] = await results()
        assert result["status"] == "ok"


@proves("JOB-12/5")
async def test_a_join_token_is_good_once_for_its_labels_and_this_release(tmp_path: Path) -> None:
    async with live_server(tmp_path) as server, aiohttp.ClientSession() as session:
        worker = HostileWorker(server.url, session)
        repeatable = {"Idempotency-Key": "again"}
        bound = await server.ask("POST", "/workers/invites", {"labels": ["cpu"]}, expect=201, headers=repeatable)
        for wrong, status in (({"labels": ["gpu"]}, 403), ({"version": "0.0.0"}, 409)):
            with pytest.raises(RequestRefused, match=str(status)):
                await worker.offer(bound["token"], **wrong)
        await worker.offer(bound["token"], labels=["cpu"])
        del session.headers["Authorization"]
        for token in (bound["token"], "ac-join-guess", ""):
            with pytest.raises(RequestRefused, match=r"403|422"):
                await worker.offer(token)
        await asyncio.to_thread(_require_no_secret, tmp_path / "data", bound["token"])


@pytest.mark.parametrize("end", ["removed", "demoted", "a new token"])
async def test_an_invitation_ends_with_the_access_of_who_made_it(tmp_path: Path, end: str) -> None:
    async with live_server(tmp_path) as server, aiohttp.ClientSession() as session:
        worker = HostileWorker(server.url, session)
        async with person(server, "Ada", "admin") as admin, person(server, "Bo", "admin") as other:
            invite = await admin.ask("POST", "/workers/invites", {}, expect=201)
            of_the_other = await other.ask("POST", "/workers/invites", {}, expect=201)
            await end_access(server, admin.id, end)
            with pytest.raises(RequestRefused, match="403"):
                await worker.offer(invite["token"])
            await worker.offer(of_the_other["token"])


def _require_no_secret(folder: Path, token: str) -> None:
    assert not [path for path in folder.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
