"""Writes a chat as JSON, in the form that `anycowork import` reads."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from anycowork.chats.exported_chat import ExportedChat
from anycowork.domain.messages import Message


class JsonExport:
    """One object, indented by one space. Each message is written as soon as it is known."""

    has_changes = False

    def __init__(self, exported: ExportedChat) -> None:
        self._exported = exported
        self._last = ""  # the last message so far: it gets a comma if another one follows

    def beginning(self) -> Iterator[str]:
        chat = {
            key: value for key, value in self._exported.chat.to_json().items() if key not in ("messages", "exported")
        }
        yield f"{_indented(chat)[:-2]},"  # without the line that ends the object
        yield ' "messages": ['

    def changes(self, messages: Sequence[Message]) -> Iterable[str]:
        return ()

    def messages(self, messages: Sequence[Message]) -> Iterator[str]:
        for message in messages:
            if self._last:
                yield f"{self._last},"
            self._last = f"  {_indented(message.to_json(), level=2)}"

    def end(self) -> Iterator[str]:
        exported = {"at": self._exported.at, "audit": self._exported.audit, "plans": list(self._exported.plans)}
        if self._last:
            yield self._last
        yield " ],"
        yield f' "exported": {_indented(exported, level=1)}'
        yield "}"


def _indented(found: object, *, level: int = 0) -> str:
    text = msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
    return text.replace("\n", "\n" + " " * level)  # a line break inside a text is escaped
