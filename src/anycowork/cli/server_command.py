"""What commands that need a server share: connecting to one, reporting an error, and the exit code."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.client.connect import with_client
from anycowork.client.console import stderr, strip_controls
from anycowork.client.http import REQUEST_SECONDS, ServerClient, ServerRefused
from anycowork.domain.errors import AnyCoworkError, Invalid


def run_with_server(
    command: str,
    invocation: Invocation,
    work: Callable[[ServerClient], Awaitable[int]],
    *,
    request_seconds: float = REQUEST_SECONDS,
    usage_statuses: Collection[int] = (),
) -> int:
    """Runs the work with a running or a temporary server; returns its exit code, or that of the error that it printed."""

    async def run() -> int:
        return await with_client(invocation.settings(), work, request_seconds=request_seconds)

    try:
        return asyncio.run(run())
    except AnyCoworkError as error:
        return print_error(command, error, usage_statuses)


def print_error(command: str, error: AnyCoworkError, usage_statuses: Collection[int] = ()) -> int:
    """Prints why the command failed; returns the exit code. A refusal with one of these statuses is a mistake in the arguments."""
    stderr().line(f"anycowork {command}: {strip_controls(error.message)}")
    mistyped = isinstance(error, Invalid) or (isinstance(error, ServerRefused) and error.status in usage_statuses)
    return EXIT_CODES[RunEnding.USAGE if mistyped else RunEnding.FAILED]
