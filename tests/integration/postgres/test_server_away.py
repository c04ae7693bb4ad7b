"""A server that has the layers of a job is away: another one says so and loses nothing, and workers go on without any server."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from anycowork.server.cluster import server_peers
from integration.postgres.test_two_servers import on
from support.jobs import approved, by_task, bytes_of, plan, report, until, writing
from support.live_server import LiveServer, RequestRefused, live_server
from support.scripted_model import Reply, call
from support.spec import proves
from support.workers import live_worker

SECONDS = 60.0


class Servers:
    """Servers with data folders of their own that work in the same folder, and can be stopped and started again."""

    def __init__(self, tmp_path: Path, database_url: str, stack: AsyncExitStack) -> None:
        self._folder, self._url, self._stack = tmp_path, database_url, stack
        self.shared = tmp_path / "shared"
        self.shared.mkdir()
        self._open: dict[str, AsyncExitStack] = {}

    async def start(self, name: str) -> LiveServer:
        (self._folder / name).mkdir(exist_ok=True)
        own = self._open[name] = await self._stack.enter_async_context(AsyncExitStack())
        started = live_server(self._folder / name, database_url=self._url, workspace=self.shared)
        server = await own.enter_async_context(started)
        server.workspace = self.shared
        return server

    async def stop(self, name: str) -> None:
        await self._open.pop(name).aclose()

    def layers(self, name: str) -> list[Path]:
        return list((self._folder / name / "data" / "staging" / "copies").glob("*"))


def _works(server: LiveServer, *names: str, hold: asyncio.Event | None = None) -> None:
    last = Reply(report("ok"), hold=hold) if hold else report("ok")
    server.model.mind = by_task(
        {name: [call("create_file", path=f"{name}.txt", content=f"{name}\n"), last] * 3 for name in names}
    )


@proves("JOB-7/2")
async def test_changes_of_a_server_that_is_away_are_neither_shown_nor_kept_nor_lost(
    tmp_path: Path, database_url: str
) -> None:
    async with AsyncExitStack() as stack:
        servers = Servers(tmp_path, database_url, stack)
        one, two = await servers.start("one"), await servers.start("two")
        _works(one, "a", "b")
        chat, other = await one.chat(), await one.chat()
        kept = await approved(one, chat, plan=plan(writing("a")), commit="job")
        await until(one, chat, kept["id"], "awaiting_commit")
        dropped = await approved(one, other, plan=plan(writing("b")), commit="job")
        await until(one, other, dropped["id"], "awaiting_commit")
        await servers.stop("one")
        for method, path in (("GET", "diff"), ("POST", "commit"), ("POST", "replan")):
            with pytest.raises(RequestRefused, match=r"409.*content_elsewhere.*does not run.*drop or cancel"):
                await two.ask(method, f"/jobs/{kept['id']}/{path}")
        shown = await two.ask("GET", f"/jobs/{kept['id']}")
        assert (shown["status"], shown["error"]["code"]) == ("awaiting_commit", "content_elsewhere")
        assert (await two.ask("POST", f"/jobs/{dropped['id']}/drop"))["status"] == "cancelled"
        assert bytes_of(servers.shared) == {} and len(servers.layers("one")) == 2
        one = await servers.start("one")
        assert len(servers.layers("one")) == 1, "what was dropped meanwhile is removed, what waits is still there"
        assert (await two.ask("POST", f"/jobs/{kept['id']}/commit"))["status"] == "completed"
        assert bytes_of(servers.shared) == {"a.txt": b"a\n"} and servers.layers("one") == []
        assert (await one.ask("GET", f"/jobs/{kept['id']}"))["error"] is None


@pytest.mark.parametrize(("given", "goes_on_in"), [({"commit": "job"}, "one"), ({"parallel": 2}, "two")])
async def test_job_goes_on_where_nothing_of_it_is_lost(
    tmp_path: Path,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, object],
    goes_on_in: str,
) -> None:
    monkeypatch.setattr(server_peers, "TAKEOVER_SECONDS", 0.1)
    hold = asyncio.Event()
    async with AsyncExitStack() as stack:
        servers = Servers(tmp_path, database_url, stack)
        one = await servers.start("one")
        _works(one, "a", hold=hold)
        chat = await one.chat()
        job = await approved(one, chat, plan=plan(writing("a")), **given)
        await one.model.asked(2)
        two = await servers.start("two")  # only now: before a run has begun, any server that sees the job may begin it
        _works(two, "a")
        await servers.stop("one")
        hold.set()
        there = on(two, chat)
        if goes_on_in == "one":
            shown = await two.ask("GET", f"/jobs/{job['id']}")
            assert (shown["status"], shown["error"]["code"]) == ("running", "content_elsewhere")
            one = await servers.start("one")
            _works(one, "a")
            await until(two, there, job["id"], "awaiting_commit")
            assert not two.model.requests and bytes_of(servers.shared) == {}
            await two.ask("POST", f"/jobs/{job['id']}/commit")
        else:
            assert (await until(two, there, job["id"], "completed", "failed"))["status"] == "completed"
            assert two.model.requests
        assert bytes_of(servers.shared) == {"a.txt": b"a\n"}


async def test_cancelling_on_another_server_ends_what_a_server_that_is_away_had_begun(
    tmp_path: Path, database_url: str
) -> None:
    hold = asyncio.Event()
    async with AsyncExitStack() as stack:
        servers = Servers(tmp_path, database_url, stack)
        one, two = await servers.start("one"), await servers.start("two")
        _works(one, "a", hold=hold)
        chat = await one.chat()
        job = await approved(one, chat, plan=plan(writing("a")), commit="job")
        await one.model.asked(2)
        await servers.stop("one")
        hold.set()
        assert (await two.ask("POST", f"/jobs/{job['id']}/cancel"))["status"] == "cancelled"
        two.model.replies[:] = ["Free."]
        assert (await on(two, chat).send("And now?"))["state"] == "idle"
        await servers.start("one")
        assert servers.layers("one") == [] and bytes_of(servers.shared) == {}


async def test_worker_ends_its_jobs_while_the_only_server_is_away(tmp_path: Path, database_url: str) -> None:
    hold = asyncio.Event()
    async with AsyncExitStack() as stack:
        servers = Servers(tmp_path, database_url, stack)
        server = await servers.start("one")
        worker = await stack.enter_async_context(live_worker(tmp_path / "worker", database_url, jobs=1))
        first = [call("create_file", path="a.txt", content="a\n"), Reply(report("ok"), hold=hold)]
        second = [call("create_file", path="b.txt", content="b\n"), report("ok"), "Both are written."]
        queued = [call("create_file", path="c.txt", content="c\n"), report("ok"), "The other one, too."]
        worker.model.replies[:] = [*first, *second, *queued]
        chat, other = await server.chat(), await server.chat()
        job = await approved(server, chat, plan=plan(writing("a"), writing("b", "a")))
        await worker.model.asked(2)
        waits = await approved(server, other, plan=plan(writing("c")))
        await servers.stop("one")
        hold.set()
        store = worker.services.database.store
        async with asyncio.timeout(SECONDS):
            for each in (job, waits):
                while (found := await store.jobs.find(each["id"])) is None or not found.status.over:
                    await asyncio.sleep(0.05)
                assert found.status.value == "completed", found.error
        assert bytes_of(servers.shared) == {f"{name}.txt": f"{name}\n".encode() for name in "abc"} | {
            ".anycowork/workspace-id": (servers.shared / ".anycowork/workspace-id").read_bytes()
        }
