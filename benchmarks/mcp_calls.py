"""What does a call of an MCP server's tool cost through us, beside the bare SDK with the same server? What do idle servers cost?

The called server is a program written with the SDK, in the sandbox for us and without it for the SDK. Only this process is measured: the
server's own work is the same for both.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import uvloop

from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import ToolContext
from anycowork.mcp.connection import McpConnection
from anycowork.mcp.modules import ModuleLoader
from anycowork.mcp.server_launcher import ServerLauncher
from anycowork.sandbox.layers.stage import Layer, Staging
from anycowork.sandbox.network.egress import Egress
from anycowork.sandbox.sandbox import Sandbox
from anycowork.server.machine import find_bubblewrap
from anycowork.server.secrets.mcp_stores import McpTokenStore
from anycowork.workspace.folder import Folder
from measuring import Ground, Leg, NotMeasured, spending
from workplace import InstantModel, open_workplace

QUESTION = "CPU of a call of an MCP server's tool, and of 20 servers that nobody calls"
CALLS = 20
TURNS = 5
IDLE_SERVERS = 20
IDLE_SECONDS = 10.0
SERVER = """
from mcp.server import MCPServer
server = MCPServer("bench")
@server.tool()
def look(word: str) -> str:
    "Look a word up."
    return word + ": a short definition"
server.run("stdio")
"""
SMALL_SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answers = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                              "serverInfo": {"name": "small", "version": "1"}}, "tools/list": {"tools": []}}
    if "id" in asked:
        found = answers.get(asked.get("method"))
        told = {"result": found} if found else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
"""


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    yield {
        "bare_sdk": partial(_in_loop, ground, _bare_sdk),
        "through_us": partial(_in_loop, ground, _through_us),
        "agent_step": partial(_in_loop, ground, _agent_step),
        "idle_20": partial(_in_loop, ground, _idle),
    }


def _in_loop(ground: Ground, measure: Callable[[Path], Coroutine[None, None, dict[str, float]]]) -> dict[str, float]:
    with ground.fresh("mcp") as folder, asyncio.Runner(loop_factory=uvloop.Loop) as runner:
        return runner.run(measure(folder))


async def _bare_sdk(folder: Path) -> dict[str, float]:
    from mcp import Client, StdioServerParameters

    async with Client(StdioServerParameters(command=sys.executable, args=["-c", SERVER])) as client:
        await client.call_tool("look", {"word": "warm"})
        with spending() as spent:
            for number in range(CALLS * TURNS):
                await client.call_tool("look", {"word": f"word {number}"})
    return {"cpu_us": spent.cpu * 1e6 / (CALLS * TURNS)}


async def _through_us(folder: Path) -> dict[str, float]:
    """The call as our tool makes it: the session of a workspace, its limits, what is kept of the answer."""
    async with _connected(folder, 1) as (connection,):
        [tool] = connection.tools()
        workspace = folder / "workspace"
        workspace.mkdir()
        context = ToolContext(Folder(str(workspace)), frozenset(Permission))

        async def call(word: str) -> None:
            result = await tool.run(await tool.prepare({"word": word}, context), context)
            assert result.content == f"{word}: a short definition", result

        await call("warm")
        with spending() as spent:
            for number in range(CALLS * TURNS):
                await call(f"word {number}")
    return {"cpu_us": spent.cpu * 1e6 / (CALLS * TURNS)}


async def _agent_step(folder: Path) -> dict[str, float]:
    """The call in a turn: a model's answer read, the gate passed, the call and its result durable."""
    model = InstantModel(CALLS, "bench-0__look", {"word": "word {number}"})
    async with (
        _connected(folder, 1) as (connection,),
        open_workplace(folder, model, more_tools=connection.tools()) as place,
    ):
        await place.turn(await place.open_chat())  # warm
        chats = [await place.open_chat() for _ in range(TURNS)]
        with spending() as spent:
            for chat in chats:
                await place.turn(chat)
        stored = await place.database.store.messages.all(chats[-1].id)
        assert len(stored) == 2 * CALLS + 2, len(stored)
    return {"cpu_us": spent.cpu * 1e6 / (CALLS * TURNS)}


async def _idle(folder: Path) -> dict[str, float]:
    async with _connected(folder, IDLE_SERVERS, SMALL_SERVER):
        with spending() as spent:
            await asyncio.sleep(IDLE_SECONDS)
    return {"percent": spent.cpu * 100 / spent.wall}


@asynccontextmanager
async def _connected(folder: Path, count: int, server: str = SERVER) -> AsyncIterator[list[McpConnection]]:
    found = find_bubblewrap()
    if found is None or not found.works:
        raise NotMeasured("there is no bubblewrap that works here")
    data = folder / "data"
    sandbox = Sandbox(found.path, Staging(data / "staging", data / "shared"), layer=Layer.COPY)
    async with asyncio.TaskGroup() as tasks:
        connections = [
            McpConnection(
                McpServerConfig(
                    name=f"bench-{number}", command=sys.executable, args=["-c", server], read_only=["look"]
                ),
                ServerLauncher(sandbox, Egress(), data),
                tasks,
                McpTokenStore(data),
                modules=ModuleLoader(data),
                taken_names=frozenset,
                tools_changed=lambda: None,
            )
            for number in range(count)
        ]
        try:
            for connection in connections:
                connection.start()
                outcome = await connection.first_outcome()
                if outcome["status"] != "ready":
                    raise NotMeasured(str(outcome.get("error")))
            yield connections
        finally:
            for connection in connections:
                await connection.stop()
