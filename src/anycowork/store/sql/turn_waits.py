"""Which turns wait for their model's server or for MCP servers now: not stored, and kept for readers that join meanwhile."""

from collections.abc import Iterable

from anycowork.domain.chats import Turn, TurnState
from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.journal import RemoveChat, Write


class TurnWaits:
    """Keeps the newest wait of each turn until the turn no longer runs."""

    def __init__(self) -> None:
        self._chats: dict[str, dict[str | None, NewEvent]] = {}

    def add(self, chat_id: str, event: NewEvent) -> None:
        if event.type in (EventType.MODEL_RETRY, EventType.MCP_WAIT):
            self._chats.setdefault(chat_id, {})[event.turn_id] = event

    def of(self, chat_id: str, now: str) -> list[NewEvent]:
        """Return what is still waited for."""
        return [event for event in self._chats.get(chat_id, {}).values() if _is_open(event, now)]

    def drop_written(self, chat_id: str, writes: Iterable[Write]) -> None:
        """Drop what these writes end."""
        of_chat = self._chats.get(chat_id)
        if of_chat is None:  # the usual case
            return
        for write in writes:
            if isinstance(write, Turn) and write.state is not TurnState.RUNNING:
                of_chat.pop(write.id, None)
            elif isinstance(write, RemoveChat):
                of_chat.clear()
        if not of_chat:
            del self._chats[chat_id]


def _is_open(event: NewEvent, now: str) -> bool:
    match event.body:
        case {"retry": {"until": str(until)}}:
            return until > now
        case {"wait": {"servers": servers}}:
            return bool(servers)
        case _:
            return False
