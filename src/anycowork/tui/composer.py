"""The input line: Enter sends, Ctrl+J inserts a new line, the arrows recall earlier messages, `/` and `@` complete, and Tab after `!`."""

import time
from collections.abc import Sequence

from rich.text import Text
from textual import events
from textual.message import Message
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option

from anycowork.client.console import shortened, strip_controls
from anycowork.tui.completion import CompletionOption, CompletionTrigger, trigger_in

ABOUT_WIDTH = 100


class CompletionList(OptionList):
    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="completions", markup=False, compact=True)
        self._offered: list[CompletionOption] = []
        self._trigger: CompletionTrigger | None = None
        self.display = False

    def offer(self, trigger: CompletionTrigger, options: Sequence[CompletionOption]) -> None:
        """Shows the options, what is typed in full first; closes if there are none."""
        self._trigger = trigger
        self._offered = sorted(options, key=lambda option: option.text != trigger.typed)
        self.set_options(map(_drawn, self._offered))
        self.highlighted = 0 if self._offered else None
        self.display = bool(self._offered)

    def close(self) -> None:
        self.display = False

    def chosen(self, trigger: CompletionTrigger | None) -> CompletionOption | None:
        """Returns the highlighted option; None if the list is closed, or still that of another word."""
        if not self.display or trigger != self._trigger or self.highlighted is None:
            return None
        return self._offered[self.highlighted]


def _drawn(option: CompletionOption) -> Option:
    about = shortened(strip_controls(option.about), ABOUT_WIDTH)
    text = Text(strip_controls(option.text), no_wrap=True, overflow="ellipsis")
    return Option(text.append(f"  {about}", style="dim"))


_MOVES = {"up": "cursor_up", "down": "cursor_down"}
PAUSE_SECONDS = 1.0


class TypingClock:
    """Knows when the person typed last: what comes right after may belong to it."""

    def __init__(self) -> None:
        self._typed_at = -PAUSE_SECONDS

    def note(self) -> None:
        self._typed_at = time.monotonic()

    @property
    def paused(self) -> bool:
        return time.monotonic() - self._typed_at >= PAUSE_SECONDS


class Composer(TextArea):
    class Sent(Message):
        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class CompletionWanted(Message):
        def __init__(self, trigger: CompletionTrigger) -> None:
            super().__init__()
            self.trigger = trigger

    def __init__(self, completions: CompletionList, typing: TypingClock) -> None:
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
        self._typing = typing
        self._declined: int | None = None  # where the word begins whose list was closed

    def give_back(self, text: str) -> None:
        """Puts unsent text back, unless there is new text by now."""
        self._sent.remove(text)
        if not self.text:
            self.text = text
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
        if event.is_printable or event.key == "enter":
            self._typing.note()
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

    def _send(self, text: str) -> None:
        """Clears the line at once: the next screen may wait for a key."""
        self._completions.close()
        if text:
            self._sent.append(text)
            self._back = 0
            self.text = ""
            self.post_message(self.Sent(text))

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
