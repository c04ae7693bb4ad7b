"""Answers that are under way when access ends: nothing of the rest arrives, and nobody works on for a client who may not read it."""

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from anycowork.api.middleware.idempotency import IdempotencyMiddleware
from anycowork.domain.principals import Scope
from anycowork.tools.person_terminal import PersonTerminal
from support.attempts import Attempts
from support.live_server import TIMEOUT, Json, LiveChat, LiveServer, live_server
from support.people import PersonClient, browser, person, scope_of_routes
from support.person_commands import end_of, start
from support.person_terminals import open_terminal
from support.scripted_model import Hang, Reply, call
from support.spec import proves

COMPLETIONS = "/v1/chat/completions"
ENDS = ["removal", "demotion", "new token", "revocation"]
ASKED = {"model": "scripted", "messages": [{"role": "user", "content": "Go on."}]}
CUT = (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, ConnectionResetError)


class Holder:
    """Who uses the passthrough, and how their access ends."""

    def __init__(self, owner: LiveServer, end: str, token: str, id_: str) -> None:
        self.owner, self.end, self.token, self.id = owner, end, token, id_
        self.headers = {"Authorization": f"Bearer {token}"}

    async def end_access(self) -> None:
        match self.end:
            case "removal":
                await self.owner.ask("DELETE", f"/people/{self.id}", expect=204)
            case "demotion":
                await self.owner.ask("PATCH", f"/people/{self.id}", {"access": "viewer"})
            case "new token":
                await self.owner.ask("POST", f"/people/{self.id}/token")
            case _:
                await self.owner.ask("DELETE", f"/keys/{self.id}", expect=204)


@asynccontextmanager
async def holder(owner: LiveServer, end: str) -> AsyncIterator[Holder]:
    if end == "revocation":
        key = await owner.ask("POST", "/keys", {"name": "program"}, expect=201)
        yield Holder(owner, end, key["key"], key["id"])
        return
    async with person(owner, "Ada", "admin") as ada:
        yield Holder(owner, end, ada.token, ada.id)


@proves("OPS-3/1")
@pytest.mark.parametrize("end", ENDS)
async def test_nothing_of_a_streamed_answer_arrives_after_access_ended(tmp_path: Path, end: str) -> None:
    hold = asyncio.Event()
    replies = [Reply(chunks=["the first words", "and the secret rest"], hold=hold)]
    async with (
        live_server(tmp_path, replies=replies) as owner,
        holder(owner, end) as ada,
        aiohttp.ClientSession() as web,
    ):
        seen = bytearray()
        async with asyncio.timeout(TIMEOUT):
            asked = web.post(owner.url + COMPLETIONS, json={**ASKED, "stream": True}, headers=ada.headers)
            async with asked as answer:
                assert answer.status == 200
                while b"the first words" not in seen:
                    seen += await answer.content.readany()
                await ada.end_access()
                with pytest.raises(CUT):  # unfinished, so that no program takes it for the whole answer
                    while piece := await answer.content.readany():
                        seen += piece
        hold.set()
        assert b"secret rest" not in seen and b"[DONE]" not in seen


@proves("OPS-3/1")
@pytest.mark.parametrize("end", ENDS)
async def test_an_answer_that_has_not_begun_is_refused_and_the_provider_is_told_to_stop(
    tmp_path: Path, end: str
) -> None:
    async with (
        live_server(tmp_path, replies=[Hang(headers=False)]) as owner,
        holder(owner, end) as ada,
        aiohttp.ClientSession(headers=ada.headers) as web,
        asyncio.timeout(TIMEOUT),
    ):
        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(_status(web, owner.url + COMPLETIONS))
            await owner.model.asked(1)
            await ada.end_access()
        assert asking.result() == 401
        await owner.model.deserted(1)


@proves("OPS-3/1")
@pytest.mark.parametrize("what", ["export?format=markdown", "export?format=json", "audit/log"])
async def test_a_download_stops_when_its_reader_is_removed(tmp_path: Path, what: str) -> None:
    async with live_server(tmp_path, replies=["Hello."] * 3) as owner, person(owner, "Ada", "viewer") as ada:
        chat = await owner.chat()
        for _ in range(3):
            await chat.send("hello")
        reader = SlowReader(ada, f"{chat.path}/{what}")
        async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(owner.server.app(reader.scope, reader.receive, reader.send))
            await reader.holds.wait()
            await owner.ask("DELETE", f"/people/{ada.id}", expect=204)
            await reading
        assert [one["type"] for one in reader.sent] == ["http.response.start"]


@proves("OPS-3/1")
async def test_other_peoples_answers_go_on_when_one_persons_access_ends(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [Reply(chunks=["first", "rest"], hold=hold)]
    async with (
        live_server(tmp_path, replies=replies) as owner,
        person(owner, "Ada", "admin") as ada,
        person(owner, "Bob", "admin") as bob,
        asyncio.timeout(TIMEOUT),
        bob.session.post(owner.url + COMPLETIONS, json={**ASKED, "stream": True}) as answer,
    ):
        seen = bytearray(await answer.content.readany())
        await owner.ask("DELETE", f"/people/{ada.id}", expect=204)
        hold.set()
        seen += await answer.content.read()
        assert b"rest" in seen and b"[DONE]" in seen


@pytest.mark.parametrize("change", [{"name": "Ada Byron"}, {"access": "admin"}], ids=["rename", "more rights"])
async def test_a_change_that_takes_nothing_away_cuts_nothing_off(tmp_path: Path, change: dict[str, str]) -> None:
    async with (
        live_server(tmp_path, replies=["Hello."] * 3) as owner,
        person(owner, "Ada", "member") as ada,
        person(owner, "Bob", "member") as bob,
    ):
        chat = await owner.chat()
        for _ in range(3):
            await chat.send("hello")
        readers = [SlowReader(who, f"{chat.path}/export?format=markdown") for who in (ada, bob)]
        async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as tasks:
            adas, bobs = [tasks.create_task(owner.server.app(one.scope, one.receive, one.send)) for one in readers]
            for one in readers:
                await one.holds.wait()
            await owner.ask("PATCH", f"/people/{ada.id}", change)
            await owner.ask("DELETE", f"/people/{bob.id}", expect=204)
            await bobs  # whose end was seen later than Ada's change
            assert not adas.done()
            readers[0].takes.set()
            await adas
        assert readers[0].sent[-1].get("more_body", False) is False and len(readers[0].sent) > 1


async def test_a_renamed_person_reads_a_passthrough_answer_to_its_end(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [Reply(chunks=["first", "rest"], hold=hold), Hang(headers=False)]
    async with (
        live_server(tmp_path, replies=replies) as owner,
        person(owner, "Ada", "admin") as ada,
        person(owner, "Bob", "admin") as bob,
        asyncio.timeout(TIMEOUT),
    ):
        async with asyncio.TaskGroup() as tasks:
            adas = tasks.create_task(_answer(ada.session, owner.url + COMPLETIONS, {**ASKED, "stream": True}))
            await owner.model.asked(1)
            bobs = tasks.create_task(_status(bob.session, owner.url + COMPLETIONS))
            await owner.model.asked(2)
            await owner.ask("PATCH", f"/people/{ada.id}", {"name": "Ada Byron"})
            await owner.ask("DELETE", f"/people/{bob.id}", expect=204)
            assert await bobs == 401  # whose end was seen later than Ada's new name
            hold.set()
        status, body = adas.result()
        assert status == 200 and b"rest" in body


async def test_the_event_stream_of_a_renamed_person_goes_on(tmp_path: Path) -> None:
    async with (
        live_server(tmp_path, replies=["The words after the new name."]) as owner,
        person(owner, "Ada", "member") as ada,
        person(owner, "Bob", "member") as bob,
        asyncio.timeout(TIMEOUT),
    ):
        chat = await owner.chat()
        events = f"{owner.url}{chat.path}/events"
        async with ada.session.get(events) as adas, bob.session.get(events) as bobs:
            assert (adas.status, bobs.status) == (200, 200)
            await owner.ask("PATCH", f"/people/{ada.id}", {"name": "Ada Byron"})
            await owner.ask("DELETE", f"/people/{bob.id}", expect=204)
            await bobs.content.read()  # ends, later than Ada's new name was seen
            await chat.send("hello")
            seen = bytearray()
            while b"after the new name" not in seen:
                piece = await adas.content.readany()
                assert piece, "the stream has ended"
                seen += piece


@pytest.mark.parametrize("end", ["sign-out", "sign-out of the browser that made it", "a second use of its code"])
@pytest.mark.parametrize("kind", ["a terminal that no page reads", "a command"])
async def test_what_a_browser_runs_ends_with_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, end: str
) -> None:
    monkeypatch.setitem(PersonTerminal.__init__.__kwdefaults__, "alone_seconds", 3600.0)  # not why it ends
    async with live_server(tmp_path) as owner, browser(owner) as first:
        offered = await first.ask("POST", "/session/codes", {}, expect=201)
        code = {"code": offered["code"], "confirmation": offered["confirmation"]}
        chat = await owner.chat()
        async with browser(owner, code) as second:
            theirs = LiveChat(second, {"id": chat.id})
            started = await (open_terminal(theirs) if kind.startswith("a terminal") else start(theirs, "sleep 600"))
            if end == "a second use of its code":
                await owner.ask("POST", "/session", code, expect=401)
            else:
                await (second if end == "sign-out" else first).ask("DELETE", "/session", expect=204)
            assert (await end_of(chat, started))["ended"] == "stopped"


@pytest.mark.parametrize("with_token", [True, False], ids=["started with the token", "started in another browser"])
async def test_a_session_that_ends_takes_no_other_command_of_the_same_person_along(
    tmp_path: Path, with_token: bool
) -> None:
    async with live_server(tmp_path) as owner, browser(owner) as first, browser(owner) as second:
        chat = await owner.chat()
        theirs = LiveChat(owner if with_token else first, {"id": chat.id})
        started = await start(theirs, "until [ -e go ]; do sleep 0.05; done")
        await second.ask("DELETE", "/session", expect=204)
        (owner.workspace / "go").touch()
        assert (await end_of(chat, started))["ended"] == "exited"


async def _answer(web: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> tuple[int, bytes]:
    async with web.post(url, json=body) as answer:
        return answer.status, await answer.read()


async def _status(web: aiohttp.ClientSession, url: str) -> int:
    async with web.post(url, json=ASKED) as answer:
        return answer.status


class SlowReader:
    """A client on the server's ASGI app that takes the head and then, until `takes` is set, not one byte: what is sent to it waits."""

    def __init__(self, who: PersonClient, target: str) -> None:
        path, _, query = target.partition("?")
        self.sent: list[Any] = []
        self.holds, self.takes = asyncio.Event(), asyncio.Event()
        self.scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {who.token}".encode())],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }

    async def receive(self) -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError("never set")

    async def send(self, message: Any) -> None:
        if message["type"] != "http.response.start":
            self.holds.set()
            await self.takes.wait()
        self.sent.append(message)


CHANGING = sorted(
    (method, path)
    for (method, path), scope in scope_of_routes().items()
    if method in ("POST", "PUT", "PATCH") and scope not in (None, Scope.READ, Scope.PASSTHROUGH)
)


@pytest.mark.parametrize("end", ["removal", "demotion", "new token", "signed out"])
async def test_a_body_that_arrives_after_access_ended_changes_nothing(
    tmp_path: Path, attempts: Attempts, end: str
) -> None:
    """Each request that changes something is let in by its head, and its body waits until the access has ended."""
    async with live_server(tmp_path) as owner, person(owner, "Ada", "admin") as ada, browser(ada) as page:
        sender, ended = page if end == "signed out" else ada, asyncio.Event()

        async def begun(method: str, path: str) -> tuple[asyncio.Event, asyncio.Task[int]]:
            is_read = asyncio.Event()

            async def body() -> AsyncIterator[bytes]:
                is_read.set()  # the server asked for it
                yield b"{"
                await ended.wait()
                yield b"}"

            async def status() -> int:
                url = owner.url + re.sub("{[^}]*}", "none", path)
                headers = {"Content-Type": "application/json", "Content-Length": "2"}
                asked = sender.session.request(method, url, data=body(), headers=headers, expect100=True)
                async with asked as answer:
                    return answer.status

            return is_read, asyncio.ensure_future(status())

        requests = {" ".join(route): await begun(*route) for route in CHANGING}
        async with asyncio.timeout(TIMEOUT):
            for is_read, _ in requests.values():
                await is_read.wait()
            if end == "signed out":
                async with sender.session.delete(owner.url + "/session") as answer:
                    assert answer.status < 300
            else:
                await Holder(owner, end, ada.token, ada.id).end_access()
            ended.set()

        async def is_refused(route: str) -> None:
            assert await requests[route][1] in (401, 403)

        await attempts.each(requests, is_refused)


@pytest.mark.parametrize("end", ["removal", "demotion"])
@pytest.mark.parametrize("act", ["save", "restore", "branch", "command"])
async def test_what_waits_for_the_workspace_is_not_done_when_access_ends_meanwhile(
    tmp_path: Path, act: str, end: str
) -> None:
    """An agent's command may keep the workspace for long, and whoever is about to lose their access can start one."""
    replies = [call("create_file", path="made.txt", content="made"), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "a"}) as owner:
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=owner.workspace, check=True, timeout=30)
        chat = await owner.chat()
        await chat.send("Make it.")
        await chat.decide()
        (snapshot, *_) = (await owner.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        requests: dict[str, tuple[str, str, Json]] = {
            "save": ("PUT", "file", {"path": "planted", "text": "x", "sha256": None}),
            "restore": ("POST", f"snapshots/{snapshot['id']}/restore", {}),
            "branch": ("POST", "git/branch", {"name": "planted"}),
            "command": ("POST", "person-commands", {"command": "touch planted"}),
        }
        method, route, body = requests[act]
        before = sorted(str(path) for path in owner.workspace.rglob("*"))
        workspaces = owner.server.scheduler._workspaces
        async with (
            person(owner, "Ada", "admin") as ada,
            asyncio.timeout(TIMEOUT),
            asyncio.TaskGroup() as tasks,
            workspaces.writing(str(owner.workspace.resolve())),
        ):
            asking = tasks.create_task(ada.status(method, f"{chat.path}/{route}", body))
            while len(workspaces._line) < 2 and not asking.done():
                await asyncio.sleep(0.02)
            await Holder(owner, end, ada.token, ada.id).end_access()
        assert asking.result() == 403
        assert sorted(str(path) for path in owner.workspace.rglob("*")) == before


@pytest.mark.parametrize("end", ["removal", "demotion", "new token"])
async def test_what_waits_for_a_request_with_the_same_key_is_not_done_when_access_ends_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """The first request waits for the workspace and is refused, so its key is free for the second, which may be any other one."""
    real, waiting = IdempotencyMiddleware._twin_answered, asyncio.Event()

    async def waits(middleware: IdempotencyMiddleware, mark: tuple[str, str]) -> None:
        waiting.set()
        await real(middleware, mark)

    monkeypatch.setattr(IdempotencyMiddleware, "_twin_answered", waits)
    async with live_server(tmp_path) as owner:
        chat, workspaces = await owner.chat(), owner.server.scheduler._workspaces
        rule = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
        async with (
            person(owner, "Ada", "admin") as ada,
            asyncio.timeout(TIMEOUT),
            asyncio.TaskGroup() as tasks,
            workspaces.writing(str(owner.workspace.resolve())),
        ):
            command = ada.status("POST", f"{chat.path}/person-commands", {"command": "true"}, Idempotency_Key="k")
            first = tasks.create_task(command)
            while len(workspaces._line) < 2:
                await asyncio.sleep(0.02)
            second = tasks.create_task(ada.status("POST", "/rules", rule, Idempotency_Key="k"))
            await waiting.wait()
            await Holder(owner, end, ada.token, ada.id).end_access()
        assert first.result() in (202, 403) and second.result() in (401, 403)
        assert (await owner.ask("GET", "/rules"))["rules"] == []
