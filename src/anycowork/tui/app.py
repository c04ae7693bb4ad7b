"""`anycowork chat`: connects to a server, opens the chat, and runs the terminal screen."""

import asyncio
import os
import select
import sys
import termios
import tty
from collections.abc import Mapping
from pathlib import Path

from anycowork.client.chat_client import open_chat_client
from anycowork.client.connect import ServerAddress, with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.errors import ServerRefused, with_way_out
from anycowork.client.http import ServerClient
from anycowork.config.loading import load_settings
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.tui.screen import ChatScreen

MOST_TYPED = 10_000


def chat(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    cwd: Path,
    role: str | None,
    chat_id: str | None,
    newest: bool,
) -> int:
    """Runs the chat until the person leaves; returns the exit code."""
    try:
        settings = load_settings(flags, environ, cwd=cwd)
        _check_arguments(role, chat_id, newest=newest)
        asyncio.run(_chat(settings, settings.workspace or cwd, role, chat_id, newest))
    except AnyCoworkError as error:
        stderr().line(f"anycowork chat: {with_way_out(error)}")
        mistyped = isinstance(error, Invalid) or (isinstance(error, ServerRefused) and error.status == 404)
        return 2 if mistyped else 1
    return 0


def _check_arguments(role: str | None, chat_id: str | None, *, newest: bool) -> None:
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        raise Invalid("This needs a terminal. For scripts and pipes there is `anycowork run`.")
    if chat_id is not None and newest:
        raise Invalid("Give a chat or --continue, not both.")
    if role is not None and (chat_id is not None or newest):
        raise Invalid("--role is for a new chat. In an existing chat, Ctrl+R switches the role.")


async def _chat(settings: Settings, workspace: Path, role: str | None, chat_id: str | None, newest: bool) -> None:
    async def work(address: ServerAddress) -> None:
        async with ServerClient(address.url, address.token) as client:
            chat_client = await open_chat_client(
                client, workspace=workspace, role=role, model=settings.model, chat_id=chat_id, newest=newest
            )
            screen = ChatScreen(chat_client, typed=_typed_so_far(sys.stdin.fileno()))
            await screen.run_async()
        stdout().line(f"The chat is kept. Continue with: anycowork chat {screen.client.chat_id}")

    await with_server(settings.model_copy(update={"workspace": workspace}), work)


def _typed_so_far(terminal: int) -> str:
    """Returns what was typed while the server started: the screen would drop it. Control characters are left out."""
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSANOW)  # a line that is not finished can be read then, too
        typed = b""
        while select.select([terminal], [], [], 0)[0] and (piece := os.read(terminal, MOST_TYPED)):
            typed += piece
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
    return strip_controls(typed[:MOST_TYPED].decode(errors="ignore").replace("\r", "\n")).strip("\n")
