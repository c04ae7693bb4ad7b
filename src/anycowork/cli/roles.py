"""`anycowork role …`: lists, shows and checks roles."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer
from pydantic import JsonValue

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.completion import role_names
from anycowork.cli.options import AsJson, DataDir, Invocation, invoked
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import print_answer, run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json, json_objects
from anycowork.permissions.roles import BadRoleFile, read_role_file

LIST_HELP = """List the roles, and what each may do.

Examples:

\b
    anycowork role list
    anycowork role list --json
"""

SHOW_HELP = """Show one role: what it may do, what it answers in, and its prompt.

Example:

\b
    anycowork role show planner
"""

CHECK_HELP = """Check role files, and say what is wrong with each. Needs no server.

Without a file, it checks those in the folder `roles` of the data folder, which a server reads when it starts.

Exit codes: 0 all are good, 1 at least one is not.

Examples:

\b
    anycowork role check
    anycowork role check translator.toml
"""

app = CommandGroup(help="List, show and check roles.", no_args_is_help=True)


@app.command("list", help=LIST_HELP, short_help="List the roles.")
def list_roles(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    raise _show("list", "/roles", invoked(context, data_dir=data_dir), _list_lines, as_json=as_json)


@app.command("show", help=SHOW_HELP, short_help="Show one role and its prompt.")
def show_role(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which role.", metavar="NAME", autocompletion=role_names)],
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    path = f"/roles/{quote(name, safe='')}"
    raise _show("show", path, invoked(context, data_dir=data_dir), _role_lines, as_json=as_json)


@app.command("check", help=CHECK_HELP, short_help="Check role files.")
def check_roles(
    context: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(help="Which files.", metavar="FILE")] = None,
    data_dir: DataDir = None,
) -> None:
    raise typer.Exit(_check_roles(invoked(context, data_dir=data_dir), files or []))


_LARGEST_FILE = 1_000_000  # bytes


def _check_roles(invocation: Invocation, files: Sequence[Path]) -> int:
    """Prints what is wrong with each role file, by default those of the data folder; returns the exit code. Needs no server."""
    folder = invocation.settings().data_dir / "roles"
    role_files = [invocation.cwd / file for file in files] or (sorted(folder.glob("*.toml")) if folder.is_dir() else [])
    if not role_files:
        stderr().line(f"There is no role file in {folder}.")
    faults = [_fault_of(file) for file in role_files]
    for file, fault in zip(role_files, faults, strict=True):
        (stdout() if fault is None else stderr()).line(strip_controls(fault or f"{file}: ok"))
    return EXIT_CODES[RunEnding.FAILED if any(faults) else RunEnding.DONE]


def _show(
    word: str, path: str, invocation: Invocation, lines: Callable[[Json], Iterator[str]], *, as_json: bool
) -> typer.Exit:
    async def work(client: ServerClient) -> None:
        answer = await client.get(path)
        print_answer(answer, lines(answer), as_json=as_json)

    return run_with_server(f"role {word}", invocation, work)


def _list_lines(answer: Json) -> Iterator[str]:
    for role in json_objects(answer.get("roles")):
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


def _words(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) and value else "nothing"


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
