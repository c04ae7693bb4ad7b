"""How a reply ends a turn: the one thing in which a chat's turn, a workflow's step and a job's task differ."""

from typing import Protocol

from anycowork.domain.chats import ChatState, EndReason
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Write
from anycowork.domain.messages import Message, MessageType
from anycowork.domain.roles import Permission
from anycowork.domain.values import value

EVERYTHING = frozenset(Permission)  # a chat's own turn has no ceiling but its role


@value
class TurnEnd:
    """What becomes true together when a reply ends a turn. With `over` false only the turn's present step ends.

    `state` is the chat's state afterwards.
    """

    reason: EndReason
    messages: tuple[Message, ...] = ()
    writes: tuple[Write, ...] = ()
    events: tuple[NewEvent, ...] = ()
    over: bool = True
    state: ChatState = ChatState.IDLE


class TurnPolicy(Protocol):
    @property
    def speech(self) -> MessageType:
        """The type of what the agent says in words."""

    @property
    def ceiling(self) -> frozenset[Permission]:
        """No call of the turn may do more than this."""

    def missing(self, text: str) -> str | None:
        """Why this answer cannot end the turn yet, for the model to read; None if it can."""

    def gives_up(self, text: str) -> bool:
        """Whether the answer says that the work failed: then nothing is checked."""

    def vouches(self, text: str) -> bool:
        """Whether the answer reports success for everything that the turn was to do. It proves nothing, so it is shown as claimed."""

    def end(self, end: TurnEnd) -> TurnEnd:
        """The end as it is written down."""


class ChatPolicy:
    """A turn of a person's own chat: the first answer ends it."""

    speech = MessageType.TEXT

    @property
    def ceiling(self) -> frozenset[Permission]:
        return EVERYTHING

    def missing(self, text: str) -> str | None:
        return None

    def gives_up(self, text: str) -> bool:
        return False

    def vouches(self, text: str) -> bool:
        return False

    def end(self, end: TurnEnd) -> TurnEnd:
        return end


CHAT_POLICY = ChatPolicy()
