"""A person before the chat in a terminal: the real screen without a terminal under it, over HTTP to a real server."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any  # settings are whatever the server takes

from pydantic import SecretStr
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Label, OptionList, Static

from anycowork.client.chat_client import open_chat_client
from anycowork.client.http import ServerClient
from anycowork.tui.composer import Composer
from anycowork.tui.docks import Dock
from anycowork.tui.message_scroll import CardView
from anycowork.tui.screen import ChatScreen
from support.live_server import TOKEN, LiveChat, LiveServer, live_server
from support.scripted_model import Script

TIMEOUT = 60.0
SIZE = (100, 40)


class ScreenUser:
    def __init__(self, screen: ChatScreen, pilot: Pilot[None]) -> None:
        self.screen = screen
        self.pilot = pilot

    async def say(self, words: str) -> None:
        composer = self.screen.query_one(Composer)
        composer.focus()
        composer.text = words
        await self.pilot.press("enter")

    async def attend(self) -> None:
        """Goes to what waits, if something does."""
        if self._waiting() and not any(dock.has_focus_within for dock in self._waiting()):
            await self.pilot.press("f2")

    async def press(self, *keys: str) -> None:
        """Goes to what waits, if something does, and presses as soon as it accepts keys: it does not in the first moment."""
        await self.attend()
        await self.until(
            lambda: all(dock.accepts_keys and dock.has_focus_within for dock in self._waiting()),
            told=lambda: (
                f"{self.screen.focused!r} has the focus; {self._waiting()!r} waits; line {self.screen.query_one(Composer).text!r}"
            ),
        )
        await self.pilot.press(*keys)

    async def decide(self, letter: str) -> None:
        """Presses it and waits until it was acted on: a letter counts only when no other follows it."""
        await self.press(letter)
        await self.until(lambda: not any(dock._letter for dock in self.screen.query(Dock)))
        await self.pilot.pause()

    def _waiting(self) -> list[Dock]:
        return [dock for dock in self.screen.query(Dock) if dock.display]

    async def sees(self, *words: str) -> None:
        """Waits until all of them stand on the screen, in the cards or in what waits."""
        await self.until(lambda: all(one in self.seen() for one in words), told=lambda: f"{words} in:\n{self.seen()}")

    async def until(self, true: Callable[[], bool], *, told: Callable[[], str] = lambda: "it never came true") -> None:
        try:
            async with asyncio.timeout(TIMEOUT):
                while not true():
                    await self.pilot.pause(0.02)  # the screen draws on its own time; there is no event for it
        except TimeoutError:
            raise AssertionError(told()) from None

    def seen(self) -> str:
        """Every word that is drawn now, of all cards and of what waits."""
        shown = [
            *self.screen.screen.query(CardView),
            *self.screen.screen.query(Static),
            *self.screen.screen.query(Label),
            *self.screen.screen.query(OptionList),
        ]
        return "\n".join(self._drawn(one) for one in dict.fromkeys(shown) if _is_displayed(one))

    def _drawn(self, widget: Widget) -> str:
        lines = [widget.render_line(y) for y in range(widget.size.height)]
        return "\n".join("".join(segment.text for segment in line) for line in lines)


class TerminalUser(ScreenUser):
    """With the server beside the screen, to look at what it has stored."""

    def __init__(self, client: LiveServer, screen: ChatScreen, pilot: Pilot[None], chat_id: str) -> None:
        super().__init__(screen, pilot)
        self.client = client
        self.chat_id = chat_id
        self.chat = LiveChat(client, {"id": chat_id})
        self.workspace = client.workspace


def _is_displayed(widget: Widget) -> bool:
    return all(one.display for one in widget.ancestors_with_self if hasattr(one, "display"))


@asynccontextmanager
async def before_a_screen(
    client: LiveServer,
    *,
    role: str | None = None,
    chat_id: str | None = None,
    newest: bool = False,
    token: str = TOKEN,
) -> AsyncIterator[TerminalUser]:
    async with opened_screen(
        client.url, client.workspace, role=role, chat_id=chat_id, newest=newest, token=token
    ) as opened:
        yield TerminalUser(client, opened.screen, opened.pilot, opened.screen.client.chat_id)


@asynccontextmanager
async def opened_screen(
    url: str,
    workspace: Path,
    *,
    role: str | None = None,
    chat_id: str | None = None,
    newest: bool = False,
    token: str = TOKEN,
) -> AsyncIterator[ScreenUser]:
    async with ServerClient(url, SecretStr(token)) as http:
        chat_client = await open_chat_client(
            http, workspace=workspace, role=role, model=None, chat_id=chat_id, newest=newest
        )
        screen = ChatScreen(chat_client)
        async with screen.run_test(size=SIZE, notifications=True) as pilot:
            yield ScreenUser(screen, pilot)


@asynccontextmanager
async def at_a_terminal(
    tmp_path: Path, *, replies: Iterable[Script] = (), role: str | None = None, **settings: Any
) -> AsyncIterator[TerminalUser]:
    """A new chat on a new server."""
    async with (
        live_server(tmp_path, replies=replies, **settings) as client,
        before_a_screen(client, role=role) as person,
    ):
        yield person
