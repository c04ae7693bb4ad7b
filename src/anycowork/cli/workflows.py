"""`anycowork workflow …`: lists, shows, runs and creates workflows."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlencode

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.completion import workflow_names, workflow_parameters
from anycowork.cli.options import (
    Allow,
    AsJson,
    DataDir,
    Events,
    Invocation,
    MaxCost,
    Model,
    Role,
    Timeout,
    WorkspaceOrHere,
    invoked,
)
from anycowork.cli.run_options import JsonErrorCommand, RunOptions, run_headless
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient, ServerRefused
from anycowork.domain.errors import AnyCoworkError, BadWorkspace, FileExists, Invalid, StorageFault
from anycowork.domain.messages import Json, json_objects
from anycowork.workflows.definition import read_definition
from anycowork.workflows.sections import BadDefinition
from anycowork.workflows.workflow_service import built_in_files

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
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    invocation = invoked(context, workspace=workspace, data_dir=data_dir)
    raise _show("list", "/workflows", invocation, _print_workflows, as_json=as_json)


@app.command("show", help=SHOW_HELP, short_help="Show one workflow and its parameters.")
def show_workflow(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which workflow.", metavar="NAME", autocompletion=workflow_names)],
    workspace: WorkspaceOrHere = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    invocation = invoked(context, workspace=workspace, data_dir=data_dir)
    path = f"/workflows/{quote(name.removeprefix('/'), safe='')}"
    raise _show("show", path, invocation, _print_workflow, as_json=as_json)


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
    request_words = [typed_workflow(name, parameters or [])]
    options: dict[str, object] = {"workspace": workspace, "model": model, "data_dir": data_dir}
    how: RunOptions = {"role": role, "allow": allow, "max_cost": max_cost, "seconds": timeout, "as_json": as_json}
    raise run_headless(context, request_words, options, **how)


@app.command("new", help=NEW_HELP, short_help="Create your own workflow file.")
def new_workflow(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name, as you will type it.", metavar="NAME")],
    data_dir: DataDir = None,
) -> None:
    raise typer.Exit(_new_workflow(invoked(context, data_dir=data_dir), name))


def typed_workflow(name: str, parameters: Sequence[str]) -> str:
    """Returns the text that runs this workflow in a chat."""
    return " ".join([f"/{name.removeprefix('/')}", *map(shlex.quote, parameters)])


# --- list and show


def _show(word: str, path: str, invocation: Invocation, show: Callable[[Json], None], *, as_json: bool) -> typer.Exit:
    async def work(client: ServerClient) -> None:
        answer = await _fetch(path, client, invocation)
        if as_json:
            stdout().json(json.dumps(answer, ensure_ascii=False))
        else:
            show(answer)

    return run_with_server(f"workflow {word}", invocation, work)


async def _fetch(path: str, client: ServerClient, invocation: Invocation) -> Json:
    workspace = invocation.settings().workspace
    try:
        return await client.get(f"{path}?{urlencode({'workspace': str(workspace or invocation.cwd)})}")
    except ServerRefused as error:
        if error.specific != BadWorkspace.code:
            raise
        if workspace is not None:
            raise BadWorkspace(error.message) from None
        return await client.get(path)  # there is no workspace here: use the server's own folder


def _print_workflows(answer: Json) -> None:
    out, category = stdout(), None
    for workflow in json_objects(answer.get("workflows")):
        if workflow["category"] != category:
            category = workflow["category"]
            out.line(out.paint(strip_controls(str(category)), "bold"))
        out.line(strip_controls(f"  {workflow['name']!s:<22} {workflow['description']}"))
        out.line(out.paint(strip_controls(f"  {'':<22} {workflow['usage']}"), "dim"))
        if workflow["trusted"] is not True:
            out.line(
                out.paint(
                    strip_controls(f"  {'':<22} not trusted yet, so it cannot be run: {workflow['path']}"), "yellow"
                )
            )
    for fault in json_objects(answer.get("faults")):
        line = f":{fault['line']}" if fault.get("line") else ""
        stderr().line(strip_controls(f"left out: {fault['path']}{line}: {fault['reason']}"))


def _print_workflow(workflow: Json) -> None:
    for line in _page(workflow):
        stdout().line(strip_controls(line))


def _page(workflow: Json) -> Iterator[str]:
    yield f"{workflow['name']}: {workflow['description']}"
    yield f"  {workflow['usage']}"
    for parameter in json_objects(workflow.get("parameters")):
        yield f"  {parameter['name']!s:<14} {_about(parameter)}"
    if workflow.get("about"):
        yield ""
        yield str(workflow["about"])
    yield ""
    yield from (f"  {number}. {step['title']}" for number, step in enumerate(json_objects(workflow.get("steps")), 1))
    needs = workflow.get("needs")
    yield f"Needs: {', '.join(map(str, needs)) if isinstance(needs, list) and needs else 'nothing'}. From: {workflow['path']}"
    if workflow["trusted"] is not True:
        yield "Not trusted yet, so it cannot be run."


def _about(parameter: Json) -> str:
    choices = parameter.get("choices")
    kind = "|".join(map(str, choices)) if isinstance(choices, list) else str(parameter["type"])
    default = parameter.get("default")
    need = "required" if parameter["required"] else "optional" if default is None else f"default: {default}"
    return f"{kind} ({need}) {parameter['description']}".rstrip()


# --- new


def _new_workflow(invocation: Invocation, name: str) -> int:
    """Writes the file and prints where it is; returns the exit code."""
    try:
        path = _write_new(invocation.settings().data_dir / "workflows", name)
    except AnyCoworkError as error:
        stderr().line(f"anycowork workflow new: {error.message}")
        return EXIT_CODES[RunEnding.FAILED if isinstance(error, StorageFault) else RunEnding.USAGE]
    stdout().line(str(path))
    stderr().line(f"Edit it, then type /{name} in a chat, or: anycowork workflow run {name} path=…")
    return EXIT_CODES[RunEnding.DONE]


def _write_new(folder: Path, name: str) -> Path:
    template = files("anycowork.workflows").joinpath("template.md").read_text("utf-8")
    try:
        read_definition(f"{name}.md", template)
    except BadDefinition as fault:
        raise Invalid(f"{fault.reason}.") from None
    if f"builtin/{name}.md" in {file.path for file in built_in_files()}:
        raise Invalid(f"'{name}' is built in and cannot be replaced; choose another name.")
    path = folder / f"{name}.md"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(template)
    except FileExistsError:
        raise FileExists(f"{path} exists already and is not overwritten.") from None
    except OSError as error:
        raise StorageFault(f"{path} cannot be written ({error.strerror}).") from error
    return path
