"""What readers are shown without being stored: which turns wait for their model's server, and what running commands have printed."""

from collections.abc import Iterable

from anycowork.domain.chats import Turn, TurnState
from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.journal import RemoveChat, Write
from anycowork.domain.messages import Message
from anycowork.domain.values import mutable_value


class TurnWaits:
    """Keeps the newest wait of each turn, for its model's server or for MCP servers, until the turn no longer runs."""

    def __init__(self) -> None:
        self._chats: dict[str, dict[str | None, NewEvent]] = {}

    def add(self, chat_id: str, event: NewEvent) -> None:
        if event.type in (EventType.MODEL_RETRY, EventType.MCP_WAIT):
            self._chats.setdefault(chat_id, {})[event.turn_id] = event

    def of(self, chat_id: str, now: str) -> list[NewEvent]:
        """Returns what is still waited for."""
        return [event for event in self._chats.get(chat_id, {}).values() if _is_open(event, now)]

    def drop_written(self, chat_id: str, writes: Iterable[Write]) -> None:
        """Drops what these writes end."""
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


@mutable_value
class PrintedOutput:
    """`message_id` is the message that will contain all of it. `turn_id` is None for a person's own command."""

    turn_id: str | None
    call_id: str
    message_id: str
    pieces: list[str]
    length: int = 0

    @property
    def text(self) -> str:
        self.pieces = ["".join(self.pieces)]
        return self.pieces[0]


class PrintedOutputs:
    """Who publishes output bounds its length; here it is kept until its message is written or its turn no longer runs."""

    def __init__(self) -> None:
        self._chats: dict[str, dict[str, PrintedOutput]] = {}

    def add(self, chat_id: str, turn_id: str | None, call_id: str, message_id: str, offset: int, text: str) -> None:
        of_chat = self._chats.setdefault(chat_id, {})
        output = of_chat.setdefault(message_id, PrintedOutput(turn_id, call_id, message_id, []))
        if offset == output.length:
            output.pieces.append(text)
            output.length += len(text)

    def of(self, chat_id: str) -> list[PrintedOutput]:
        return [*self._chats.get(chat_id, {}).values()]

    def drop(self, chat_id: str, message_id: str) -> None:
        of_chat = self._chats.get(chat_id)
        if of_chat is not None and of_chat.pop(message_id, None) is not None and not of_chat:
            del self._chats[chat_id]

    def drop_written(self, chat_id: str, writes: Iterable[Write]) -> None:
        """Drops what these writes contain or end."""
        if chat_id not in self._chats:  # the usual case
            return
        for write in writes:
            if isinstance(write, Message):
                self.drop(chat_id, write.id)
            elif isinstance(write, Turn) and write.state is not TurnState.RUNNING:
                for output in self.of(chat_id):
                    if output.turn_id == write.id:
                        self.drop(chat_id, output.message_id)
            elif isinstance(write, RemoveChat):
                self._chats.pop(chat_id, None)
