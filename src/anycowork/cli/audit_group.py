"""`anycowork audit …`"""

from typing import Annotated

import typer

from anycowork.cli.options import DataDir, invoked
from anycowork.cli.plain_help import CommandGroup

VERIFY_HELP = """Check that no record of a chat was changed or removed.

Works with and without a running server. To check a log downloaded from /context/{id}/audit/log, name its file.
Keep the printed end elsewhere: it proves later that the chat's history up to it is unchanged.

Every record is read. Only a check of all chats with more than 100,000 records goes on where the last one ended, and says so: it
reads the older ones with --full, and by itself every 7 days.

Exit codes: 0 every chain is intact, 1 one is broken or missing, 2 usage.

Examples:

\b
    anycowork audit verify
    anycowork audit verify --full
    anycowork audit verify 0197f3f0-… log.jsonl
"""

app = CommandGroup(help="The log of every decision and effect, chained by hashes.", no_args_is_help=True)


@app.command("verify", help=VERIFY_HELP)
def verify_audit(
    context: typer.Context,
    what: Annotated[list[str] | None, typer.Argument(help="Chats, or files with a log.", metavar="CHAT|FILE")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every chat; the default without a name.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Read every record of all chats, also those that an earlier check has read.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.audit import verify

    raise typer.Exit(verify(invoked(context, data_dir=data_dir), what or [], every=every or full, full=full))
