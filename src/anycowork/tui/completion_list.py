"""The list under the input line that shows what can be completed. The input keeps the focus and passes on the keys."""

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from anycowork.client.console import shortened, strip_controls
from anycowork.tui.completion import CompletionOption, CompletionTrigger

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
