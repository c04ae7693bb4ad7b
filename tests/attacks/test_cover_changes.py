"""A person saves, replaces, creates, links and exchanges files while a program runs: nothing that it may not read comes out of it.

The program reads every file that it can, again and again, until a file `go` says that the change is made; then it tells all that it has seen.
"""

import asyncio
import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from anycowork.domain.errors import ToolFault
from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.ports import HiddenPathRules
from anycowork.mcp.program import find_program
from anycowork.mcp.server_launcher import DataFolders, ProgramView, ServerLauncher
from anycowork.permissions.rules import RuleIndex
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.network.egress import Egress
from anycowork.sandbox.stdio_program import LineLog
from anycowork.workspace.jail import Jail
from support.attempts import Attempts
from support.distributions import PluginBench
from support.processes import descendants
from support.spec import proves
from support.task_places import LAYERS, TaskPlaces
from support.tool_workspace import ToolWorkspace
from support.toolspecs import SPECS

SECRET = "hunter2"
PRIVATE = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n"
FILES = {
    ".env": f"PASSWORD={SECRET}\n",
    "sub/.env.local": f"PASSWORD={SECRET}\n",
    "sub/notes.txt": "notes\n",
    "ca.pem": "-----BEGIN CERTIFICATE-----\npublic\n-----END CERTIFICATE-----\n",
    "linked": f"PASSWORD={SECRET}\n",
    "plain.txt": "plain\n",
}
POLL = """
import os, time
seen, end = set(), time.time() + {seconds}
while time.time() < end:
    done = "go" in os.listdir(".")  # asked for by its name too early, an overlay goes on saying that it is not there
    for folder, _, names in os.walk("."):
        for name in names:
            try:
                with open(os.path.join(folder, name)) as file: seen.add(file.read())
            except (OSError, UnicodeError): pass
    if done: break
"""
TELL = "print('seen', sorted(seen), flush=True)"
Operation = Callable[[Path, Path], None]


def written(path: Path, content: str = FILES[".env"]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def exchange(one: Path, other: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0, ctypes.get_errno()


def replaced(path: Path) -> None:
    path.unlink()
    written(path)


def folder_replaced(root: Path, beside: Path) -> None:
    written(beside / "new" / ".env.local")
    (root / "sub").rename(beside / "old")
    (beside / "new").rename(root / "sub")


# What a person's tools do to the files of `root`; `beside` is on the same file system and not seen by the program.
OPERATIONS: dict[str, Operation] = {
    "save by rename": lambda root, beside: written(beside / "x").rename(root / ".env"),
    "save by rename in a folder": lambda root, beside: written(beside / "x").rename(root / "sub/.env.local"),
    "replace": lambda root, beside: replaced(root / ".env"),
    "create": lambda root, beside: written(root / "sub/.env.production") and None,
    "create in a new folder": lambda root, beside: written(root / "fresh/deep/server.key", PRIVATE) and None,
    "move a folder in": lambda root, beside: written(beside / "in/id_rsa", PRIVATE).parent.rename(root / "in") and None,
    "replace a folder": folder_replaced,
    "rename a folder": lambda root, beside: (root / "sub").rename(root / "renamed") and None,
    "hard link from elsewhere": lambda root, beside: (root / ".env.b").hardlink_to(written(beside / "x")),
    "hard link to a plain name": lambda root, beside: (root / "linked.txt").hardlink_to(root / ".env"),
    "rename to a plain name": lambda root, beside: (root / ".env").rename(root / "was_env.txt") and None,
    "exchange": lambda root, beside: exchange(root / "plain.txt", root / ".env"),
    "exchange with one from elsewhere": lambda root, beside: exchange(written(beside / "x"), root / ".env"),
    "a certificate becomes a key": lambda root, beside: written(root / "ca.pem", PRIVATE) and None,
    "replace what a link leads to": lambda root, beside: written(beside / "x").rename(root / "linked") and None,
}


def fill(root: Path) -> None:
    for path, content in FILES.items():
        written(root / path, content)
    (root / ".env.link").symlink_to("linked")
    if os.geteuid() == 0:
        owner = root.stat()
        for path in root.rglob("*"):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def withheld() -> HiddenPathRules:
    return RuleIndex(()).hidden_from(replace(SPECS["execute_command"], contained=True))


class Person:
    """Makes one change in the workspace, then says `go`."""

    def __init__(self, base: Path, root: Path, operation: Operation) -> None:
        self.root, self.operation, self.acted = root, operation, False
        self.beside = base / "beside"
        self.beside.mkdir(exist_ok=True)

    def act(self, *_: object) -> None:
        if not self.acted:
            self.acted = True
            self.operation(self.root, self.beside)
            written(self.root / "go", "go\n")


def numbered(tmp_path: Path) -> Iterator[Path]:
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        yield folder


def command(seconds: float) -> str:
    return f"echo ready; exec python3 -c '{POLL.format(seconds=seconds).replace(chr(39), chr(34))}{TELL.replace(chr(39), chr(34))}'"


async def told_by_command(base: Path, operation: Operation, layer: Layer = Layer.OVERLAY) -> str:
    root, outside = base / "workspace", base / "outside"
    root.mkdir()
    outside.mkdir()
    fill(root)
    bench = ToolWorkspace(root, outside, layer=layer)
    person = Person(base, root, operation)
    shown: list[str] = []

    def progress(text: str) -> None:
        shown.append(text)
        person.act()

    context = bench.tool_context(hidden=withheld(), progress=progress)
    seconds = 20.0 if layer is Layer.OVERLAY else 1.0  # a copy never shows `go`
    try:
        result = await bench.call("execute_command", context, command=command(seconds))
    except ToolFault as refused:
        return refused.message + "".join(shown)
    return result.content + "".join(shown) + str(result.facts)


async def told_by_task(base: Path, operation: Operation) -> str:
    places = TaskPlaces(base, LAYERS)
    fill(places.root)
    task = await places.create()
    await places.call(task, "create_file", path="of_the_task.txt", content="own\n")
    person = Person(base, places.root, operation)
    context = places.context(task, hidden=withheld(), progress=person.act)
    try:
        result = await places.bench.call("execute_command", context, command=command(20.0))
    except ToolFault as refused:
        return refused.message
    return result.content


async def told_by_program(base: Path, operation: Operation) -> str:
    """A stdio server; what it prints on stderr is told, too."""
    root, far = base / "workspace", base / "far"
    root.mkdir()
    far.mkdir()
    fill(root)
    bench = ToolWorkspace(root, far)
    note = 'print(json.dumps({"jsonrpc": "2.0", "method": "notifications/x", "params": {"told": %s}}), flush=True)'
    code = f"import json, sys\n{note % '[]'}\n{POLL.format(seconds=20)}\nprint(sorted(seen), file=sys.stderr, flush=True)\n{note % 'sorted(seen)'}\n"
    (far / "server.py").write_text(code)
    config = McpServerConfig(name="far", command=sys.executable, args=[str(far / "server.py")])
    person, log, ended = Person(base, root, operation), LineLog(), asyncio.Event()
    launcher = ServerLauncher(bench.sandbox, Egress(), base / "data", DataFolders(base / "data" / "mcp-data"))
    program = find_program(config, base / "data")
    told: list[str] = []
    async with asyncio.timeout(40):
        view = ProgramView(Jail(str(root)))
        async with launcher.run(program, view, network=(), lines=log, end_session=lambda *reason: ended.set()) as (
            read,
            _,
        ):
            while not ended.is_set():
                received = await next_message(read, ended)
                told.append(str(received))
                person.act()
    return "".join(told) + "\n".join(log.lines())


async def next_message(read: Any, ended: asyncio.Event) -> object:
    import anyio

    receiving = asyncio.ensure_future(read.receive())
    over = asyncio.ensure_future(ended.wait())
    await asyncio.wait([receiving, over], return_when=asyncio.FIRST_COMPLETED)
    over.cancel()
    try:
        return await receiving if receiving.done() or not receiving.cancel() else None
    except (anyio.EndOfStream, anyio.ClosedResourceError, asyncio.CancelledError):
        return None


async def told_by_plugin(base: Path, operation: Operation, *, tool: str) -> str:
    root, outside = base / "workspace", base / "outside"
    root.mkdir()
    outside.mkdir()
    fill(root)
    bench = PluginBench(root, outside)
    source = """
    @tool
    def look(code: str) -> str:
        "Reads."
        given = {}
        exec(code, given)
        return str(sorted(given["seen"]))

    @tool(permissions=["create_files", "write_files"])
    def change(code: str) -> str:
        "Changes."
        given = {}
        exec(code, given)
        return str(sorted(given["seen"]))

    tools = [look, change]
    """
    await bench.use("reader", source)
    person = Person(base, root, operation)
    running = asyncio.ensure_future(
        bench.call(tool, bench.tool_context(hidden=withheld()), code=POLL.format(seconds=20))
    )
    async with asyncio.timeout(40):
        while not running.done() and not any(map(polls, descendants())):
            await asyncio.sleep(0.01)
        person.act()
        try:
            result = await running
        except ToolFault as refused:
            return refused.message
    return result.content


def polls(process: int) -> bool:
    """Whether it is the interpreter in the sandbox: it sees another root than we do, and has been started by its shell."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        return b"python" in Path(f"/proc/{process}/exe").readlink().name.encode() and b"plugins.worker" in b" ".join(
            words
        )
    except OSError:
        return False


KINDS: dict[str, Callable[[Path, Operation], Any]] = {
    "command": told_by_command,
    "task": told_by_task,
    "mcp program": told_by_program,
    "reading plugin": lambda base, operation: told_by_plugin(base, operation, tool="look"),
    "changing plugin": lambda base, operation: told_by_plugin(base, operation, tool="change"),
}


@proves("APR-3", "TOOL-4")
@pytest.mark.parametrize("kind", KINDS)
async def test_no_change_of_a_file_uncovers_it_for_a_program_that_runs(
    tmp_path: Path, kind: str, attempts: Attempts
) -> None:
    folders = numbered(tmp_path)

    async def attempt(name: str) -> None:
        told = await KINDS[kind](next(folders), OPERATIONS[name])
        assert SECRET not in told, told

    await attempts.each(OPERATIONS, attempt)


@pytest.mark.parametrize("kind", KINDS)
async def test_other_changes_are_seen_and_end_nothing(tmp_path: Path, kind: str) -> None:
    def ordinary(root: Path, beside: Path) -> None:
        written(beside / "x", "saved\n").rename(root / "plain.txt")
        written(root / "src/new.txt", "created\n")
        written(root / ".env", f"PASSWORD={SECRET}, written in place\n")

    told = await KINDS[kind](tmp_path, ordinary)
    assert "created" in told and SECRET not in told, told


@proves("APR-3")
async def test_a_program_on_a_copy_sees_no_change_at_all(tmp_path: Path) -> None:
    """So do delegates: they always work on a copy."""

    def all_of_them(root: Path, beside: Path) -> None:
        for name, operation in OPERATIONS.items():
            try:
                operation(root, beside)
            except OSError:
                assert name  # an earlier change took its file

    told = await told_by_command(tmp_path, all_of_them, Layer.COPY)
    assert "seen" in told and SECRET not in told
