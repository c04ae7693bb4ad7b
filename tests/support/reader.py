"""A reader as the web UI is one: takes frames, comes back with the last id it saw, and folds events into what is on the screen."""

from dataclasses import dataclass, field

import msgspec


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
    """`last` is what it would send as Last-Event-ID."""

    last: int = 0
    screen: Screen = field(default_factory=Screen)
    seen: list[int] = field(default_factory=list)
    heartbeats: int = 0

    def receive(self, data: bytes) -> None:
        for frame in data.decode().split("\n\n")[:-1]:
            if frame.startswith(":"):
                self.heartbeats += 1
                continue
            number, event, body = frame.split("\n")
            self.last = int(number.removeprefix("id: "))
            assert not self.seen or self.last > self.seen[-1], "events come once and in order"
            self.seen.append(self.last)
            self.screen.reduce(event.removeprefix("event: "), msgspec.json.decode(body.removeprefix("data: ")))
