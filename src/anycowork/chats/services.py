"""The container of all services that every face (API, ACP, MCP) uses; `app.py` fills it. Adapters appear here only as Protocols."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field

from anycowork.chats.chat_export import ChatExport
from anycowork.chats.chat_service import ChatService
from anycowork.chats.compaction_service import CompactionService
from anycowork.chats.decision_service import DecisionService
from anycowork.chats.file_service import FileService
from anycowork.chats.fork_service import ForkService
from anycowork.chats.job_audit import JobAudit
from anycowork.chats.job_commit_service import JobCommitService
from anycowork.chats.job_service import JobService
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.queue_service import QueueService
from anycowork.chats.rollback_service import RollbackService
from anycowork.chats.rule_service import RuleService
from anycowork.chats.server_ports import (
    Connections,
    EventStreamsPort,
    LocalModelsPort,
    McpServersPort,
    ProvidersPort,
    Sessions,
    SettingsPort,
    TrustedFilesPort,
    UpstreamsPort,
    WorkspaceRootsPort,
)
from anycowork.chats.symbol_service import SymbolService
from anycowork.chats.trust_service import TrustService
from anycowork.domain.images import ImageBytes
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock, Toolbox
from anycowork.domain.store_ports import ClientKeysPort, IdempotencyPort, KeyLedger, ReadStore
from anycowork.domain.values import value
from anycowork.jobs.agents import AgentRegistry
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.workflows.workflow_service import WorkflowService


@value
class Services:
    """The services container. `stopping` is set when the server shuts down: streams finish and readiness becomes false."""

    chats: ChatService
    queue: QueueService
    compaction: CompactionService
    forks: ForkService
    files: FileService
    symbols: SymbolService
    decisions: DecisionService
    jobs: JobService
    job_commits: JobCommitService
    job_audit: JobAudit
    agents: AgentRegistry
    rules: RuleService
    rollback: RollbackService
    plan_audit: PlanAudit
    export: ChatExport
    store: ReadStore
    image_bytes: ImageBytes
    keys: ClientKeysPort
    sessions: Sessions
    ledger: KeyLedger
    receipts: IdempotencyPort
    roots: WorkspaceRootsPort
    trusted_files: TrustedFilesPort
    trust: TrustService
    workflows: WorkflowService
    find_workspace: Callable[[str | None], Awaitable[str]]
    streams: EventStreamsPort
    roles: RoleRegistry
    toolbox: Toolbox
    prompts: PromptService
    providers: ProvidersPort
    connections: Connections
    local: LocalModelsPort
    mcp: McpServersPort
    upstreams: UpstreamsPort
    settings: SettingsPort
    clock: Clock
    token: str
    numbers: Callable[[], Awaitable[Mapping[str, int]]]
    storage: Callable[[], Awaitable[Sequence[Json]]]
    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()
    request_limit_bytes: int = 10 * 1024 * 1024
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
