"""`anycowork mcp add | edit | list | test | sign-in | remove | clean | import`: the MCP servers of the running server, or of one of our own.

Servers from a file of an editor or a project are imported one by one: a person reads each, and adds exactly what was shown.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import typer
from pydantic import JsonValue

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient, ServerRefused
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.mcp_servers import KNOWN_FILES, LARGEST_FILE, FoundServer, servers_in, with_values
from anycowork.domain.messages import Json, json_objects
from anycowork.server.disk_usage import human_size

TEST_SECONDS = 120.0  # the server itself gives up after 90
_LOOK_SECONDS = 1.0
SIGN_IN_SECONDS = 660  # the server itself gives up after 600


def add(invocation: Invocation, *, config: Mapping[str, JsonValue], env: Sequence[str]) -> typer.Exit:
    """Stores the server, then tests it. `env` names variables of ours: a value never stands in an argument. 0 if it is ready, else 1.

    One that is not ready stays stored: it may need a sign-in, or a program that is installed later.
    """

    environ = invocation.environ

    async def work(client: ServerClient) -> int:
        if config.get("command") is None and config.get("url") is None:
            raise Invalid(
                "Name its program and arguments, or its address with --url. `anycowork mcp add -h` has examples."
            )
        settings = {key: value for key, value in config.items() if value is not None}
        await client.post("/mcp/servers", {**settings, "env": _values(environ, env)})
        name = str(config["name"])
        try:
            code = await _test(client, name)
        except AnyCoworkError:
            _print_kept(name)
            raise
        if code != EXIT_CODES[RunEnding.DONE]:
            _print_kept(name)
        return code

    return _run("add", invocation, work)


def edit(
    invocation: Invocation, *, name: str, changes: Mapping[str, JsonValue], hosts: Sequence[str], env: Sequence[str]
) -> typer.Exit:
    """Changes the server, then tests it. `hosts` are added to those that it may reach. 0 if it is ready, else 1."""

    async def work(client: ServerClient) -> int:
        path = f"/mcp/servers/{quote(name, safe='')}"
        body: Json = {key: value for key, value in changes.items() if value is not None}
        if env:
            body["env"] = _values(invocation.environ, env)
        if hosts:
            hosts_now = (await client.get(path))["network"]
            body["network"] = [*(hosts_now if isinstance(hosts_now, list) else []), *hosts]
        if not body:
            raise Invalid("Say what is to change. `anycowork mcp edit -h` lists it.")
        await client.patch(path, body)
        return await _test(client, name)

    return _run("edit", invocation, work)


def _values(environ: Mapping[str, str], names: Sequence[str]) -> Json:
    """Raises: Invalid."""
    missing = [name for name in names if name not in environ]
    if missing:
        raise Invalid(f"The variable {missing[0]} is not set here, so it cannot be passed on. Set it, and try again.")
    return {name: environ[name] for name in names}


def list_servers(invocation: Invocation) -> typer.Exit:
    async def work(client: ServerClient) -> None:
        servers = json_objects((await client.get("/mcp/servers")).get("servers"))
        for server in servers:
            _print_server(server)
        if not servers:
            stdout().line("No MCP servers. `anycowork mcp add` adds one.")
        for folder in json_objects((await client.get("/mcp/data_folders")).get("data_folders")):
            if not folder["has_server"]:
                line = f"{folder['name']}: removed; it has left {_size(folder['bytes'])} (`anycowork mcp clean {folder['name']}` deletes it)"
                stdout().line(strip_controls(line))

    return _run("list", invocation, work)


def test(invocation: Invocation, *, name: str) -> typer.Exit:
    """0 if it is ready."""
    return _run("test", invocation, lambda client: _test(client, name))


def sign_in(invocation: Invocation, *, name: str) -> typer.Exit:
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

    return _run("sign-in", invocation, work)


def remove(invocation: Invocation, *, name: str, with_data: bool | None = None) -> typer.Exit:
    """`with_data` None: a person at the terminal is asked; where nobody is, its data folder stays."""

    async def work(client: ServerClient) -> None:
        path = f"/mcp/servers/{quote(name, safe='')}"
        size = (await client.get(path)).get("data_bytes")
        deletes = with_data if with_data is not None or size == 0 else _person_deletes(name, _size(size))
        await client.delete(f"{path}?with_data={'true' if deletes else 'false'}")
        stdout().line(f"{name} is removed.")
        if size != 0 and not deletes:
            stdout().line(f"Its data folder is kept ({_size(size)}); `anycowork mcp clean {name}` deletes it.")

    return _run("remove", invocation, work)


def clean(invocation: Invocation, *, name: str) -> typer.Exit:
    async def work(client: ServerClient) -> None:
        await client.delete(f"/mcp/data_folders/{quote(name, safe='')}")
        stdout().line(f"The data folder of {name} is empty now.")

    return _run("clean", invocation, work)


def _person_deletes(name: str, size: str) -> bool:
    if not (sys.stdin.isatty() and os.isatty(2)):
        return False
    stderr().line(f"Delete the data folder of {name} as well ({size})? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _size(bytes_: JsonValue) -> str:
    return human_size(bytes_) if isinstance(bytes_, int) else "an unknown size"


async def _sign_in_state(client: ServerClient, name: str) -> JsonValue:
    entries = json_objects((await client.get("/mcp/servers")).get("servers"))
    return next((server.get("sign_in") for server in entries if server.get("name") == name), None)


async def _test(client: ServerClient, name: str) -> int:
    path = f"/mcp/servers/{quote(name, safe='')}"
    printed = await _log_of(client, path)
    connecting = asyncio.ensure_future(client.post(f"{path}/connect"))
    try:
        while not (await asyncio.wait([connecting], timeout=_LOOK_SECONDS))[0]:
            lines = await _log_of(client, path)
            for line in lines[len(printed) :]:
                stderr().line(strip_controls(f"  {line}"))
            printed = lines
    finally:
        connecting.cancel()
        await asyncio.wait([connecting])
    server = connecting.result()
    _print_server(server)
    return EXIT_CODES[RunEnding.DONE if server.get("status") == "ready" else RunEnding.FAILED]


async def _log_of(client: ServerClient, path: str) -> list[JsonValue]:
    lines = (await client.get(path))["log"]
    return lines if isinstance(lines, list) else []


def _print_kept(name: str) -> None:
    shown_name = strip_controls(name)
    stderr().line(
        f"{shown_name} was added, but its test failed, so its tools cannot be used yet. Correct what is missing, then run "
        f"`anycowork mcp test {shown_name}`; or run `anycowork mcp remove {shown_name}` and add it again."
    )


def _print_server(server: Json) -> None:
    name, status, tools = server["name"], server["status"], server["tools"]
    stdout().line(strip_controls(f"{name}: {status}{f' ({error})' if (error := server.get('error')) else ''}"))
    for tool in json_objects(tools):
        if tool.get("enabled"):
            marked = ", read-only" if tool.get("read_only") else ""
            stdout().line(strip_controls(f"  {name}__{tool['name']}{marked}: {tool['description']}"))
    for text in _folders_of(server):
        stdout().line(strip_controls(f"  {text}"))
    refused = server["refused_hosts"]
    for host in refused if isinstance(refused, list) else []:
        stdout().line(
            strip_controls(f"  it wanted to reach {host}; to allow that: `anycowork mcp edit {name} --network {host}`")
        )
    problems = server["problems"]
    for problem in problems if isinstance(problems, list) else []:
        stdout().line(strip_controls(f"  not offered: {problem}"))


def _folders_of(server: Json) -> list[str]:
    """What it sees and keeps, where that is not the usual."""
    access = {"none": "it sees no workspace", "layer": "it may change files of the workspace, each call in a layer"}
    texts = [access[key] for key in [str(server["workspace_access"])] if key in access]
    if server["data_folder"] or server["data_bytes"] != 0:
        texts.append(f"its data folder (/home/sandbox) holds {_size(server['data_bytes'])}")
    return texts


def _run(word: str, invocation: Invocation, work: Callable[[ServerClient], Awaitable[int | None]]) -> typer.Exit:
    return run_with_server(f"mcp {word}", invocation, work, request_seconds=TEST_SECONDS)


def import_servers(
    invocation: Invocation,
    *,
    file: Path | None,
    source: str | None,
    env: Sequence[str],
    agreed: bool,
) -> typer.Exit:
    """0 if all that can be added was. `env` names variables of ours whose values may be filled in. Nothing is added unasked."""

    environ = invocation.environ

    async def work(client: ServerClient) -> int:
        path = _path(file, source, invocation.cwd, environ)
        servers = servers_in(_read(path), is_toml=path.suffix == ".toml")
        values = {name: environ[name] for name in env if name in environ}
        usable_servers = [server for server in servers if _is_usable(server, values)]
        stdout().line(strip_controls(f"{path} names {len(servers)} MCP servers:"))
        for server in servers:
            _show(server, values)
        if not usable_servers:
            return EXIT_CODES[RunEnding.FAILED if servers else RunEnding.DONE]
        if not agreed and not _person_agrees(len(usable_servers)):
            return EXIT_CODES[RunEnding.PARKED]
        results = [await _added(client, with_values(server, values)) for server in usable_servers]
        return EXIT_CODES[RunEnding.DONE if all(results) and len(usable_servers) == len(servers) else RunEnding.FAILED]

    return _run("import", invocation, work)


def _path(file: Path | None, source: str | None, cwd: Path, environ: Mapping[str, str]) -> Path:
    """Raises: Invalid."""
    if (file is None) is (source is None):
        raise Invalid(f"Name a file, such as .mcp.json, or one of --from {', '.join(KNOWN_FILES)}.")
    if file is not None:
        return cwd / file.expanduser()
    home = Path(environ.get("HOME") or Path.home())
    if source is None or source not in KNOWN_FILES:
        raise Invalid(f"'{source}' is not known. Valid: {', '.join(KNOWN_FILES)}.")
    paths = [home / name for name in KNOWN_FILES[source]]
    path = next((name for name in paths if name.is_file()), None)
    if path is None:
        raise Invalid(f"There is no file of '{source}' here: looked for {', '.join(map(str, paths))}.")
    return path


def _read(path: Path) -> str:
    """Once: what is shown is what is added. Raises: Invalid."""
    try:
        with path.open("rb") as opened:
            return opened.read(LARGEST_FILE + 1).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(
            f"'{path}' cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}."
        ) from None


def _is_usable(server: FoundServer, values: Mapping[str, str]) -> bool:
    return server.problem is None and all(name in values for name in server.variables)


def _show(server: FoundServer, values: Mapping[str, str]) -> None:
    """Everything that would be started or reached; of environment and headers the names only."""
    missing = [name for name in server.variables if name not in values]
    if server.problem or missing:
        reason = server.problem or f"it needs ${missing[0]}: set it and add --env {missing[0]}"
        stdout().line(strip_controls(f"  {server.name}: not added, {reason}"))
        return
    config = server.config
    command_line = [config["command"], *_items(config, "args")] if "command" in config else [config["url"]]
    secret_names = [name for field in ("env", "headers") for name in _names(config, field)]
    secrets = f" (with {', '.join(secret_names)})" if secret_names else ""
    stdout().line(strip_controls(f"  {server.name}: {' '.join(json.dumps(word) for word in command_line)}{secrets}"))


def _person_agrees(count: int) -> bool:
    """Only a person at a terminal can agree; nobody there is no consent."""
    if not (sys.stdin.isatty() and os.isatty(2)):
        stderr().line("Nothing was added: read the list, then run it again with --yes.")
        return False
    stderr().line(f"Add and start {'it' if count == 1 else f'these {count}'}? Programs run in the sandbox. [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def _added(client: ServerClient, config: Json) -> bool:
    try:
        await client.post("/mcp/servers", config)
    except ServerRefused as refused:
        stdout().line(strip_controls(f"  {config['name']}: not added, {refused.message}"))
        return False
    stdout().line(strip_controls(f"  {config['name']}: added"))
    return True


def _items(config: Json, field: str) -> list[object]:
    items = config.get(field)
    return list(items) if isinstance(items, list) else []


def _names(config: Json, field: str) -> list[str]:
    values = config.get(field)
    return sorted(values) if isinstance(values, dict) else []
