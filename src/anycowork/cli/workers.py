"""`anycowork workers`: invites, lists and removes workers through a running server."""

import json
from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import quote

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.job_tables import worker_lines
from anycowork.cli.options import AsJson, DataDir, Invocation, invoked
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json

WORKERS_HELP = """Invite a worker, list the workers, remove one.

Examples:

\b
    anycowork workers invite --labels gpu
    anycowork workers list
    anycowork workers remove WORKER
"""

app = CommandGroup(help=WORKERS_HELP, short_help="Invite, list and remove workers.", no_args_is_help=True)


@app.command("invite", help="Print a token with which one worker joins, once.")
def invite_worker(
    context: typer.Context,
    labels: Annotated[
        str | None, typer.Option("--labels", help="Labels that it may offer, such as gpu,node20.", metavar="LABELS")
    ] = None,
    expires_in: Annotated[
        int, typer.Option("--expires-in", min=1, help="Seconds until the token expires.", metavar="SECONDS")
    ] = 3600,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    raise typer.Exit(_invite_worker(invoked(context, data_dir=data_dir), labels, expires_in, as_json=as_json))


@app.command("list", help="List the workers, and what they do.")
def list_workers(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    raise typer.Exit(_list_workers(invoked(context, data_dir=data_dir), as_json=as_json))


@app.command("remove", help="Remove a joined worker: what runs on it ends.")
def remove_worker(
    context: typer.Context,
    worker: Annotated[str, typer.Argument(help="The worker's id.", metavar="WORKER")],
    data_dir: DataDir = None,
) -> None:
    raise typer.Exit(_remove_worker(invoked(context, data_dir=data_dir), worker))


def split_labels(labels: str | None) -> list[str]:
    return [label.strip() for label in (labels or "").split(",") if label.strip()]


def _invite_worker(invocation: Invocation, labels: str | None, expires_in: int, *, as_json: bool) -> int:
    """Prints a join token; returns the exit code."""

    async def work(client: ServerClient) -> None:
        invitation: Json = {"labels": [*split_labels(labels)], "expires_in": expires_in}
        invite = await client.post("/workers/invites", invitation)
        if as_json:
            stdout().json(json.dumps(invite, ensure_ascii=False))
            return
        stdout().line(str(invite["token"]))
        stdout().line(f"Good once, until {invite['expires_at']}. On the other machine:")
        stdout().line(f"  anycowork worker --join {client.url} --token {invite['token']}")

    return _run("invite", invocation, work)


def _list_workers(invocation: Invocation, *, as_json: bool) -> int:
    async def work(client: ServerClient) -> None:
        answer = await client.get("/workers")
        if as_json:
            stdout().json(json.dumps(answer, ensure_ascii=False))
            return
        for line in worker_lines(answer):
            stdout().line(strip_controls(line))

    return _run("list", invocation, work)


def _remove_worker(invocation: Invocation, worker_id: str) -> int:
    async def work(client: ServerClient) -> None:
        await client.delete(f"/workers/{quote(worker_id, safe='')}")
        stdout().line("Removed. It cannot come back without a new token.")

    return _run("remove", invocation, work)


def _run(command: str, invocation: Invocation, work: Callable[[ServerClient], Awaitable[None]]) -> int:
    async def worked(client: ServerClient) -> int:
        await work(client)
        return EXIT_CODES[RunEnding.DONE]

    return run_with_server(f"workers {command}", invocation, worked)
