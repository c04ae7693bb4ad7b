"""The words of the command line. Each command's module is loaded when its word is said, so that `--help` is quick:
these late imports are the one exception to "no own imports inside functions"."""

import os
from pathlib import Path
from typing import Annotated

import typer

from anycowork import __version__

app = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its looks would cost 0.4 CPU seconds at every --help
    context_settings={"help_option_names": ["-h", "--help"]},
)

DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Where chats, settings and the token are kept.", metavar="DIR")
]
Workspace = Annotated[Path | None, typer.Option("--workspace", "-w", help="The folder to work in.", metavar="DIR")]
Host = Annotated[str | None, typer.Option("--host", help="Address to listen on; another than 127.0.0.1 needs a token.")]
Port = Annotated[int | None, typer.Option("--port", "-p", help="Port to listen on; 0 takes any free one. [8484]")]
Token = Annotated[str | None, typer.Option("--token", help="The token to ask for; better given as ANYCOWORK_TOKEN.")]
Model = Annotated[str | None, typer.Option("--model", "-m", help="Who answers, as provider/model.", metavar="MODEL")]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")]
Json = Annotated[bool, typer.Option("--json", help="For programs.")]

SERVE_HELP = """Serve the workplace on this machine.

Examples:

\b
    anycowork serve --workspace ~/notes
    anycowork serve --port 9000 --no-open
    ANYCOWORK_TOKEN=… anycowork serve --host 0.0.0.0
"""

RUN_HELP = """Carry out one request without a screen, for scripts and CI.

The answer goes to stdout, progress to stderr. It never hangs, and never approves anything for you:
what needs a person is left parked, and the last lines say how to decide.

Exit codes: 0 done, 1 failed, 2 usage, 3 parked (needs a person), 4 limit, 5 provider, 130 stopped.

Examples:

\b
    anycowork run "What does this project do?" --workspace ~/project
    anycowork run "Plan a clean-up of the notes" --role planner > plan.json
    anycowork run --approved-plan plan.json --workspace ~/notes
    anycowork run "/explain_code src/app.py"
    anycowork run "List the open TODOs" --json | jq .type
"""

IMPORT_HELP = """Take in chats that were stored elsewhere.

Whatever can be read is kept as it came; whatever cannot is named, and the exit code is 1. The same file twice changes nothing.
The server must not be running.

Example:

\b
    anycowork import old-chats.json more-chats.jsonl
"""

WORKFLOW_LIST_HELP = """Say which workflows there are, by category, and which files give none and why.

Examples:

\b
    anycowork workflow list
    anycowork workflow list --workspace ~/project --json
"""

WORKFLOW_RUN_HELP = """Run a workflow without a screen.

The same as `anycowork run "/NAME KEY=VALUE"`: the answer goes to stdout, progress to stderr, and nothing is approved for you.

Exit codes: 0 done, 1 failed, 2 usage, 3 parked (needs a person), 4 limit, 5 provider, 130 stopped.

Examples:

\b
    anycowork workflow run explain_code path=src/app.py
    anycowork workflow run create_project name=demo purpose="A clock for the terminal" --workspace ~/projects
"""

WORKFLOW_NEW_HELP = """Write a commented workflow file into the data folder, ready to be changed.

Example:

\b
    anycowork workflow new release_notes
"""

INSTRUCTIONS_HELP = """Show the instructions that a folder brings for agents (AGENTS.md), and whether they are used.

They are used in the folder's chats once you have trusted their content; a change asks again. The text goes to stdout, the rest to
stderr. Trusting names the hash of what you have read, so that nothing else is ever trusted in its place.

Examples:

\b
    anycowork instructions --workspace ~/project
    anycowork instructions --trust 3f2a9c1b77d0
    anycowork instructions --distrust
"""

VERIFY_HELP = """Check that no record of a chat was changed or removed.

Works without the server, and beside it. A log that was fetched from /context/{id}/audit/log is checked by naming its file.
The end that is printed can be kept elsewhere: the same chat can never again have another history up to it.

Exit codes: 0 every chain holds, 1 one is broken or missing, 2 usage.

Examples:

\b
    anycowork audit verify --all
    anycowork audit verify 0197f3f0-… log.jsonl
"""


PULL_HELP = """Fetch a model that runs on this machine, about 1 GB; checked by its hash, and taken up where it was cut off.

The publisher's own file comes first, then a mirror of it. With --file a GGUF of your own is copied in, under NAME.

Examples:

\b
    anycowork model pull
    anycowork model pull qwen2.5-coder-0.5b
    anycowork model pull my-model --file ~/Downloads/my-model.gguf
"""


@app.callback(invoke_without_command=True)
def main_command(
    context: typer.Context,
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    workspace: Workspace = None,
    token: Token = None,
    model: Model = None,
    no_open: NoOpen = False,
    version: Annotated[bool, typer.Option("--version", "-V", help="Say the version and end.")] = False,
) -> None:
    """A workplace where people and agents work on real files together. Without a command: `serve`."""
    if version:
        typer.echo(f"anycowork {__version__}")
        raise typer.Exit
    flags = {"host": host, "port": port, "data_dir": data_dir, "workspace": workspace, "token": token, "model": model}
    context.obj = {**flags, "open_browser": False if no_open else None}
    if context.invoked_subcommand is None:
        raise typer.Exit(_serve(context.obj))


@app.command(help=SERVE_HELP)
def serve(
    context: typer.Context,
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    workspace: Workspace = None,
    token: Token = None,
    model: Model = None,
    no_open: NoOpen = False,
) -> None:
    flags = {"host": host, "port": port, "data_dir": data_dir, "workspace": workspace, "token": token, "model": model}
    raise typer.Exit(_serve(_over(context, {**flags, "open_browser": False if no_open else None})))


@app.command(help=RUN_HELP)
def run(
    context: typer.Context,
    request: Annotated[str | None, typer.Argument(help="What to do, in your own words.", show_default=False)] = None,
    workspace: Annotated[
        Path | None, typer.Option("--workspace", "-w", help="The folder to work in. [the current one]", metavar="DIR")
    ] = None,
    role: Annotated[
        str | None, typer.Option("--role", "-r", help="planner, actor, reviewer, … [actor]", metavar="ROLE")
    ] = None,
    approved_plan: Annotated[
        Path | None, typer.Option("--approved-plan", help="A plan that you approve by naming it here.", metavar="FILE")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One event per line on stdout, the result last.")] = False,
    model: Model = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", help="End when it has cost more than this, in $.", min=0.0, metavar="USD"),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", help="End after so many seconds. [the turn's limit]", min=0.1, metavar="S"),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.commands.ordering import run_order

    flags = _over(context, {"workspace": workspace, "model": model, "data_dir": data_dir})
    raise typer.Exit(
        run_order(
            flags,
            os.environ,
            cwd=Path.cwd(),
            request=request,
            role=role,
            plan_file=approved_plan,
            max_cost=max_cost,
            seconds=timeout,
            as_json=as_json,
        )
    )


@app.command("import", help=IMPORT_HELP)
def import_chats(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="JSON or JSON-lines files.", metavar="FILE...")],
    workspace: Annotated[
        Path | None,
        typer.Option("--workspace", "-w", help="For chats that name no folder. [the current one]", metavar="DIR"),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.commands.importing import import_files

    flags = _over(context, {"workspace": workspace, "data_dir": data_dir})
    raise typer.Exit(import_files(flags, os.environ, files, cwd=Path.cwd()))


workflow = typer.Typer(help="Run workflows, see which there are, write your own.", no_args_is_help=True)
app.add_typer(workflow, name="workflow")


@workflow.command("list", help=WORKFLOW_LIST_HELP)
def list_workflows(
    context: typer.Context,
    workspace: Workspace = None,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.commands.workflows import list_workflows as command

    flags = _over(context, {"workspace": workspace, "data_dir": data_dir})
    raise typer.Exit(command(flags, os.environ, cwd=Path.cwd(), as_json=as_json))


@workflow.command("run", help=WORKFLOW_RUN_HELP)
def run_workflow(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Which workflow.", metavar="NAME")],
    parameters: Annotated[list[str] | None, typer.Argument(help="Its parameters.", metavar="[KEY=VALUE]...")] = None,
    workspace: Workspace = None,
    role: Annotated[str | None, typer.Option("--role", "-r", help="planner, actor, … [actor]", metavar="ROLE")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One event per line on stdout, the result last.")] = False,
    model: Model = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", help="End when it has cost more, in $.", min=0.0, metavar="USD")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="End after so many seconds.", min=0.1, metavar="S")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.commands.ordering import run_order
    from anycowork.commands.workflows import typed

    flags = _over(context, {"workspace": workspace, "model": model, "data_dir": data_dir})
    raise typer.Exit(
        run_order(
            flags,
            os.environ,
            cwd=Path.cwd(),
            request=typed(name, parameters or []),
            role=role,
            plan_file=None,
            max_cost=max_cost,
            seconds=timeout,
            as_json=as_json,
        )
    )


@workflow.command("new", help=WORKFLOW_NEW_HELP)
def new_workflow(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name, as it will be typed.", metavar="NAME")],
    data_dir: DataDir = None,
) -> None:
    from anycowork.commands.workflows import new_workflow as command

    raise typer.Exit(command(_over(context, {"data_dir": data_dir}), os.environ, name, cwd=Path.cwd()))


@app.command("instructions", help=INSTRUCTIONS_HELP)
def show_instructions(
    context: typer.Context,
    workspace: Workspace = None,
    trust: Annotated[
        str | None, typer.Option("--trust", help="Use them as they are: the hash that was shown.", metavar="HASH")
    ] = None,
    distrust: Annotated[bool, typer.Option("--distrust", help="Use them no longer.")] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.commands.instructions import instructions

    flags = _over(context, {"workspace": workspace, "data_dir": data_dir})
    raise typer.Exit(instructions(flags, os.environ, cwd=Path.cwd(), trust=trust, distrust=distrust, as_json=as_json))


audit = typer.Typer(help="The log of every decision and effect, chained by hashes.", no_args_is_help=True)
app.add_typer(audit, name="audit")


@audit.command("verify", help=VERIFY_HELP)
def verify_audit(
    context: typer.Context,
    what: Annotated[
        list[str] | None, typer.Argument(help="Chats, or files with a log.", metavar="[CHAT|FILE]...")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every chat there is.")] = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.commands.audit import verify

    flags = _over(context, {"data_dir": data_dir})
    raise typer.Exit(verify(flags, os.environ, what or [], every=every, cwd=Path.cwd()))


model_app = typer.Typer(help="Models that run on this machine, without an account.", no_args_is_help=True)
app.add_typer(model_app, name="model")


@model_app.command("pull", help=PULL_HELP)
def pull_model(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which one; `model list` names them.", show_default=False)] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="A GGUF file of your own instead.", metavar="PATH")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.commands import local_models

    flags = _over(context, {"data_dir": data_dir})
    raise typer.Exit(local_models.pull(flags, os.environ, cwd=Path.cwd(), name=name, file=file))


@model_app.command("list")
def list_models(context: typer.Context, data_dir: DataDir = None) -> None:
    """Say which models there are, what they need, and which are here."""
    from anycowork.commands import local_models

    raise typer.Exit(local_models.list_models(_over(context, {"data_dir": data_dir}), os.environ, cwd=Path.cwd()))


@model_app.command("remove")
def remove_model(
    context: typer.Context, name: Annotated[str, typer.Argument(help="Which one.")], data_dir: DataDir = None
) -> None:
    """Delete a fetched model from this machine."""
    from anycowork.commands import local_models

    flags = _over(context, {"data_dir": data_dir})
    raise typer.Exit(local_models.remove(flags, os.environ, cwd=Path.cwd(), name=name))


@app.command()
def doctor(context: typer.Context, as_json: Json = False, data_dir: DataDir = None) -> None:
    """Say what is missing on this machine, and how to get it. Exit code 1 if something needed is missing."""
    from anycowork.commands import doctor as command

    flags = _over(context, {"data_dir": data_dir})
    raise typer.Exit(command.doctor(flags, os.environ, cwd=Path.cwd(), as_json=as_json))


@app.command()
def version() -> None:
    """Say the version."""
    typer.echo(f"anycowork {__version__}")


def main() -> None:
    app(prog_name="anycowork")


def _serve(flags: dict[str, object]) -> int:
    from anycowork.domain.errors import AnyCoworkError
    from anycowork.settings import BadSettings, load_settings

    try:
        settings = load_settings(flags, os.environ, cwd=Path.cwd())
        from anycowork.commands.serve import (
            serve as serve_until_ended,
        )  # the whole house; a wrong setting is said without it

        return serve_until_ended(settings)
    except AnyCoworkError as error:
        typer.echo(f"anycowork: {error.message}", err=True)
        return 2 if isinstance(error, BadSettings) else 1


def _over(context: typer.Context, flags: dict[str, object]) -> dict[str, object]:
    """A flag may stand before or after the command's word; after it wins."""
    before: dict[str, object] = context.obj or {}
    return {**before, **{name: value for name, value in flags.items() if value is not None}}


if __name__ == "__main__":
    main()
