"""Panels above the input line while the agent waits for a person: calls to approve, a question, a plan.

They never take the focus: F2, Tab or a click gives it to them. A key decides only there, after a pause in typing, and a letter only if
no other follows it. Everything else that is typed goes to the input line.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.console import Group
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Label, OptionList
from textual.widgets.option_list import Option

from anycowork.client.console import strip_controls
from anycowork.client.disclosures import saved_rules_text
from anycowork.domain.messages import Json, json_object, json_objects
from anycowork.domain.roles import Role
from anycowork.domain.values import value
from anycowork.tui.cards import approval_text
from anycowork.tui.composer import TypingClock
from anycowork.tui.read_tracking_scroll import ReadTrackingScroll, disclosed_lines

GUARD_SECONDS = 0.4
ALONE_SECONDS = 0.3
GO_THERE = "F2, Tab or a click goes here"
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
        """Text that decides nothing here."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back to the input line", show=False)]

    def __init__(self, typing: TypingClock, *, id: str) -> None:
        super().__init__(id=id, classes="dock")
        self.display = False
        self._typing = typing
        self._accepts_from = 0.0
        self._letter = ""
        self._timer: Timer | None = None

    def hold_back(self) -> None:
        """Ignores keys for a moment, because something new is shown and a key may not be meant for it."""
        self._accepts_from = time.monotonic() + GUARD_SECONDS

    def draw_keys(self) -> None:
        """Shows which keys decide; without the focus, how to get there."""

    def on_focus(self) -> None:
        self.draw_keys()

    def on_blur(self) -> None:
        self.draw_keys()

    def on_descendant_focus(self) -> None:
        self.draw_keys()

    def on_descendant_blur(self) -> None:
        self.draw_keys()

    def action_leave(self) -> None:
        self.post_message(self.Typed(""))

    def on_key(self, event: events.Key) -> None:
        """Runs before the bindings: a letter decides only after a pause, and only if no other key follows at once."""
        if not event.character or not event.is_printable:
            self._take_letter()
            return
        event.stop()
        event.prevent_default()
        letter = self._take_letter()
        if not letter and self.accepts_keys and event.key in self._bindings.key_to_bindings:
            self._letter = event.character
            self._timer = self.set_timer(ALONE_SECONDS, partial(self._press, event.key))
        else:
            self._typing.note()
            self.post_message(self.Typed(letter + event.character))

    def _take_letter(self) -> str:
        letter, self._letter = self._letter, ""
        if self._timer is not None:
            self._timer.stop()
        return letter

    async def _press(self, key: str) -> None:
        """Does what the letter is bound to, if its dock still has the focus."""
        self._letter = ""
        if self.has_focus_within and self.display:
            await self.run_action(self._bindings.key_to_bindings[key][0].action)

    @property
    def accepts_keys(self) -> bool:
        return self._typing.paused and time.monotonic() >= self._accepts_from


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

    def __init__(self, typing: TypingClock) -> None:
        super().__init__(typing, id="approvals")
        self._open: list[Json] = []
        self._at = 0

    def compose(self) -> ComposeResult:
        yield Label(id="approval-head", markup=False)
        yield ReadTrackingScroll()
        yield Label(id="approval-keys", classes="keys", markup=False)

    def show(self, approvals: Sequence[Json]) -> None:
        before = [approval.get("id") for approval in self._open]
        self._open = list(approvals)
        self._at = min(self._at, max(0, len(self._open) - 1))
        if before != [approval.get("id") for approval in self._open]:
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
        self.draw_keys()

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
        scroll = self.query_one(ReadTrackingScroll)
        if not scroll.read_on():
            return
        unread = [
            index
            for index, approval in enumerate(self._open)
            if not scroll.has_read(_key(approval)) or not _is_complete(approval)
        ]
        if unread:
            self._at = unread[0]
            self._draw()
            return
        self._decide(self._open, "allow_once")

    def action_deny_with_note(self) -> None:
        self._decide([self._open[self._at]] if self._open else [], "deny", with_note=True)

    def _decide(self, approvals: Sequence[Json], decision: str, *, with_note: bool = False) -> None:
        if approvals and self.accepts_keys:
            ids = tuple(str(approval["id"]) for approval in approvals)
            self.post_message(self.Decided(ApprovalDecision(ids, decision, with_note)))

    def _draw(self) -> None:
        if not self._open:
            return
        current, many = self._open[self._at], len(self._open)
        others = ", ← → for the others" if many > 1 else ""
        head = f"May the agent do this?  {self._at + 1} of {many}{others}"
        self.query_one("#approval-head", Label).update(head)
        self.query_one(ReadTrackingScroll).show(_key(current), approval_text(current))
        self.draw_keys()

    def draw_keys(self) -> None:
        if not self._open:
            return
        if not self.has_focus_within:
            self.query_one("#approval-keys", Label).update(f"{GO_THERE} to allow or deny")
            return
        current, many = self._open[self._at], len(self._open)
        if not self.query_one(ReadTrackingScroll).has_read(_key(current)):
            key_help = (
                "there is more below: y scrolls on to its end, then it can be allowed   n deny   N deny with a reason"
            )
            self.query_one("#approval-keys", Label).update(key_help)
            return
        rules = saved_rules_text(current)
        keys = f"y allow once   {'Y read and allow all   ' if many > 1 else ''}n deny   N deny with a reason   Esc back"
        if rules is not None:
            keys += f"\ns allow in this chat, a always:  {strip_controls(rules)}"
        self.query_one("#approval-keys", Label).update(keys)


class QuestionDock(Dock):
    """A question of the agent, with its options."""

    class Answered(Message):
        """`value` is an option's of the question; None if the person wants to type an answer."""

        def __init__(self, question: Json, value: str | None) -> None:
            super().__init__()
            self.question = question
            self.value = value

    def __init__(self, typing: TypingClock) -> None:
        super().__init__(typing, id="question")
        self.question: Json = {}
        self.can_focus = False  # its list has the focus

    def compose(self) -> ComposeResult:
        yield Label(id="question-words", markup=False)
        yield OptionList(id="question-options", markup=False)
        yield Label(id="question-keys", classes="keys", markup=False)

    def draw_keys(self) -> None:
        keys = "↑ ↓ move   Enter answers   Esc back" if self.has_focus_within else f"{GO_THERE} to answer"
        self.query_one("#question-keys", Label).update(keys)

    def show(self, question: Json) -> None:
        """Shows the question, unless it is shown already: then the chosen option stays."""
        if question.get("message_id") == self.question.get("message_id"):
            return
        self.question = question
        self.hold_back()
        self.query_one("#question-words", Label).update(strip_controls(str(question.get("question"))))
        options = self.query_one(OptionList)
        options.clear_options()
        offered = json_objects(question.get("options"))
        for option in offered:
            label = Text(strip_controls(str(option.get("label"))))
            if option.get("description"):
                label.append(f"  {strip_controls(str(option['description']))}", style="dim")
            options.add_option(Option(label, id=str(option.get("value"))))
        if question.get("allow_custom"):
            options.add_option(Option("Something else …", id=SOMETHING_ELSE))
        values = [option.get("value") for option in offered]
        options.highlighted = values.index(question["default"]) if question.get("default") in values else 0
        self.draw_keys()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self.accepts_keys:
            value = None if event.option_id == SOMETHING_ELSE else event.option_id
            self.post_message(self.Answered(self.question, value))


class PlanDock(Dock):
    """A plan that waits: approve it, edit it, or continue the chat."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "choose('approve')", "Approve and execute", show=False),
        Binding("e", "choose('edit')", "Edit", show=False),
        Binding("n", "choose('chat')", "Continue the chat", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]

    class Chosen(Message):
        def __init__(self, choice: str) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, typing: TypingClock) -> None:
        super().__init__(typing, id="plan")
        self._key = ""

    def compose(self) -> ComposeResult:
        yield Label(id="plan-heading", markup=False)
        yield ReadTrackingScroll()
        yield Label(id="plan-keys", classes="keys", markup=False)

    def show(self, plan: Json, role: str) -> None:
        """`disclosure` in it lists what approving allows; a planner's chat is switched by it."""
        switches = "switches to the actor and " if role == Role.PLANNER else ""
        heading = f"The plan above waits for you. Approving it {switches}allows:"
        self.query_one("#plan-heading", Label).update(heading)
        lines = disclosed_lines(json_object(plan.get("disclosure")))
        self.query_one(ReadTrackingScroll).show(str(plan.get("message_id")), Group(*lines))
        self._key = str(plan.get("message_id"))

    def on_read_tracking_scroll_scrolled(self, event: ReadTrackingScroll.Scrolled) -> None:
        event.stop()
        self.draw_keys()

    def draw_keys(self) -> None:
        if not self.has_focus_within:
            self.query_one("#plan-keys", Label).update(f"{GO_THERE} to approve or edit it")
            return
        read = self.query_one(ReadTrackingScroll).has_read(self._key)
        approve = "y approve and execute" if read else "there is more below: y scrolls on to its end"
        self.query_one("#plan-keys", Label).update(f"{approve}   e edit first   n or Esc continue the chat")

    def action_page(self, by: int) -> None:
        self.query_one(ReadTrackingScroll).page(by)

    def action_choose(self, choice: str) -> None:
        if self.accepts_keys and (choice != "approve" or self.query_one(ReadTrackingScroll).read_on()):
            self.post_message(self.Chosen(choice))


def _key(approval: Json) -> str:
    """Changes when more of it has arrived: then it must be read again."""
    return f"{approval.get('id')} {len(json_objects(json_object(approval.get('disclosure')).get('items')))}"


def _is_complete(approval: Json) -> bool:
    disclosure = json_object(approval.get("disclosure"))
    return len(json_objects(disclosure.get("items"))) >= int(str(disclosure.get("total") or 0))
