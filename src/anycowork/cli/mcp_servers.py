"""`anycowork mcp add | list | test | sign-in | remove`: the MCP servers of the running server, or of one of our own."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import quote

from pydantic import JsonValue

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.messages import Json

TEST_SECONDS = 120.0  # the server itself gives up after 90
SIGN_IN_SECONDS = 660  # the server itself gives up after 600


def add(invocation: Invocation, *, wanted: Mapping[str, JsonValue], env: Sequence[str]) -> int:
    """Stores the server, then tests it. `env` names variables of ours: a value never stands in an argument. 0 if it is ready, else 1.

    One that is not ready stays stored: it may need a sign-in, or a program that is installed later.
    """

    environ = invocation.environ

    async def work(client: ServerClient) -> int:
        if wanted.get("command") is None and wanted.get("url") is None:
            raise Invalid(
                "Name its program and arguments, or its address with --url. `anycowork mcp add -h` has examples."
            )
        missing = [name for name in env if name not in environ]
        if missing:
            raise Invalid(
                f"The variable {missing[0]} is not set here, so it cannot be passed on. Set it, and try again."
            )
        given = {key: value for key, value in wanted.items() if value is not None}
        await client.post("/mcp/servers", {**given, "env": {name: environ[name] for name in env}})
        name = str(wanted["name"])
        try:
            code = await _test(client, name)
        except AnyCoworkError:
            _print_kept(name)
            raise
        if code != EXIT_CODES[RunEnding.DONE]:
            _print_kept(name)
        return code

    return run_with_client("add", invocation, work)


def list_servers(invocation: Invocation) -> int:
    async def work(client: ServerClient) -> int:
        servers = (await client.get("/mcp/servers"))["servers"]
        assert isinstance(servers, list)
        for server in servers:
            if isinstance(server, dict):
                _print_server(server)
        if not servers:
            stdout().line("No MCP servers. `anycowork mcp add` adds one.")
        return EXIT_CODES[RunEnding.DONE]

    return run_with_client("list", invocation, work)


def test(invocation: Invocation, *, name: str) -> int:
    """0 if it is ready."""
    return run_with_client("test", invocation, lambda client: _test(client, name))


def sign_in(invocation: Invocation, *, name: str) -> int:
    """Prints where to log in, and waits for it. 0 if it is ready."""

    async def work(client: ServerClient) -> int:
        path = f"/mcp/servers/{quote(name, safe='')}"
        stdout().line("Log in with a browser on this machine:")
        stdout().line(strip_controls(str((await client.post(f"{path}/sign-in"))["address"])))
        for _ in range(SIGN_IN_SECONDS):
            if await _sign_in_state(client, name) != "open":
                break
            await asyncio.sleep(1)
        return await _test(client, name)

    return run_with_client("sign-in", invocation, work)


def remove(invocation: Invocation, *, name: str) -> int:
    async def work(client: ServerClient) -> int:
        await client.delete(f"/mcp/servers/{quote(name, safe='')}")
        stdout().line(f"{name} is removed.")
        return EXIT_CODES[RunEnding.DONE]

    return run_with_client("remove", invocation, work)


async def _sign_in_state(client: ServerClient, name: str) -> JsonValue:
    servers = (await client.get("/mcp/servers"))["servers"]
    found = [one for one in servers if isinstance(one, dict)] if isinstance(servers, list) else []
    return next((one.get("sign_in") for one in found if one.get("name") == name), None)


async def _test(client: ServerClient, name: str) -> int:
    shown = await client.post(f"/mcp/servers/{quote(name, safe='')}/connect")
    _print_server(shown)
    return EXIT_CODES[RunEnding.DONE if shown.get("status") == "ready" else RunEnding.FAILED]


def _print_kept(name: str) -> None:
    shown = strip_controls(name)
    stderr().line(
        f"{shown} was added, but its test failed, so its tools cannot be used yet. Correct what is missing, then run "
        f"`anycowork mcp test {shown}`; or run `anycowork mcp remove {shown}` and add it again."
    )


def _print_server(server: Json) -> None:
    name, status, tools = server["name"], server["status"], server["tools"]
    stdout().line(strip_controls(f"{name}: {status}{f' ({error})' if (error := server.get('error')) else ''}"))
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, dict) and tool.get("enabled"):
            marked = ", read-only" if tool.get("read_only") else ""
            stdout().line(strip_controls(f"  {name}__{tool['name']}{marked}: {tool['description']}"))
    problems = server["problems"]
    for problem in problems if isinstance(problems, list) else []:
        stdout().line(strip_controls(f"  not offered: {problem}"))


def run_with_client(word: str, invocation: Invocation, work: Callable[[ServerClient], Awaitable[int]]) -> int:
    command = f"mcp {word}"
    return run_with_server(command, invocation, work, request_seconds=TEST_SECONDS, usage_statuses=(404, 422))
