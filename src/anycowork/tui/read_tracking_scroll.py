"""Text that must have been completely on the screen before a decision, and what a decision grants as such text."""

from rich.console import RenderableType
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Static

from anycowork.client.disclosures import ITEM_NAMES
from anycowork.domain.messages import Json, json_objects
from anycowork.domain.visible_text import UntrustedText, visible


class ReadTrackingScroll(VerticalScroll, can_focus=False):
    """Remembers which texts were scrolled to their end."""

    class Scrolled(Message):
        """Another part of it is on the screen."""

    def __init__(self) -> None:
        super().__init__()
        self._key = self._laid_out = ""
        self._read: set[str] = set()

    def compose(self) -> ComposeResult:
        yield Static()

    def show(self, key: str, text: RenderableType) -> None:
        if key == self._key:
            return
        self._key, self._laid_out = key, ""
        self.query_one(Static).update(text)
        self.scroll_home(animate=False)
        self.call_after_refresh(self._settle, key)

    def has_read(self, key: str) -> bool:
        return key in self._read

    def read_on(self) -> bool:
        """Returns whether all of it was on the screen; if not, scrolls to the next part."""
        if self._note_end():
            return True
        self.page(1)
        return False

    def page(self, by: int) -> None:
        if by > 0:
            self.scroll_page_down(animate=False)
        else:
            self.scroll_page_up(animate=False)
        self.call_after_refresh(self._settle, self._key)

    def _settle(self, key: str) -> None:
        """Text has an end only after it was laid out."""
        if key == self._key:
            self._laid_out = key
            self._note_end()
            self.post_message(self.Scrolled())

    def _note_end(self) -> bool:
        if self._laid_out == self._key and self.scroll_offset.y >= self.max_scroll_y:
            self._read.add(self._key)
        return self._key in self._read


def disclosed_lines(disclosure: Json) -> list[Text]:
    """Shows every included item in full; a step of a plan begins a new paragraph."""
    items = json_objects(disclosure.get("items"))
    total = disclosure.get("total")
    missing = total - len(items) if isinstance(total, int) else 0
    return [
        *(_line(item) for item in items),
        *([Text(f"… {missing:,} more are being read", "yellow")] if missing else []),
    ]


def _line(item: Json) -> Text:
    kind, text = str(item.get("kind")), _shown(item.get("text"))
    if kind == "step":
        return Text(f"step {_shown(item.get('step'))}: {text}", style="bold")
    of_step = kind != "budget"
    line = Text(f"{'  ' if of_step else ''}{ITEM_NAMES.get(kind, kind)} ", style="dim")
    if item.get("control"):
        line.append("control file ", style="bold yellow")
    if detail := _shown(item.get("detail")):
        line.append(f"{detail}: ", style="dim")
    return line.append(text, style="not dim")


def _shown(raw: object) -> str:
    return visible(UntrustedText(str(raw or "")))
