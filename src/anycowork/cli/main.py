"""Defines the commands and their options. A command's module is imported when the command is used, so that `--help` is quick:
these late imports are the one exception to "no own imports inside functions"."""

import gc
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from anycowork import __version__
from anycowork.cli.command_groups import CommandGroup, MainGroup
from anycowork.cli.help_texts import (
    ACP_HELP,
    AGENTS_HELP,
    CHAT_HELP,
    EXPORT_HELP,
    IMPORT_HELP,
    INSTRUCTIONS_HELP,
    RUN_HELP,
    SEARCH_HELP,
    SERVE_HELP,
    USAGE_HELP,
    VERIFY_HELP,
    WORKER_HELP,
)
from anycowork.cli.options import (
    Allow,
    AsJson,
    CacheFolder,
    DatabaseUrl,
    DatabaseWithoutPassword,
    DataDir,
    Events,
    Host,
    Insecure,
    Invocation,
    JoinToken,
    JoinUrl,
    Labels,
    MaxCost,
    Model,
    MostJobs,
    NoOpen,
    Port,
    Role,
    Timeout,
    Token,
    Workspace,
    WorkspaceOrHere,
    folder,
    invoked,
)
from anycowork.cli.run_options import JsonErrorCommand, RunOptions, run_headless
from anycowork.client.console import OutputLost, abandon_stdout, make_stdio_usable

app = CommandGroup(
    cls=MainGroup,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class ExportChoice(StrEnum):
    """Repeats the server's enumeration: importing that one would load the server for `--help`."""

    markdown = "markdown"
    json = "json"
    html = "html"


UsageChoice = StrEnum("UsageChoice", ["model", "chat", "job", "role", "day", "person", "group"])


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
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version and exit.")] = False,
) -> None:
    """A workplace where people and agents work on real files together. Without a command: `serve`."""
    if version:
        typer.echo(f"anycowork {__version__}")
        raise typer.Exit
    flags = {"host": host, "port": port, "data_dir": data_dir, "workspace": workspace, "token": token, "model": model}
    context.obj = {**flags, "open_browser": False if no_open else None}
    if context.invoked_subcommand is None:
        raise typer.Exit(_serve(invoked(context)))


@app.command(help=SERVE_HELP)
def serve(
    context: typer.Context,
    host: Host = None,
    port: Port = None,
    data_dir: DataDir = None,
    workspace: Workspace = None,
    token: Token = None,
    model: Model = None,
    database_url: DatabaseUrl = None,
    no_open: NoOpen = False,
) -> None:
    flags = {"host": host, "port": port, "data_dir": data_dir, "workspace": workspace, "token": token, "model": model}
    flags["database_url"] = database_url
    raise typer.Exit(_serve(invoked(context, **flags, open_browser=False if no_open else None)))


@app.command(help=WORKER_HELP, short_help="Run jobs of a shared database.")
def worker(
    context: typer.Context,
    database: DatabaseWithoutPassword = None,
    jobs: MostJobs = 4,
    join: JoinUrl = None,
    token: JoinToken = None,
    labels: Labels = None,
    cache: CacheFolder = None,
    insecure: Insecure = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.joined_worker import run_joined_worker
    from anycowork.cli.serve import run_worker
    from anycowork.domain.errors import AnyCoworkError, Invalid

    try:
        if join is not None:
            raise typer.Exit(run_joined_worker(join, token, labels, cache=cache, insecure=insecure, runs=jobs))
        invocation = invoked(context, database_url=database, data_dir=data_dir)
        raise typer.Exit(run_worker(invocation.settings(), most_jobs=jobs))
    except AnyCoworkError as error:
        typer.echo(f"anycowork worker: {error.message}", err=True)
        raise typer.Exit(2 if isinstance(error, Invalid) else 1) from None


@app.command(help=RUN_HELP, cls=JsonErrorCommand)
def run(
    context: typer.Context,
    request: Annotated[
        list[str] | None,
        typer.Argument(help="What to do, in quotes; - reads it from stdin.", metavar="REQUEST"),
    ] = None,
    workspace: WorkspaceOrHere = None,
    role: Role = None,
    approved_plan: Annotated[
        Path | None, typer.Option("--approved-plan", help="A plan that you approve by naming it here.", metavar="FILE")
    ] = None,
    as_json: Events = False,
    model: Model = None,
    max_cost: MaxCost = None,
    timeout: Timeout = None,
    allow: Allow = None,
    job: Annotated[bool, typer.Option("--job", help="Plan it first, then carry it out task by task as a job.")] = False,
    parallel: Annotated[
        int | None,
        typer.Option("--parallel", min=1, max=64, help="Of a job: so many tasks may write at once. [1]", metavar="N"),
    ] = None,
    review: Annotated[
        bool, typer.Option("--review", help="Of a job: nothing reaches the folder before you have kept it.")
    ] = False,
    race: Annotated[
        list[str] | None,
        typer.Option(
            "--race", help="Of a job: an agent that does all of it in its own copy. Repeatable.", metavar="AGENT"
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    options: dict[str, object] = {"workspace": workspace, "model": model, "data_dir": data_dir}
    how: RunOptions = {
        "role": role,
        "plan_file": approved_plan,
        "allow": allow,
        "max_cost": max_cost,
        "seconds": timeout,
        "as_json": as_json,
        "as_job": job,
        "parallel": parallel,
        "review": review,
        "race": race,
    }
    raise run_headless(context, request or [], options, **how)


@app.command(help=CHAT_HELP, short_help="Chat in the terminal.")
def chat(
    context: typer.Context,
    chat_id: Annotated[
        str | None, typer.Argument(help="The chat to continue. [a new one]", metavar="CHAT_ID", show_default=False)
    ] = None,
    newest: Annotated[bool, typer.Option("--continue", "-c", help="Continue the folder's newest chat.")] = False,
    workspace: WorkspaceOrHere = None,
    role: Role = None,
    model: Model = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.tui.app import chat as open_chat

    flags, environ, cwd = invoked(context, workspace=workspace, model=model, data_dir=data_dir)
    raise typer.Exit(open_chat(flags, environ, cwd=cwd, role=role, chat_id=chat_id, newest=newest))


@app.command(help=ACP_HELP, short_help="Serve an editor (Agent Client Protocol).")
def acp(context: typer.Context, workspace: Workspace = None, model: Model = None, data_dir: DataDir = None) -> None:
    from anycowork.acp.command import serve_editor

    flags, environ, cwd = invoked(context, workspace=workspace, model=model, data_dir=data_dir)
    raise typer.Exit(serve_editor(flags, environ, cwd=cwd))


@app.command("import", help=IMPORT_HELP)
def import_chats(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(help="JSON or JSON-lines files.", metavar="FILE")],
    workspace: Annotated[
        Path | None,
        typer.Option(
            "--workspace", "-w", parser=folder, help="For chats that name no folder. [the current one]", metavar="DIR"
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.import_chats import import_files

    raise typer.Exit(import_files(invoked(context, workspace=workspace, data_dir=data_dir), files))


@app.command("export", help=EXPORT_HELP, short_help="Export a chat as Markdown, JSON or HTML.")
def export_chat(
    context: typer.Context,
    chat_id: Annotated[str, typer.Argument(help="The chat's id; `anycowork chats` lists them.", metavar="CHAT_ID")],
    export_format: Annotated[
        ExportChoice, typer.Option("--format", "-f", help="How it is written.")
    ] = ExportChoice.markdown,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file. [stdout]", metavar="FILE")] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.chats import export

    raise export(invoked(context, data_dir=data_dir), chat_id, export_format=export_format.value, output=output)


@app.command("search", help=SEARCH_HELP, short_help="Search in all chats.")
def search_chats(
    context: typer.Context,
    query_words: Annotated[list[str], typer.Argument(help="The words to find.", metavar="WORDS")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="At most so many messages.", metavar="N")] = 20,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.chats import search

    invocation = invoked(context, data_dir=data_dir)
    raise search(invocation, " ".join(query_words), limit=limit, as_json=as_json)


@app.command(
    "instructions", help=INSTRUCTIONS_HELP, short_help="Show and trust what a folder's AGENTS.md tells agents."
)
def show_instructions(
    context: typer.Context,
    workspace: WorkspaceOrHere = None,
    trust: Annotated[
        str | None, typer.Option("--trust", help="Trust them: the hash that was shown.", metavar="HASH")
    ] = None,
    distrust: Annotated[bool, typer.Option("--distrust", help="Stop using them.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.instructions import instructions

    invocation = invoked(context, workspace=workspace, data_dir=data_dir)
    raise typer.Exit(instructions(invocation, trust=trust, distrust=distrust, as_json=as_json))


@app.command("open")
def open_page(
    context: typer.Context,
    print_only: Annotated[bool, typer.Option("--print", help="Print the link instead of opening a browser.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Open the running server's page in a browser, signed in."""
    from anycowork.cli import open_page as command

    raise typer.Exit(command.open_page(invoked(context, data_dir=data_dir), print_only=print_only))


@app.command("usage", help=USAGE_HELP, short_help="Say what models were used for, and what that cost.")
def show_usage(
    context: typer.Context,
    by: Annotated[UsageChoice, typer.Option("--by", help="What it is summed up by.")] = UsageChoice.model,
    since: Annotated[str | None, typer.Option(help="The first day, as 2026-11-01.", metavar="DAY")] = None,
    until: Annotated[str | None, typer.Option(help="The last day.", metavar="DAY")] = None,
    limit: Annotated[int, typer.Option(help="How many lines at most.", min=1, max=1000, metavar="N")] = 100,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.usage import show_usage as command

    invocation = invoked(context, data_dir=data_dir)
    raise command(invocation, by=by.value, since=since, until=until, limit=limit, as_json=as_json)


@app.command("agents", help=AGENTS_HELP, short_help="List the agents that jobs can use.")
def list_agents(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    from anycowork.cli.jobs import ask_server

    raise typer.Exit(ask_server(invoked(context, data_dir=data_dir), "GET", "/agents", as_json=as_json))


@app.command("verify", help=VERIFY_HELP)
def verify_receipt(
    context: typer.Context,
    receipt: Annotated[str, typer.Argument(help="A receipt's file, or its id.", metavar="FILE|ID")],
    workspace: Annotated[
        Path | None, typer.Option("--workspace", help="The folder with the files; this one without it.", metavar="DIR")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.verify import verify

    raise typer.Exit(verify(invoked(context, data_dir=data_dir), receipt, workspace=workspace))


@app.command()
def doctor(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Check this machine, and say how to get what is missing. Exit code 1 if something needed is missing."""
    from anycowork.cli import doctor as command

    raise typer.Exit(command.doctor(invoked(context, data_dir=data_dir), as_json=as_json))


@app.command()
def version() -> None:
    """Say the version."""
    typer.echo(f"anycowork {__version__}")


@app.command("help")
def show_help(
    command_words: Annotated[list[str] | None, typer.Argument(help="Which command.", metavar="COMMAND")] = None,
) -> None:
    """Show help, for everything or for one command."""
    app([*(command_words or []), "--help"], prog_name="anycowork")


def main() -> None:
    make_stdio_usable()
    try:
        app(prog_name="anycowork")
    except OutputLost as error:
        abandon_stdout()
        typer.echo(f"anycowork: {error}", err=True)
        sys.exit(1)


def _serve(invocation: Invocation) -> int:
    gc.disable()  # startup objects stay: scanning them repeatedly took a tenth of the start; `tune_gc` enables it again
    from anycowork.domain.errors import AnyCoworkError, Invalid

    try:
        settings = invocation.settings()
        # Loads the whole server; a wrong setting is reported without it.
        from anycowork.cli.serve import serve as serve_until_ended

        return serve_until_ended(settings)
    except AnyCoworkError as error:
        typer.echo(f"anycowork: {error.message}", err=True)
        return 2 if isinstance(error, Invalid) else 1


if __name__ == "__main__":
    main()
