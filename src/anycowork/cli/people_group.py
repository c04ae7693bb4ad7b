"""`anycowork people …`"""

from typing import Annotated

import typer

from anycowork.cli.options import DataDir, Json, invoked
from anycowork.cli.plain_help import CommandGroup

PEOPLE_HELP = """List, add and remove the people of the server.

Each person has a name, a token of their own and an access: admin (everything), member (works and approves) or viewer (reads).
Alone you need none of this.

Examples:

\b
    anycowork people
    anycowork people add Ada
    anycowork people add Bob --access viewer
    anycowork people access Bob member
    anycowork people token Ada
    anycowork people remove Bob
    anycowork people log
"""

app = CommandGroup(help=PEOPLE_HELP, short_help="List, add and remove people.", invoke_without_command=True)
Name = Annotated[str, typer.Argument(help="Who; upper and lower case do not matter.", metavar="NAME")]
Level = Annotated[str, typer.Argument(help="What they may do: admin, member or viewer.", metavar="LEVEL")]


@app.callback()
def list_people(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    if context.invoked_subcommand is not None:
        return
    from anycowork.cli.people import list_people as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), as_json=as_json))


@app.command("add", help="Add a person and print their token, this once.")
def add_person(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Their name.", metavar="NAME")],
    access: Annotated[
        str, typer.Option("--access", help="What they may do: admin, member or viewer.", metavar="LEVEL")
    ] = "member",
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.people import add_person as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), name, access))


@app.command("access", help="Change what a person may do, at once.")
def change_access(context: typer.Context, name: Name, level: Level, data_dir: DataDir = None) -> None:
    from anycowork.cli.people import change_access as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), name, level))


@app.command("token", help="Print a new token for a person, this once. The old one ends, and so do their browsers.")
def new_token(context: typer.Context, name: Name, data_dir: DataDir = None) -> None:
    from anycowork.cli.people import new_token as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), name))


@app.command("remove", help="Remove a person. Their token, browsers and streams end at once; records keep their name.")
def remove_person(context: typer.Context, name: Name, data_dir: DataDir = None) -> None:
    from anycowork.cli.people import remove_person as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), name))


@app.command(
    "log", help="Show who added, changed or removed whom, newest first. 'anycowork audit verify' checks this log."
)
def list_changes(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    from anycowork.cli.people import list_changes as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), as_json=as_json))
