"""Fills the container of services that every face (API, ACP, MCP) uses."""

import asyncio
import os
import secrets
from contextlib import suppress
from functools import partial
from typing import assert_never

from anycowork.chats.chat_server_service import ChatServerService
from anycowork.chats.chat_service import ChatService
from anycowork.chats.compaction_service import CompactionService
from anycowork.chats.decision_service import DecisionService
from anycowork.chats.export.chat_export import ChatExport
from anycowork.chats.files.memory_service import MemoryService
from anycowork.chats.files.person_command_service import TerminalService
from anycowork.chats.files.symbol_service import SymbolService
from anycowork.chats.fork_service import ForkService
from anycowork.chats.jobs.earlier_plans import EarlierPlans
from anycowork.chats.jobs.job_audit import JobAudit
from anycowork.chats.jobs.job_commit_service import JobCommitService
from anycowork.chats.jobs.job_service import JobService
from anycowork.chats.limit_service import LimitService
from anycowork.chats.message_hooks import MessageHooks
from anycowork.chats.people_service import PeopleService, person_token_digest
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.queue_service import QueueService
from anycowork.chats.reader_view import ReaderViews
from anycowork.chats.role_service import RoleService
from anycowork.chats.schedules.schedule_runner import ScheduleRunner
from anycowork.chats.schedules.schedule_service import ScheduleService, TriggerService
from anycowork.chats.skill_service import SkillService
from anycowork.chats.trust_service import TrustService
from anycowork.domain.errors import NotFound
from anycowork.domain.principals import SERVER_PRINCIPAL, NodeKind
from anycowork.domain.values import replace
from anycowork.events.hub import Hub, Streams
from anycowork.mcp.manager import McpManager
from anycowork.providers.local.provider import LocalModels
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.passthrough import Passthrough
from anycowork.server.audit.audit_check import AuditService
from anycowork.server.browser_sessions import BrowserSessions
from anycowork.server.disk_usage import Maintenance, disk_usage
from anycowork.server.joined_workers import JoinedWorkers
from anycowork.server.model_connections import ModelConnections, SearchConnection
from anycowork.server.secrets.provider_keys import ProviderKeys
from anycowork.server.services import AccessServices, ModelServices, ServerServices, Services, WorkspaceServices
from anycowork.server.setup.agent_setup import build_rule_service, build_turn_hooks, gate_of, visibility_of
from anycowork.server.setup.file_setup import (
    build_file_services,
    build_person_commands,
    build_workspace_copies,
    person_shell,
)
from anycowork.server.setup.metrics_setup import ScrapedMetrics
from anycowork.server.setup.notification_setup import build_notifications
from anycowork.server.setup.shared_components import SharedComponents
from anycowork.server.setup.turn_setup import TurnRuntime
from anycowork.server.sign_on.openid_provider import OpenIdProvider
from anycowork.server.sign_on.sign_on_service import SignOnService
from anycowork.store.sql.database import Database
from anycowork.workflows.definition_files import DefinitionFiles
from anycowork.workflows.job_templates import JobTemplateService
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
    skills = SkillService(skills=shared.skills, workflows=workflows, find_workspace=shared.workspace_roots.find)
    hooks = build_turn_hooks(shared.hooks, shared.hook_runner, gate_of(shared), shared.workspaces, store)
    message_hooks = MessageHooks(hooks, chat_coordinator, clock)
    chats, access = (
        _build_chats(shared, turns, workflows, skills, message_hooks, maintenance),
        _build_access(shared, token),
    )
    files, plan_audit = build_file_services(shared), PlanAudit(store=store, toolbox=toolbox, cost_of=cost_of)
    workspaces, person_commands = _build_workspaces(shared), build_person_commands(shared)
    definitions = DefinitionFiles(shared.settings.data_dir)
    reader_views = ReaderViews(shared.database.rules)
    jobs = JobService(
        chat_coordinator=chat_coordinator,
        store=store,
        agents=shared.agents,
        coordinator=turns.coordinator,
        isolated=turns.isolated,
        clock=clock,
        cost_of=cost_of,
        parallel_tasks=shared.live_settings.parallel_tasks,
        hooks=message_hooks,
    )
    templates = JobTemplateService(shared.trusted_files.job_templates)
    schedules = _build_schedules(shared, chats, jobs, templates, workflows)
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
            chat_coordinator=chat_coordinator, store=store, providers=shared.providers, clock=clock, hooks=hooks
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
        memory=MemoryService(
            files=files.files,
            edits=files.edits,
            trust=workspaces.trust,
            instructions=shared.trusted_files.instructions,
            store=store,
        ),
        git=files.git,
        git_worktree=files.git_worktree,
        worktrees=files.worktrees,
        person_commands=person_commands,
        terminals=TerminalService(commands=person_commands, shell=person_shell(shared.settings)),
        pdf_texts=files.pdf_texts,
        symbols=SymbolService(store=store, rules=shared.database.rules, workspaces=shared.workspaces, toolbox=toolbox),
        decisions=DecisionService(
            chat_coordinator=chat_coordinator, store=store, toolbox=toolbox, clock=clock, questions=shared.questions
        ),
        jobs=jobs,
        job_audit=JobAudit(store=store, toolbox=toolbox, cost_of=cost_of),
        earlier_plans=EarlierPlans(chat_coordinator=chat_coordinator, store=store),
        job_commits=JobCommitService(
            chat_coordinator=chat_coordinator,
            store=store,
            isolated=turns.isolated,
            coordinator=turns.coordinator,
            rollback=turns.rollback,
            clock=clock,
            cost_of=cost_of,
        ),
        agents=shared.agents,
        rules=build_rule_service(shared),
        rollback=turns.rollback,
        plan_audit=plan_audit,
        export=ChatExport(store=store, plan_audit=plan_audit, clock=clock, views=reader_views),
        store=store,
        image_bytes=shared.database.blobs,
        workflows=workflows,
        skills=skills,
        hooks=shared.hooks,
        hook_runner=shared.hook_runner,
        workflow_editor=WorkflowEditor(files=shared.trusted_files, writer=definitions, toolbox=toolbox),
        job_templates=templates,
        notifications=build_notifications(shared),
        schedules=schedules,
        triggers=TriggerService(schedules=shared.database.schedules, service=schedules, clock=clock),
        streams=Streams(store.records, hub, shared.database.journal),
        roles=shared.roles,
        role_editor=RoleService(
            roles=shared.roles, files=definitions, journal=shared.database.journal, store=store, clock=clock
        ),
        toolbox=toolbox,
        prompts=shared.prompts,
        mcp=mcp,
        reader_views=reader_views,
        visibility=visibility_of(shared),
        chat_servers=ChatServerService(servers=mcp, store=store, journal=shared.database.journal, clock=clock),
        clock=clock,
        models=models,
        access=access,
        people=PeopleService(people=shared.database.people, end_sessions=access.sessions.end_all_of, clock=clock),
        limits=LimitService(
            limits=shared.database.limits, ledger=shared.database.ledger, people=shared.database.people, clock=clock
        ),
        workspaces=workspaces,
        server=_build_server(shared, metrics),
    )


def build_models(shared: SharedComponents, local: LocalModels, keys: ProviderKeys) -> ModelServices:
    live = shared.live_settings
    upstreams = Passthrough(shared.providers, Timeouts(first_byte=PASSTHROUGH_SECONDS, idle=live.provider_timeout()))

    def apply_timeout() -> None:
        upstreams.timeouts = replace(upstreams.timeouts, idle=live.provider_timeout())
        shared.providers.change_timeouts(Timeouts(idle=live.provider_timeout()))

    live.pass_on("provider_timeout", apply_timeout)
    return ModelServices(
        providers=shared.providers,
        connections=ModelConnections(shared.live_settings, shared.providers, keys),
        local=local,
        upstreams=upstreams,
        search=SearchConnection(shared.live_settings, keys, shared.toolbox, shared.egress),
    )


def _build_chats(
    shared: SharedComponents,
    turns: TurnRuntime,
    workflows: WorkflowService,
    skills: SkillService,
    hooks: MessageHooks,
    maintenance: Maintenance,
) -> ChatService:
    return ChatService(
        chat_coordinator=turns.chat_coordinator,
        store=shared.database.store,
        roles=shared.roles,
        prompts=shared.prompts,
        workflows=workflows,
        skills=skills,
        hooks=hooks,
        providers=shared.providers,
        clock=shared.clock,
        find_workspace=shared.workspace_roots.find,
        image_bytes=shared.database.blobs,
        removed=maintenance.soon,
        visibility=visibility_of(shared),
        holds_commands=shared.sandbox_setup.sandbox is not None,
    )


def _build_schedules(
    shared: SharedComponents,
    chats: ChatService,
    jobs: JobService,
    templates: JobTemplateService,
    workflows: WorkflowService,
) -> ScheduleService:
    database, clock = shared.database, shared.clock
    runner = ScheduleRunner(
        schedules=database.schedules,
        people=database.people,
        chats=chats,
        jobs=jobs,
        templates=templates,
        store=database.store,
        clock=clock,
    )
    return ScheduleService(
        schedules=database.schedules,
        runner=runner,
        roles=shared.roles,
        workflows=workflows,
        templates=templates,
        store=database.store,
        find_workspace=shared.workspace_roots.find,
        clock=clock,
    )


def _build_access(shared: SharedComponents, token: str) -> AccessServices:
    settings, database = shared.settings, shared.database
    sessions = BrowserSessions(
        settings.data_dir, token, shared.clock, partial(_end_made, database, _joined_workers(shared))
    )
    return AccessServices(
        token=token,
        people=database.people,
        limits=database.limits,
        keys=database.principals,
        sessions=sessions,
        sign_on=_build_sign_on(shared, sessions, token),
        ledger=database.ledger,
        receipts=database.idempotency,
        host=settings.host,
        allowed_hosts=shared.live_settings.allowed_hosts,
        request_limit_bytes=settings.request_limit_bytes,
    )


def _build_sign_on(shared: SharedComponents, sessions: BrowserSessions, token: str) -> SignOnService | None:
    entry = shared.settings.openid
    if entry is None:
        return None
    secret = partial(os.environ.get, entry.client_secret_env) if entry.client_secret_env else lambda: None
    provider = OpenIdProvider(entry, secret, shared.clock)

    def page_url() -> str | None:
        return shared.live_settings.notifications().page_url

    return SignOnService(provider, shared.database.people, sessions, shared.clock, token, page_url)


def _joined_workers(shared: SharedComponents) -> JoinedWorkers:
    return JoinedWorkers(shared.database.joined_workers, shared.remote_runs, shared.clock)


async def _end_made(database: Database, joined_workers: JoinedWorkers, kind: NodeKind, id_: str) -> None:
    """Ends what a revoked session made. Somebody may have ended it before."""
    by = SERVER_PRINCIPAL.label()
    with suppress(NotFound):
        match kind:
            case NodeKind.KEY:
                await database.principals.revoke(id_)
            case NodeKind.PERSON:
                await database.people.remove(id_, by=by)
            case NodeKind.TOKEN:
                await database.people.set_token(id_, person_token_digest(secrets.token_urlsafe(32)), by=by)
            case NodeKind.INVITE:
                await joined_workers.withdraw(id_)
            case NodeKind.SESSION | NodeKind.CODE:
                raise ValueError(f"{kind} is ended by the sessions themselves")
            case _:
                assert_never(kind)


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
    stopping = asyncio.Event()
    shared.remote_runs.is_stopping = stopping.is_set
    return ServerServices(
        stopping=stopping,
        settings=shared.live_settings,
        metrics=metrics,
        storage=partial(asyncio.to_thread, disk_usage, settings, shared.sandbox_setup.staging),
        forward=peers.requests.forward if peers is not None else None,
        workers=peers.table.workers if peers is not None else None,
        database_away=peers.away if peers is not None else asyncio.Event(),
        audit=AuditService(settings, shared.clock),
        joined_workers=_joined_workers(shared),
    )
