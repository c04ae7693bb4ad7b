"""`anycowork role`: lists and shows the roles of the server, and checks role files before a server reads them."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from pydantic import JsonValue

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json
from anycowork.permissions.roles import BadRoleFile, read_role_file

_LARGEST_FILE = 1_000_000  # bytes


def list_roles(invocation: Invocation, *, as_json: bool) -> int:
    """Prints the roles; returns the exit code."""
    return _show("list", "/roles", invocation, _list_lines, as_json=as_json)


def show_role(invocation: Invocation, name: str, *, as_json: bool) -> int:
    """Prints one role with its prompt; returns the exit code."""
    return _show("show", f"/roles/{quote(name, safe='')}", invocation, _role_lines, as_json=as_json)


def check_roles(invocation: Invocation, files: Sequence[Path]) -> int:
    """Prints what is wrong with each role file, by default those of the data folder; returns the exit code. Needs no server."""
    folder = invocation.settings().data_dir / "roles"
    found = [invocation.cwd / file for file in files] or (sorted(folder.glob("*.toml")) if folder.is_dir() else [])
    if not found:
        stderr().line(f"There is no role file in {folder}.")
    faults = [_fault_of(file) for file in found]
    for file, fault in zip(found, faults, strict=True):
        (stdout() if fault is None else stderr()).line(strip_controls(fault or f"{file}: ok"))
    return EXIT_CODES[RunEnding.FAILED if any(faults) else RunEnding.DONE]


def _show(
    word: str, path: str, invocation: Invocation, lines: Callable[[Json], Iterator[str]], *, as_json: bool
) -> int:
    async def work(client: ServerClient) -> int:
        found = await client.get(path)
        if as_json:
            stdout().json(json.dumps(found, ensure_ascii=False))
        else:
            for line in lines(found):
                stdout().line(strip_controls(line))
        return EXIT_CODES[RunEnding.DONE]

    return run_with_server(f"role {word}", invocation, work, usage_statuses=(404, 422))


def _list_lines(found: Json) -> Iterator[str]:
    roles = found.get("roles")
    for role in roles if isinstance(roles, list) else []:
        if isinstance(role, dict):
            yield f"{role['name']!s:<14} {_words(role.get('permissions'))}"
            origin = "" if role.get("built_in") else " (your own)"
            yield f"{'':<14} {role.get('tooltip')}{origin}"


def _role_lines(role: Json) -> Iterator[str]:
    yield f"{role['name']}: {role.get('tooltip')}"
    yield f"  may         {_words(role.get('permissions'))}"
    yield f"  delegates   {_words(role.get('delegates'))}"
    yield f"  answers in  {role.get('output')}"
    yield f"  comes from  {'AnyCowork' if role.get('built_in') else 'the data folder'}"
    yield ""
    yield str(role.get("prompt"))


def _words(found: JsonValue) -> str:
    return ", ".join(map(str, found)) if isinstance(found, list) and found else "nothing"


def _fault_of(file: Path) -> str | None:
    try:
        if file.stat().st_size > _LARGEST_FILE:
            return f"{file}: it is larger than {_LARGEST_FILE:,} bytes."
        read_role_file(str(file), file.read_text("utf-8"))
    except BadRoleFile as error:
        return str(error)
    except UnicodeDecodeError:
        return f"{file}: it is not UTF-8 text."
    except OSError as error:
        return f"{file}: it cannot be read: {error.strerror}."
    return None
