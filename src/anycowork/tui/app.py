"""`anycowork chat`: finds the house and the chat, and gives the terminal to it."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

from anycowork.client.chat_client import open_chat_client
from anycowork.client.connect import ServerAddress, with_server
from anycowork.client.console import stderr, stdout
from anycowork.client.http import ServerClient
from anycowork.config.loading import load_settings
from anycowork.config.settings import Settings
from anycowork.domain.errors import AnyCoworkError, Invalid
from anycowork.tui.screen import ChatScreen


def chat(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    cwd: Path,
    role: str | None,
    chat_id: str | None,
    newest: bool,
) -> int:
    """Talks until the person leaves; the exit code."""
    try:
        settings = load_settings(flags, environ, cwd=cwd)
        _require_sense(role, chat_id, newest=newest)
        asyncio.run(_chat(settings, settings.workspace or cwd, role, chat_id, newest))
    except AnyCoworkError as error:
        stderr().line(f"anycowork chat: {error.message}")
        return 2 if isinstance(error, Invalid) else 1
    return 0


def _require_sense(role: str | None, chat_id: str | None, *, newest: bool) -> None:
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty()):
        raise Invalid("This needs a terminal. For scripts and pipes there is `anycowork run`.")
    if chat_id is not None and newest:
        raise Invalid("Name a chat or say --continue, not both.")
    if role is not None and (chat_id is not None or newest):
        raise Invalid("--role is for a new chat. In one that is there, Ctrl+R switches the role.")


async def _chat(settings: Settings, workspace: Path, role: str | None, chat_id: str | None, newest: bool) -> None:
    async def work(address: ServerAddress) -> None:
        async with ServerClient(address.url, address.token) as client:
            talk = await open_chat_client(
                client, workspace=workspace, role=role, model=settings.model, chat_id=chat_id, newest=newest
            )
            await ChatScreen(talk).run_async()
        stdout().line(f"The chat is kept. Go on with: anycowork chat {talk.chat_id}")

    await with_server(settings.model_copy(update={"workspace": workspace}), work)
