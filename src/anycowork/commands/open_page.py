"""`anycowork open`: opens the running server's page in a browser, signed in by a one-time code."""

import asyncio
import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from anycowork.commands.client import HouseClient
from anycowork.commands.console import stderr, stdout
from anycowork.commands.house import running_address
from anycowork.commands.outcome import EXIT_CODES, Ending
from anycowork.config import load_settings
from anycowork.domain.errors import AnyCoworkError
from anycowork.settings import BadSettings, Settings


def open_page(flags: Mapping[str, object], environ: Mapping[str, str], *, cwd: Path, print_only: bool) -> int:
    """Opens the browser, or prints the link where there is no screen; the exit code."""
    try:
        link = asyncio.run(_new_link(load_settings(flags, environ, cwd=cwd)))
    except AnyCoworkError as error:
        stderr().line(f"anycowork open: {error.message}")
        return EXIT_CODES[Ending.USAGE if isinstance(error, BadSettings) else Ending.FAILED]
    if not print_only and has_screen(os.environ) and webbrowser.open(link):
        return EXIT_CODES[Ending.DONE]
    stdout().line(link)
    stderr().line("This link signs one browser in. It works once, within a minute.")
    return EXIT_CODES[Ending.DONE]


def sign_in_link(url: str, code: str) -> str:
    """The code stands in the fragment, which browsers send to no server."""
    return f"{url.rstrip('/')}/#code={code}"


def has_screen(environ: Mapping[str, str]) -> bool:
    """On Linux without a desktop, `webbrowser` would start a text browser in this very terminal."""
    return sys.platform != "linux" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


async def _new_link(settings: Settings) -> str:
    address = await running_address(settings)
    async with HouseClient(address.url, address.token) as client:
        made = await client.post("/session/codes")
    return sign_in_link(address.url, str(made["code"]))
