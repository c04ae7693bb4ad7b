"""Chats, their messages, and what sending, stopping and switching answer."""

from typing import Literal

from pydantic import Field, JsonValue

from anycowork.api.schemas.base import DescribedSchema, Schema
from anycowork.domain.chats import Autonomy, ChatState
from anycowork.domain.messages import Json, MessageType, Speaker
from anycowork.domain.tools import ToolKind


class ChatConfigResponse(Schema):
    model_id: str | None
    mode: str = Field(description="The role by its older name: plan, act, or the role itself.")
    system_prompt_id: str | None
    agent_role: str
    autonomy: Autonomy = Field(description="How much passes without asking; a person chooses it.")


class ChatResponse(Schema):
    id: str
    title: str
    workspace: str
    config: ChatConfigResponse
    state: ChatState
    last_seq: int
    pinned: bool
    archived: bool
    visibility: str = Field("everyone", description="Who may see it: private, everyone, or group: and a group's name.")
    owner: str = Field("owner", description="The id of the person who may change that; `owner` has the server's token.")
    created_at: str
    updated_at: str
    waiting: Literal["approval", "question", "plan", "continue"] | None = Field(
        None, description="What a person is waited for: an approval, an answer, a plan, or to continue a turn."
    )


class WaitingFor(DescribedSchema):
    approvals: list[str]
    question: str | None = Field(description="The first of `questions`.")
    questions: list[str] = Field(description="Several tasks of a job may ask at the same time.")


class ContinuationResponse(DescribedSchema):
    """Why the last turn stopped, where `POST …/continue` takes it up again."""

    turn_id: str
    reason: Literal["limit", "interrupted", "blocked"]
    code: str | None = Field(None, description="Of the error that ended it; context_full: compacting helps.")
    message: str


class OpenChat(ChatResponse):
    waiting_for: WaitingFor
    queue: list["QueuedMessageResponse"] = Field(
        description="What was written while the agent works, and is not sent yet."
    )
    continuable: ContinuationResponse | None = Field(description="There if the last turn can be continued.")
    steps_left: int | None = Field(
        None,
        description="While a turn is at work: the steps that it has until it pauses, with the one that is taken now.",
    )


class ChatList(DescribedSchema):
    contexts: list[ChatResponse]
    next: str | None


class MessageResponse(Schema):
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
    origins: list[str] = Field(
        [],
        description="Where its text came from: person, workspace, git:<remote>, model, web:<host>, mcp:<server>, delegate:<name>, "
        "attachment:<hash>, import.",
    )


class MessageList(DescribedSchema):
    messages: list[MessageResponse]
    last_seq: int
    next: str | None


class PdfTextResponse(DescribedSchema):
    name: str
    content: str
    pages: int


class SentResponse(DescribedSchema):
    message_id: str | None = Field(None, description="Not there if the message was queued.")
    turn_id: str | None = Field(None, description="Not there if the message was queued.")
    queued_id: str | None = Field(None, description="There if the message was queued: the agent works.")
    run_id: str | None = Field(None, description="There if the message ran a workflow.")


class QueuedMessageResponse(DescribedSchema):
    id: str
    content: str
    steer: bool = Field(description="The running turn takes it between two steps.")
    created_at: str


class QueueResponse(DescribedSchema):
    queue: list[QueuedMessageResponse]


class ChangedQueuedResponse(DescribedSchema):
    queued: QueuedMessageResponse | None = Field(None, description="Not there if it was sent.")
    message_id: str | None = None
    turn_id: str | None = None
    run_id: str | None = None


class TurnStarted(DescribedSchema):
    turn_id: str


class CompactedResponse(DescribedSchema):
    message_id: str = Field(description="The message that the model is shown instead.")
    messages: int = Field(description="How many it stands for. They stay stored and shown.")


class PlanStarted(DescribedSchema):
    turn_id: str | None = Field(default=None, description="With run: chat.")
    job_id: str | None = Field(default=None, description="With run: job.")


class SwitchedResponse(DescribedSchema):
    id: str
    old_role: str
    new_role: str


class Stopped(DescribedSchema):
    stopped: bool


class ProposedPlan(DescribedSchema):
    message_id: str


class ToolDisplayResponse(DescribedSchema):
    kind: ToolKind = Field(
        description="What the tool does, in one word. A client treats a word it does not know as 'other'."
    )
    subject: list[str] = Field(description="The parameters that say what a call is about, in the order they are shown.")
    target: list[str] = Field(description="The parameters that rules match.")
    example: dict[str, JsonValue] = Field(description="The parameters of a complete call.")


class SnippetPartResponse(DescribedSchema):
    text: str
    match: bool


class SearchResultResponse(DescribedSchema):
    context_id: str
    message_id: str
    title: str = Field(description="The chat's title.")
    role: Speaker
    snippet: str
    parts: list[SnippetPartResponse] = Field(description="The snippet again, with the words that match marked.")
    created_at: str


class SearchResults(DescribedSchema):
    results: list[SearchResultResponse]
    next: str | None


class RunningCommandResponse(DescribedSchema):
    id: str
    command: str
    started_at: str
    output: str = Field(
        description="What it printed so far, as it came. Further text comes as `text-delta` with this id as `call_id`."
    )
    terminal: bool = Field(description="Whether it is a terminal, whose output is a stream of its own.")


class PersonCommandsResponse(DescribedSchema):
    reason: str | None = Field(description="Why people run no commands on this server; null if they may.")
    running: list[RunningCommandResponse] = Field(description="The commands that run in this chat now.")


class StartedCommandResponse(DescribedSchema):
    id: str = Field(description="The message with this id in `payload.person_command` and an `ended` tells its end.")


class StoppedCommandResponse(DescribedSchema):
    id: str
