"""MCP servers that others wrote do their real work: a file written, a commit made, a row inserted, an entity stored; asked about and undone."""

import os
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from support.git_commands import git
from support.live_server import LiveChat, LiveServer, live_server
from support.real_mcp_servers import install_servers, node_server, older_server, python_server
from support.scripted_model import call
from support.spec import proves

# `make test` takes one server of each language; `make test-mcp` takes all.
ALL = "ANYCOWORK_ALL_MCP_SERVERS" in os.environ
FILES = {"a.txt": "old\n"}
ULM = {"name": "Ulm", "entityType": "city", "observations": ["has a minster"]}


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    install_servers()


async def added(client: LiveServer, config: dict[str, Any]) -> None:
    await client.ask("POST", "/mcp/servers", {**config, "enabled": False}, expect=201)
    shown = await client.ask("POST", f"/mcp/servers/{config['name']}/connect", {})
    assert shown["status"] == "ready", (shown["error"], shown["log"])


async def work(client: LiveServer, *calls: Any) -> LiveChat:
    """A chat in which each call is asked about, allowed and succeeds."""
    client.model.replies += [*calls, "Done."]
    chat = await client.chat()
    await chat.send("Do it.")
    for _ in calls:
        assert [item["resource"].startswith("mcp:") for item in await chat.approvals()] == [True]
        await chat.decide()
    results = await chat.of_type("tool_result")
    assert [one["payload"]["status"] for one in results] == ["ok"] * len(calls), [one["content"] for one in results]
    return chat


async def undo(chat: LiveChat) -> None:
    """Back to before the first change."""
    first = (await chat.client.ask("GET", f"{chat.path}/snapshots"))["snapshots"][0]
    await chat.client.ask("POST", f"{chat.path}/snapshots/{first['id']}/restore", {})


async def filesystem_writes_edits_and_moves_files(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as client:
        await added(client, node_server("filesystem", workspace_access="layer"))
        at = lambda name: str(client.workspace / name)  # noqa: E731  # a shorthand
        chat = await work(
            client,
            call("filesystem__write_file", path=at("new.txt"), content="written\n"),
            call("filesystem__edit_file", path=at("a.txt"), edits=[{"oldText": "old", "newText": "edited"}]),
            call("filesystem__create_directory", path=at("sub")),
            call("filesystem__move_file", source=at("new.txt"), destination=at("sub/moved.txt")),
        )
        assert (client.workspace / "a.txt").read_text() == "edited\n"
        assert (client.workspace / "sub/moved.txt").read_text() == "written\n"
        await undo(chat)
        found = {path.name: path.read_text() for path in client.workspace.rglob("*") if path.is_file()}
        assert found == FILES and not (client.workspace / "sub").exists()


async def git_commits_and_switches_branches(tmp_path: Path) -> None:
    """Undo brings files back, not the history: that is git's own."""
    async with live_server(tmp_path, files=FILES) as client:
        folder = client.workspace
        git(folder, "init", "-q", "-b", "main")
        for key, value in (("user.name", "Ann"), ("user.email", "ann@example.org")):
            git(folder, "config", key, value)
        git(folder, "add", "a.txt")
        git(folder, "commit", "-q", "-m", "First")
        git(folder, "switch", "-q", "-c", "other")
        (folder / "a.txt").write_text("other\n")
        git(folder, "commit", "-q", "-a", "-m", "Other")
        git(folder, "switch", "-q", "main")
        (folder / "b.txt").write_text("new\n")
        await added(client, python_server("git", workspace_access="layer"))
        repo = str(folder)
        await work(
            client,
            call("git__git_add", repo_path=repo, files=["b.txt"]),
            call("git__git_commit", repo_path=repo, message="By the server"),
        )
        assert git(folder, "log", "-1", "--format=%an %s").strip() == "Ann By the server"
        assert git(folder, "status", "--porcelain") == ""
        git(folder, "fsck", "--strict")
        chat = await work(client, call("git__git_checkout", repo_path=repo, branch_name="other"))
        assert (folder / "a.txt").read_text() == "other\n" and not (folder / "b.txt").exists()
        await undo(chat)
        assert (folder / "a.txt").read_text() == "old\n" and (folder / "b.txt").read_text() == "new\n"


async def sqlite_inserts_a_row(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as client:
        await added(client, older_server("sqlite", "--db-path", "data.db", workspace_access="layer"))
        chat = await work(
            client,
            call("sqlite__create_table", query="CREATE TABLE cities (name TEXT)"),
            call("sqlite__write_query", query="INSERT INTO cities VALUES ('Ulm')"),
        )
        assert rows(client.workspace / "data.db") == [("Ulm",)]
        await undo(chat)
        assert not (client.workspace / "data.db").exists()


def rows(database: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT name FROM cities").fetchall()


async def memory_keeps_an_entity_in_its_data_folder(tmp_path: Path) -> None:
    kept = {"MEMORY_FILE_PATH": "/home/sandbox/memory.jsonl"}
    config = node_server("memory", env=kept, data_folder=True, workspace_access="none")
    async with live_server(tmp_path, files=FILES) as client:
        await added(client, config)
        await work(client, call("memory__create_entities", entities=[ULM]))
    async with live_server(tmp_path, files=FILES) as client:
        await client.ask("POST", "/mcp/servers/memory/connect", {})
        chat = await work(client, call("memory__search_nodes", query="Ulm"))
        assert "has a minster" in str(await chat.of_type("tool_result"))
        await client.ask("DELETE", "/mcp/data_folders/memory", expect=204)
        await client.ask("POST", "/mcp/servers/memory/connect", {})
        chat = await work(client, call("memory__search_nodes", query="Ulm"))
        assert "has a minster" not in str(await chat.of_type("tool_result"))


async def memory_stores_an_entity_in_the_workspace(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as client:
        file = client.workspace / "memory.jsonl"
        await added(client, node_server("memory", env={"MEMORY_FILE_PATH": str(file)}, workspace_access="layer"))
        chat = await work(client, call("memory__create_entities", entities=[ULM]))
        assert "has a minster" in file.read_text()
        await undo(chat)
        assert not file.exists()


SHORT = [filesystem_writes_edits_and_moves_files, git_commits_and_switches_branches]
SCENES = [
    *SHORT,
    sqlite_inserts_a_row,
    memory_keeps_an_entity_in_its_data_folder,
    memory_stores_an_entity_in_the_workspace,
]


@proves("MCP-1/1", "MCP-2/1")
@pytest.mark.parametrize("scene", SCENES if ALL else SHORT, ids=lambda scene: scene.__name__)
async def test_a_real_server_does_its_work_asked_about_and_undone(
    tmp_path: Path, scene: Callable[[Path], Awaitable[None]]
) -> None:
    await scene(tmp_path)


@proves("MCP-2/1")
async def test_an_error_that_a_real_server_reports_is_an_error(tmp_path: Path) -> None:
    async with live_server(tmp_path, files=FILES) as client:
        await added(client, node_server("filesystem", workspace_access="layer"))
        wrong = call(
            "filesystem__edit_file", path=str(client.workspace / "a.txt"), edits=[{"oldText": "x", "newText": ""}]
        )
        client.model.replies += [wrong, "It failed."]
        chat = await client.chat()
        await chat.send("Do it.")
        await chat.decide()
        (result,) = await chat.results()
        assert result["status"] == "error" and result["error"]["code"] == "mcp_failed"
        assert (client.workspace / "a.txt").read_text() == "old\n"
