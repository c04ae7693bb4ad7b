"""`anycowork open`: opens the running server's page in a browser, signed in by a one-time code."""

import asyncio
import os
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from anycowork.cli.browser import has_screen, sign_in_link
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.client.connect import running_address
from anycowork.client.console import stderr, stdout
from anycowork.client.http import ServerClient
from anycowork.config.loading import load_settings
from anycowork.config.settings import BadSettings, Settings
from anycowork.domain.errors import AnyCoworkError


def open_page(flags: Mapping[str, object], environ: Mapping[str, str], *, cwd: Path, print_only: bool) -> int:
    """Opens the browser, or prints the link where there is no screen; returns the exit code."""
    try:
        link = asyncio.run(_new_link(load_settings(flags, environ, cwd=cwd)))
    except AnyCoworkError as error:
        stderr().line(f"anycowork open: {error.message}")
        return EXIT_CODES[RunEnding.USAGE if isinstance(error, BadSettings) else RunEnding.FAILED]
    if not print_only and has_screen(os.environ) and webbrowser.open(link):
        return EXIT_CODES[RunEnding.DONE]
    stdout().line(link)
    stderr().line("This link signs one browser in. It works once, within a minute.")
    return EXIT_CODES[RunEnding.DONE]


async def _new_link(settings: Settings) -> str:
    address = await running_address(settings)
    async with ServerClient(address.url, address.token) as client:
        made = await client.post("/session/codes")
    return sign_in_link(address.url, str(made["code"]))
