"""How one server's connection is reported: by the attempt that was asked for, and at once when that is given up."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from anycowork.domain.errors import StateChanged
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.tool_ports import ToolContext
from anycowork.mcp.connection import McpConnection
from anycowork.mcp.definitions import OfferedTool, definitions_of
from anycowork.mcp.modules import ModuleLoader
from anycowork.mcp.server_launcher import DataFolders, ServerLauncher
from anycowork.mcp.stdio_transport import McpFailed
from anycowork.mcp.tool import McpTool
from anycowork.sandbox.network.egress import Egress
from anycowork.server.secrets.mcp_stores import McpTokenStore
from anycowork.workspace.folder import Folder
from support.raw_mcp_server import ADD, offer, offered, raw_server
from support.spec import proves


@asynccontextmanager
async def started(folder: Path, command: str, *args: str, **more: Any) -> AsyncIterator[McpConnection]:
    config = McpServerConfig(name="one", command=command, args=list(args), unsandboxed=True, **more)
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        connection = McpConnection(
            config,
            ServerLauncher(None, Egress(), folder, DataFolders(folder / "mcp-data")),
            tasks,
            McpTokenStore(folder),
            modules=ModuleLoader(folder),
            taken_names=frozenset,
            tools_changed=lambda: None,
        )
        connection.start()
        try:
            yield connection
        finally:
            await connection.stop()


async def test_whoever_waits_for_a_connection_is_answered_when_it_is_given_up(tmp_path: Path) -> None:
    async with started(tmp_path, "/bin/sleep", "60") as connection:
        waiting = asyncio.ensure_future(connection.first_outcome())
        await asyncio.sleep(0)
        await connection.stop()
        assert (await waiting)["status"] == "disabled"


async def test_program_that_ends_at_once_is_named_with_what_it_printed_last(tmp_path: Path) -> None:
    script = "echo starting >&2; echo 'no module named server' >&2; exit 3"
    async with started(tmp_path, "/bin/sh", "-c", script) as connection:
        error = str((await connection.first_outcome())["error"])
        assert "'/bin/sh' ended before it was ready" in error and error.endswith("no module named server")
    async with started(tmp_path, "/bin/false") as connection:
        error = str((await connection.first_outcome())["error"])
        assert "'/bin/false' ended before it was ready and printed nothing" in error


async def test_the_outcome_of_an_attempt_stays_what_it_was(tmp_path: Path) -> None:
    async with started(tmp_path, "no-such-program-here") as connection:
        outcome = await connection.first_outcome()
        assert outcome["status"] == "failed" and "no-such-program-here" in str(outcome["error"])
        await connection.stop()
        assert connection.shown()["status"] == "disabled"
        assert await connection.first_outcome() == outcome


async def test_start_takes_no_longer_than_the_servers_timeout(tmp_path: Path) -> None:
    async with started(tmp_path, "/bin/sleep", "60", timeout=0.3) as connection:
        outcome = await connection.first_outcome()
        assert outcome["status"] == "failed" and "did not answer within 0.3 seconds" in str(outcome["error"])


async def test_stopped_connection_leaves_no_task_behind(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    config = raw_server(tmp_path / "far")
    async with started(tmp_path, config["command"], *config["args"]) as connection:
        outcome = await connection.first_outcome()
        assert outcome["status"] == "ready", outcome
        await connection.stop()
        left = [task for task in asyncio.all_tasks() - before if "Event.wait" in str(task.get_coro())]
        assert left == []


@proves("MCP-2/1")
async def test_tool_that_the_server_changed_since_it_was_allowed_is_not_called(tmp_path: Path) -> None:
    config = raw_server(tmp_path / "far", [offered("add", ADD, "Add two numbers.")])
    context = ToolContext(Folder(str(tmp_path)), frozenset())
    async with started(tmp_path, config["command"], *config["args"]) as connection:
        assert (await connection.first_outcome())["status"] == "ready"
        [add] = connection.tools()
        prepared = await add.prepare({"a": 1, "b": 2}, context)
        assert (await add.run(prepared, context)).content == "3"
        offer(tmp_path / "far", [offered("add", ADD, "Add two numbers, and publish them.")])
        await connection.relist()
        with pytest.raises(StateChanged, match="changed after this call was admitted"):
            await add.run(prepared, context)


@proves("MCP-1/2", "MCP-2/1")
def test_tools_that_come_to_one_name_are_not_offered_and_the_others_are() -> None:
    config = McpServerConfig(name="far", command="far")
    names = ("notes.read", "notes/read", "notes_write")
    definitions, problems = definitions_of(config, [OfferedTool(name, "", {}) for name in names], confined=True)
    assert [definition.spec.name for definition in definitions] == ["far__notes_write"]
    assert problems == ["'far__notes_read': several tools of the server come to this name, so none of them is used"]


@proves("MCP-2/1")
def test_version_of_a_tool_changes_with_its_words_and_no_tool_takes_the_name_of_another() -> None:
    config, tools = McpServerConfig(name="far", command="far"), [OfferedTool("add", "", {}), OfferedTool("see", "", {})]
    versions = set()
    for description, schema in (("", {}), ("Add.", {}), ("", {"type": "object", "properties": {"a": {}}})):
        [add], _ = definitions_of(config, [OfferedTool("add", description, schema)], confined=True)
        versions.add(add.version)
    assert len(versions) == 3
    definitions, problems = definitions_of(config, tools, taken_names=frozenset({"far__add"}), confined=True)
    assert [definition.name for definition in definitions] == ["see"]
    assert problems == ["'far__add': another tool has this name; it cannot be replaced"]


@proves("MCP-2/1")
@pytest.mark.parametrize("hidden", [HiddenPathRules(patterns=("/a",)), HiddenPathRules(asking=("/a",)), None])
async def test_program_of_many_calls_sees_no_workspace_where_files_are_hidden(
    tmp_path: Path, hidden: HiddenPathRules | None
) -> None:
    roots: list[Any] = []

    def session_for(root: Any) -> Any:
        roots.append(root)
        raise McpFailed("it is gone")

    [add], _ = definitions_of(McpServerConfig(name="far", command="far"), [OfferedTool("add", "", {})], confined=True)
    tool = McpTool(add, cast(Any, SimpleNamespace(version_of=lambda name: add.version, session_for=session_for)))
    folder = Folder(str(tmp_path))
    context = ToolContext(folder, frozenset(), **({"hidden": hidden} if hidden else {}))
    with pytest.raises(McpFailed):
        await tool.run(await tool.prepare({}, context), context)
    assert roots == [None if hidden else folder.origin]


@proves("MCP-2/2")
@pytest.mark.parametrize("confined", [True, False])
def test_mark_as_read_only_counts_only_for_a_program_that_is_held_to_it(confined: bool) -> None:
    config = McpServerConfig(name="far", command="far", read_only=["look"])
    [look], _ = definitions_of(config, [OfferedTool("look", "", {})], confined=confined)
    assert (look.spec.read_only, look.spec.requires_approval) == (confined, not confined)
