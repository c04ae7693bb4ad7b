"""`anycowork serve` and `anycowork worker`: run the server, or a worker that joins its database, until they are told to stop."""

import asyncio
import os
import shlex
import shutil
import signal
import sys
import threading
from pathlib import Path

from anycowork import __version__
from anycowork.app import serve as run_server
from anycowork.app import work
from anycowork.cli.browser import has_screen, open_privately, sign_in_link
from anycowork.client.connect import first_error
from anycowork.client.console import Console, stderr, stdout
from anycowork.config.loading import unused_variables
from anycowork.config.settings import BadSettings, Settings, default_data_dir
from anycowork.domain.errors import DatabaseUnreachable
from anycowork.server.data_folder import TOKEN_FILE, ServerInfo
from anycowork.server.setup.database_setup import shown_address
from anycowork.server.setup.sandbox_setup import DiskBudgets, try_sandbox
from anycowork.server.uvicorn_server import NewCode, loop_factory

BROWSER_CODE_SECONDS = 60.0
TERMINAL_CODE_SECONDS = 600.0


def serve(settings: Settings) -> int:
    """Returns after a clean end. Raises: AlreadyRunning, CannotListen, StorageFault."""

    def print_banner(info: ServerInfo, new_code: NewCode) -> None:
        out = stdout()
        for line in banner(settings, info, new_code, out):
            out.line(line)
        if settings.open_browser and out.stream.isatty() and has_screen(os.environ):
            # In a separate thread: a browser may start slowly, and the server should not wait for it.
            offered = new_code(BROWSER_CODE_SECONDS)
            link = sign_in_link(info.url, offered.code, offered.confirmation)
            threading.Thread(target=open_privately, args=(link, settings.data_dir), daemon=True).start()

    for sentence in unused_variables(settings.data_dir, os.environ):
        stderr().line(f"anycowork: {sentence}")
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run_server(settings, ready=print_banner, handle_signals=True))
    except BaseExceptionGroup as group:
        raise first_error(group) from None
    except KeyboardInterrupt:
        pass  # Ctrl-C is how a person stops it
    return 0


def banner(settings: Settings, info: ServerInfo, new_code: NewCode, out: Console) -> list[str]:
    """On a terminal the address signs one browser in. Anywhere else (logs, pipes) it contains no secret: others may read it there."""
    at_terminal = out.stream.isatty()
    offered = new_code(TERMINAL_CODE_SECONDS) if at_terminal else None
    address = sign_in_link(info.url, offered.code) if offered else info.url
    with try_sandbox(settings.data_dir, DiskBudgets.of(settings), settings.sandbox_paths) as contained:
        sandbox = contained.summary
    rows = [
        ("Open", address),
        *(_about_link(offered.confirmation, settings) if offered else [("Sign in", _how_to_sign_in(settings))]),
        ("Token", f"in {settings.data_dir / TOKEN_FILE}"),
        ("Workspace", str(settings.workspace or "none given; --workspace FOLDER names one")),
        ("Model", settings.model or "the first one found: keys, local model servers, else the built-in guide"),
        ("Sandbox", sandbox),
        ("Data", str(settings.data_dir)),
        *([("Database", shown_address(settings.database_url.get_secret_value()))] if settings.database_url else []),
    ]
    return [
        out.paint(f"AnyCowork {__version__} is ready.", "bold"),
        *(f"  {title:<10} {text}" for title, text in rows),
        "Ctrl-C ends it; chats and open questions are kept.",
    ]


def _about_link(confirmation: str, settings: Settings) -> list[tuple[str, str]]:
    return [
        ("Digits", f"{confirmation}: the page asks for them before that link changes settings, keys or people"),
        ("Later", f"`{_open_command(settings)}`: the link above works once, for ten minutes"),
    ]


def _how_to_sign_in(settings: Settings) -> str:
    return f"`{_open_command(settings, '--print')}`, on this machine, prints a link that signs one browser in"


def _open_command(settings: Settings, *flags: str) -> str:
    is_elsewhere = settings.data_dir != default_data_dir()
    folder = ["--data-dir", shlex.quote(str(settings.data_dir))] if is_elsewhere else []
    return " ".join([typed_name(), "open", *flags, *folder])


def typed_name() -> str:
    """Returns what a person types to start this program: its path, where the shell would not find it (in a clone)."""
    program = Path(sys.argv[0])
    on_path = shutil.which("anycowork")
    is_script = program.name == "anycowork" and program.exists()  # whoever starts it may give it any name
    if not is_script or (on_path is not None and Path(on_path).samefile(program)):
        return "anycowork"
    return shlex.quote(str(program.resolve()))


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
