"""The way that commands which need a server share: connect to one, work, report an error, return an exit code."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import TypeVar

import typer
from pydantic import JsonValue

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import print_error
from anycowork.client.connect import ServerAddress, with_server
from anycowork.client.console import stdout, strip_controls
from anycowork.client.http import REQUEST_SECONDS, ServerClient
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.messages import Json
from anycowork.domain.visibility import described

Found = TypeVar("Found")


def run_with_server(
    command: str,
    invocation: Invocation,
    work: Callable[[ServerClient], Awaitable[int | None]],
    *,
    request_seconds: float = REQUEST_SECONDS,
    usage_statuses: Collection[int] = (404, 422),
) -> typer.Exit:
    """Runs the work with a running or a temporary server; returns an exit with its code (None: 0), or with that of the error.

    A refusal with one of `usage_statuses` is a mistake in the arguments."""

    async def run() -> int | None:
        return await with_client(invocation.settings(), work, request_seconds=request_seconds)

    try:
        return typer.Exit(asyncio.run(run()) or 0)
    except AnyCoworkError as error:
        return typer.Exit(print_error(command, error, usage_statuses))


async def with_client(
    settings: Settings, work: Callable[[ServerClient], Awaitable[Found]], *, request_seconds: float = REQUEST_SECONDS
) -> Found:
    """Runs the work with a client of a running or a temporary server. Raises: AlreadyRunning, StorageFault."""

    async def connected(address: ServerAddress) -> Found:
        async with ServerClient(address.url, address.token, request_seconds=request_seconds) as client:
            return await work(client)

    return await with_server(settings, connected)


def print_visibility(shown: Mapping[str, JsonValue], *, as_json: bool) -> None:
    """Prints who sees this chat or workspace."""
    answer = {name: shown[name] for name in ("id", "visibility", "owner")}
    print_answer(answer, [f"Who can see it: {described(str(shown['visibility']))}"], as_json=as_json)


def print_answer(answer: Json, lines: Iterable[str], *, as_json: bool) -> None:
    """Prints the server's answer as it came, or as these lines."""
    if as_json:
        stdout().json(json.dumps(answer, ensure_ascii=False))
        return
    for line in lines:
        stdout().line(strip_controls(line))
