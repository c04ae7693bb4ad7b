"""Small screens in front of the chat: a menu, a menu with a filter, and a text input."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from anycowork.client.console import strip_controls
from anycowork.domain.values import value
from anycowork.tui.composer import TypingClock

_MOVES = {"up": "cursor_up", "down": "cursor_down", "pageup": "page_up", "pagedown": "page_down"}


@value
class MenuChoice:
    id: str
    words: str
    more: str = ""


class MenuScreen(ModalScreen[str | None]):
    """Returns the id of the choice; None if nothing was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "dismiss(None)", "Back")]

    def __init__(self, title: str | Text, choices: Sequence[MenuChoice], *, current: str | None = None) -> None:
        super().__init__()
        self._title, self._choices, self._current = title, choices, current
        self._typing = TypingClock()

    def compose(self) -> ComposeResult:
        with Vertical(classes="modal"):
            yield Label(self._title, classes="modal-title", markup=False)
            yield OptionList(*map(_option, self._choices), markup=False)
            yield Label("Enter choose   Esc back", classes="keys", markup=False)

    def on_mount(self) -> None:
        choice_ids = [choice.id for choice in self._choices]
        if choice_ids:
            self.query_one(OptionList).highlighted = (
                choice_ids.index(self._current) if self._current in choice_ids else 0
            )

    async def on_key(self, event: events.Key) -> None:
        """What is typed here belongs nowhere, and an Enter after it chooses nothing."""
        if event.is_printable:
            self._typing.note()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self._typing.paused:
            self.dismiss(event.option_id)


class FilteredMenuScreen(MenuScreen):
    """A long menu: what is typed leaves the choices that contain all its words."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="modal"):
            yield Label(self._title, classes="modal-title", markup=False)
            yield Input(placeholder="Type to filter", max_length=200, compact=True)
            yield OptionList(*map(_option, self._choices), markup=False)
            yield Label("↑ ↓ move   Enter open   Esc back", classes="keys", markup=False)

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False  # the keys go to the input, which passes on the arrows

    def on_input_changed(self, event: Input.Changed) -> None:
        query_words = event.value.casefold().split()
        fitting = [
            choice
            for choice in self._choices
            if all(word in f"{choice.words} {choice.more}".casefold() for word in query_words)
        ]
        options = self.query_one(OptionList)
        options.set_options(map(_option, fitting))
        options.highlighted = 0 if fitting else None

    async def on_key(self, event: events.Key) -> None:
        if event.key in _MOVES:
            event.stop()
            await self.query_one(OptionList).run_action(_MOVES[event.key])

    def on_input_submitted(self) -> None:
        self.query_one(OptionList).action_select()


def _option(choice: MenuChoice) -> Option:
    return Option(
        Text(strip_controls(choice.words)).append(f"  {strip_controls(choice.more)}", style="dim"), id=choice.id
    )


class TextInputScreen(ModalScreen[str | None]):
    """Returns the text; None if the person went back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "dismiss(None)", "Back")]

    def __init__(self, title: str, *, keys: str = "Enter send   Esc back") -> None:
        super().__init__()
        self._title, self._keys = title, keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="modal"):
            yield Label(self._title, classes="modal-title", markup=False)
            yield Input(max_length=2_000)
            yield Label(self._keys, classes="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


def autonomy_choices(sandbox_level: str) -> list[MenuChoice]:
    """How much passes without asking. What this machine cannot hold is not offered."""
    choices = [
        MenuChoice("ask", "Ask", "Every change and every command asks first."),
        MenuChoice("edits", "Edits", "File changes pass; deleting, commands, control files and secrets ask."),
    ]
    if sandbox_level == "full":
        choices.append(MenuChoice("sandboxed", "Sandboxed", "Commands without network pass too, in the sandbox."))
    return choices
