"""Connects a command to a server: the data folder's running one, or a temporary one for as long as the command lasts."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pydantic import SecretStr

from anycowork.client.console import stderr
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError, StorageFault
from anycowork.domain.people import is_person_token
from anycowork.domain.values import value
from anycowork.server.data_folder import AlreadyRunning, ServerInfo, is_locked, running_server, stored_token

START_SECONDS = 30.0
_PAUSE_SECONDS = 0.05

Found = TypeVar("Found")


class NoServer(AnyCoworkError):
    code = "no_server"


@value
class ServerAddress:
    """`lasting` is false for a temporary server: it ends with the command."""

    url: str
    token: SecretStr
    lasting: bool


async def with_server(settings: Settings, work: Callable[[ServerAddress], Awaitable[Found]]) -> Found:
    """Runs the work with a server. Raises: AlreadyRunning, StorageFault."""
    if (running := await _daemon_or_none(settings)) is not None:
        return await work(_address(running, settings, lasting=True))
    try:
        return await _in_temporary_server(settings, work)
    except AlreadyRunning:  # another process started one first
        if (running := await _daemon_or_none(settings)) is None:
            raise
        return await work(_address(running, settings, lasting=True))


async def running_address(settings: Settings) -> ServerAddress:
    """Returns the address of the data folder's running server. Raises: NoServer, StorageFault."""
    running = await _daemon_or_none(settings)
    if running is None:
        raise NoServer(
            f"No server runs on the data folder {settings.data_dir}. `anycowork` starts one and opens its page."
        )
    return _address(running, settings, lasting=True)


async def _daemon_or_none(settings: Settings) -> ServerInfo | None:
    """Waits for a server that is just starting."""
    until = asyncio.get_running_loop().time() + START_SECONDS
    while (running := running_server(settings.data_dir)) is None and is_locked(settings.data_dir):
        if asyncio.get_running_loop().time() > until:
            raise StorageFault(
                f"Another server holds {settings.data_dir}, but is not ready after {START_SECONDS:g} seconds."
            )
        await asyncio.sleep(_PAUSE_SECONDS)  # another process: there is no event to wait for
    return running


async def _in_temporary_server(settings: Settings, work: Callable[[ServerAddress], Awaitable[Found]]) -> Found:
    if (aside := stderr()).stream.isatty():
        aside.line(aside.paint("No server is running, so one is started for this command …", "dim"))
    gc.disable()  # until the server is ready, as for `anycowork serve`: what it creates stays
    # A late import: the whole server takes a second to load, and with a running one it is not needed.
    from anycowork.app import serve

    quiet = "error" if settings.log_level == "auto" else settings.log_level  # stderr is for the run's own progress
    local_settings = settings.model_copy(update={"host": "127.0.0.1", "port": 0, "log_level": quiet})
    ready: asyncio.Future[ServerInfo] = asyncio.get_running_loop().create_future()

    async def serve_here() -> None:
        await serve(local_settings, ready=lambda info, _: ready.set_result(info))
        if not ready.done():
            raise StorageFault("The server ended before it was ready; its output above says why.")

    try:
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(serve_here())
            async with asyncio.timeout(START_SECONDS):
                running = await ready
            try:
                return await work(_address(running, settings, lasting=False))
            finally:
                serving.cancel()
    except BaseExceptionGroup as group:
        raise first_error(group) from None
    finally:
        gc.enable()  # also where it did not become ready


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Returns the first error: task groups wrap even a single failure, once for each of them."""
    first = group.exceptions[0]
    return first_error(first) if isinstance(first, BaseExceptionGroup) else first


def _address(running: ServerInfo, settings: Settings, *, lasting: bool) -> ServerAddress:
    if settings.token is not None and is_person_token(settings.token.get_secret_value()):
        return ServerAddress(running.url, settings.token, lasting)  # who names a person is that person, never the owner
    token = stored_token(settings.data_dir) or settings.token
    if token is None:
        raise StorageFault(
            f"There is no token in {settings.data_dir}; restart the server at {running.url} to create one."
        )
    return ServerAddress(running.url, token, lasting)
