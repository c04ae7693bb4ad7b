"""Chats, their messages, and what sending, stopping and switching answer."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema, Schema
from anycowork.domain.chats import Autonomy, ChatState
from anycowork.domain.messages import Json, MessageType, Speaker


class ChatConfigShape(Schema):
    model_id: str | None
    mode: str = Field(description="The role by its older name: plan, act, or the role itself.")
    system_prompt_id: str | None
    agent_role: str
    autonomy: Autonomy = Field(description="How much passes without asking; a person chooses it.")


class ChatShape(Schema):
    id: str
    title: str
    workspace: str
    config: ChatConfigShape
    state: ChatState
    last_seq: int
    pinned: bool
    archived: bool
    created_at: str
    updated_at: str
    waiting: Literal["approval", "question", "plan", "continue"] | None = Field(
        None, description="What a person is waited for: an approval, an answer, a plan, or to continue a turn."
    )


class WaitingFor(DescribedSchema):
    approvals: list[str]
    question: str | None


class ContinuationShape(DescribedSchema):
    """Why the last turn stopped, where `POST …/continue` takes it up again."""

    turn_id: str
    reason: Literal["limit", "interrupted", "blocked"]
    code: str | None = Field(None, description="Of the error that ended it; context_full: compacting helps.")
    message: str


class OpenChat(ChatShape):
    waiting_for: WaitingFor
    queue: list["QueuedMessageShape"] = Field(
        description="What was written while the agent works, and is not sent yet."
    )
    continuable: ContinuationShape | None = Field(description="There if the last turn can be continued.")


class ChatList(DescribedSchema):
    contexts: list[ChatShape]
    next: str | None


class MessageShape(Schema):
    id: str
    role: Speaker
    message_type: MessageType
    content: str
    payload: Json | None
    agent_role: str | None
    turn_id: str | None
    job_id: str | None
    task_id: str | None
    created_at: str


class MessageList(DescribedSchema):
    messages: list[MessageShape]
    last_seq: int
    next: str | None


class PdfTextShape(DescribedSchema):
    name: str
    content: str
    pages: int


class SentShape(DescribedSchema):
    message_id: str | None = Field(None, description="Not there if the message was queued.")
    turn_id: str | None = Field(None, description="Not there if the message was queued.")
    queued_id: str | None = Field(None, description="There if the message was queued: the agent works.")
    run_id: str | None = Field(None, description="There if the message ran a workflow.")


class QueuedMessageShape(DescribedSchema):
    id: str
    content: str
    steer: bool = Field(description="The running turn takes it between two steps.")
    created_at: str


class QueueShape(DescribedSchema):
    queue: list[QueuedMessageShape]


class ChangedQueuedShape(DescribedSchema):
    queued: QueuedMessageShape | None = Field(None, description="Not there if it was sent.")
    message_id: str | None = None
    turn_id: str | None = None
    run_id: str | None = None


class TurnStarted(DescribedSchema):
    turn_id: str


class CompactedShape(DescribedSchema):
    message_id: str = Field(description="The message that the model is shown instead.")
    messages: int = Field(description="How many it stands for. They stay stored and shown.")


class PlanStarted(DescribedSchema):
    turn_id: str | None = Field(default=None, description="With run: chat.")
    job_id: str | None = Field(default=None, description="With run: job.")


class SwitchedShape(DescribedSchema):
    id: str
    old_role: str
    new_role: str


class Stopped(DescribedSchema):
    stopped: bool


class ProposedPlan(DescribedSchema):
    message_id: str
