"""`anycowork worker`: joins a database and runs its jobs, until it is told to stop."""

import asyncio
import signal

from anycowork import __version__
from anycowork.app import work
from anycowork.client.connect import first_error
from anycowork.client.console import stdout
from anycowork.config.settings import BadSettings, Settings
from anycowork.domain.errors import DatabaseUnreachable
from anycowork.server.setup.database_setup import shown_address
from anycowork.server.setup.sandbox_setup import DiskBudgets, try_sandbox
from anycowork.server.uvicorn_server import loop_factory


def run_worker(settings: Settings, *, most_jobs: int) -> int:
    """Returns after a clean end. Raises: AlreadyRunning, BadSettings, StorageFault."""
    if settings.database_url is None:
        raise BadSettings(
            "A worker needs a database that servers share: set ANYCOWORK_DATABASE_URL=postgresql://…, or name it with --db. "
            "A server on SQLite runs its jobs itself.",
            param="database_url",
        )
    try:
        address = shown_address(settings.database_url.get_secret_value())
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_work_until_signal(settings, address, most_jobs))
    except BaseExceptionGroup as group:
        raise first_error(group) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        pass  # the second Ctrl-C: what ran is shown as interrupted, and others go on with it
    return 0


async def _work_until_signal(settings: Settings, address: str, most_jobs: int) -> None:
    stopping, working = asyncio.Event(), asyncio.current_task()
    assert working is not None
    out = stdout()

    def on_signal() -> None:
        if stopping.is_set():
            working.cancel()
        else:
            out.line(
                f"Finishing what runs, for at most {settings.shutdown_seconds:g} seconds; other processes go on with the rest."
            )
            stopping.set()

    def joined() -> None:
        with try_sandbox(settings.data_dir, DiskBudgets.of(settings), settings.sandbox_paths) as contained:
            sandbox = contained.summary
        out.line(f"AnyCowork {__version__}: a worker has joined.")
        rows = (("Database", address), ("Jobs", f"up to {most_jobs} at the same time"), ("Sandbox", sandbox))
        for title, text in (*rows, ("Data", str(settings.data_dir))):
            out.line(f"  {title:<10} {text}")
        out.line("Ctrl-C lets it leave; other processes go on with its jobs.")

    def waits(fault: DatabaseUnreachable) -> None:
        out.line(f"{fault.message}\nThis worker waits for it and joins as soon as it answers. Ctrl-C ends it.")

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    await work(settings, most_jobs=most_jobs, stopping=stopping, ready=joined, waits=waits)
