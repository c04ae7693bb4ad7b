"""The server behind an editor or an MCP host: the data folder's running one, or one in this process from the first request on."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from anycowork.client.connect import ServerAddress, first_error, with_server
from anycowork.client.console import stderr
from anycowork.client.errors import ServerUnreachable
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.domain.visible_text import os_reason

if TYPE_CHECKING:
    from anycowork.client.http import ServerClient

DEFAULT_FOLDER = "AnyCowork"


class ServerLink:
    """Connects when it is needed, and once more after the server was lost: two editors may share one server, and one is closed."""

    def __init__(self, settings: Settings, tasks: asyncio.TaskGroup, *, face: Literal["editor", "mcp_host"]) -> None:
        self._settings, self._tasks, self._face = settings, tasks, face
        self._connecting = asyncio.Lock()
        self._client: ServerClient | None = None
        self._ending = asyncio.Event()

    async def client(self, name: str) -> "ServerClient":
        """Returns a client that sends requests in the name of this editor or host. Raises: AnyCoworkError if there is no server."""
        async with self._connecting:
            if self._client is None:
                self._ending = asyncio.Event()
                ready: asyncio.Future[ServerClient] = asyncio.get_running_loop().create_future()
                self._tasks.create_task(self._hold(name, ready, self._ending))
                self._client = await ready
            return self._client

    def drop(self) -> None:
        """The server does not answer any more: the next request looks for one anew."""
        self._client = None
        self._ending.set()

    async def _hold(self, name: str, ready: "asyncio.Future[ServerClient]", ending: asyncio.Event) -> None:
        # A late import: its libraries take longer to load than `initialize` may take.
        from anycowork.client.http import ServerClient

        async def work(address: ServerAddress) -> None:
            if self._settings.workspace is not None:  # a person named it, in a flag or a setting: that registers it
                async with ServerClient(address.url, address.token) as person:
                    await person.register(self._settings.workspace)
            async with self._client_of(address, name) as client:
                if not ready.done():
                    ready.set_result(client)
                await ending.wait()

        try:
            await with_server(self._for_own_server(), work)
        except (AnyCoworkError, OSError) as error:
            if not ready.done():
                is_ours = isinstance(error, AnyCoworkError)
                ready.set_exception(error if is_ours else ServerUnreachable(os_reason(error, with_path=True)))
        finally:
            if not ending.is_set():
                self._client = None

    def _client_of(self, address: ServerAddress, name: str) -> "ServerClient":
        from anycowork.client.http import ServerClient

        if self._face == "editor":
            return ServerClient(address.url, address.token, editor=name)
        return ServerClient(address.url, address.token, mcp_host=name)

    def _for_own_server(self) -> Settings:
        """A server that starts in a folder registers it; here the editor chose where we start, and no person did."""
        if self._settings.workspace is not None:
            return self._settings
        folder = Path.home() / DEFAULT_FOLDER
        folder.mkdir(exist_ok=True)
        return self._settings.model_copy(update={"workspace": folder})


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
