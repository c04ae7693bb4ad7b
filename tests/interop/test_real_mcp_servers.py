"""Our MCP client against servers that others wrote: everything, filesystem, memory, git and time, of both generations of the protocol."""

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from support.live_server import LiveChat, LiveServer, live_server
from support.ports import held_port
from support.real_mcp_servers import (
    StoppedPrograms,
    install_servers,
    kill_programs,
    node_server,
    python_server,
    remote_everything,
)
from support.scripted_model import call
from support.spec import proves

SECONDS = 60.0
# `make test` takes one program of each generation and language, and one remote transport; `make test-mcp` takes all.
ALL = "ANYCOWORK_ALL_MCP_SERVERS" in os.environ
PROGRAMS = ["filesystem", "git", "memory", "time"] if ALL else ["filesystem", "git"]
TRANSPORTS = ["streamableHttp", "sse"] if ALL else ["streamableHttp"]
ECHO = call("everything__echo", message="hello")
LONG = call("everything__trigger-long-running-operation", duration=30, steps=30)


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    install_servers()


async def ready(client: LiveServer, config: dict[str, Any]) -> dict[str, Any]:
    """Adds it and connects it, once for a program; a remote one may take a while to listen."""
    await client.ask("POST", "/mcp/servers", {**config, "enabled": False}, expect=201)
    shown: dict[str, Any] = {}
    async with asyncio.timeout(SECONDS):
        while shown.get("status") != "ready":
            shown = await client.ask("POST", f"/mcp/servers/{config['name']}/connect", {})
    return shown


async def allow(chat: LiveChat) -> None:
    await chat.send("Go.")
    decisions = [{"id": one["id"], "decision": "allow_once"} for one in await chat.approvals()]
    assert decisions, await chat.messages()
    await chat.client.ask("POST", f"{chat.path}/approvals", {"decisions": decisions}, expect=200)


async def seen(chat: LiveChat, kind: str, *, after: int | None = None) -> dict[str, Any]:
    async with asyncio.timeout(SECONDS):
        async for event in chat.follow(after):
            if event["type"] == kind:
                return event
    raise AssertionError("the stream ended")


async def result_of(client: LiveServer) -> dict[str, Any]:
    """One call in a chat of its own, allowed by the person: its result."""
    chat = await client.chat()
    await allow(chat)
    await seen(chat, "turn-ended")
    return (await chat.of_type("tool_result"))[-1]


async def killed_in_mid_call(
    client: LiveServer, name: str, kill: Callable[[], object], under_way: Callable[[LiveChat], Awaitable[None]]
) -> None:
    """Once the call has reached the server, kills it: the call fails, the turn goes on, and the loss is in the server's log."""
    chat = await client.chat()
    await allow(chat)
    async with asyncio.timeout(SECONDS):
        await under_way(chat)
    kill()
    await seen(chat, "turn-ended")
    (result,) = await chat.of_type("tool_result")
    assert result["payload"]["status"] == "error"
    assert f"The MCP server '{name}' failed" in result["content"]
    assert (await chat.last())["content"] == "It was lost."
    shown = await server(client, name)
    assert any("the connection to it was lost" in line for line in shown["log"]), shown["log"]


async def progress_shown(chat: LiveChat) -> None:
    async for event in chat.follow():
        if " of 30" in json.dumps(event):
            return


def call_waits_in(stopped: StoppedPrograms) -> Callable[[LiveChat], Awaitable[None]]:
    """The call was written to one of them."""

    async def waits(chat: LiveChat) -> None:
        while not stopped.have_more_to_read():
            await asyncio.sleep(0.01)

    return waits


async def server(client: LiveServer, name: str) -> dict[str, Any]:
    return next(one for one in (await client.ask("GET", "/mcp/servers"))["servers"] if one["name"] == name)


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, "-C", str(folder), *words], check=True, capture_output=True)


@proves("MCP-1/1", "MCP-1/3", "PER-4")
@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_program_by_others_is_called_lost_in_mid_call_and_back(tmp_path: Path, name: str) -> None:
    config, tool, parameters, expected = program(name, str(tmp_path / "workspace"))
    once = call(f"{name}__{tool}", **parameters)
    replies = [once, "Done.", once, "It was lost.", once, "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "old\n"}) as client:
        git(client.workspace, "init", "--quiet")
        git(client.workspace, "add", "a.txt")
        git(client.workspace, "commit", "--quiet", "-m", "the first commit")
        shown = await ready(client, config)
        assert tool in [one["name"] for one in shown["tools"]] and not shown["problems"]
        assert expected in (await result_of(client))["content"]
        stopped = StoppedPrograms(config)  # so that the next call is under way for sure
        assert stopped
        await killed_in_mid_call(client, name, lambda: kill_programs(config), call_waits_in(stopped))
        assert expected in (await result_of(client))["content"]
        if name == "filesystem":
            await changes_no_file(client)


async def changes_no_file(client: LiveServer) -> None:
    path = client.workspace / "a.txt"
    client.model.replies += [call("filesystem__write_file", path=str(path), content="new\n"), "Done."]
    assert (await result_of(client))["payload"]["status"] == "error"
    assert path.read_text() == "old\n"


def program(name: str, workspace: str) -> tuple[dict[str, Any], str, dict[str, Any], str]:
    """How it is configured, a tool of it with its parameters, and what the answer holds."""
    match name:
        case "filesystem":
            return node_server(name), "read_text_file", {"path": f"{workspace}/a.txt"}, "old"
        case "memory":
            entity = {"name": "Ulm", "entityType": "city", "observations": ["has a minster"]}
            config = node_server(name, env={"MEMORY_FILE_PATH": "/home/sandbox/memory"})
            return config, "create_entities", {"entities": [entity]}, "Ulm"
        case "git":
            return python_server(name), "git_log", {"repo_path": workspace}, "the first commit"
        case _:
            return python_server(name), "get_current_time", {"timezone": "Europe/Berlin"}, "Europe/Berlin"


@proves("MCP-1/1", "MCP-1/3", "MCP-3/1", "MCP-3/2")
async def test_everything_as_a_program_offers_asks_is_lost_in_mid_call_and_back(tmp_path: Path) -> None:
    config = node_server("everything")
    async with live_server(tmp_path) as client:
        shown = await ready(client, config)
        assert not shown["problems"]
        await offers_resources_prompts_and_roots(client)
        await asks_the_person_with_a_form(client)
        client.model.replies += [LONG, "It was lost.", ECHO, "Done."]
        await killed_in_mid_call(client, "everything", lambda: kill_programs(config), progress_shown)
        assert (await result_of(client))["content"] == "Echo: hello"


@proves("MCP-1/1", "MCP-1/2", "MCP-1/3")
@pytest.mark.parametrize("how", TRANSPORTS)
async def test_everything_is_called_lost_in_mid_call_and_back_over_each_transport(tmp_path: Path, how: str) -> None:
    with held_port() as port:
        async with live_server(tmp_path, replies=[ECHO, "Done."]) as client:
            await called_lost_and_back(client, how, port)


async def called_lost_and_back(client: LiveServer, how: str, port: int) -> None:
    with remote_everything(how, port) as (url, process):
        await ready(client, {"name": "everything", "url": url, "transport": "sse" if how == "sse" else "http"})
        assert (await result_of(client))["content"] == "Echo: hello"
        if how == "streamableHttp":
            await shows_progress_is_cancelled_and_tells_of_changes(client)
        client.model.replies += [LONG, "It was lost.", ECHO, "Done."]
        await killed_in_mid_call(client, "everything", process.kill, progress_shown)
    with remote_everything(how, port):
        async with asyncio.timeout(SECONDS):
            while (await client.ask("POST", "/mcp/servers/everything/connect", {}))["status"] != "ready":
                pass
        assert (await result_of(client))["content"] == "Echo: hello"


async def offers_resources_prompts_and_roots(client: LiveServer) -> None:
    client.model.replies += [
        call("everything__resources_read", uri="demo://resource/dynamic/text/1"),
        "Read.",
        call("everything__get-roots-list"),
        "Roots.",
        "Followed.",
    ]
    listed = (await client.ask("GET", "/mcp/resources"))["resources"]
    assert {"demo://resource/dynamic/text/{resourceId}"} <= {one["uri"] for one in listed if one["template"]}
    assert "Resource 1: This is a plaintext resource" in (await result_of(client))["content"]
    assert client.workspace.as_uri() in (await result_of(client))["content"]
    chat = await client.chat()
    workflows = (await client.ask("GET", f"/workflows?context_id={chat.id}"))["workflows"]
    parameters = {one["name"]: [two["name"] for two in one["parameters"]] for one in workflows}
    assert parameters["everything__resource-prompt"] == ["resource_type", "resource_id"]
    await chat.send("/everything__resource-prompt resource_type=Text resource_id=2")
    await chat.decide()
    (result,) = await chat.of_type("tool_result")
    assert "resource with id: 2" in result["content"] and (await chat.last())["content"] == "Followed."


async def asks_the_person_with_a_form(client: LiveServer) -> None:
    """One of many kinds of fields."""
    client.model.replies += [call("everything__trigger-elicitation-request"), "Done."]
    given: list[dict[str, str]] = [
        {"custom": "Ada"},
        {"value": "anycowork:yes"},
        {"value": "anycowork:default"},
        {"custom": "ada@example.org"},
        {"value": "anycowork:skip"},
        {"custom": "2001-02-03"},
        {"custom": "101"},  # refused: at most 100
        {"custom": "7"},
        {"value": "anycowork:default"},
        {"value": "Ross"},
        {"custom": "Guitar, Drums"},
        {"value": "hero-3"},
        {"custom": "Shark"},  # refused: not one of the choices
        {"custom": "Tuna, fish-3"},
        {"value": "pet-2"},
    ]
    chat = await client.chat()
    await allow(chat)
    await seen(chat, "question")
    for at, answer in enumerate(given):
        question = (await chat.of_type("question"))[-1]
        after = (await chat.show())["last_seq"]
        await client.ask("POST", f"{chat.path}/questions/{question['id']}/answer", answer)
        await seen(chat, "question" if at + 1 < len(given) else "turn-ended", after=after)
    (result,) = await chat.of_type("tool_result")
    sent = json.loads(result["content"].split("Raw result: ", 1)[1])
    assert sent["action"] == "accept" and sent["content"] == {
        "name": "Ada",
        "check": True,
        "firstLine": "It was a dark and stormy night.",
        "email": "ada@example.org",
        "birthdate": "2001-02-03",
        "integer": 7,
        "number": 3.14,
        "untitledSingleSelectEnum": "Ross",
        "untitledMultipleSelectEnum": ["Guitar", "Drums"],
        "titledSingleSelectEnum": "hero-3",
        "titledMultipleSelectEnum": ["fish-1", "fish-3"],
        "legacyTitledEnum": "pet-2",
    }


async def shows_progress_is_cancelled_and_tells_of_changes(client: LiveServer) -> None:
    data = "data:text/plain;base64,aGVsbG8="
    client.model.replies += [LONG, call("everything__gzip-file-as-resource", name="new.gz", data=data), "Made."]
    chat = await client.chat()
    await allow(chat)
    async with asyncio.timeout(SECONDS):
        await progress_shown(chat)
    await client.ask("POST", f"{chat.path}/stop", {})
    assert [one["status"] for one in await chat.results()] == ["cancelled"]
    await result_of(client)
    found: set[str] = set()
    async with asyncio.timeout(SECONDS):
        while "demo://resource/session/new.gz" not in found:
            found = {one["uri"] for one in (await client.ask("GET", "/mcp/resources"))["resources"]}
