"""Fills the container of services that every face (API, ACP, MCP) uses."""

import asyncio
from functools import partial

from anycowork.chats.chat_export import ChatExport
from anycowork.chats.chat_service import ChatService
from anycowork.chats.compaction_service import CompactionService
from anycowork.chats.decision_service import DecisionService
from anycowork.chats.earlier_plans import EarlierPlans
from anycowork.chats.fork_service import ForkService
from anycowork.chats.job_audit import JobAudit
from anycowork.chats.job_commit_service import JobCommitService
from anycowork.chats.job_service import JobService
from anycowork.chats.people_service import PeopleService
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.queue_service import QueueService
from anycowork.chats.role_service import RoleService
from anycowork.chats.services import AccessServices, ModelServices, ServerServices, Services, WorkspaceServices
from anycowork.chats.symbol_service import SymbolService
from anycowork.chats.trust_service import TrustService
from anycowork.events.hub import Hub
from anycowork.events.stream import Streams
from anycowork.mcp.manager import McpManager
from anycowork.providers.local.models import LocalModels
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.passthrough import Passthrough
from anycowork.server.agent_setup import build_rule_service
from anycowork.server.audit_service import AuditService
from anycowork.server.browser_sessions import BrowserSessions
from anycowork.server.definition_files import DefinitionFiles
from anycowork.server.disk_usage import disk_usage
from anycowork.server.file_setup import build_file_services, build_person_commands, build_workspace_copies
from anycowork.server.maintenance import Maintenance
from anycowork.server.metrics_setup import ScrapedMetrics
from anycowork.server.model_connections import ModelConnections
from anycowork.server.provider_keys import ProviderKeys
from anycowork.server.shared_components import SharedComponents
from anycowork.server.turn_setup import TurnRuntime
from anycowork.workflows.template_service import JobTemplateService
from anycowork.workflows.workflow_editor import WorkflowEditor
from anycowork.workflows.workflow_service import WorkflowService

PASSTHROUGH_SECONDS = 600.0  # as long as OpenAI's own clients wait for an answer to begin


def build_services(
    shared: SharedComponents,
    turns: TurnRuntime,
    *,
    token: str,
    hub: Hub,
    mcp: McpManager,
    models: ModelServices,
    maintenance: Maintenance,
    metrics: ScrapedMetrics,
) -> Services:
    store, clock, toolbox, chat_coordinator = (
        shared.database.store,
        shared.clock,
        shared.toolbox,
        turns.chat_coordinator,
    )
    cost_of = shared.live_settings.cost
    workflows = WorkflowService(files=shared.trusted_files, toolbox=toolbox, roles=shared.roles, prompts=mcp.workflows)
    chats, access = _build_chats(shared, turns, workflows, maintenance), _build_access(shared, token)
    files, plan_audit = build_file_services(shared), PlanAudit(store=store, toolbox=toolbox, cost_of=cost_of)
    definitions = DefinitionFiles(shared.settings.data_dir)
    return Services(
        chats=chats,
        queue=QueueService(
            chat_coordinator=chat_coordinator,
            chats=chats,
            store=store,
            people=shared.database.people,
            clock=clock,
            tasks=shared.tasks,
        ),
        compaction=CompactionService(
            chat_coordinator=chat_coordinator, store=store, providers=shared.providers, clock=clock
        ),
        forks=ForkService(
            chat_coordinator=chat_coordinator,
            chats=chats,
            rollback=turns.rollback,
            copies=build_workspace_copies(shared, turns.rollback),
            store=store,
            clock=clock,
        ),
        files=files.files,
        file_edits=files.edits,
        git=files.git,
        worktrees=files.worktrees,
        person_commands=build_person_commands(shared),
        pdf_texts=files.pdf_texts,
        symbols=SymbolService(store=store, rules=shared.database.rules, workspaces=shared.workspaces, toolbox=toolbox),
        decisions=DecisionService(
            chat_coordinator=chat_coordinator, store=store, toolbox=toolbox, clock=clock, questions=shared.questions
        ),
        jobs=JobService(
            chat_coordinator=chat_coordinator,
            store=store,
            agents=shared.agents,
            coordinator=turns.coordinator,
            isolated=turns.isolated,
            clock=clock,
            cost_of=cost_of,
            parallel_tasks=shared.live_settings.parallel_tasks,
        ),
        job_audit=JobAudit(store=store, toolbox=toolbox, cost_of=cost_of),
        earlier_plans=EarlierPlans(chat_coordinator=chat_coordinator, store=store),
        job_commits=JobCommitService(
            chat_coordinator=chat_coordinator,
            store=store,
            isolated=turns.isolated,
            rollback=turns.rollback,
            clock=clock,
            cost_of=cost_of,
        ),
        agents=shared.agents,
        rules=build_rule_service(shared),
        rollback=turns.rollback,
        plan_audit=plan_audit,
        export=ChatExport(store=store, plan_audit=plan_audit, clock=clock),
        store=store,
        image_bytes=shared.database.blobs,
        workflows=workflows,
        workflow_editor=WorkflowEditor(files=shared.trusted_files, writer=definitions, toolbox=toolbox),
        job_templates=JobTemplateService(shared.trusted_files.job_templates),
        streams=Streams(store, hub, shared.database.journal),
        roles=shared.roles,
        role_editor=RoleService(
            roles=shared.roles, files=definitions, journal=shared.database.journal, store=store, clock=clock
        ),
        toolbox=toolbox,
        prompts=shared.prompts,
        mcp=mcp,
        clock=clock,
        models=models,
        access=access,
        people=PeopleService(people=shared.database.people, sessions=access.sessions, clock=clock),
        workspaces=_build_workspaces(shared),
        server=_build_server(shared, metrics),
    )


def build_models(shared: SharedComponents, local: LocalModels, keys: ProviderKeys) -> ModelServices:
    timeouts = Timeouts(first_byte=PASSTHROUGH_SECONDS, idle=shared.settings.provider_timeout)
    return ModelServices(
        providers=shared.providers,
        connections=ModelConnections(shared.live_settings, shared.providers, keys),
        local=local,
        upstreams=Passthrough(shared.providers, timeouts),
    )


def _build_chats(
    shared: SharedComponents, turns: TurnRuntime, workflows: WorkflowService, maintenance: Maintenance
) -> ChatService:
    return ChatService(
        chat_coordinator=turns.chat_coordinator,
        store=shared.database.store,
        roles=shared.roles,
        prompts=shared.prompts,
        workflows=workflows,
        providers=shared.providers,
        clock=shared.clock,
        find_workspace=shared.workspace_roots.find,
        image_bytes=shared.database.blobs,
        removed=maintenance.soon,
        holds_commands=shared.sandbox_setup.sandbox is not None,
    )


def _build_access(shared: SharedComponents, token: str) -> AccessServices:
    settings, database = shared.settings, shared.database
    return AccessServices(
        token=token,
        people=database.people,
        keys=database.principals,
        sessions=BrowserSessions(settings.data_dir, token, shared.clock),
        ledger=database.ledger,
        receipts=database.idempotency,
        host=settings.host,
        allowed_hosts=settings.allowed_hosts,
        request_limit_bytes=settings.request_limit_bytes,
    )


def _build_workspaces(shared: SharedComponents) -> WorkspaceServices:
    trust = TrustService(
        files=shared.trusted_files,
        journal=shared.database.journal,
        store=shared.database.store,
        clock=shared.clock,
        find_workspace=shared.workspace_roots.find,
    )
    return WorkspaceServices(
        roots=shared.workspace_roots,
        trusted_files=shared.trusted_files,
        trust=trust,
        find=shared.workspace_roots.find,
    )


def _build_server(shared: SharedComponents, metrics: ScrapedMetrics) -> ServerServices:
    settings, peers = shared.settings, shared.database.peers
    return ServerServices(
        settings=shared.live_settings,
        metrics=metrics,
        storage=partial(asyncio.to_thread, disk_usage, settings, shared.sandbox_setup.staging),
        forwarder=peers.requests if peers is not None else None,
        workers=peers.table.workers if peers is not None else None,
        database_away=peers.away if peers is not None else asyncio.Event(),
        audit=AuditService(settings, shared.clock),
    )
