"""`anycowork mcp import`: servers from a file of an editor or a project. A person reads each one, and adds exactly what was shown."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from anycowork.cli.mcp_servers import run_with_client
from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient, ServerRefused
from anycowork.domain.errors import Invalid
from anycowork.domain.mcp_servers import KNOWN_FILES, LARGEST_FILE, FoundServer, servers_in, with_values
from anycowork.domain.messages import Json


def import_servers(
    invocation: Invocation,
    *,
    file: Path | None,
    source: str | None,
    env: Sequence[str],
    agreed: bool,
) -> int:
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

    return run_with_client("import", invocation, work)


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
