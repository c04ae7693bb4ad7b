"""`anycowork acp`: takes stdin and stdout for the protocol, and serves the editor until it closes them."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from anycowork.acp.handshake import INITIALIZE_RESULT, EditorIntroduction, read_initialize
from anycowork.acp.transport import StdioTransport, stdio_transport
from anycowork.client.console import stderr
from anycowork.client.server_link import ServerLink, run_protocol, serve_linked
from anycowork.config.loading import load_settings
from anycowork.config.settings import Settings
from anycowork.domain.errors import Invalid

_NOT_BY_HAND = (
    "An editor starts this command and speaks to it on stdin and stdout, so both must be pipes. See docs/editors.md."
)


def serve_editor(flags: Mapping[str, object], environ: Mapping[str, str], *, cwd: Path) -> int:
    """The exit code: 0 when the editor has closed the connection."""

    async def serve() -> None:
        settings = load_settings(flags, environ, cwd=cwd)
        await _serve(settings, *claim_stdio())

    return run_protocol("acp", serve)


def claim_stdio() -> tuple[int, int]:
    """The protocol's own descriptors. What else is printed goes to stderr, and nobody else reads stdin. Raises: Invalid."""
    try:
        if not all(_is_channel(descriptor) for descriptor in (0, 1)):
            raise Invalid(_NOT_BY_HAND)
        if os.isatty(0) and os.isatty(2):  # a person, most likely: silence would look like a hang
            stderr().line(f"{_NOT_BY_HAND} Ctrl-C ends it.")
        source, sink = os.dup(0), os.dup(1)
    except OSError:
        raise Invalid(
            "This is started by an editor, which speaks to it on stdin and stdout. One of them is closed."
        ) from None
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return source, sink


def _is_channel(descriptor: int) -> bool:
    """Tells whether a program can be at the other end: not so of a file or /dev/null. Some editors use a terminal."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


async def _serve(settings: Settings, source: int, sink: int) -> None:
    try:
        transport = await stdio_transport(source, sink)
    except ValueError:
        raise Invalid(_NOT_BY_HAND) from None

    async def serve(link: ServerLink) -> None:
        introduction = await _answer_initialize(transport)
        # A late import: it loads the SDK, and the editor has its first answer by now.
        from anycowork.acp.agent_connection import serve_connection

        await serve_connection(link, transport, introduction)

    await serve_linked(settings, "editor", serve)


async def _answer_initialize(transport: StdioTransport) -> EditorIntroduction:
    """Answers the first message if it is a plain `initialize`. Any other message is left to the SDK."""
    message = await transport.receive()
    if message is None:
        return EditorIntroduction()
    introduction = read_initialize(message)
    if introduction is None:
        transport.give_back(message)
        return EditorIntroduction()
    await transport.send({"jsonrpc": "2.0", "id": message["id"], "result": INITIALIZE_RESULT})
    return introduction
