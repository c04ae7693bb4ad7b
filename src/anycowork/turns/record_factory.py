"""Builds the records that the services write: messages, turns, role switches."""

from anycowork.domain import event_factory
from anycowork.domain.chats import Autonomy, Chat, ChatState, Turn
from anycowork.domain.errors import TurnAlreadyRunning
from anycowork.domain.events import NewEvent
from anycowork.domain.evidence import stated_payload
from anycowork.domain.journal import RequireState
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.people import authorship
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal
from anycowork.domain.schedules import StartedBy
from anycowork.domain.values import replace, value
from anycowork.domain.workflows import Run, RunOrder

IDLE = frozenset({ChatState.IDLE})


@value
class RecordFactory:
    clock: Clock

    def message(
        self,
        chat: Chat,
        speaker: Speaker,
        content: str,
        *,
        kind: MessageType = MessageType.TEXT,
        payload: Json | None = None,
        turn_id: str | None = None,
    ) -> Message:
        new_id, now = self.clock.new_id(), self.clock.now()
        return Message(new_id, chat.id, speaker, content, kind, payload, turn_id=turn_id, created_at=now)

    def turn(
        self, chat: Chat, principal: Principal, *, message_id: str, turn_id: str, role: str, plan_id: str | None = None
    ) -> Turn:
        return Turn(
            id=turn_id,
            chat_id=chat.id,
            role=role,
            principal=principal.label(),
            message_id=message_id,
            plan_id=plan_id,
            created_at=self.clock.now(),
        )

    def run(self, chat: Chat, order: RunOrder) -> tuple[Run, Message]:
        """Builds a workflow run, and the message that starts it, as the user would type it."""
        run = Run(self.clock.new_id(), chat.id, order.workflow, order.steps, order.needs, order.content_hash)
        payload: Json = {"workflow": run.to_json(), **stated_payload(order.expect, may_check=False)}
        return run, self.message(chat, Speaker.USER, order.typed, payload=payload, turn_id=run.id)

    def switch(self, principal: Principal, chat: Chat, new: str) -> tuple[tuple[Message, ...], tuple[NewEvent, ...]]:
        """Builds the message and the event of a role switch; nothing if the role stays."""
        if new == chat.role:
            return (), ()
        text = f"Role switched from {chat.role} to {new}."
        payload: Json = {"old_role": chat.role, "new_role": new, **authorship(principal.person)}
        message = self.message(chat, Speaker.SYSTEM, text, kind=MessageType.ROLE_CHANGE, payload=payload)
        return (message,), (event_factory.role_changed(chat.role, new, principal.label()),)

    def autonomy(self, chat: Chat, new: Autonomy) -> tuple[Message, ...]:
        """Builds the message of an autonomy change, so that it is in the history and the audit chain; nothing if it stays."""
        old = chat.config.autonomy
        if new is old:
            return ()
        payload: Json = {"old_autonomy": old.value, "new_autonomy": new.value}
        return (self.message(chat, Speaker.SYSTEM, f"Autonomy changed from {old} to {new}.", payload=payload),)

    def visibility(self, chat: Chat, new: str | None) -> tuple[Message, ...]:
        """Builds the message of who may see the chat now; nothing if it stays."""
        old = chat.visibility
        if new is None or new == old:
            return ()
        payload: Json = {"old_visibility": old, "new_visibility": new}
        return (self.message(chat, Speaker.SYSTEM, f"Visibility changed from {old} to {new}.", payload=payload),)


def require_idle(chat: Chat) -> RequireState:
    waiting = {
        ChatState.AWAITING_APPROVAL: "waits for your decision on a tool call",
        ChatState.AWAITING_ANSWER: "waits for your answer to a question",
    }.get(chat.state, "is running")
    return RequireState(IDLE, TurnAlreadyRunning(f"This chat {waiting}. Wait until it is idle, or stop it first."))


def noted(message: Message, started_by: StartedBy) -> Message:
    """Returns the message that begins a scheduled run. What a trigger brought is in it: then no person speaks."""
    noted_message = replace(message, origins=started_by.origins or message.origins)
    if message.message_type is MessageType.PLAN:
        return noted_message
    return replace(noted_message, payload={**(message.payload or {}), "schedule": started_by.note})
