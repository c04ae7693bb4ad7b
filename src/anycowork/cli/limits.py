"""`anycowork limits …`: shows and sets what people and groups may use on a day."""

from collections.abc import Iterator
from typing import Annotated

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import AsJson, DataDir, Invocation, invoked
from anycowork.cli.server_command import print_answer, run_with_server
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json, json_object, json_objects

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

    async def work(client: ServerClient) -> None:
        report = await client.get("/limits")
        print_answer(report, _today_lines(report), as_json=as_json)

    raise run_with_server("limits", invoked(context, data_dir=data_dir), work)


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
    raise _put_limits(invoked(context, data_dir=data_dir), "set", name, limits, of_group=of_group)


@app.command("remove", help="Remove the limits of a person or a group: those of each hold again.")
def remove_limits(context: typer.Context, name: Name, of_group: OfGroup = False, data_dir: DataDir = None) -> None:
    raise _put_limits(invoked(context, data_dir=data_dir), "remove", name, None, of_group=of_group)


def _put_limits(invocation: Invocation, word: str, name: str, limits: Json | None, *, of_group: bool) -> typer.Exit:
    async def work(client: ServerClient) -> None:
        kind = "group" if of_group else "person"
        body: Json = (limits or {}) if name == "*" else {name: limits}
        report = await client.put("/limits", {kind: body})
        print_answer(report, _today_lines(report), as_json=False)

    return run_with_server(f"limits {word}", invocation, work)


def _today_lines(report: Json) -> Iterator[str]:
    return map(_today_line, json_objects(report.get("today")))


def _today_line(subject: Json) -> str:
    """Returns one line: who, and of each amount how much is used and allowed."""
    limits, used = json_object(subject.get("limits")), json_object(subject.get("used"))
    amounts = [
        f"${float(str(used.get('usd') or 0)):.2f}{_of(limits.get('usd_per_day'), '$')}",
        f"{used.get('tokens')} tokens{_of(limits.get('tokens_per_day'))}",
        f"{used.get('jobs')} jobs{_of(limits.get('jobs'))}",
    ]
    group = " (group)" if subject.get("kind") == "group" else ""
    return f"{subject.get('name')}{group}: {', '.join(amounts)}"


def _of(limit: object, sign: str = "") -> str:
    return "" if limit is None else f" of {sign}{limit}"
