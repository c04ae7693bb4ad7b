"""A workspace whose edits are shown to language servers: real ones, and scripted ones that misbehave."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from anycowork.domain.tools import ToolResult
from anycowork.tools.language.language_server import LanguageServer
from anycowork.tools.language.language_servers import LanguageServers
from anycowork.tools.toolbox import built_in_tools
from support.tool_workspace import ToolWorkspace

LONG = 60.0  # seconds that an edit may wait: tests wait for what happens, not for a time
_SERVER = """#!{python} -u
import json, os, sys, time

def send(message):
    body = json.dumps({{"jsonrpc": "2.0", **message}}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    sys.stdout.buffer.flush()

def receive():
    size = 0
    while (line := sys.stdin.buffer.readline().strip()):
        size = int(line.split(b":")[1])
    if not size:
        sys.exit()
    return json.loads(sys.stdin.buffer.read(size))

def error(line, message, **more):
    return {{"range": {{"start": {{"line": line, "character": 0}}, "end": {{"line": line, "character": 1}}}}, "severity": 1,
            "message": message, **more}}

def publish(message, items):
    document = message["params"]["textDocument"]
    send({{"method": "textDocument/publishDiagnostics", "params": {{"uri": document["uri"], "version": document["version"],
          "diagnostics": items}}}})

def text_of(message):
    params = message["params"]
    return params["contentChanges"][0]["text"] if "contentChanges" in params else params["textDocument"]["text"]

def start(capabilities={{}}):
    send({{"id": receive()["id"], "result": {{"capabilities": capabilities}}}})
    receive()

{body}
"""
# A server that calls each line with `wrong` in it an error.
PLAIN = """
start()
while True:
    message = receive()
    if message["method"] in ("textDocument/didOpen", "textDocument/didChange"):
        rows = enumerate(text_of(message).split("\\n"))
        publish(message, [error(row, f"It says {line.strip()}") for row, line in rows if "wrong" in line])
"""


def own_ruff() -> str:
    return str(Path(sys.executable).with_name("ruff"))


def install(root: Path, program: str, body: str | None = None, *, source: str = "") -> Path:
    """Puts a program into the project's own environment: a script with this body, or a copy of `source`."""
    target = root / ".venv/bin" / program
    target.parent.mkdir(parents=True, exist_ok=True)
    if body is None:
        shutil.copy(source, target)
    else:
        target.write_text(_SERVER.format(python=Path(sys.executable).resolve(), body=body))
    target.chmod(0o755)
    return target


@asynccontextmanager
async def diagnosing(
    workspace: ToolWorkspace, seconds: Callable[[], float] = lambda: LONG
) -> AsyncIterator[LanguageServers]:
    """While the block runs, edits in the workspace are shown to its language servers; at the end none is left."""
    async with asyncio.TaskGroup() as tasks:
        servers = LanguageServers(workspace.sandbox, tasks, seconds)
        workspace.toolbox = built_in_tools(
            None, lambda: workspace.command_timeout, workspace.sandbox, language_servers=servers
        )
        try:
            yield servers
        finally:
            await servers.aclose()


def running(servers: LanguageServers) -> list[LanguageServer]:
    return [server for server in servers._servers.values() if not server.ended.is_set()]


def messages(result: ToolResult) -> list[str]:
    fact = result.facts.get("diagnostics")
    if fact is None:
        return []
    assert isinstance(fact, dict) and isinstance(fact["errors"], list)
    return [str(error["message"]) for error in fact["errors"] if isinstance(error, dict)]
