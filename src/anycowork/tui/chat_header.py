"""The first line of the screen: role, state, autonomy, title and folder of the chat. Pure."""

import time
from collections.abc import Mapping

from rich.text import Text
from textual.widgets import Static

from anycowork.client.console import strip_controls
from anycowork.domain.messages import Json
from anycowork.tui.chat_state import ChatStatus

STATES = {
    "idle": "ready",
    "running": "working …",
    "awaiting_approval": "waits for your approval",
    "awaiting_answer": "waits for your answer",
    "disconnected": "no server: trying again …",
}
FEWEST_SECONDS = 2  # a shorter wait is none
FEW_STEPS = 3
COLOURS = {"purple": "magenta", "pink": "bright_magenta", "orange": "bright_yellow", "teal": "cyan"}
PLAIN = {"blue", "green", "red", "yellow", "cyan", "magenta"}


def header_text(status: ChatStatus, chat: Json, role_colours: Mapping[str, str], *, worked: int = 0) -> Text:
    """`worked` are the seconds that the turn has been running for."""
    colour = role_colours.get(status.role, "")
    colour = COLOURS.get(colour, colour if colour in PLAIN else "default")
    header = Text.assemble(
        (f" {strip_controls(status.role)} ", f"bold reverse {colour}"),
        (
            f"  {_state_words(status)}{_time_words(worked) + _limit_words(status.steps_left) if status.busy else ''}",
            "bold yellow" if status.stopped else "",
        ),
        (f"  autonomy: {status.autonomy}" if status.autonomy != "ask" else "", "bold yellow"),
        (f"  {strip_controls(str(chat.get('title')))}", "bold"),
        (f"  {strip_controls(str(chat.get('workspace')))}", "dim"),
        (f"  {strip_controls(status.model)}  {status.tokens:,} tokens" if status.tokens else "", "dim"),
    )
    header.no_wrap, header.overflow = True, "ellipsis"
    return header


def _time_words(seconds: int) -> str:
    if seconds < FEWEST_SECONDS:
        return ""
    minutes = seconds // 60
    return f" {minutes} min {seconds % 60} s" if minutes else f" {seconds} s"


def _limit_words(steps_left: int | None) -> str:
    if steps_left is None or steps_left > FEW_STEPS:
        return ""
    if steps_left <= 0:
        return ", pauses after this step"
    return f", pauses after {steps_left} more step{'' if steps_left == 1 else 's'}"


def _state_words(status: ChatStatus) -> str:
    if status.own_command and status.state == "idle":
        return "your command runs: Ctrl+C stops it"
    if status.plan is not None and status.state == "idle":
        return "plan waits for you"
    return "stopped: F3 continues, /dismiss drops it" if status.stopped else STATES.get(status.state, status.state)


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
