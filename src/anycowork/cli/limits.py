"""`anycowork limits …`: shows and sets what people and groups may use on a day."""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import AsJson, DataDir, Invocation, invoked
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json

LIMITS_HELP = """Show and set what people and groups may use on a day (UTC).

Tokens and dollars count over chats, jobs and programs with keys. A limit holds from the next request on.

Examples:

\b
    anycowork limits
    anycowork limits set Ada --usd 5 --tokens 2000000
    anycowork limits set design --group --usd 40 --jobs 4
    anycowork limits set '*' --tokens 1000000
    anycowork limits remove Ada
"""

app = CommandGroup(help=LIMITS_HELP, short_help="Show and set limits of a day.", invoke_without_command=True)
Name = Annotated[
    str,
    typer.Argument(help="Whose: a name, 'owner', or '*' for each who has none of their own.", metavar="NAME"),
]
OfGroup = Annotated[bool, typer.Option("--group", help="NAME is a group.")]


@app.callback()
def show_limits(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    if context.invoked_subcommand is not None:
        return
    raise typer.Exit(_show_limits(invoked(context, data_dir=data_dir), as_json=as_json))


@app.command("set", help="Replace the limits of a person, a group or each. What is left out is not limited.")
def set_limits(
    context: typer.Context,
    name: Name,
    usd: Annotated[float | None, typer.Option("--usd", min=0, help="Dollars a day.", metavar="DOLLARS")] = None,
    tokens: Annotated[int | None, typer.Option("--tokens", min=0, help="Tokens a day.", metavar="TOKENS")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=0, help="Jobs that run at the same time.", metavar="JOBS")
    ] = None,
    of_group: OfGroup = False,
    data_dir: DataDir = None,
) -> None:
    limits: Json = {"usd_per_day": usd, "tokens_per_day": tokens, "jobs": jobs}
    raise typer.Exit(_put_limits(invoked(context, data_dir=data_dir), "set", name, limits, of_group=of_group))


@app.command("remove", help="Remove the limits of a person or a group: those of each hold again.")
def remove_limits(context: typer.Context, name: Name, of_group: OfGroup = False, data_dir: DataDir = None) -> None:
    raise typer.Exit(_put_limits(invoked(context, data_dir=data_dir), "remove", name, None, of_group=of_group))


def _show_limits(invocation: Invocation, *, as_json: bool) -> int:
    async def work(client: ServerClient) -> None:
        report = await client.get("/limits")
        if as_json:
            stdout().json(json.dumps(report, ensure_ascii=False))
            return
        _print_today(report)

    return _run("", invocation, work)


def _put_limits(invocation: Invocation, word: str, name: str, limits: Json | None, *, of_group: bool) -> int:
    async def work(client: ServerClient) -> None:
        kind = "group" if of_group else "person"
        body: Json = (limits or {}) if name == "*" else {name: limits}
        _print_today(await client.put("/limits", {kind: body}))

    return _run(word, invocation, work)


def _run(word: str, invocation: Invocation, work: Callable[[ServerClient], Awaitable[None]]) -> int:
    async def done(client: ServerClient) -> int:
        await work(client)
        return EXIT_CODES[RunEnding.DONE]

    return run_with_server(f"limits {word}".strip(), invocation, done, usage_statuses=(404, 422))


def _print_today(report: Json) -> None:
    subjects = report.get("today")
    for subject in subjects if isinstance(subjects, list) else []:
        if isinstance(subject, dict):
            stdout().line(strip_controls(today_line(subject)))


def today_line(subject: Json) -> str:
    """Returns one line: who, and of each amount how much is used and allowed."""
    limits, used = _object(subject.get("limits")), _object(subject.get("used"))
    amounts = [
        f"${float(str(used.get('usd') or 0)):.2f}{_of(limits.get('usd_per_day'), '$')}",
        f"{used.get('tokens')} tokens{_of(limits.get('tokens_per_day'))}",
        f"{used.get('jobs')} jobs{_of(limits.get('jobs'))}",
    ]
    group = " (group)" if subject.get("kind") == "group" else ""
    return f"{subject.get('name')}{group}: {', '.join(amounts)}"


def _of(limit: object, sign: str = "") -> str:
    return "" if limit is None else f" of {sign}{limit}"


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}
