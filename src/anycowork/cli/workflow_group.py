"""`anycowork workflow …`"""

from typing import Annotated

import typer

from anycowork.cli.completion import workflow_names, workflow_parameters
from anycowork.cli.options import Allow, DataDir, Events, Json, MaxCost, Model, Role, Timeout, WorkspaceOrHere, invoked
from anycowork.cli.plain_help import CommandGroup
from anycowork.cli.run_options import JsonErrorCommand, RunOptions, run_headless

LIST_HELP = """List the workflows by category, and the files that could not be read and why.

Examples:

\b
    anycowork workflow list
    anycowork workflow list --workspace ~/project --json
"""

SHOW_HELP = """Show one workflow: its parameters, its steps, what it needs and where it comes from.

Example:

\b
    anycowork workflow show explain_code
"""

RUN_HELP = """Run a workflow headless.

The same as `anycowork run "/NAME KEY=VALUE"`: the answer goes to stdout, progress to stderr, and nothing is approved for you.

Exit codes: 0 done, 1 failed, 2 usage, 3 parked (needs a person), 4 limit, 5 provider, 130 stopped.

Examples:

\b
    anycowork workflow run explain_code path=src/app.py
    anycowork workflow run create_project name=demo purpose="A clock for the terminal" --workspace ~/projects
"""

NEW_HELP = """Create a commented workflow file in the data folder, ready to edit.

Example:

\b
    anycowork workflow new release_notes
"""

app = CommandGroup(help="Run, list and create workflows.", no_args_is_help=True)


@app.command("list", help=LIST_HELP, short_help="List the workflows.")
def list_workflows(
    context: typer.Context,
    workspace: WorkspaceOrHere = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.workflows import list_workflows as command

    raise typer.Exit(command(invoked(context, workspace=workspace, data_dir=data_dir), as_json=as_json))


@app.command("show", help=SHOW_HELP, short_help="Show one workflow and its parameters.")
def show_workflow(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which workflow.", metavar="NAME", autocompletion=workflow_names)],
    workspace: WorkspaceOrHere = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.workflows import show_workflow as command

    raise typer.Exit(command(invoked(context, workspace=workspace, data_dir=data_dir), name, as_json=as_json))


@app.command("run", help=RUN_HELP, cls=JsonErrorCommand)
def run_workflow(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which workflow.", metavar="NAME", autocompletion=workflow_names)],
    parameters: Annotated[
        list[str] | None,
        typer.Argument(help="Its parameters.", metavar="KEY=VALUE", autocompletion=workflow_parameters),
    ] = None,
    workspace: WorkspaceOrHere = None,
    role: Role = None,
    as_json: Events = False,
    model: Model = None,
    max_cost: MaxCost = None,
    timeout: Timeout = None,
    allow: Allow = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.workflows import typed_workflow

    words = [typed_workflow(name, parameters or [])]
    places: dict[str, object] = {"workspace": workspace, "model": model, "data_dir": data_dir}
    how: RunOptions = {"role": role, "allow": allow, "max_cost": max_cost, "seconds": timeout, "as_json": as_json}
    raise run_headless(context, words, places, **how)


@app.command("new", help=NEW_HELP, short_help="Create your own workflow file.")
def new_workflow(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name, as you will type it.", metavar="NAME")],
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.workflows import new_workflow as command

    raise typer.Exit(command(invoked(context, data_dir=data_dir), name))
