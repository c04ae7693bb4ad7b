"""The input line: Enter sends, Ctrl+J inserts a new line, the arrows recall earlier messages, `/` and `@` complete, and Tab after `!`."""

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from anycowork.tui.completion import CompletionOption, CompletionTrigger, trigger_in
from anycowork.tui.completion_list import CompletionList

_MOVES = {"up": "cursor_up", "down": "cursor_down"}


class Composer(TextArea):
    class Sent(Message):
        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class CompletionWanted(Message):
        def __init__(self, trigger: CompletionTrigger) -> None:
            super().__init__()
            self.trigger = trigger

    def __init__(self, completions: CompletionList) -> None:
        super().__init__(
            id="composer",
            soft_wrap=True,
            tab_behavior="focus",
            show_line_numbers=False,
            compact=True,
            placeholder="Type your request. Enter sends, Ctrl+J inserts a new line, / and @ complete, ! runs a command.",
        )
        self.cursor_blink = False  # it would redraw twice a second
        self._sent: list[str] = []
        self._back = 0
        self._completions = completions
        self._declined: int | None = None  # where the word begins whose list was closed

    def give_back(self, words: str) -> None:
        """Puts unsent text back, unless there is new text by now."""
        self._sent.remove(words)
        if not self.text:
            self.text = words
            self.move_cursor(self.document.end)

    def offer(self, trigger: CompletionTrigger, options: Sequence[CompletionOption]) -> None:
        """Shows the list, unless something else has been typed or the list was closed by now."""
        if self._trigger() == trigger and self._declined is None:
            self._completions.offer(trigger, options)

    def decline(self) -> bool:
        """Closes the list until another word is begun; tells whether it was open."""
        trigger = self._trigger()
        self._declined = trigger.start if trigger else None
        was_open = self._completions.display
        self._completions.close()
        return was_open

    @property
    def chosen(self) -> CompletionOption | None:
        """What Enter completes the word before the cursor to."""
        return self._completions.chosen(self._trigger())

    def on_text_area_changed(self) -> None:
        trigger = self._trigger()
        if trigger is None or trigger.start != self._declined:
            self._declined = None
        if trigger is None:
            self._completions.close()
        elif self._declined is None and (trigger.kind != "shell_path" or self._completions.display):
            self.post_message(self.CompletionWanted(trigger))

    def on_blur(self) -> None:
        self._completions.close()

    async def _on_key(self, event: events.Key) -> None:
        if self._completions.display and await self._is_completion_key(event.key):
            self._handled(event)
        elif event.key == "tab" and (trigger := self._trigger()) and trigger.kind == "shell_path":
            self._handled(event)
            self._declined = None
            self.post_message(self.CompletionWanted(trigger))
        elif event.key == "enter":
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

    async def _is_completion_key(self, key: str) -> bool:
        """Does what the key does in the list; False if it does nothing there."""
        trigger, chosen = self._trigger(), self.chosen
        if key in _MOVES:
            await self._completions.run_action(_MOVES[key])
        elif key == "escape":
            self.decline()
        elif key in ("tab", "enter") and trigger and chosen and chosen.text != trigger.typed:
            self._complete(trigger, chosen)
        else:
            return key == "tab"  # Enter sends what is complete
        return True

    def _complete(self, trigger: CompletionTrigger, chosen: CompletionOption) -> None:
        row, column = self.cursor_location
        start = column - len(trigger.typed)
        self.replace(f"{chosen.text} ", (row, start), (row, column))
        self.move_cursor((row, start + len(chosen.text) + 1))
        self._completions.close()

    def _trigger(self) -> CompletionTrigger | None:
        """None also for a recalled message: there the arrows go on through the messages."""
        if self._back and self.text == self._sent[-self._back]:
            return None
        before = self.get_text_range((0, 0), self.cursor_location)
        return trigger_in(before, self.text[len(before) :])

    def _send(self, words: str) -> None:
        """Clears the line at once: the next screen may wait for a key."""
        self._completions.close()
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
