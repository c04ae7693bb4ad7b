"""The input line: Enter sends, Ctrl+J inserts a new line, the arrows recall earlier messages."""

from textual import events
from textual.message import Message
from textual.widgets import TextArea


class Composer(TextArea):
    class Sent(Message):
        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    def __init__(self) -> None:
        super().__init__(
            id="composer",
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            compact=True,
            placeholder="Type your request. Enter sends, Ctrl+J inserts a new line.",
        )
        self.cursor_blink = False  # it would redraw twice a second
        self._sent: list[str] = []
        self._back = 0

    def give_back(self, words: str) -> None:
        """Puts unsent text back, unless there is new text by now."""
        self._sent.remove(words)
        if not self.text:
            self.text = words
            self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            self._handled(event)
            self._send(self.text.strip())
        elif event.key in ("ctrl+j", "shift+enter"):
            self._handled(event)
            self.insert("\n")
        elif event.key == "up" and self._may_go_back():
            self._handled(event)
            self._recall(self._back + 1)
        elif event.key == "down" and self._back:
            self._handled(event)
            self._recall(self._back - 1)
        else:
            await super()._on_key(event)

    def _send(self, words: str) -> None:
        """Clears the line at once: the next screen may wait for a key."""
        if words:
            self._sent.append(words)
            self._back = 0
            self.text = ""
            self.post_message(self.Sent(words))

    def _may_go_back(self) -> bool:
        """True if no unsent text would be lost."""
        unsent = bool(self.text) and (not self._back or self.text != self._sent[-self._back])
        return not unsent and self._back < len(self._sent)

    def _recall(self, back: int) -> None:
        self._back = back
        self.text = self._sent[-back] if back else ""
        self.move_cursor(self.document.end)

    def _handled(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
