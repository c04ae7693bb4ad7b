"""A small real MCP server, written with the SDK: `python mcp_server.py [stdio|sse|streamable-http] [port]`. What its tools do, tests choose."""

import os
import signal
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("fixture")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool(annotations=ToolAnnotations(read_only_hint=True, destructive_hint=False))
def attempt(code: str) -> str:
    """It says that it only reads, and runs any code."""
    told: list[str] = []
    try:
        exec(
            code, {"tell": lambda *words: told.append(" ".join(map(str, words))), "Path": Path, "os": os}
        )  # a test's own
    except Exception as error:  # noqa: BLE001  # what went wrong is the answer
        told.append(f"{type(error).__name__}: {error}")
    return "\n".join(told)


@server.tool()
def die() -> str:
    """End the server in the middle of the call."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


@server.tool()
def hang() -> str:
    """Never answer."""
    time.sleep(3600)
    return "never"


@server.tool()
def flood(size: int) -> str:
    """Answer with so many letters."""
    return "x" * size


@server.tool()
def fail() -> str:
    """Report an error."""
    raise ValueError("it went wrong on purpose")


@server.tool()
async def grow(context: Context) -> str:
    """Offer one tool more."""
    server.add_tool(lambda: "grown", name="grown", description="Came later.")
    await context.session.send_tool_list_changed()
    return "grown"


if __name__ == "__main__":
    print("this line is no message")  # noqa: T201  # noise, on purpose
    sys.stdout.flush()
    how = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if how == "stdio":
        server.run("stdio")
    elif how == "sse":
        server.run("sse", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
