"""A reader like the web UI: takes records, resumes after the last number it saw, and reduces events to what is on the screen."""

from dataclasses import dataclass, field

import msgspec

from anycowork.domain.events import Record, StreamItem, StreamSignal


@dataclass
class Screen:
    """What events add up to: whole messages, text of messages still to come, and everything else in order."""

    messages: dict[str, str] = field(default_factory=dict)
    growing: dict[tuple[str, str], str] = field(default_factory=dict)
    others: list[int] = field(default_factory=list)

    def reduce(self, event: str, data: dict[str, object]) -> None:
        if event == "message":
            message = data["message"]
            assert isinstance(message, dict)
            self.messages[message["id"]] = message["content"]
            self.growing = {key: text for key, text in self.growing.items() if key[0] != message["id"]}
        elif event.endswith("-delta"):
            key, offset, text = (str(data["message_id"]), event), data["offset"], str(data["text"])
            assert isinstance(offset, int)
            shown = self.growing.get(key, "")
            assert offset <= len(shown), f"a gap: {offset} after {len(shown)} characters"
            self.growing[key] = shown[:offset] + text
        else:
            assert isinstance(data["seq"], int)
            self.others.append(data["seq"])


@dataclass
class Client:
    """`last` is what it would send as Last-Event-ID: the number in the chat, or the position among all chats."""

    last: int = 0
    screen: Screen = field(default_factory=Screen)
    seen: list[int] = field(default_factory=list)
    signals: list[StreamSignal] = field(default_factory=list)
    of_all_chats: bool = False

    def receive(self, item: StreamItem) -> None:
        if isinstance(item, StreamSignal):
            self.signals.append(item)
            return
        for record in item:
            self._receive_one(record)

    def _receive_one(self, record: Record) -> None:
        self.last = record.position if self.of_all_chats else record.seq
        assert not self.seen or self.last > self.seen[-1], "events come once and in order"
        self.seen.append(self.last)
        self.screen.reduce(record.type.value, msgspec.json.decode(record.body))
