"""A read and what it brought become durable together; one that takes long is told of while it runs; nothing follows what was not written."""

import asyncio
from pathlib import Path

import pytest

from anycowork.agent import turn_context
from anycowork.agent.turn_context import WriteBuffer
from anycowork.domain.chats import ChatState
from anycowork.domain.errors import Conflict
from anycowork.domain.events import Record
from anycowork.domain.journal import Change, RequireState
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Prepared, ToolContext
from anycowork.domain.tools import Parameters, ToolResult, ToolSpec
from anycowork.tools.toolbox import ToolRegistry
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves
from support.stored import add_chat, note, opened, said, until
from support.tool_sources import FixedSource

UNMET = RequireState(frozenset({ChatState.RUNNING}), Conflict("The chat does not run."))


class Endless:
    """A tool that only reads, and never comes to an end."""

    spec = ToolSpec(
        name="listen",
        category="facts",
        description="Listen.",
        permissions=frozenset({Permission.READ_FILES}),
        schema={"type": "object", "properties": {}},
        requires_approval=False,
    )

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    def problems(self, parameters: Parameters) -> list[str]:
        return []

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        return Prepared("listen", parameters, resource="everything")

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        self.begun.set()
        await asyncio.Event().wait()
        raise AssertionError("it never ends")


async def test_what_waits_is_written_in_its_order_with_the_next_thing_and_in_one_commit(tmp_path: Path) -> None:
    shown: list[Record] = []
    async with opened(tmp_path, shown.append) as database:
        await database.journal.write(add_chat())
        commits, waiting = database.writer.tally.commits, WriteBuffer()
        waiting.keep(database.journal, Change("c1", said("m1").writes, (note("first"),)))
        await waiting.write(database.journal, Change("c1", said("m2").writes, (note("second"),)))
        assert database.writer.tally.commits == commits + 1
        assert [record.type.value for record in shown] == ["message", "error", "message", "error"]
        assert [m.id for m in await database.store.messages.all("c1")] == ["m1", "m2"]
        assert (await database.store.messages.find("c1", "m2")) is not None
        assert await database.store.audit.verify_chat("c1") is None


async def test_changes_that_are_written_together_are_kept_together_or_not_at_all(tmp_path: Path) -> None:
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        with pytest.raises(Conflict, match="does not run"):
            await database.journal.write(said("m1"), Change("c1", (UNMET,)))
        assert await database.store.messages.all("c1") == []


async def test_what_waits_too_long_is_written_by_itself(tmp_path: Path) -> None:
    shown: list[Record] = []
    async with opened(tmp_path, shown.append) as database:
        await database.journal.write(add_chat())
        waiting = WriteBuffer()
        waiting.keep(database.journal, said("m1"))
        await until(lambda: len(shown) == 1)
        await waiting.write(database.journal)
        assert [m.id for m in await database.store.messages.all("c1")] == ["m1"]


async def test_nothing_follows_what_could_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_context, "FLUSH_SECONDS", 0.0)
    async with opened(tmp_path) as database:
        await database.journal.write(add_chat())
        waiting, works = WriteBuffer(), database.writer.tally.works
        waiting.keep(database.journal, Change("c1", (UNMET,)))
        await until(lambda: database.writer.tally.works > works)
        with pytest.raises(Conflict, match="does not run"):
            await waiting.write(database.journal, said("m1"))
        assert await database.store.messages.all("c1") == []


@proves("LOOP-5")
async def test_a_read_that_takes_long_is_told_of_and_can_be_stopped(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[call("listen")]) as client:
        chat, _ = await _listening(client)
        async with asyncio.timeout(60):
            async for event in chat.follow():
                if event["type"] == "tool-call":
                    break
        await client.ask("POST", f"{chat.path}/stop", {})
        assert [result["tool"] for result in await chat.results()] == ["listen"]


async def test_a_stop_finds_a_read_that_nobody_was_told_of_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_context, "FLUSH_SECONDS", 60.0)
    async with live_server(tmp_path, replies=[call("listen")]) as client:
        chat, tool = await _listening(client)
        await until(tool.begun.is_set)
        assert await chat.of_type("tool_call") == []
        await client.ask("POST", f"{chat.path}/stop", {})
        assert (await chat.show())["state"] == "idle"
        assert [message["payload"]["tool"] for message in await chat.of_type("tool_call")] == ["listen"]
        assert [result["tool"] for result in await chat.results()] == ["listen"]


async def _listening(client: LiveServer) -> tuple[LiveChat, Endless]:
    tool, toolbox = Endless(), client.server.scheduler._agent.toolrunner._toolbox
    assert isinstance(toolbox, ToolRegistry)
    toolbox.refresh(FixedSource([tool]))
    chat = await client.chat()
    await chat.send("Listen.", until="sent")
    return chat, tool
