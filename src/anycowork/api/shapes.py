"""The shapes of answers, as /openapi.json describes them. Answers are built from the nouns themselves; tests hold the two together."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from anycowork.domain.approvals import Decision, Risk
from anycowork.domain.chats import ChatState
from anycowork.domain.messages import Json, MessageType, Speaker
from anycowork.domain.roles import OutputFormat, Permission
from anycowork.domain.rules import Effect, RuleScope
from anycowork.domain.workflows import ParameterType, Source


class Described(BaseModel):
    """Built when /openapi.json is first asked for: no answer passes through it."""

    model_config = ConfigDict(defer_build=True)


class Shape(Described):
    """Open to more fields: what came with stored data is passed on, and later versions add."""

    model_config = ConfigDict(extra="allow")


class ErrorDetail(Described):
    code: str = Field(description="Stable, for programs.")
    message: str = Field(description="For people: the thing, the reason, the way out.")
    param: str | None = Field(description="The field at fault, as a dotted path.")
    type: str


class Error(Described):
    error: ErrorDetail


class ChatConfigShape(Shape):
    model_id: str | None
    mode: str = Field(description="The role by its older name: plan, act, or the role itself.")
    system_prompt_id: str | None
    agent_role: str


class ChatShape(Shape):
    id: str
    title: str
    workspace: str
    config: ChatConfigShape
    state: ChatState
    last_seq: int
    created_at: str
    updated_at: str


class WaitingFor(Described):
    approvals: list[str]
    question: str | None


class OpenChat(ChatShape):
    waiting_for: WaitingFor


class ChatList(Described):
    contexts: list[ChatShape]
    next: str | None


class MessageShape(Shape):
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


class MessageList(Described):
    messages: list[MessageShape]
    last_seq: int
    next: str | None


class SentShape(Described):
    message_id: str
    turn_id: str
    run_id: str | None = Field(None, description="There if the message ran a workflow.")


class TurnStarted(Described):
    turn_id: str


class SwitchedShape(Described):
    id: str
    old_role: str
    new_role: str


class Stopped(Described):
    stopped: bool


class ApprovalShape(Shape):
    id: str
    batch_id: str
    tool_call_id: str
    tool: str
    parameters: Json
    resource: str
    risk: Risk
    reasons: list[str]
    outside_plan: bool
    proposed_rule: Json | None
    diff: str | None
    network: list[str] = Field(description="Where the call may go over the network, host:port each; empty for nowhere.")
    held: bool = Field(
        description="Whether the command has run, and its changes, as `diff` shows them, wait for the answer."
    )
    job_id: str | None
    task_id: str | None
    created_at: str


class ApprovalList(Described):
    approvals: list[ApprovalShape]


class RuleShape(Described):
    id: str
    tool: str
    resource: str
    effect: Effect
    scope: RuleScope
    context_id: str | None
    workspace: str | None
    expires_at: str | None
    created_by: str
    created_at: str


class RuleList(Described):
    rules: list[RuleShape]


class WrittenRule(RuleShape):
    warnings: list[str] = Field(description="What to know about it: that it matches everything, say.")


class ExplainedShape(Described):
    effect: Effect
    rule: RuleShape | None = Field(description="None where no rule spoke.")
    why: str


class ForeseenShape(Described):
    id: str
    tool: str
    resource: str
    decided: Effect = Field(description="By the rules as they are.")
    would: Effect = Field(description="With this rule added.")


class PreviewShape(Described):
    calls: list[ForeseenShape] = Field(description="Newest first, at most 100.")
    matched: int
    looked_at: int
    warnings: list[str]


class DecidedShape(Described):
    id: str
    decision: Decision
    rule: RuleShape | None = Field(None, description="The standing rule that the decision made.")
    rules: list[RuleShape] = Field(
        [], description="All of them: for a call with network also those about where it goes."
    )


class DecidedList(Described):
    approvals: list[DecidedShape]


class ProposedPlan(Described):
    message_id: str


class RoleShape(Described):
    name: str
    colour: str
    icon: str
    tooltip: str
    permissions: list[Permission]
    delegates: list[str]
    output: OutputFormat
    built_in: bool


class RoleList(Described):
    roles: list[RoleShape]


class SystemPromptShape(Described):
    id: str
    name: str
    content: str
    version: int = Field(description="Counts the changes, from 1.")
    built_in: bool = Field(description="It can be used, not changed or deleted.")
    created_at: str | None = Field(description="None for the built-in one: it comes with the release.")
    updated_at: str | None


class SystemPromptList(Described):
    system_prompts: list[SystemPromptShape]


class EnhancedShape(Described):
    id: str
    content: str
    enhanced: Literal[True]
    left_out: list[str] = Field(
        description="What the token budget did not hold: tools that the role grants, and how much of the folder's instructions."
    )


class ProviderList(Described):
    providers: list[Json]


class LocalModelShape(Described):
    name: str
    title: str
    state: Literal["absent", "pulling", "ready", "failed"]
    recommended: bool
    size_bytes: int
    fetched_bytes: int
    progress: float | None = Field(description="0 to 1.")
    memory_bytes: int = Field(description="What running it takes.")
    licence: str
    limits: str = Field(description="What it can and cannot do, in plain words.")
    loaded: bool
    error: str | None


class LocalEngine(Described):
    installed: bool
    hint: str | None


class LocalModelList(Described):
    engine: LocalEngine
    models: list[LocalModelShape]


class SandboxShape(Described):
    level: Literal["full", "landlock", "none"]
    layer: Literal["overlay", "copy"] | None = Field(
        description="What commands write into: a layer over the workspace, or a private copy of it."
    )
    enforces: list[str]
    does_not: list[str] = Field(description="What this level does not hold, in plain words.")


class PluginShape(BaseModel):
    name: str = Field(description="As the setting 'plugins' names it.")
    version: str | None = Field(description="null: it is not installed.")
    on: bool
    tools: int = Field(description="How many of its tools can be used.")
    problems: list[str] = Field(description="Why it, or some of its tools, cannot be used.")


class SettingsShape(Shape):
    """Every setting by its name; of secrets only whether they are set. What holds commands and which plugins there are is found, not set."""

    token_set: bool
    sandbox: SandboxShape
    plugins_found: list[PluginShape]


class KeyLimitsShape(Described):
    """null: no such limit. A day is a day of UTC."""

    requests_per_minute: int | None
    tokens_per_day: int | None
    spend_per_day: float | None = Field(description="US dollars, by the prices that the providers' entries name.")


class KeyUsageShape(Described):
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = Field(description="Part of prompt_tokens.")
    reasoning_tokens: int = Field(description="Part of completion_tokens.")
    spend: float = Field(description="US dollars.")
    estimated: float = Field(description="The share of the tokens, 0 to 1, that is an estimate: no usage was reported.")
    unpriced_requests: int = Field(description="Counted in tokens only: no price is known.")


class KeyShape(Described):
    id: str
    name: str
    created_at: str
    limits: KeyLimitsShape
    today: KeyUsageShape
    total: KeyUsageShape
    last_used_at: str | None
    hint: str | None = Field(description="What to do for its limits to hold; null if they do.")


class KeyList(Described):
    keys: list[KeyShape]


class NewKey(KeyShape):
    key: str = Field(description="Shown this once; only its hash is stored.")


class SuppliedShape(Described):
    kind: Literal["workflow", "instructions"]
    path: str = Field(description="Inside the workspace.")
    sha256: str = Field(description="Of the content as it is now: what trust would hold for.")
    trusted: bool


class WorkspaceShape(Shape):
    root: str
    supplies: list[SuppliedShape] = Field(description="Files that are used once a person trusted their content.")


class WorkspaceList(Described):
    workspaces: list[WorkspaceShape]


class InstructionsShape(Described):
    path: str = Field(description="Inside the folder.")
    sha256: str | None = Field(description="Of the content as it is now: what trust would hold for.")
    state: Literal["trusted", "untrusted", "changed", "unreadable"] = Field(
        description="Used only if trusted. Changed: another content was trusted, and neither is used until this one is."
    )
    content: str | None = Field(description="The whole text; characters that nobody would see are written out.")
    fault: str | None = Field(description="Why it cannot be read.")


class InstructionsPage(Described):
    instructions: InstructionsShape | None = Field(description="Null if the folder has no such file.")


class ParameterShape(Described):
    name: str
    type: ParameterType
    description: str
    required: bool
    default: str | int | float | bool | None = None
    choices: list[str | int | float | bool] | None = None


class WorkflowStepShape(Described):
    title: str
    kind: Literal["prompt", "tool", "ask", "changes", "workflow"]


class WorkflowShape(Described):
    name: str
    description: str
    category: str
    parameters: list[ParameterShape]
    needs: list[Permission] = Field(description="What the chat's role must grant; a run may do no more than this.")
    steps: list[WorkflowStepShape]
    about: str = Field(description="What its author says of it, in Markdown.")
    usage: str = Field(description="How it is typed in a chat.")
    source: Source
    trusted: bool = Field(description="If not, a person must trust its content before it can be run.")
    path: str
    sha256: str


class FileFaultShape(Described):
    source: Source
    path: str
    line: int | None
    reason: str


class WorkflowList(Described):
    workflows: list[WorkflowShape]
    faults: list[FileFaultShape] = Field(description="Files that give no workflow, with line and reason.")


class WorkflowCategory(Described):
    name: str
    workflows: list[WorkflowShape]


class WorkflowCategories(Described):
    categories: list[WorkflowCategory]


class WorkflowPage(WorkflowShape):
    content: str = Field(description="The whole file.")


class RunStarted(Described):
    run_id: str = Field(description="Also the id of the turn that it runs as.")
    message_id: str
    turn_id: str


class Health(Described):
    status: Literal["ok", "ready"]


class SnapshotShape(Shape):
    id: str
    created_at: str
    moment: Literal["before", "after"]
    tool_call_id: str | None
    files: int
    additions: int
    deletions: int
    restores: str | None = Field(description="The snapshot that was gone back to, if this was a restore.")
    pruned: bool = Field(description="Its content made room for newer ones: it cannot be restored any more.")


class SnapshotList(Described):
    snapshots: list[SnapshotShape]
    next: str | None


class FileDifferenceShape(Described):
    path: str
    status: Literal["added", "modified", "deleted", "renamed"]
    additions: int
    deletions: int


class DifferenceShape(Described):
    diff: str
    files: list[FileDifferenceShape]


class RestoredShape(Described):
    restored: list[str]
    deleted: list[str]
    kept: list[str] = Field(description="Folders that should have gone but hold what no recorded change put there.")
    conflicts: list[str] = Field(description="Paths that someone else changed; with a dry run, all of them.")
    reasons: dict[str, str] = Field(description="Why each of the conflicts is one.")
    undo_snapshot: str | None = Field(description="Restoring this one takes the restore back; null for a dry run.")
    diff: str | None
    files: list[FileDifferenceShape]
