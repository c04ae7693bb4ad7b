"""`anycowork serve`: runs the house until it is told to end, and greets whoever started it."""

import asyncio
import os
import sys
import threading
import webbrowser
from collections.abc import Mapping

from pydantic import SecretStr

from anycowork import __version__
from anycowork.app import serve as serve_house
from anycowork.commands.console import Console, stderr, stdout
from anycowork.commands.house import first_failure
from anycowork.config import strays
from anycowork.containment import Room, tried_out
from anycowork.daemon import TOKEN_FILE, DaemonInfo, stored_token
from anycowork.settings import Settings


def serve(settings: Settings) -> int:
    """Returns after a clean end. Raises: AlreadyRunning, CannotListen, StorageFault."""

    def greet(info: DaemonInfo) -> None:
        token = stored_token(settings.data_dir)
        out = stdout()
        for line in banner(settings, info, token, out):
            out.line(line)
        if token is not None and settings.open_browser and out.stream.isatty() and _has_a_screen(os.environ):
            # In a thread of its own: a browser may take its time, and the server should not wait for it.
            threading.Thread(target=webbrowser.open, args=(_door(info, token),), daemon=True).start()

    for sentence in strays(settings.data_dir, os.environ):
        stderr().line(f"anycowork: {sentence}")
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(serve_house(settings, ready=greet, heed_signals=True))
    except BaseExceptionGroup as group:
        raise first_failure(group) from None
    except KeyboardInterrupt:
        pass  # Ctrl-C is how a person ends it
    return 0


def banner(settings: Settings, info: DaemonInfo, token: SecretStr | None, out: Console) -> list[str]:
    """At a terminal the address opens the door by itself; anywhere else (logs, pipes) the token is only pointed to."""
    at_terminal = out.stream.isatty()
    with tried_out(settings.data_dir, Room.of(settings)) as contained:
        sandbox = contained.says
    rows = [
        ("Open", _door(info, token) if at_terminal and token is not None else info.url),
        *([] if at_terminal else [("Token", f"in {settings.data_dir / TOKEN_FILE}")]),
        ("Workspace", str(settings.workspace or "none given; --workspace FOLDER names one")),
        ("Answers", settings.model or "whoever is found first: keys, local model servers, else the guide"),
        ("Sandbox", sandbox),
        ("Data", str(settings.data_dir)),
    ]
    return [
        out.paint(f"AnyCowork {__version__} is ready.", "bold"),
        *(f"  {title:<10} {text}" for title, text in rows),
        "Ctrl-C ends it; chats and open questions are kept.",
    ]


def _door(info: DaemonInfo, token: SecretStr) -> str:
    return f"{info.url.rstrip('/')}/?token={token.get_secret_value()}"


def _has_a_screen(environ: Mapping[str, str]) -> bool:
    """On Linux without a desktop, `webbrowser` would start a text browser in this very terminal."""
    return sys.platform != "linux" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ImportError:  # not to be had on Windows
        return None
    return uvloop.Loop
