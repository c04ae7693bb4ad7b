"""`anycowork mcp`: serves an MCP host on stdin and stdout, or over HTTP with the server's token."""

import hmac
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork.client.console import stderr
from anycowork.client.errors import ServerRefused, ServerUnreachable
from anycowork.client.server_link import ServerLink, run_protocol, serve_linked
from anycowork.config.loading import load_settings
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.people import is_person_token
from anycowork.mcp_server.tools import build_server

if TYPE_CHECKING:
    from anycowork.client.http import ServerClient  # its libraries take longer to load than `initialize` may take

PATH = "/mcp"


def serve_host(flags: Mapping[str, object], environ: Mapping[str, str], *, cwd: Path, http_port: int | None) -> int:
    """The exit code: 0 when the host has closed the connection. With `http_port` it serves HTTP on this machine until it is ended."""

    async def serve() -> None:
        settings = load_settings(flags, environ, cwd=cwd)
        await serve_linked(settings, "mcp_host", partial(_serve, settings, http_port))

    return run_protocol("mcp", serve)


async def _serve(settings: Settings, http_port: int | None, link: ServerLink) -> None:
    shared = partial(link.client, "http")  # several hosts, one connection
    server = build_server((lambda name: shared()) if http_port is not None else link.client, link.drop)
    if http_port is None:
        await server.run_stdio_async()
    else:
        await _serve_http(server, settings, http_port, _TokenCheck(shared, link.drop))


async def _serve_http(server: Any, settings: Settings, port: int, check: "_TokenCheck") -> None:
    import uvicorn

    from anycowork.server.data_folder import load_or_create_token

    configured = settings.token
    by_person = configured is not None and is_person_token(configured.get_secret_value())
    token = configured if configured is not None and by_person else load_or_create_token(settings.data_dir, configured)
    inner = server.streamable_http_app(streamable_http_path=PATH, host="127.0.0.1")
    app = TokenGuard(inner, token.get_secret_value(), check.refusal if by_person else None)
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    with config.bind_socket() as listener:
        listener.listen(config.backlog)  # before the address is named: a host may connect as soon as it reads it
        whose = "person" if by_person else "server"
        stderr().line(
            f"MCP on http://127.0.0.1:{listener.getsockname()[1]}{PATH}, with the {whose}'s token as bearer token."
        )
        await uvicorn.Server(config).serve(sockets=[listener])


Refusal = tuple[int, str]
"""The status of the answer, and what it says."""


class TokenGuard:
    """Lets requests with the bearer token through, and nobody else. The SDK checks host and origin.

    `refusal` says with each request whether the token of a person still counts; the server's own always does.
    """

    def __init__(self, app: ASGIApp, token: str, refusal: Callable[[], Awaitable[Refusal | None]] | None) -> None:
        self._app, self._refusal = app, refusal
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await self._why_refused(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, reason = refusal
        challenge = [(b"www-authenticate", b"Bearer")] if status == HTTPStatus.UNAUTHORIZED else []
        headers = [(b"content-type", b"text/plain; charset=utf-8"), *challenge]
        await send({"type": "http.response.start", "status": int(status), "headers": headers})
        await send({"type": "http.response.body", "body": reason.encode()})

    async def _why_refused(self, scope: Scope) -> Refusal | None:
        if not hmac.compare_digest(_authorization(scope), self._expected):
            return HTTPStatus.UNAUTHORIZED, "The bearer token is missing or wrong."
        return None if self._refusal is None else await self._refusal()


class _TokenCheck:
    """Asks the server whether it still takes the token that this command has: its person may have been removed, or have a new one."""

    def __init__(self, connect: Callable[[], Awaitable["ServerClient"]], drop: Callable[[], None]) -> None:
        self._connect, self._drop = connect, drop

    async def refusal(self) -> Refusal | None:
        try:
            client = await self._connect()
            await client.get("/session")
        except ServerRefused as error:
            return error.status, error.message
        except ServerUnreachable as error:
            self._drop()
            return HTTPStatus.SERVICE_UNAVAILABLE, error.message
        except AnyCoworkError as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, error.message
        return None


def _authorization(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"authorization"), b"")
