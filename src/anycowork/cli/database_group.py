"""`anycowork database …`"""

from pathlib import Path
from typing import Annotated

import typer

from anycowork.cli.options import DataDir, folder, invoked
from anycowork.cli.plain_help import CommandGroup

MOVE_HELP = """Move a data folder's chats from SQLite to PostgreSQL.

Everything is copied in one transaction, counted, and its audit chains are verified. The target must be empty, and no server may run.
The SQLite database is only read. Everything else in the data folder is needed by the server as before.

Exit codes: 0 copied and verified, 1 nothing was copied, 2 usage.

Examples:

\b
    ANYCOWORK_DATABASE_URL=postgresql://… anycowork database move
    anycowork database move --to postgresql://anycowork@db.example/anycowork
"""

BACKUP_HELP = """Copy a data folder, also while its server runs.

The copy has the chats as they were at one moment, their checkpoints, settings, roles, plugins, connected models with their keys (unless
the system's keyring has them), and the server's token: keep it as private as the folder itself. Left out are commands in progress and
downloaded models. Workspaces are not part of a data folder. Start a server with --data-dir on the copy to go back to it.

If the chats are in PostgreSQL, run `pg_dump` first; this copies the rest.

Exit codes: 0 copied, 1 nothing was copied, 2 usage.

Examples:

\b
    anycowork database backup ~/backups/anycowork-monday
    anycowork serve --data-dir ~/backups/anycowork-monday
"""

app = CommandGroup(help="The database that keeps the chats.", no_args_is_help=True)


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


@app.command("backup", help=BACKUP_HELP)
def back_up_database(
    context: typer.Context,
    to: Annotated[Path, typer.Argument(help="A folder that does not exist yet.", metavar="FOLDER", parser=folder)],
    data_dir: DataDir = None,
) -> None:
    from anycowork.cli.database_backup import back_up_data_folder

    raise typer.Exit(back_up_data_folder(invoked(context, data_dir=data_dir), to))
