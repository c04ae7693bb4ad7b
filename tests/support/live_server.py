"""The real server on a free port, a scripted model behind it, and an HTTP client.

`async with live_server(tmp_path, replies=[...]) as client:` then `chat = await client.chat(role="planner")`, `await chat.send("…")`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any  # answers are JSON that tests look into freely

import aiohttp

from anycowork.app import RunningServer, start_services
from anycowork.config.settings import ProviderEntry, Settings
from anycowork.domain.ports import Clock
from anycowork.sandbox.network.dialer import Network
from anycowork.server.uvicorn_server import ListenAddress, serve_app
from support.scripted_model import Script, ScriptedModel
from support.stored import put_fresh_database

TOKEN = "a-token-for-tests"
TIMEOUT = 60.0  # until something that should happen did not: says nothing of how fast it is
Json = dict[str, Any]


class RequestRefused(AssertionError):
    """An answer that was not the one expected."""


class Caller:
    """An HTTP client with the owner's token."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.session = session

    async def ask(self, method: str, path: str, body: Any = None, *, expect: int | None = None, **extra: Any) -> Json:
        """The answer's JSON; fails unless its status is `expected_usage` (any 2xx without)."""
        async with self.session.request(method, self.url + path, json=body, **extra) as response:
            text = await response.text()
            good = response.status == expect if expect is not None else response.status < 300
            if not good:
                raise RequestRefused(f"{method} {path}: {response.status} {text}")
            return json.loads(text) if text else {}

    async def chat(self, *, role: str | None = None, **given: Any) -> "LiveChat":
        body = {**({"agent_role": role} if role else {}), **given}
        return LiveChat(self, await self.ask("POST", "/context", body, expect=201))


class LiveServer(Caller):
    """A client whose server runs in this process."""

    def __init__(
        self, url: str, session: aiohttp.ClientSession, *, server: RunningServer, model: ScriptedModel, workspace: Path
    ) -> None:
        super().__init__(url, session)
        self.server = server
        self.model = model
        self.workspace = workspace


class LiveChat:
    def __init__(self, client: Caller, opened: Json) -> None:
        self.client = client
        self.opened = opened
        self.id: str = opened["id"]
        self.path = f"/context/{self.id}"

    async def send(self, content: str, *, until: str = "rest") -> Json:
        """Sends, and waits until the agent rests: idle, or waiting for a person. The chat as it then is."""
        await self.client.ask("POST", f"{self.path}/messages", {"content": content}, expect=202)
        return await self.rest() if until == "rest" else {}

    async def rest(self) -> Json:
        """Waits for the end of the turn's segment by following the events, not by asking again and again."""
        async with asyncio.timeout(TIMEOUT):
            async for event in self.follow():
                if event["type"] in ("turn-ended", "permission-request", "question"):
                    chat = await self.show()
                    if chat["state"] != "running":
                        return chat
        raise AssertionError("the stream ended")

    async def show(self) -> Json:
        return await self.client.ask("GET", self.path)

    async def messages(self) -> list[Json]:
        return (await self.client.ask("GET", f"{self.path}/messages?limit=500"))["messages"]

    async def of_type(self, message_type: str) -> list[Json]:
        return [message for message in await self.messages() if message["message_type"] == message_type]

    async def results(self) -> list[Json]:
        return [message["payload"] for message in await self.of_type("tool_result")]

    async def last(self) -> Json:
        return (await self.messages())[-1]

    async def approvals(self) -> list[Json]:
        return (await self.client.ask("GET", f"{self.path}/approvals"))["approvals"]

    async def decide(self, decision: str = "allow_once", *, note: str | None = None) -> Json:
        """Decides everything that is pending the same way, and waits until the agent rests again."""
        pending = await self.approvals()
        decisions = [{"id": item["id"], "decision": decision, **({"note": note} if note else {})} for item in pending]
        await self.client.ask("POST", f"{self.path}/approvals", {"decisions": decisions}, expect=200)
        return await self.rest()

    async def switch(self, role: str, **given: Any) -> Json:
        return await self.client.ask("PUT", f"{self.path}/role", {"role": role, **given})

    async def follow(self, after: int | None = None) -> AsyncIterator[Json]:
        """Every event from the first, or after a number; the caller decides when to leave."""
        headers = {"Last-Event-ID": str(after)} if after is not None else {}
        async with self.client.session.get(f"{self.client.url}{self.path}/events", headers=headers) as response:
            async for line in response.content:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

    @asynccontextmanager
    async def joined(self) -> AsyncIterator[AsyncIterator[Json]]:
        """Every event from the first. Inside, the server knows this reader: what is shown and not stored reaches it, too."""
        events = self.follow()
        try:
            async with asyncio.timeout(TIMEOUT):
                first = await anext(events)

            async def from_the_first() -> AsyncIterator[Json]:
                yield first
                async for event in events:
                    yield event

            yield from_the_first()
        finally:
            await events.aclose()  # type: ignore[attr-defined]  # it is a generator

    async def events(self, until: str = "turn-ended") -> list[Json]:
        """The events from the first to the last one there is of this type, as a late reader sees them."""
        last_seq = (await self.show())["last_seq"]
        found: list[Json] = []
        async with asyncio.timeout(TIMEOUT):
            async for event in self.follow():
                found.append(event)
                if event["seq"] >= last_seq and event["type"] == until:
                    return found
        raise AssertionError("the stream ended")


@asynccontextmanager
async def live_server(
    tmp_path: Path,
    *,
    replies: Iterable[Script] = (),
    files: dict[str, str] | None = None,
    outside: Network | None = None,
    clock: Clock | None = None,
    **settings: Any,
) -> AsyncIterator[LiveServer]:
    """Opening it a second time with the same folder is a restart. `outside` is the internet of its commands."""
    workspace = tmp_path / "workspace"
    workspace.mkdir(exist_ok=True)
    for name, text in (files or {}).items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text)
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ScriptedModel(replies))
        given = {
            "data_dir": tmp_path / "data",
            "workspace": workspace,
            "model": "scripted/scripted",
            "providers": (ProviderEntry(name="scripted", base_url=model.base_url, models=("scripted",)),),
            "probe_local_servers": False,
            **settings,
        }
        (tmp_path / "data").mkdir(mode=0o700, exist_ok=True)
        if "database_url" not in settings:
            put_fresh_database(tmp_path / "data")
        server = await stack.enter_async_context(start_services(Settings(**given), clock, token=TOKEN, outside=outside))
        url = await stack.enter_async_context(served(server))
        session = await stack.enter_async_context(new_session())
        yield LiveServer(url, session, server=server, model=model, workspace=workspace)


def new_session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(headers={"Authorization": f"Bearer {TOKEN}"}, read_bufsize=2**24)


@asynccontextmanager
async def served(server: RunningServer) -> AsyncIterator[str]:
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(
            serve_app(
                server.app,
                ListenAddress("127.0.0.1", 0, 1.0),
                stopping=server.stopping,
                ready=port.set_result,
                handle_signals=False,
            )
        )
        try:
            yield f"http://127.0.0.1:{await port}"
        finally:
            server.stopping.set()
            await serving
