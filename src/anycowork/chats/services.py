"""The container of all services that every face (API, ACP, MCP) uses; `server/service_setup.py` fills it. Adapters appear here only as Protocols."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field

from anycowork.chats.chat_export import ChatExport
from anycowork.chats.chat_service import ChatService
from anycowork.chats.compaction_service import CompactionService
from anycowork.chats.decision_service import DecisionService
from anycowork.chats.earlier_plans import EarlierPlans
from anycowork.chats.file_edit_service import FileEditService
from anycowork.chats.file_service import FileService
from anycowork.chats.fork_service import ForkService
from anycowork.chats.git_service import GitService
from anycowork.chats.job_audit import JobAudit
from anycowork.chats.job_commit_service import JobCommitService
from anycowork.chats.job_service import JobService
from anycowork.chats.people_service import PeopleService
from anycowork.chats.person_command_service import PersonCommandService
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.queue_service import QueueService
from anycowork.chats.role_service import RoleService
from anycowork.chats.rollback_service import RollbackService
from anycowork.chats.rule_service import RuleService
from anycowork.chats.service_ports import (
    AuditChecks,
    Connections,
    EventStreamsPort,
    LocalModelsPort,
    McpServersPort,
    MetricsPort,
    ProvidersPort,
    Sessions,
    SettingsPort,
    TrustedFilesPort,
    UpstreamsPort,
    WorkspaceRootsPort,
)
from anycowork.chats.symbol_service import SymbolService
from anycowork.chats.trust_service import TrustService
from anycowork.chats.worktree_service import WorktreeService
from anycowork.domain.attached_files import PdfTexts
from anycowork.domain.forwarded_requests import RequestForwarder
from anycowork.domain.images import ImageBytes
from anycowork.domain.job_workers import JobWorker
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock
from anycowork.domain.store_ports import ClientKeysPort, IdempotencyPort, KeyLedger, PeoplePort, StoreQueries
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.values import value
from anycowork.jobs.agents import AgentRegistry
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.workflows.template_service import JobTemplateService
from anycowork.workflows.workflow_editor import WorkflowEditor
from anycowork.workflows.workflow_service import WorkflowService


@value
class ModelServices:
    """The models that answer: the configured servers, how a person connects one, the local model, and the passthrough's upstreams."""

    providers: ProvidersPort
    connections: Connections
    local: LocalModelsPort
    upstreams: UpstreamsPort


@value
class AccessServices:
    """Who may send requests, and how many: the token, people, browser sessions, client keys with their accounts, hosts and sizes."""

    token: str
    people: PeoplePort
    keys: ClientKeysPort
    sessions: Sessions
    ledger: KeyLedger
    receipts: IdempotencyPort
    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()
    request_limit_bytes: int = 10 * 1024 * 1024
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@value
class WorkspaceServices:
    """The folders that people registered, and which of their files they trust."""

    roots: WorkspaceRootsPort
    trusted_files: TrustedFilesPort
    trust: TrustService
    find: Callable[[str | None], Awaitable[str]]


@value
class ServerServices:
    """The running server itself. `stopping` is set when it shuts down: streams finish and readiness becomes false."""

    settings: SettingsPort
    metrics: MetricsPort
    storage: Callable[[], Awaitable[Sequence[Json]]]
    audit: AuditChecks
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    forwarder: RequestForwarder | None = None
    workers: Callable[[], Awaitable[Sequence[JobWorker]]] | None = None
    """The workers on this database; None where there can be none."""
    database_away: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the database does not answer. What runs waits for it; requests are refused, and streams end."""


@value
class Services:
    """The services container: what each face of AnyCowork calls."""

    chats: ChatService
    queue: QueueService
    compaction: CompactionService
    forks: ForkService
    files: FileService
    file_edits: FileEditService
    git: GitService
    worktrees: WorktreeService
    person_commands: PersonCommandService
    symbols: SymbolService
    pdf_texts: PdfTexts
    decisions: DecisionService
    jobs: JobService
    job_commits: JobCommitService
    job_audit: JobAudit
    earlier_plans: EarlierPlans
    agents: AgentRegistry
    rules: RuleService
    rollback: RollbackService
    plan_audit: PlanAudit
    export: ChatExport
    store: StoreQueries
    image_bytes: ImageBytes
    workflows: WorkflowService
    workflow_editor: WorkflowEditor
    job_templates: JobTemplateService
    streams: EventStreamsPort
    roles: RoleRegistry
    role_editor: RoleService
    toolbox: Toolbox
    prompts: PromptService
    mcp: McpServersPort
    clock: Clock
    models: ModelServices
    access: AccessServices
    people: PeopleService
    workspaces: WorkspaceServices
    server: ServerServices
