"""The MCP servers that an editor passes for one session: which of them are used, and how their names are written. Pure."""

from collections.abc import Iterable, Sequence

from acp.schema import HttpMcpServer, McpServerStdio, SseMcpServer

from anycowork.domain.messages import Json
from anycowork.domain.principals import program_id

McpServer = HttpMcpServer | SseMcpServer | McpServerStdio
MOST_SERVERS = 10
_LONGEST_NAME = 20


def session_servers(servers: Iterable[McpServer]) -> tuple[list[Json], list[str]]:
    """The programs, as the server takes them, and the names of those that are left out: remote ones, which `initialize` did not offer."""
    wanted: dict[str, Json] = {}
    left_out: list[str] = []
    for server in servers:
        if not isinstance(server, McpServerStdio) or len(wanted) >= MOST_SERVERS:
            left_out.append(server.name)
            continue
        name = _unused_name(server.name, wanted)
        given: Json = {variable.name: variable.value for variable in server.env}
        wanted[name] = {"name": name, "command": server.command, "args": [*server.args], "env": given}
    return list(wanted.values()), left_out


def failures(shown: Sequence[Json]) -> list[str]:
    """Why servers did not start, one line each."""
    return [f"{one.get('name')}: {one.get('error')}" for one in shown if one.get("status") != "ready"]


def _unused_name(name: str, used: Iterable[str]) -> str:
    """Lower case letters, digits and single dashes."""
    signs = program_id(name, "server").replace(".", "-").replace("_", "-")
    plain = "-".join(part for part in signs.split("-") if part)[:_LONGEST_NAME].strip("-") or "server"
    taken, number, found = set(used), 1, plain
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    return found
