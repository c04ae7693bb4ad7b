"""`anycowork database …`: moves a data folder's chats to PostgreSQL, and copies a data folder."""

from pathlib import Path
from typing import Annotated

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import DataDir, Invocation, folder, invoked
from anycowork.cli.run_outcome import print_error
from anycowork.client.console import Console, stderr, stdout
from anycowork.config.settings import BadSettings
from anycowork.domain.errors import AnyCoworkError
from anycowork.server.backup import back_up
from anycowork.server.data_folder import lock_data_folder
from anycowork.server.disk_usage import human_size
from anycowork.server.setup.database_setup import shown_address

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
    raise typer.Exit(move(invoked(context, data_dir=data_dir, database_url=to)))


@app.command("backup", help=BACKUP_HELP)
def back_up_database(
    context: typer.Context,
    to: Annotated[Path, typer.Argument(help="A folder that does not exist yet.", metavar="FOLDER", parser=folder)],
    data_dir: DataDir = None,
) -> None:
    raise typer.Exit(back_up_data_folder(invoked(context, data_dir=data_dir), to))


def move(invocation: Invocation) -> int:
    """Returns 0 if everything was copied and verified, 1 if it was not, 2 for wrong arguments."""
    try:
        settings = invocation.settings()
        if settings.database_url is None:
            raise BadSettings(
                "No database to move to. Name it: ANYCOWORK_DATABASE_URL=postgresql://…, or --to.", param="database_url"
            )
        from anycowork.store.postgres.transfer import transfer

        url = settings.database_url.get_secret_value()
        with lock_data_folder(settings.data_dir):
            report = transfer(settings.database_path, url, _ProgressLines(stderr()).show)
    except AnyCoworkError as error:
        return print_error("database move", error)
    for chat_id in report.broken:
        stderr().line(f"chat {chat_id}: its audit chain was broken before, and is as it was")
    stdout().line(
        f"Copied and verified: {report.rows['chats']} chats with {report.rows['records']} records, to {shown_address(url)}."
    )
    stdout().line(
        "Set ANYCOWORK_DATABASE_URL for the server, or database_url in its config.toml, and keep its data folder."
    )
    stdout().line(f"{settings.database_path} is as it was: keep it as a backup, or remove it.")
    return 0


class _ProgressLines:
    """Prints a line when a table is begun, and one for every hundred thousand rows."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._shown: tuple[str, int] = ("", -1)

    def show(self, table: str, rows: int) -> None:
        if (table, rows // 100_000) != self._shown:
            self._shown = (table, rows // 100_000)
            self._out.line(f"{table}: {rows} rows")


_FILES_IN_A_LINE = 1_000


def back_up_data_folder(invocation: Invocation, to: Path) -> int:
    """Returns 0 if the copy is there, 1 if it is not, 2 for wrong arguments."""
    try:
        settings = invocation.settings()
        target = Path(invocation.cwd, to)
        backup = back_up(settings, target, _print_progress)
    except AnyCoworkError as error:
        return print_error("database backup", error)
    stdout().line(f"Copied to {target}: {human_size(backup.size)}, {backup.files:,} files besides the database.")
    if not backup.with_database:
        stdout().line("The chats are in PostgreSQL and not in this copy. If you ran pg_dump before, you have both.")
    stdout().line("It holds your keys: keep it as private as the data folder itself.")
    return 0


def _print_progress(part: str, done: int) -> None:
    if part == "files" and done % _FILES_IN_A_LINE == 0:
        stderr().line(f"… {done:,} files")
    elif part == "database" and 0 < done < 100:
        stderr().line(f"… {done} % of the database")
