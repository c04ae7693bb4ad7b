"""`anycowork database backup`: copies a data folder, also while its server runs."""

from pathlib import Path

from anycowork.cli.command_errors import print_error
from anycowork.cli.options import Invocation
from anycowork.client.console import stderr, stdout
from anycowork.domain.errors import AnyCoworkError
from anycowork.server.backup import back_up
from anycowork.server.disk_usage import human_size

_FILES_IN_A_LINE = 1_000


def back_up_data_folder(invocation: Invocation, to: Path) -> int:
    """Returns 0 if the copy is there, 1 if it is not, 2 for wrong arguments."""
    try:
        settings = invocation.settings()
        target = Path(invocation.cwd, to)
        made = back_up(settings, target, _print_progress)
    except AnyCoworkError as error:
        return print_error("database backup", error)
    stdout().line(f"Copied to {target}: {human_size(made.size)}, {made.files:,} files besides the database.")
    if not made.with_database:
        stdout().line("The chats are in PostgreSQL and not in this copy. If you ran pg_dump before, you have both.")
    stdout().line("It holds your keys: keep it as private as the data folder itself.")
    return 0


def _print_progress(what: str, done: int) -> None:
    if what == "files" and done % _FILES_IN_A_LINE == 0:
        stderr().line(f"… {done:,} files")
    elif what == "database" and 0 < done < 100:
        stderr().line(f"… {done} % of the database")
