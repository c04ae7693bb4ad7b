"""The first line of the screen. While the agent works it counts the seconds, so that a model that thinks long is not taken for a dead one."""

import time
from collections.abc import Mapping

from textual.widgets import Static

from anycowork.domain.messages import Json
from anycowork.tui.chat_header import header_text
from anycowork.tui.chat_state import ChatStatus


class HeadLine(Static):
    def __init__(self) -> None:
        super().__init__(id="head", markup=False)
        self._shown: tuple[ChatStatus, Json, Mapping[str, str]] | None = None
        self._working_since: float | None = None

    def on_mount(self) -> None:
        self.set_interval(1.0, self._count)

    def show(self, status: ChatStatus, chat: Json, role_colours: Mapping[str, str]) -> None:
        if not status.busy:
            self._working_since = None
        elif self._working_since is None or self._shown is None or self._shown[0] is not status:
            self._working_since = time.monotonic()
        self._shown = status, chat, role_colours
        self._draw()

    def _count(self) -> None:
        if self._working_since is not None:
            self._draw()

    def _draw(self) -> None:
        if self._shown is None:
            return
        since = self._working_since
        self.update(header_text(*self._shown, worked=0 if since is None else int(time.monotonic() - since)))
