"""`anycowork notifications …`: lists, adds, tests and removes where you are told that something waits for you."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated
from urllib.parse import quote

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import AsJson, DataDir, Invocation, invoked
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import print_answer, run_with_server
from anycowork.client.console import stdout
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json, json_objects
from anycowork.domain.times import local_time

NOTIFICATIONS_HELP = """List where you are told that a decision waits for you, add a target, test it or remove it.

A message names the kind of decision and its page, never its contents. Browsers and phones are added on the page.

Examples:

\b
    anycowork notifications list
    anycowork notifications add https://example.org/hook
    anycowork notifications add ada@example.org
    anycowork notifications test TARGET
    anycowork notifications remove TARGET
"""

app = CommandGroup(help=NOTIFICATIONS_HELP, short_help="Be told when something waits for you.", no_args_is_help=True)
TargetId = Annotated[str, typer.Argument(help="The target's id.", metavar="TARGET")]


@app.command("list", help="List your targets.")
def list_targets(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        answer = await client.get("/notifications/targets")
        print_answer(answer, target_lines(answer), as_json=as_json)

    raise _run("list", invoked(context, data_dir=data_dir), work)


@app.command("add", help="Add a webhook or an e-mail address.")
def add_target(
    context: typer.Context,
    address: Annotated[str, typer.Argument(help="A webhook's URL, or an e-mail address.", metavar="ADDRESS")],
    name: Annotated[str | None, typer.Option("--name", help="Its name in the list.", metavar="NAME")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    async def work(client: ServerClient) -> None:
        target: Json = (
            {"kind": "webhook", "url": address} if "://" in address else {"kind": "email", "address": address}
        )
        answer = await client.post("/notifications/targets", {**target, **({"name": name} if name else {})})
        lines = [f"Added {answer['id']}."]
        if answer.get("secret"):
            lines.append(f"Its secret, shown this once: {answer['secret']}")
        print_answer(answer, lines, as_json=as_json)

    raise _run("add", invoked(context, data_dir=data_dir), work)


@app.command("test", help="Send a test now; exit 1 if it was not delivered.")
def send_test(context: typer.Context, target: TargetId, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> int:
        answer = await client.post(f"{_path(target)}/test")
        is_delivered = answer.get("delivered") is True
        print_answer(
            answer, ["Delivered." if is_delivered else f"Not delivered: {answer.get('error')}"], as_json=as_json
        )
        return EXIT_CODES[RunEnding.DONE if is_delivered else RunEnding.FAILED]

    raise _run("test", invoked(context, data_dir=data_dir), work)


@app.command("remove", help="Remove a target.")
def remove_target(context: typer.Context, target: TargetId, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        await client.delete(_path(target))
        stdout().line("Removed.")

    raise _run("remove", invoked(context, data_dir=data_dir), work)


def target_lines(answer: Json) -> Iterator[str]:
    """One row for each target."""
    targets = list(json_objects(answer.get("targets")))
    if not targets:
        yield "No targets yet. `anycowork notifications add --help` shows how to add one."
    for target in targets:
        sent_at = target.get("last_sent_at")
        state = f"off: {target['disabled']}" if target.get("disabled") else str(target.get("last_error") or "on")
        last = f"last told {local_time(str(sent_at))}" if sent_at else "nothing sent yet"
        yield f"{target.get('id')}  {target.get('kind')}  {target.get('address')}  {last}  {state}"


def _path(target_id: str) -> str:
    return f"/notifications/targets/{quote(target_id, safe='')}"


def _run(command: str, invocation: Invocation, work: Callable[[ServerClient], Awaitable[int | None]]) -> typer.Exit:
    return run_with_server(f"notifications {command}", invocation, work, usage_statuses=(404, 409, 422))
