"""Streams a call's output while it runs. The output is published but not stored, because the result contains all of it."""

import asyncio

from anycowork.domain.ports import Journal
from anycowork.domain.tools import Call

EVERY_SECONDS = 0.1
MOST = 64_000  # characters of one call: a person cannot read more while it scrolls by


class LiveOutput:
    """Publishes the output under the id of the later result message, which then replaces it. Finish it with `end`."""

    def __init__(self, journal: Journal, call: Call, message_id: str) -> None:
        self._journal = journal
        self._call = call
        self._message_id = message_id
        self._shown = 0
        self._waiting = ""
        self._timer: asyncio.TimerHandle | None = None

    def append(self, text: str) -> None:
        self._waiting += text[: MOST - self._shown - len(self._waiting)]
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(EVERY_SECONDS, self._show)

    def end(self) -> None:
        """Stop; the rest of the output comes with the result."""
        if self._timer is not None:
            self._timer.cancel()

    def _show(self) -> None:
        self._timer = None
        call, text, offset = self._call, self._waiting, self._shown
        self._waiting, self._shown = "", offset + len(text)
        self._journal.show(call.chat_id, call.turn_id, call.id, self._message_id, offset, text)
