"""The writes of one transaction. A Change is written completely or not at all; its events are published after it is durable."""

from dataclasses import field
from enum import StrEnum

from anycowork.domain.approvals import Approval, ApprovalState, PlanRow, QuestionRow, QuestionState
from anycowork.domain.chats import Chat, ChatConfig, ChatState, Turn
from anycowork.domain.errors import RequestFault
from anycowork.domain.events import SERVER_LABEL, NewEvent
from anycowork.domain.evidence import Receipt
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.limits import RequestedUse
from anycowork.domain.messages import Json, Message, QueuedMessage
from anycowork.domain.origins import Origins
from anycowork.domain.people import AccessLevel
from anycowork.domain.principals import OWNER, Principal
from anycowork.domain.rules import Rule
from anycowork.domain.schedules import ClaimStart
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
    """Updates a chat; None leaves a field unchanged. `first_model` is kept by a chat that has no model yet."""

    state: ChatState | None = None
    config: ChatConfig | None = None
    title: str | None = None
    pinned: bool | None = None
    archived: bool | None = None
    first_model: str | None = None
    visibility: str | None = None


@value
class RemoveChat:
    """Refused with Conflict if the chat was written to since its chain ended so, on whichever server."""

    chain: str | None = None


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
    """Budget reserved before a model is called; its `Spend` replaces it."""

    id: str
    turn_id: str
    purpose: str
    model: str
    tokens: int
    payer: str = OWNER.id
    """The id of the person whose limits it counts against, on `day` (UTC)."""
    day: str = ""


@value
class Spend:
    """The actual use of a reservation. Refused with NotFound if nothing was reserved in the turn, with Conflict if less was."""

    of: Reserve
    prompt: int
    completion: int
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False


@value
class Compact:
    """Drops the deltas of this message: the message itself replaces them."""

    message_id: str


@value
class RemoveQueued:
    """Refuses the whole change with NotFound unless this message is queued: it is sent or removed once."""

    queued_id: str


@value
class RequireState:
    """Refuses the whole change with `error` unless the chat is in one of these states."""

    states: frozenset[ChatState]
    error: RequestFault


@value
class RequireAccess:
    """Refuses the whole change with NotAllowed unless this person may still do what they could when their request was let in, and with
    NotFound if the chat is hidden from them by now."""

    person_id: str
    access: AccessLevel


def required_access(principal: Principal) -> RequireAccess | None:
    """Returns what a change of this principal requires; None for the owner, whose access does not end."""
    return None if principal.person is None else RequireAccess(principal.person.id, principal.access)


@value
class RequireRoom:
    """Refuses the whole change with SpendingLimitReached unless the limits of who pays have room for this."""

    request: RequestedUse


@value
class RequireLease:
    """Refuses the whole change unless the workspace's lease still has this epoch."""

    workspace: str
    epoch: int


@value
class RequireNoDenial:
    """Refuses the whole change with RejectedByUser if a person denied this call."""

    call_id: str


@value
class AddFileOrigins:
    """Adds these origins to those of the files, in the workspace that people know; without paths to those of what commands keep there
    beside the files, such as their caches."""

    workspace: str
    paths: tuple[str, ...]
    origins: Origins


@value
class VouchForFile:
    """Makes what a file holds the person's own: they read it and vouch for it."""

    workspace: str
    path: str


@value
class CopyFileOrigins:
    """Gives the files of a copied workspace the origins of those that they were copied from."""

    source: str
    target: str


Write = (
    AddChat
    | SetChat
    | RemoveChat
    | Message  # inserted
    | Turn  # replaced; the counters of a running turn may be written only when it stops
    | Call  # replaced
    | Approval  # inserted
    | DecideApproval
    | Rule  # inserted
    | QuestionRow  # inserted
    | SettleQuestion
    | PlanRow  # inserted; older open plans of the chat become superseded
    | ApprovePlan
    | Reserve
    | Spend
    | Compact
    | Snapshot  # inserted
    | AddFileOrigins
    | VouchForFile
    | CopyFileOrigins
    | Receipt  # inserted
    | Run  # replaced
    | Job  # replaced
    | JobTask  # replaced
    | QueuedMessage  # replaced
    | RemoveQueued
    | ClaimStart
    | RequireState
    | RequireAccess
    | RequireRoom
    | RequireLease
    | RequireNoDenial
)


@value
class Change:
    """All writes and events of one transaction in one chat. A Message in `writes` adds a `message` event, in order, before `events`."""

    chat_id: str
    writes: tuple[Write, ...] = ()
    events: tuple[NewEvent, ...] = ()
    principal: str = SERVER_LABEL
    cause: str | None = None


class LayerChangeKind(StrEnum):
    """`HOLD`: the paths are about to change. `HOLD_ALL`: anything may. `HIDE`: the paths came just now."""

    HOLD = "hold"
    HOLD_ALL = "hold_all"
    HIDE = "hide"


@value
class LayerChange:
    """`folder` is a real path, and `paths` are below it. `gone` are those that will be removed or replaced by another kind of entry."""

    kind: LayerChangeKind
    folder: str
    paths: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
