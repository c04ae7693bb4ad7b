"""Runs a command that asks the server, and reports how a command failed."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.client.connect import ServerAddress, with_server
from anycowork.client.console import stderr, strip_controls
from anycowork.client.errors import ServerRefused, with_way_out
from anycowork.client.http import REQUEST_SECONDS, ServerClient
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError, Invalid

Found = TypeVar("Found")


def print_error(command: str, error: AnyCoworkError, usage_statuses: Collection[int] = ()) -> int:
    """Prints why the command failed; returns the exit code. A refusal with one of these statuses is a mistake in the arguments."""
    stderr().line(f"anycowork {command}: {strip_controls(with_way_out(error))}")
    mistyped = isinstance(error, Invalid) or (isinstance(error, ServerRefused) and error.status in usage_statuses)
    return EXIT_CODES[RunEnding.USAGE if mistyped else RunEnding.FAILED]


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


async def with_client(
    settings: Settings, work: Callable[[ServerClient], Awaitable[Found]], *, request_seconds: float = REQUEST_SECONDS
) -> Found:
    """Runs the work with a client of a running or a temporary server. Raises: AlreadyRunning, StorageFault."""

    async def connected(address: ServerAddress) -> Found:
        async with ServerClient(address.url, address.token, request_seconds=request_seconds) as client:
            return await work(client)

    return await with_server(settings, connected)
