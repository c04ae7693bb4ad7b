"""What the commands `anycowork acp` and `anycowork mcp` share: signals, the owner of their tasks, the link to the server, exit codes."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Literal

from anycowork.client.connect import first_error
from anycowork.client.console import stderr
from anycowork.client.server_link import ServerLink
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError, Invalid


def run_protocol(command: str, serve: Callable[[], Coroutine[None, None, None]]) -> int:
    """The exit code: 0 when the other side has closed the connection, 2 if something was given wrong, 130 after a signal."""
    try:
        asyncio.run(serve())
    except AnyCoworkError as error:
        stderr().line(f"anycowork {command}: {error.message}")
        return 2 if isinstance(error, Invalid) else 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        return 130
    return 0


async def serve_linked(
    settings: Settings, face: Literal["editor", "mcp_host"], serve: Callable[[ServerLink], Awaitable[None]]
) -> None:
    """Serves until `serve` returns, or SIGINT or SIGTERM cancels it; the link is dropped then. Raises: AnyCoworkError."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        async with asyncio.TaskGroup() as tasks:
            link = ServerLink(settings, tasks, face=face)
            try:
                await serve(link)
            finally:
                link.drop()
    except BaseExceptionGroup as group:
        raise first_error(group) from None
