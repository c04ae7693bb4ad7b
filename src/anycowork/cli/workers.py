"""`anycowork workers`: invites, lists and removes workers through a running server."""

from typing import Annotated
from urllib.parse import quote

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.job_tables import worker_lines
from anycowork.cli.options import AsJson, DataDir, invoked
from anycowork.cli.server_command import print_answer, run_with_server
from anycowork.client.console import stdout
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
    async def work(client: ServerClient) -> None:
        invitation: Json = {"labels": [*split_labels(labels)], "expires_in": expires_in}
        invite = await client.post("/workers/invites", invitation)
        lines = (
            str(invite["token"]),
            f"Good once, until {invite['expires_at']}. On the other machine:",
            f"  anycowork worker --join {client.url} --token {invite['token']}",
        )
        print_answer(invite, lines, as_json=as_json)

    raise run_with_server("workers invite", invoked(context, data_dir=data_dir), work)


@app.command("list", help="List the workers, and what they do.")
def list_workers(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        answer = await client.get("/workers")
        print_answer(answer, worker_lines(answer), as_json=as_json)

    raise run_with_server("workers list", invoked(context, data_dir=data_dir), work)


@app.command("remove", help="Remove a joined worker: what runs on it ends.")
def remove_worker(
    context: typer.Context,
    worker: Annotated[str, typer.Argument(help="The worker's id.", metavar="WORKER")],
    data_dir: DataDir = None,
) -> None:
    async def work(client: ServerClient) -> None:
        await client.delete(f"/workers/{quote(worker, safe='')}")
        stdout().line("Removed. It cannot come back without a new token.")

    raise run_with_server("workers remove", invoked(context, data_dir=data_dir), work)


def split_labels(labels: str | None) -> list[str]:
    return [label.strip() for label in (labels or "").split(",") if label.strip()]
