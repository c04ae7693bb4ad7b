"""`anycowork serve`: runs the server until it is told to stop, and prints where it is."""

import asyncio
import os
import shlex
import shutil
import sys
import threading
from pathlib import Path

from anycowork import __version__
from anycowork.app import serve as run_server
from anycowork.cli.browser import has_screen, open_privately, sign_in_link
from anycowork.client.connect import first_error
from anycowork.client.console import Console, stderr, stdout
from anycowork.config.loading import unused_variables
from anycowork.config.settings import Settings
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
    """On a terminal the address signs one browser in; anywhere else (logs, pipes) it contains no secret."""
    at_terminal = out.stream.isatty()
    offered = new_code(TERMINAL_CODE_SECONDS) if at_terminal else None
    address = sign_in_link(info.url, offered.code) if offered else info.url
    with try_sandbox(settings.data_dir, DiskBudgets.of(settings), settings.sandbox_paths) as contained:
        sandbox = contained.summary
    rows = [
        ("Open", address),
        *(_about_link(offered.confirmation) if offered else []),
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


def _about_link(confirmation: str) -> list[tuple[str, str]]:
    return [
        ("Digits", f"{confirmation}: the page asks for them before that link changes settings, keys or people"),
        ("Later", f"`{typed_name()} open`: the link above works once, for ten minutes"),
    ]


def typed_name() -> str:
    """Returns what a person types to start this program: its path, where the shell would not find it (in a clone)."""
    program = Path(sys.argv[0])
    on_path = shutil.which("anycowork")
    if program.name != "anycowork" or (on_path is not None and Path(on_path).samefile(program)):
        return "anycowork"
    return shlex.quote(str(program.resolve()))
