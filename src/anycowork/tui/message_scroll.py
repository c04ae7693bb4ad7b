"""The messages on the screen, and the text that is still streaming."""

from typing import ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from anycowork.client.console import printed_text, strip_controls
from anycowork.domain.messages import Json, json_object
from anycowork.tui.cards import Card, card_of, thought_card
from anycowork.tui.plan_text import approved_plan, plan_text, step_states

TAIL = 6_000  # characters of a streaming answer that are drawn
PRINTED_LINES = 12  # of a running command


class CardView(Static):
    """One card. A shortened card is opened and closed by Enter or a click."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "fold", "Open or close", show=False)]

    def __init__(self, card: Card) -> None:
        super().__init__(card.short, classes=f"card {card.look}", markup=False)
        self._card, self._open = card, False
        self.can_focus = card.whole is not None

    def action_fold(self) -> None:
        if self._card.whole is not None:
            self._open = not self._open
            self.update(self._card.whole if self._open else self._card.short)

    def on_click(self) -> None:
        self.action_fold()


class PlanView(CardView):
    """A plan; once it was approved, with the state of each step beside it."""

    def __init__(self, plan: Json) -> None:
        super().__init__(Card("plan", plan_text(plan)))
        self._plan, self._states = plan, dict[str, str]()

    def follow(self, update: Json) -> None:
        """An approved plan that was edited comes as a whole; later updates only have its steps' states."""
        if update.get("status") in ("open", "superseded"):
            return
        if "goal" in update:
            self._plan = {**self._plan, **approved_plan(update)}
        self._states |= step_states(update)
        self.update(plan_text(self._plan, self._states))


class StreamingText(Static):
    """A streaming answer, or a call's output while it runs: plain text, because it is incomplete."""

    def __init__(self, *, printed: bool) -> None:
        super().__init__(classes="card result" if printed else "card agent", markup=False)
        self._thought = self._answer = ""
        self._printed = printed

    def grow(self, offset: int, text: str, *, thinking: bool) -> None:
        if thinking:
            self._thought = self._thought[:offset] + text
        else:
            self._answer = self._answer[:offset] + text
        self.update(self._drawn())

    def _drawn(self) -> RenderableType:
        if self._printed:
            lines = printed_text(self._answer[-TAIL:]).splitlines()[-PRINTED_LINES:]
            return Text("\n".join(lines), style="dim")
        if self._answer:
            return Text(strip_controls(self._answer[-TAIL:]))
        last = " ".join(self._thought.split())[-100:]
        return Text(f"thinking … {strip_controls(last)}", style="dim italic")


class MessageScroll(VerticalScroll):
    """Stays at its end, unless somebody scrolled up to read."""

    def __init__(self) -> None:
        super().__init__(id="conversation")
        self._growing: dict[str, StreamingText] = {}
        self._shown: set[str] = set()
        self._outside_turns: set[str] = set()
        self._plans: dict[str, PlanView] = {}  # by the ids of their messages
        self._calls: dict[str, Static] = {}  # the last card of each call, by its id
        self._queued: dict[str, CardView] = {}  # the notes of messages that wait to be sent, by their ids

    def on_mount(self) -> None:
        self.anchor()

    async def clear(self) -> None:
        """Removes everything: another chat comes."""
        self._shown.clear()
        self._growing.clear()
        self._calls.clear()
        self._plans.clear()
        self._queued.clear()
        await self.remove_children()

    def show(self, message: Json) -> None:
        """Replaces streamed text by its message. Skips a message that is already shown."""
        id_ = str(message.get("id"))
        if id_ in self._shown:
            return
        self._shown.add(id_)
        views = self._views(message)
        grown = self._growing.pop(id_, None)
        if views:
            self.mount(*views, after=grown or self._call_of(message))
            if call_id := _call_id(message):
                self._calls[call_id] = views[-1]
        if grown is not None:
            grown.remove()

    def _views(self, message: Json) -> list[CardView]:
        thought = thought_card(message)
        thoughts = [CardView(thought)] if thought else []
        if message.get("message_type") == "plan":
            plan = self._plans[str(message.get("id"))] = PlanView(json_object(message.get("payload")))
            return [*thoughts, plan]
        card = card_of(message)
        return [*thoughts, CardView(card)] if card else thoughts

    def follow_plan(self, update: Json) -> None:
        """Shows how the steps of an approved plan stand, beside them."""
        if plan := self._plans.get(str(update.get("message_id"))):
            plan.follow(update)

    def _call_of(self, message: Json) -> Static | None:
        """Returns the card that a result belongs below: one of several calls has its result beside it."""
        return self._calls.get(_call_id(message)) if message.get("message_type") == "tool_result" else None

    def grow_by(self, event: Json, *, thinking: bool) -> None:
        """Shows a text or reasoning delta."""
        where, offset, text = str(event.get("message_id")), event.get("offset"), str(event.get("text"))
        printed, of_turn = event.get("call_id") is not None, event.get("turn_id") is not None
        position = offset if isinstance(offset, int) else 0
        call_id = str(event.get("call_id") or "")
        self.grow(where, position, text, thinking=thinking, printed=printed, of_turn=of_turn, call_id=call_id)

    def grow(
        self,
        message_id: str,
        offset: int,
        text: str,
        *,
        thinking: bool,
        printed: bool = False,
        of_turn: bool = True,
        call_id: str = "",
    ) -> None:
        """Shows text that has no message yet. What a person's own command prints belongs to no turn."""
        if message_id in self._shown:
            return
        if not of_turn:
            self._outside_turns.add(message_id)
        if message_id not in self._growing:
            self._growing[message_id] = StreamingText(printed=printed)
            self.mount(self._growing[message_id], after=self._calls.get(call_id))
        self._growing[message_id].grow(offset, text, thinking=thinking)

    def note(self, text: str, look: str = "note") -> CardView:
        view = CardView(Card(look, Text(strip_controls(text))))
        self.mount(view)
        return view

    def show_queued(self, message: Json) -> None:
        """Says of a message that it waits, until it is sent or removed. What steers the turn is sent at once."""
        id_ = str(message.get("id"))
        if message.get("status") != "queued":
            if view := self._queued.pop(id_, None):
                view.remove()
        elif id_ not in self._queued and not message.get("steer"):
            self._queued[id_] = self.note("Queued: it is sent when the agent has finished.")

    def end_growing(self) -> None:
        """The turn is over: text without a message will not get one any more."""
        for message_id in self._growing.keys() - self._outside_turns:
            self._growing.pop(message_id).remove()


def _call_id(message: Json) -> str:
    """Returns the id of the call that a message is, or is the result of; empty for others."""
    payload = json_object(message.get("payload"))
    name = {"tool_call": "id", "tool_result": "tool_call_id"}.get(str(message.get("message_type")))
    return str(payload.get(name) or "") if name else ""
