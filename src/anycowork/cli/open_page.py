"""`anycowork open`: opens the running server's page in a browser, signed in by a one-time code."""

import asyncio

from anycowork.cli.browser import has_screen, open_privately, sign_in_link
from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding, print_error
from anycowork.client.connect import running_address
from anycowork.client.console import stderr, stdout
from anycowork.client.http import ServerClient
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError


def open_page(invocation: Invocation, *, print_only: bool) -> int:
    """Opens the browser, or prints the link where there is no screen; returns the exit code."""
    settings = invocation.settings()
    try:
        url, code, confirmation = asyncio.run(_new_code(settings))
    except AnyCoworkError as error:
        return print_error("open", error)
    opens = not print_only and has_screen(invocation.environ)
    if opens and open_privately(sign_in_link(url, code, confirmation), settings.data_dir):
        return EXIT_CODES[RunEnding.DONE]
    stdout().line(sign_in_link(url, code))
    stderr().line("This link signs one browser in. It works once, within a minute.")
    stderr().line(f"The page asks for these digits before it changes settings, keys or people: {confirmation}")
    return EXIT_CODES[RunEnding.DONE]


async def _new_code(settings: Settings) -> tuple[str, str, str]:
    """Returns the server's address, a code, and the digits that confirm its session."""
    address = await running_address(settings)
    async with ServerClient(address.url, address.token) as client:
        new_code = await client.post("/session/codes")
    return address.url, str(new_code["code"]), str(new_code["confirmation"])
