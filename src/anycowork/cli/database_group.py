"""`anycowork database …`"""

from typing import Annotated

import typer

from anycowork.cli.options import DataDir, invoked

MOVE_HELP = """Move a data folder's chats from SQLite to PostgreSQL.

Everything is copied in one transaction, counted, and its audit chains are verified. The target must be empty, and no server may run.
The SQLite database is only read. Everything else in the data folder is needed by the server as before.

Exit codes: 0 copied and verified, 1 nothing was copied, 2 usage.

Examples:

\b
    ANYCOWORK_DATABASE_URL=postgresql://… anycowork database move
    anycowork database move --to postgresql://anycowork@db.example/anycowork
"""

app = typer.Typer(help="The database that keeps the chats.", no_args_is_help=True)


@app.command("move", help=MOVE_HELP)
def move_database(
    context: typer.Context,
    to: Annotated[
        str | None,
        typer.Option("--to", help="The database; a password is better given as ANYCOWORK_DATABASE_URL.", metavar="URL"),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.database_move import move

    raise typer.Exit(move(invoked(context, data_dir=data_dir, database_url=to)))
