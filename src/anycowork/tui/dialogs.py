"""Small screens in front of the chat: a menu, and a text input."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList
from textual.widgets.option_list import Option

from anycowork.client.console import strip_controls
from anycowork.domain.values import value


@value
class MenuChoice:
    id: str
    words: str
    more: str = ""


class MenuScreen(ModalScreen[str | None]):
    """Returns the id of the choice; None if nothing was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "dismiss(None)", "Back")]

    def __init__(self, title: str, choices: Sequence[MenuChoice], *, current: str | None = None) -> None:
        super().__init__()
        self._title, self._choices, self._current = title, choices, current

    def compose(self) -> ComposeResult:
        with Vertical(classes="modal"):
            yield Label(self._title, classes="modal-title", markup=False)
            yield OptionList(*map(_option, self._choices), markup=False)
            yield Label("Enter choose   Esc back", classes="keys", markup=False)

    def on_mount(self) -> None:
        places = [choice.id for choice in self._choices]
        if self._current in places:
            self.query_one(OptionList).highlighted = places.index(self._current)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


def _option(choice: MenuChoice) -> Option:
    return Option(
        Text(strip_controls(choice.words)).append(f"  {strip_controls(choice.more)}", style="dim"), id=choice.id
    )


class TextInputScreen(ModalScreen[str | None]):
    """Returns the text; None if the person went back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "dismiss(None)", "Back")]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with Vertical(classes="modal"):
            yield Label(self._title, classes="modal-title", markup=False)
            yield Input(max_length=2_000)
            yield Label("Enter send   Esc back", classes="keys", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())
