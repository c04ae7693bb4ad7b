"""What one transaction may hold. A Change is written whole or not at all, and its events are published after it is durable."""

from dataclasses import field

from anycowork.domain.approvals import Approval, ApprovalState, PlanRow, QuestionRow, QuestionState
from anycowork.domain.chats import Chat, ChatConfig, ChatState, Turn
from anycowork.domain.errors import RequestFault
from anycowork.domain.events import BY_THE_HOUSE, NewEvent
from anycowork.domain.messages import Json, Message
from anycowork.domain.rules import Rule
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tools import Call
from anycowork.domain.values import value
from anycowork.domain.workflows import Run


@value
class AddChat:
    chat: Chat
    principal: str


@value
class SetChat:
    """None leaves a field as it is."""

    state: ChatState | None = None
    config: ChatConfig | None = None
    title: str | None = None


@value
class RemoveChat:
    pass


@value
class DecideApproval:
    """Refused with AlreadyDecided unless the approval is pending."""

    approval_id: str
    state: ApprovalState
    note: str | None
    decided_by: str


@value
class SettleQuestion:
    """Refused with AlreadyAnswered unless the question is open."""

    message_id: str
    state: QuestionState
    answer: Json | None
    answered_by: str


@value
class ApprovePlan:
    """Refused with PlanSuperseded or PlanAlreadyApproved unless the plan is open."""

    message_id: str
    approved: Json = field(hash=False)
    approved_by: str = ""
    turn_id: str | None = None


@value
class Reserve:
    """Budget set aside before a model is asked; the `Spend` of it replaces it."""

    id: str
    turn_id: str
    purpose: str
    model: str
    tokens: int


@value
class Spend:
    """What was used of it. Refused with NotFound if nothing was set aside in its turn, with Conflict if less was."""

    of: Reserve
    prompt: int
    completion: int
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False


@value
class Compact:
    """The deltas of this message are dropped: the message itself stands in their place from now on."""

    message_id: str


@value
class RequireState:
    """The whole change is refused with `error` unless the chat is in one of these states."""

    states: frozenset[ChatState]
    error: RequestFault


@value
class RequireLease:
    """The whole change is refused unless the workspace's lease still has this epoch."""

    workspace: str
    epoch: int


@value
class RequireNoDenial:
    """The whole change is refused with RejectedByUser if a person denied this call."""

    call_id: str


Write = (
    AddChat
    | SetChat
    | RemoveChat
    | Message  # added
    | Turn  # put: the row becomes this; the counters of one that runs on may reach the disk when it rests
    | Call  # put
    | Approval  # added
    | DecideApproval
    | Rule  # added
    | QuestionRow  # added
    | SettleQuestion
    | PlanRow  # added; older open plans of the chat become superseded
    | ApprovePlan
    | Reserve
    | Spend
    | Compact
    | Snapshot  # added
    | Run  # put
    | RequireState
    | RequireLease
    | RequireNoDenial
)


@value
class Change:
    """Everything that becomes true together, in one chat. A Message in `writes` brings its own `message` event, in order, before `events`."""

    chat_id: str
    writes: tuple[Write, ...] = ()
    events: tuple[NewEvent, ...] = ()
    principal: str = BY_THE_HOUSE
    cause: str | None = None
