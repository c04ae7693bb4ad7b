"""`anycowork database move`: copies the chats of a data folder from SQLite to PostgreSQL, while no server runs."""

from anycowork.cli.command_errors import print_error
from anycowork.cli.options import Invocation
from anycowork.client.console import Console, stderr, stdout
from anycowork.config.settings import BadSettings
from anycowork.domain.errors import AnyCoworkError
from anycowork.server.data_folder import lock_data_folder
from anycowork.server.database_setup import shown_address


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
