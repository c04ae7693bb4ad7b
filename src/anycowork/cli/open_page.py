"""`anycowork open`: opens the running server's page in a browser, signed in by a one-time code."""

import asyncio
import webbrowser

from anycowork.cli.browser import has_screen, sign_in_link
from anycowork.cli.command_errors import print_error
from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.client.connect import running_address
from anycowork.client.console import stderr, stdout
from anycowork.client.http import ServerClient
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError


def open_page(invocation: Invocation, *, print_only: bool) -> int:
    """Opens the browser, or prints the link where there is no screen; returns the exit code."""
    try:
        link = asyncio.run(_new_link(invocation.settings()))
    except AnyCoworkError as error:
        return print_error("open", error)
    if not print_only and has_screen(invocation.environ) and webbrowser.open(link):
        return EXIT_CODES[RunEnding.DONE]
    stdout().line(link)
    stderr().line("This link signs one browser in. It works once, within a minute.")
    return EXIT_CODES[RunEnding.DONE]


async def _new_link(settings: Settings) -> str:
    address = await running_address(settings)
    async with ServerClient(address.url, address.token) as client:
        made = await client.post("/session/codes")
    return sign_in_link(address.url, str(made["code"]))
