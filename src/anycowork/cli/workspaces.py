"""`anycowork workspaces`: lists the registered folders, and says and changes who sees one and what checks the work in it."""

from pathlib import Path
from typing import Annotated

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import AsJson, DataDir, Who, invoked
from anycowork.cli.server_command import print_answer, print_visibility, run_with_server
from anycowork.client.http import ServerClient
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json, json_objects
from anycowork.domain.visibility import described

WORKSPACES_HELP = """List the workspaces, and say who sees each and which command checks the work in it.

A workspace that is hidden from somebody is not there for them, nor are the chats in it. Its files are not hidden by this.

Examples:

\b
    anycowork workspaces
    anycowork workspaces visibility .
    anycowork workspaces visibility ~/plans private
    anycowork workspaces visibility ~/plans group:design
    anycowork workspaces check . "pytest -q tests/unit"
"""

FolderArgument = Annotated[str, typer.Argument(help="The folder; `anycowork workspaces` lists them.", metavar="FOLDER")]

app = CommandGroup(
    help=WORKSPACES_HELP, short_help="List the workspaces, and say who sees each.", invoke_without_command=True
)


@app.callback()
def list_workspaces(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    if context.invoked_subcommand is not None:
        return

    async def work(client: ServerClient) -> None:
        page = await client.get("/workspaces")
        lines = [
            f"{entry['root']}  [{described(str(entry['visibility']))}]"
            for entry in json_objects(page.get("workspaces"))
        ]
        print_answer(page, lines, as_json=as_json)

    raise run_with_server("workspaces", invoked(context, data_dir=data_dir), work)


@app.command(
    "visibility", help="Say who can see a workspace and the chats in it, or change it. Its owner may, if an admin."
)
def workspace_visibility(
    context: typer.Context,
    folder: FolderArgument,
    who: Who = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    path = str(Path(folder).expanduser().resolve())

    async def work(client: ServerClient) -> None:
        print_visibility(await _changed(client, path, "visibility", who), as_json=as_json)

    raise run_with_server("workspaces visibility", invoked(context, data_dir=data_dir), work)


@app.command("check", help="Say which command checks the work in a workspace, or set it.")
def workspace_check(
    context: typer.Context,
    folder: FolderArgument,
    command: Annotated[
        str | None,
        typer.Argument(
            help='The command, in quotes; "" for the tests that are found in the folder.', metavar="COMMAND"
        ),
    ] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    path = str(Path(folder).expanduser().resolve())

    async def work(client: ServerClient) -> None:
        workspace = await _changed(client, path, "check", command)
        answer = {name: workspace[name] for name in ("id", "root", "check")}
        found = "None is set: the tests that are found in the folder are run."
        print_answer(answer, [f"Check: {workspace['check'] or found}"], as_json=as_json)

    raise run_with_server("workspaces check", invoked(context, data_dir=data_dir), work)


async def _changed(client: ServerClient, path: str, field: str, wanted: str | None) -> Json:
    """Returns the workspace, with the field changed if that is wanted. Raises: Invalid, also for one that is hidden from who asks."""
    for workspace in json_objects((await client.get("/workspaces")).get("workspaces")):
        if workspace["root"] == path:
            return (
                workspace if wanted is None else await client.patch(f"/workspaces/{workspace['id']}", {field: wanted})
            )
    raise Invalid(f"'{path}' is no registered workspace. `anycowork workspaces` lists them.")
