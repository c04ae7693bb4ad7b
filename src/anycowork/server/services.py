"""The container of all services that every face (API, ACP, MCP) uses; `server/setup/service_setup.py` fills it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field

from anycowork.chats.chat_server_service import ChatServerService
from anycowork.chats.chat_service import ChatService
from anycowork.chats.chat_visibility import ChatVisibility
from anycowork.chats.compaction_service import CompactionService
from anycowork.chats.decision_service import DecisionService
from anycowork.chats.export.chat_export import ChatExport
from anycowork.chats.files.file_edit_service import FileEditService
from anycowork.chats.files.file_service import FileService
from anycowork.chats.files.git_service import GitService
from anycowork.chats.files.git_worktree_service import GitWorktreeService
from anycowork.chats.files.memory_service import MemoryService
from anycowork.chats.files.person_command_service import PersonCommandService, TerminalService
from anycowork.chats.files.rollback_service import RollbackService
from anycowork.chats.files.symbol_service import SymbolService
from anycowork.chats.files.workspace_copy_service import WorktreeService
from anycowork.chats.fork_service import ForkService
from anycowork.chats.jobs.earlier_plans import EarlierPlans
from anycowork.chats.jobs.job_audit import JobAudit
from anycowork.chats.jobs.job_commit_service import JobCommitService
from anycowork.chats.jobs.job_service import JobService
from anycowork.chats.limit_service import LimitService
from anycowork.chats.notifications.notification_service import NotificationService
from anycowork.chats.people_service import PeopleService
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.queue_service import QueueService
from anycowork.chats.reader_view import ReaderViews
from anycowork.chats.role_service import RoleService
from anycowork.chats.rule_service import RuleService
from anycowork.chats.schedules.schedule_service import ScheduleService, TriggerService
from anycowork.chats.skill_service import SkillService
from anycowork.chats.trust_service import TrustService
from anycowork.domain.forwarded_requests import ForwardRequest
from anycowork.domain.job_workers import JobWorker
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.values import value
from anycowork.events.hub import Streams
from anycowork.files.pdf_text import LocalPdfTexts
from anycowork.jobs.agents import AgentRegistry
from anycowork.mcp.manager import McpManager
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.providers.local.provider import LocalModels
from anycowork.providers.openai.passthrough import Passthrough
from anycowork.providers.registry import ProviderRegistry
from anycowork.server.audit.audit_check import AuditService
from anycowork.server.browser_sessions import BrowserSessions
from anycowork.server.joined_workers import JoinedWorkers
from anycowork.server.live_settings import LiveSettings
from anycowork.server.model_connections import ModelConnections, SearchConnection
from anycowork.server.setup.metrics_setup import ScrapedMetrics
from anycowork.server.sign_on.sign_on_service import SignOnService
from anycowork.server.workspace_roots import WorkspaceRoots
from anycowork.store.sql.blobs import Blobs
from anycowork.store.sql.idempotency import IdempotencyKeys
from anycowork.store.sql.ledger import KeyLedger
from anycowork.store.sql.limits import LimitTable
from anycowork.store.sql.people import People
from anycowork.store.sql.principals import ClientKeys
from anycowork.store.sql.store import Store
from anycowork.tools.hook_runner import HookRunner
from anycowork.workflows.job_templates import JobTemplateService
from anycowork.workflows.workflow_editor import WorkflowEditor
from anycowork.workflows.workflow_service import WorkflowService
from anycowork.workspace.skill_store import HookStore
from anycowork.workspace.trusted_files import TrustedFileStore


@value
class ModelServices:
    """The models that answer: the configured servers, how a person connects one, the local model, the passthrough's upstreams,
    and the search engine of the web."""

    providers: ProviderRegistry
    connections: ModelConnections
    local: LocalModels
    upstreams: Passthrough
    search: SearchConnection


@value
class AccessServices:
    """Who may send requests, and how many: the token, people, browser sessions, client keys with their accounts, hosts and sizes."""

    token: str
    people: People
    limits: LimitTable
    keys: ClientKeys
    sessions: BrowserSessions
    ledger: KeyLedger
    receipts: IdempotencyKeys
    sign_on: SignOnService | None = None
    """The OpenID provider with which people sign on; None where they bring a token."""
    host: str = "127.0.0.1"
    allowed_hosts: Callable[[], tuple[str, ...]] = tuple
    request_limit_bytes: int = 10 * 1024 * 1024
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@value
class WorkspaceServices:
    """The folders that people registered, and which of their files they trust."""

    roots: WorkspaceRoots
    trusted_files: TrustedFileStore
    trust: TrustService
    find: Callable[[str | None], Awaitable[str]]


@value
class ServerServices:
    """The running server itself. `stopping` is set when it shuts down: streams finish and readiness becomes false."""

    settings: LiveSettings
    metrics: ScrapedMetrics
    storage: Callable[[], Awaitable[Sequence[Json]]]
    audit: AuditService
    joined_workers: JoinedWorkers
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    forward: ForwardRequest | None = None
    """Sends a request to the process that has the chat; None where one process uses the database."""
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
    memory: MemoryService
    git: GitService
    git_worktree: GitWorktreeService
    worktrees: WorktreeService
    person_commands: PersonCommandService
    terminals: TerminalService
    symbols: SymbolService
    pdf_texts: LocalPdfTexts
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
    store: Store
    image_bytes: Blobs
    workflows: WorkflowService
    skills: SkillService
    hooks: HookStore
    hook_runner: HookRunner
    workflow_editor: WorkflowEditor
    job_templates: JobTemplateService
    schedules: ScheduleService
    triggers: TriggerService
    notifications: NotificationService
    streams: Streams
    roles: RoleRegistry
    role_editor: RoleService
    toolbox: Toolbox
    prompts: PromptService
    mcp: McpManager
    chat_servers: ChatServerService
    reader_views: ReaderViews
    visibility: ChatVisibility
    clock: Clock
    models: ModelServices
    access: AccessServices
    people: PeopleService
    limits: LimitService
    workspaces: WorkspaceServices
    server: ServerServices
