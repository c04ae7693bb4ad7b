"""`anycowork role …`"""

from pathlib import Path
from typing import Annotated

import typer

from anycowork.cli.completion import role_names
from anycowork.cli.options import DataDir, Json, invoked
from anycowork.cli.plain_help import CommandGroup

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
def list_roles(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    from anycowork.cli.roles import list_roles as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), as_json=as_json))


@app.command("show", help=SHOW_HELP, short_help="Show one role and its prompt.")
def show_role(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which role.", metavar="NAME", autocompletion=role_names)],
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.roles import show_role as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), name, as_json=as_json))


@app.command("check", help=CHECK_HELP, short_help="Check role files.")
def check_roles(
    context: typer.Context,
    files: Annotated[list[Path] | None, typer.Argument(help="Which files.", metavar="FILE")] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.roles import check_roles as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), files or []))
