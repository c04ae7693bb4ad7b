"""`anycowork mcp`: serves an MCP host on stdin and stdout, or over HTTP with the server's token."""

import hmac
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from anycowork.client.console import stderr
from anycowork.client.protocol_command import run_protocol, serve_linked
from anycowork.client.server_link import ServerLink
from anycowork.config.loading import load_settings
from anycowork.config.settings import Settings
from anycowork.domain.people import is_person_token
from anycowork.mcp_server.tools import build_server

PATH = "/mcp"


def serve_host(
    flags: Mapping[str, object], environ: Mapping[str, str], *, cwd: Path, http_port: int | None = None
) -> int:
    """The exit code: 0 when the host has closed the connection. With `http_port` it serves HTTP on this machine until it is ended."""

    async def serve() -> None:
        settings = load_settings(flags, environ, cwd=cwd)
        await serve_linked(settings, "mcp_host", partial(_serve, settings, http_port))

    return run_protocol("mcp", serve)


async def _serve(settings: Settings, http_port: int | None, link: ServerLink) -> None:
    shared = partial(link.client, "http")  # several hosts, one connection
    server = build_server((lambda name: shared()) if http_port else link.client, link.drop)
    if http_port is None:
        await server.run_stdio_async()
    else:
        await _serve_http(server, settings, http_port)


async def _serve_http(server: Any, settings: Settings, port: int) -> None:
    import uvicorn

    from anycowork.server.data_folder import load_or_create_token

    given = settings.token
    by_person = given is not None and is_person_token(given.get_secret_value())
    token = given if given is not None and by_person else load_or_create_token(settings.data_dir, given)
    app = TokenGuard(server.streamable_http_app(streamable_http_path=PATH, host="127.0.0.1"), token.get_secret_value())
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    with config.bind_socket() as listener:
        listener.listen(config.backlog)  # before the address is named: a host may connect as soon as it reads it
        whose = "person" if by_person else "server"
        stderr().line(f"MCP on http://127.0.0.1:{port}{PATH}, with the {whose}'s token as bearer token.")
        await uvicorn.Server(config).serve(sockets=[listener])


class TokenGuard:
    """Lets requests with the bearer token through, and nobody else. The SDK checks host and origin."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not hmac.compare_digest(_authorization(scope), self._expected):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"The bearer token is missing or wrong."})
            return
        await self._app(scope, receive, send)


def _authorization(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"authorization"), b"")
