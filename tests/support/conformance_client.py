"""A client program for the protocol's conformance suite: our connection to the server whose address is the last word.

It lists what the server offers, and makes the calls that the suite wants, or calls every tool once with arguments made up from its schema.
It ends with 1 if it cannot connect, or if a call fails although the scenario's tools can be called.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any  # JSON schemas that a server wrote

from anycowork.domain.mcp_servers import McpServerConfig
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import ToolContext
from anycowork.mcp.connection import McpConnection
from anycowork.mcp.modules import ModuleLoader
from anycowork.mcp.server_launcher import DataFolders, ServerLauncher
from anycowork.mcp.tool import McpTool
from anycowork.sandbox.network.egress import Egress
from anycowork.server.secrets.mcp_stores import McpTokenStore
from anycowork.workspace.folder import Folder

VALUES: dict[str, Any] = {"string": "text", "number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}


async def main(url: str, folder: Path) -> int:
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        connection = McpConnection(
            McpServerConfig(name="suite", url=url),
            ServerLauncher(None, Egress(), folder, DataFolders(folder / "mcp-data")),
            tasks,
            McpTokenStore(folder),
            modules=ModuleLoader(folder),
            taken_names=frozenset,
            tools_changed=lambda: None,
        )
        connection.start()
        outcome = await connection.first_outcome()
        sys.stdout.write(f"{outcome['status']} {outcome.get('error')} {outcome['problems']}\n")
        context = ToolContext(Folder(str(folder)), frozenset(Permission))
        try:
            for tool, parameters in wanted_calls(connection.tools()):
                result = await tool.run(await tool.prepare(parameters, context), context)
                sys.stdout.write(f"{tool.spec.name} {result.status} {result.content[:200]}\n")
        finally:
            await connection.stop()
    return 0 if outcome["status"] == "ready" else 1


def wanted_calls(tools: Sequence[McpTool]) -> Iterator[tuple[McpTool, dict[str, Any]]]:
    if os.environ.get("MCP_CONFORMANCE_SCENARIO") == "json-schema-ref-no-deref":
        return  # its tool has no answer: listing it is the test
    named = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls")
    for tool in tools:
        if named is None:
            yield tool, made_up(dict(tool.spec.schema))
        for call in named or ():
            if tool.spec.name == f"suite__{call['name']}":
                yield tool, {name: given for name, given in call["arguments"].items() if given is not None}


def made_up(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    return {
        name: properties[name].get("const", VALUES.get(properties[name].get("type"), "text"))
        for name in schema.get("required") or properties
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(asyncio.run(main(sys.argv[-1], Path(scratch))))
