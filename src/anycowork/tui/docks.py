"""Panels above the input line while the agent waits for a person: calls to approve, a question, a plan.

A key decides only while its dock has the focus, and not in the first moment: it may have been meant for something else. Typing anything
that decides nothing moves the focus to the input line.
"""

import time
from collections.abc import Sequence
from typing import ClassVar

from rich.console import Group
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from anycowork.client.chat_client import objects
from anycowork.client.console import strip_controls
from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.tui.cards import approval_text
from anycowork.tui.read_tracking_scroll import ReadTrackingScroll, disclosed_lines

GUARD_SECONDS = 0.4
SOMETHING_ELSE = "\0something else"  # cannot be an option's value: those are text


@value
class ApprovalDecision:
    """`with_note` if the person wants to give a reason."""

    approvals: tuple[str, ...]
    decision: str
    with_note: bool = False


class Dock(Vertical, can_focus=True):
    """Handles keys while it has the focus."""

    class Typed(Message):
        """A key that decides nothing here."""

        def __init__(self, character: str) -> None:
            super().__init__()
            self.character = character

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, classes="dock")
        self.display = False
        self._heeds_from = 0.0
        self._typing = False

    def hold_back(self) -> None:
        """Ignores keys for a moment, because something new is shown and a key may not be meant for it."""
        self._heeds_from = time.monotonic() + GUARD_SECONDS

    def on_focus(self) -> None:
        self._typing = False

    def on_key(self, event: events.Key) -> None:
        """Runs before the bindings: once somebody types, no letter decides until they return."""
        if not event.character or not event.is_printable:
            return
        if self._typing or event.key not in self._bindings.key_to_bindings:
            event.stop()
            event.prevent_default()
            self._typing = True
            self.post_message(self.Typed(event.character))

    @property
    def accepts_keys(self) -> bool:
        return time.monotonic() >= self._heeds_from


class ApprovalDock(Dock):
    """Calls that wait for a decision: one in full, the others counted."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide('allow_once')", "Allow", show=False),
        Binding("s", "decide('allow_session')", "In this chat", show=False),
        Binding("a", "decide('allow_always')", "Always", show=False),
        Binding("n", "decide('deny')", "Deny", show=False),
        Binding("N,shift+n", "deny_with_note", "Deny with a reason", show=False),
        Binding("Y,shift+y", "allow_all", "Allow all", show=False),
        Binding("left,up", "turn(-1)", show=False),
        Binding("right,down", "turn(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    class Decided(Message):
        def __init__(self, decision: ApprovalDecision) -> None:
            super().__init__()
            self.decision = decision

    def __init__(self) -> None:
        super().__init__(id="approvals")
        self._open: list[Json] = []
        self._at = 0

    def compose(self) -> ComposeResult:
        yield Label(id="approval-head", markup=False)
        yield ReadTrackingScroll()
        yield Label(id="approval-keys", classes="keys", markup=False)

    def show(self, approvals: Sequence[Json]) -> None:
        before = [one.get("id") for one in self._open]
        self._open = list(approvals)
        self._at = min(self._at, max(0, len(self._open) - 1))
        if before != [one.get("id") for one in self._open]:
            self.hold_back()
        self._draw()

    def action_turn(self, by: int) -> None:
        if self._open:
            self._at = (self._at + by) % len(self._open)
            self._draw()

    def action_page(self, by: int) -> None:
        self.query_one(ReadTrackingScroll).page(by)

    def on_read_tracking_scroll_scrolled(self, event: ReadTrackingScroll.Scrolled) -> None:
        event.stop()
        self._draw_keys()

    def action_decide(self, decision: str) -> None:
        """Allows only what was on the screen completely: otherwise the key scrolls on."""
        if not self._open or not self.accepts_keys:
            return
        current = self._open[self._at]
        if decision == "deny" or (self.query_one(ReadTrackingScroll).read_on() and _is_complete(current)):
            self._decide([current], decision)

    def action_allow_all(self) -> None:
        """Goes to the first unread call, and allows all once there is none."""
        if not self._open or not self.accepts_keys:
            return
        place = self.query_one(ReadTrackingScroll)
        if not place.read_on():
            return
        unread = [at for at, one in enumerate(self._open) if not place.has_read(_key(one)) or not _is_complete(one)]
        if unread:
            self._at = unread[0]
            self._draw()
            return
        self._decide(self._open, "allow_once")

    def action_deny_with_note(self) -> None:
        self._decide([self._open[self._at]] if self._open else [], "deny", with_note=True)

    def _decide(self, approvals: Sequence[Json], decision: str, *, with_note: bool = False) -> None:
        if approvals and self.accepts_keys:
            ids = tuple(str(one["id"]) for one in approvals)
            self.post_message(self.Decided(ApprovalDecision(ids, decision, with_note)))

    def _draw(self) -> None:
        if not self._open:
            return
        current, many = self._open[self._at], len(self._open)
        head = (
            "May the agent do this?"
            if many == 1
            else f"May the agent do this?  {self._at + 1} of {many}, ← → for the others"
        )
        self.query_one("#approval-head", Label).update(head)
        self.query_one(ReadTrackingScroll).show(_key(current), approval_text(current))
        self._draw_keys()

    def _draw_keys(self) -> None:
        if not self._open:
            return
        current, many = self._open[self._at], len(self._open)
        if not self.query_one(ReadTrackingScroll).has_read(_key(current)):
            words = (
                "there is more below: y scrolls on to its end, then it can be allowed   n deny   N deny with a reason"
            )
            self.query_one("#approval-keys", Label).update(words)
            return
        rule = current.get("proposed_rule")
        keys = f"y allow once   {'Y read and allow all   ' if many > 1 else ''}n deny   N deny with a reason"
        if isinstance(rule, dict):
            covered = f"{strip_controls(str(rule.get('tool')))} {strip_controls(str(rule.get('resource')))}"
            keys += f"\ns allow in this chat, a always:  {covered}"
        self.query_one("#approval-keys", Label).update(keys)


class QuestionDock(Dock):
    """A question of the agent, with its options."""

    class Answered(Message):
        """`value` is an option's; None if the person wants to type an answer."""

        def __init__(self, value: str | None) -> None:
            super().__init__()
            self.value = value

    def __init__(self) -> None:
        super().__init__(id="question")
        self.can_focus = False  # its list has the focus

    def compose(self) -> ComposeResult:
        yield Label(id="question-words", markup=False)
        yield OptionList(id="question-options", markup=False)

    def show(self, question: Json) -> None:
        self.hold_back()
        self.query_one("#question-words", Label).update(strip_controls(str(question.get("question"))))
        options = self.query_one(OptionList)
        options.clear_options()
        found = question.get("options")
        offered = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
        for option in offered:
            words = Text(strip_controls(str(option.get("label"))))
            if option.get("description"):
                words.append(f"  {strip_controls(str(option['description']))}", style="dim")
            options.add_option(Option(words, id=str(option.get("value"))))
        if question.get("allow_custom"):
            options.add_option(Option("Something else …", id=SOMETHING_ELSE))
        values = [option.get("value") for option in offered]
        options.highlighted = values.index(question["default"]) if question.get("default") in values else 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self.accepts_keys:
            self.post_message(self.Answered(None if event.option_id == SOMETHING_ELSE else event.option_id))


class PlanDock(Dock):
    """A plan that waits: approve it, edit it, or continue the chat."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "choose('approve')", "Approve and execute", show=False),
        Binding("e", "choose('edit')", "Edit", show=False),
        Binding("n,escape", "choose('chat')", "Continue the chat", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    class Chosen(Message):
        def __init__(self, choice: str) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self) -> None:
        super().__init__(id="plan")
        self._key = ""

    def compose(self) -> ComposeResult:
        yield Label("The plan above waits for you. Approving it switches to the actor and allows:", markup=False)
        yield ReadTrackingScroll()
        yield Label(id="plan-keys", classes="keys", markup=False)

    def show(self, plan: Json) -> None:
        """`disclosure` in it lists what approving allows."""
        disclosure = plan.get("disclosure")
        lines = disclosed_lines(disclosure if isinstance(disclosure, dict) else {})
        self.query_one(ReadTrackingScroll).show(str(plan.get("message_id")), Group(*lines))
        self._key = str(plan.get("message_id"))

    def on_read_tracking_scroll_scrolled(self, event: ReadTrackingScroll.Scrolled) -> None:
        event.stop()
        read = self.query_one(ReadTrackingScroll).has_read(self._key)
        approve = "y approve and execute" if read else "there is more below: y scrolls on to its end"
        self.query_one("#plan-keys", Label).update(f"{approve}   e edit first   n continue the chat")

    def action_page(self, by: int) -> None:
        self.query_one(ReadTrackingScroll).page(by)

    def action_choose(self, choice: str) -> None:
        if self.accepts_keys and (choice != "approve" or self.query_one(ReadTrackingScroll).read_on()):
            self.post_message(self.Chosen(choice))


def _key(approval: Json) -> str:
    """Changes when more of it has arrived: then it must be read again."""
    return f"{approval.get('id')} {len(objects(_disclosure(approval), 'items'))}"


def _is_complete(approval: Json) -> bool:
    disclosure = _disclosure(approval)
    return len(objects(disclosure, "items")) >= int(str(disclosure.get("total") or 0))


def _disclosure(approval: Json) -> Json:
    found = approval.get("disclosure")
    return found if isinstance(found, dict) else {}
