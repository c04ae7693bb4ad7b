"""`anycowork mcp` and `anycowork acp` with a viewer's token, as real programs: they read, and change nothing."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # answers that tests look into freely
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from mcp import Client, StdioServerParameters

from support.cli_process import CommandLine, ServeProcess, ending
from support.editors import raw_editor_on
from support.scripted_model import ScriptedModel
from support.spec import proves

OWNERS = "the-owners-token-0123456789\n"
REFUSED = "Vic may only read here"
TIMEOUT = 120.0  # several processes are started, perhaps on a busy machine


@dataclass(frozen=True)
class ViewerLine(CommandLine):
    """Commands of somebody who has this token in their environment."""

    token: str = ""

    def environ(self, **more: str) -> dict[str, str]:
        return super().environ(ANYCOWORK_TOKEN=self.token, **more)


@dataclass(frozen=True)
class Place:
    server: ServeProcess
    model: ScriptedModel
    chat_id: str
    line: ViewerLine

    def untouched(self) -> bool:
        """One chat, no message in it, no job, and no model was asked."""
        chats = [one["id"] for one in self.server.get("/context")["contexts"]]
        messages = self.server.get(f"/context/{self.chat_id}/messages")["messages"]
        return (chats, messages, self.server.get("/jobs")["jobs"], self.model.requests) == ([self.chat_id], [], [], [])


@asynccontextmanager
async def a_viewers_place(tmp_path: Path) -> AsyncIterator[Place]:
    async with ScriptedModel([]) as model:
        line = CommandLine(tmp_path, model.base_url)
        with line.serving() as server:
            vic = server.post("/people", {"name": "Vic", "access": "viewer"})
            chat_id = server.post("/context", {})["id"]
            yield Place(server, model, chat_id, ViewerLine(tmp_path, model.base_url, vic["token"]))
            assert (tmp_path / "data" / "token").read_text().strip() == server.token  # theirs replaced nothing


@proves("OPS-3/2")
async def test_every_tool_of_a_viewers_mcp_host_that_changes_something_is_refused(tmp_path: Path) -> None:
    async with a_viewers_place(tmp_path) as place:
        environ = {**place.line.environ(), "HOME": str(tmp_path)}
        words = ["-m", "anycowork.cli.main", "mcp"]
        process = StdioServerParameters(command=sys.executable, args=words, env=environ, cwd=place.line.workspace)
        chat = {"chat_id": place.chat_id}
        changes: dict[str, dict[str, Any]] = {
            "start_chat": {"message": "Hello"},
            "send_message": {**chat, "message": "Hello"},
            "stop_chat": chat,
            "run_workflow": {**chat, "name": "review_changes"},
            "start_job": {**chat, "request": "Write a file"},
        }
        async with asyncio.timeout(TIMEOUT), Client(process) as client:
            offered = (await client.list_tools()).tools
            acting = {one.name for one in offered if not (one.annotations and one.annotations.read_only_hint)}
            assert acting - {"wait_for_chat"} == set(changes)
            for tool, arguments in changes.items():
                answer = await client.call_tool(tool, arguments)
                assert answer.is_error and REFUSED in answer.content[0].text, (tool, answer.content)
            read = await client.call_tool("list_chats", {})
            assert [one["id"] for one in json.loads(read.content[0].text)["chats"]] == [place.chat_id]
        assert place.untouched()


@proves("OPS-3/2")
async def test_every_request_of_a_viewers_editor_that_changes_something_is_refused(tmp_path: Path) -> None:
    async with a_viewers_place(tmp_path) as place, raw_editor_on(place.line, workspace=False) as editor:
        opening = {"cwd": str(place.line.workspace), "mcpServers": []}
        new = await editor.ask("session/new", opening)
        assert REFUSED in json.dumps(new["error"])
        loaded = await editor.ask("session/load", {"sessionId": place.chat_id, **opening})
        assert "error" not in loaded, loaded
        session = {"sessionId": place.chat_id}
        for method, params in (
            ("session/prompt", {"prompt": [{"type": "text", "text": "Hello"}]}),
            ("session/set_mode", {"modeId": "planner"}),
        ):
            answer = await editor.ask(method, {**session, **params})
            assert REFUSED in json.dumps(answer.get("error")), (method, answer)
        assert place.untouched()


@proves("OPS-3/2")
@pytest.mark.parametrize("words", [("serve", "--port", "0"), ("run", "Hello")])
def test_a_persons_token_never_becomes_the_servers_own(tmp_path: Path, words: tuple[str, ...]) -> None:
    line = with_an_owners_token(tmp_path)
    ended = line.type(*words, HOME=str(tmp_path))
    assert ended.returncode != 0 and "token of a person" in ended.stderr
    assert (line.data / "token").read_text() == OWNERS


@proves("OPS-3/2")
def test_mcp_over_http_keeps_the_servers_own_token(tmp_path: Path) -> None:
    line = with_an_owners_token(tmp_path)
    with ending(line.start("mcp", "--http", "0", HOME=str(tmp_path))) as process:
        assert process.stderr is not None
        assert "the person's token" in process.stderr.readline()
        assert (line.data / "token").read_text() == OWNERS


@proves("OPS-3/1")
@pytest.mark.parametrize("end", ["removal", "new token"])
async def test_mcp_over_http_refuses_the_token_of_a_person_who_has_lost_it(tmp_path: Path, end: str) -> None:
    async with a_viewers_place(tmp_path) as place:
        with ending(place.line.start("mcp", "--http", "0", HOME=str(tmp_path))) as process:
            assert process.stderr is not None
            named = await asyncio.to_thread(process.stderr.readline)
            url = named.removeprefix("MCP on ").partition(",")[0]
            assert await asyncio.to_thread(_initialized, url, place.line.token) == 200
            vic = next(one for one in place.server.get("/people")["people"] if one["name"] == "Vic")
            if end == "removal":
                place.server.delete(f"/people/{vic['id']}")
            else:
                place.server.post(f"/people/{vic['id']}/token", {})
            assert await asyncio.to_thread(_initialized, url, place.line.token) == 401


def _initialized(url: str, token: str) -> int:
    """The status of the answer to a host that introduces itself."""
    host = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": host}).encode()
    more = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        with urlopen(Request(url, body, {**more, "Authorization": f"Bearer {token}"}), timeout=TIMEOUT) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


def with_an_owners_token(home: Path) -> ViewerLine:
    line = ViewerLine(home, None, "pt-ac-" + "v" * 43)
    line.data.mkdir(mode=0o700)
    (line.data / "token").write_text(OWNERS)
    return line
