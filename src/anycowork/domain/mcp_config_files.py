"""MCP servers as editors and other agents write them into their configuration files. Pure: text in, servers out.

Nothing is filled in from the environment: a file of a workspace could otherwise send a secret to an address of its choice. What refers to
a variable is named, and a person gives its value.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any  # the content of a foreign file, until it is checked

from pydantic import JsonValue

from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.values import value

LARGEST_FILE = 1_000_000
MOST_SERVERS = 50
_KEYS = ("mcpServers", "servers", "context_servers", "mcp_servers", "mcp")
_KINDS = {"stdio": "stdio", "local": "stdio", "sse": "sse", "http": "http", "streamable-http": "http", "remote": "http"}


@value
class FoundServer:
    """`config` is the body of a request that adds it. `variables` are names that its values refer to. `problem`: why it cannot be added."""

    name: str
    config: Json
    variables: tuple[str, ...] = ()
    problem: str | None = None


def servers_in(text: str, *, is_toml: bool = False) -> list[FoundServer]:
    """Raises: Invalid if the text is no such file."""
    if len(text) > LARGEST_FILE:
        raise Invalid(f"The file has more than {LARGEST_FILE:,} letters. It is not a list of MCP servers.")
    try:
        read: Any = tomllib.loads(text) if is_toml else json.loads(without_comments(text))  # noqa: TID251  # bounded by LARGEST_FILE, and a depth that is too large is caught
    except (ValueError, RecursionError) as error:
        raise Invalid(f"The file is not valid {'TOML' if is_toml else 'JSON'}: {str(error)[:200]}.") from None
    listed = next((read[key] for key in _KEYS if isinstance(read.get(key), dict)), None) if _is_map(read) else None
    if listed is None:
        raise Invalid(f"The file names no MCP servers: it has none of the keys {', '.join(_KEYS)}.")
    if len(listed) > MOST_SERVERS:
        raise Invalid(f"The file names more than {MOST_SERVERS} MCP servers.")
    return [_server(str(name), entry) for name, entry in listed.items()]


def with_values(server: FoundServer, values: Mapping[str, str]) -> Json:
    """Its configuration with these values for the variables it refers to."""
    filled = _fill(server.config, values)
    assert isinstance(filled, dict)
    return filled


def without_comments(text: str) -> str:
    """JSON as editors take it, made plain: comments and commas before a closing bracket become spaces. One pass."""
    out = list(text)
    position, comma, end = 0, -1, len(text)
    while position < end:
        sign = text[position]
        if sign == '"':
            position = _end_of_string(text, position)
            comma = -1
        elif text.startswith(("//", "/*"), position):
            closing = text.find("\n", position) if text[position + 1] == "/" else text.find("*/", position + 2) + 2
            stop = end if closing in (-1, 1) else closing
            out[position:stop] = " " * (stop - position)
            position = stop
            continue
        elif sign == ",":
            comma = position
        elif sign in "]}" and comma >= 0:
            out[comma] = " "
            comma = -1
        elif not sign.isspace():
            comma = -1
        position += 1
    return "".join(out)


def server_name(text: str) -> str:
    """The name as ours are written: small letters and digits, joined by single dashes."""
    parts = "".join(c if c.isascii() and c.isalnum() else " " for c in text.lower()).split()
    return "-".join(parts)[:32].strip("-")


def _server(raw_name: str, entry: Any) -> FoundServer:
    name = server_name(raw_name)
    if not name or not _is_map(entry):
        return FoundServer(raw_name[:80], {}, problem="its name or its entry cannot be read")
    program = entry.get("command")
    inner = program if _is_map(program) else entry  # older files of Zed nest the command
    command_line = (
        program if isinstance(program, list) else [inner.get("path", program) if _is_map(program) else program]
    )
    args = inner.get("args") if isinstance(inner.get("args"), list) else []
    env = inner.get("env") or entry.get("environment") or {}
    url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
    kind = _KINDS.get(str(entry.get("type", "")))
    if isinstance(url, str):
        config: Json = {"name": name, "url": url, "headers": _texts(entry.get("headers"))}
        if kind in ("sse", "http"):
            config["transport"] = kind
    elif command_line and isinstance(command_line[0], str):
        arguments: list[JsonValue] = [str(argument) for argument in [*command_line[1:], *args]]
        config = {"name": name, "command": command_line[0], "args": arguments, "env": _texts(env)}
    else:
        return FoundServer(raw_name[:80], {}, problem="it names neither a program nor an address")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        config["enabled"] = False
    return FoundServer(name, config, tuple(sorted(set(_variables(config)))))


def _texts(entries: Any) -> dict[str, JsonValue]:
    return {str(name): str(text) for name, text in entries.items()} if _is_map(entries) else {}


def _variables(part: JsonValue) -> Iterator[str]:
    if isinstance(part, str):
        for piece in part.split("${")[1:]:
            if "}" in piece:
                yield piece.partition("}")[0]
    elif isinstance(part, dict):
        for inner in part.values():
            yield from _variables(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _variables(inner)


def _fill(part: JsonValue, values: Mapping[str, str]) -> JsonValue:
    if isinstance(part, dict):
        return {key: _fill(inner, values) for key, inner in part.items()}
    if isinstance(part, list):
        return [_fill(inner, values) for inner in part]
    if not isinstance(part, str) or "${" not in part:
        return part
    first, *pieces = part.split("${")
    filled = [first]
    for piece in pieces:
        name, closed, suffix = piece.partition("}")
        filled.append(f"{values[name]}{suffix}" if closed and name in values else f"${{{piece}")
    return "".join(filled)


def _end_of_string(text: str, start: int) -> int:
    position = start + 1
    while position < len(text) and text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position


def _is_map(entry: Any) -> bool:
    return isinstance(entry, dict)


KNOWN_FILES: Mapping[str, Sequence[str]] = {
    "claude-code": (".claude.json",),
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        "Library/Application Support/Claude/claude_desktop_config.json",
    ),
    "codex": (".codex/config.toml",),
    "cursor": (".cursor/mcp.json",),
    "opencode": (".config/opencode/opencode.json",),
    "vscode": (".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json"),
    "windsurf": (".codeium/windsurf/mcp_config.json",),
    "zed": (".config/zed/settings.json",),
}
"""Where other programs keep their servers, from the home folder."""
