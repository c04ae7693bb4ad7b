"""The composition root: the only file that knows every package. It builds the services, recovers from a crash, and serves them."""

import asyncio
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial

from starlette.types import ASGIApp

from anycowork.api.application import create_api, create_worker_api
from anycowork.api.middleware.held_chats import answer_here
from anycowork.chats.chat_coordinator import ChatCoordinator
from anycowork.chats.chat_export import ChatExport
from anycowork.chats.chat_service import ChatService
from anycowork.chats.compaction_service import CompactionService
from anycowork.chats.decision_service import DecisionService
from anycowork.chats.distributed_chat_locks import SingleServerOwnership
from anycowork.chats.earlier_plans import EarlierPlans
from anycowork.chats.fork_service import ForkService
from anycowork.chats.job_audit import JobAudit
from anycowork.chats.job_commit_service import JobCommitService
from anycowork.chats.job_service import JobService
from anycowork.chats.plan_audit import PlanAudit
from anycowork.chats.queue_service import QueueService
from anycowork.chats.role_service import RoleService
from anycowork.chats.rollback_service import RollbackService
from anycowork.chats.services import (
    AccessServices,
    ModelServices,
    ServerServices,
    Services,
    WorkspaceServices,
)
from anycowork.chats.symbol_service import SymbolService
from anycowork.chats.task_turns import TaskTurns
from anycowork.chats.trust_service import TrustService
from anycowork.chats.turn_recovery import TurnRecovery
from anycowork.chats.turn_scheduler import TurnScheduler
from anycowork.config.known_models import known_models
from anycowork.config.settings import Settings
from anycowork.domain.engine import Engine
from anycowork.domain.errors import StorageFault
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.engine.dbos_engine import DbosEngine
from anycowork.engine.local import InProcessEngine
from anycowork.events.hub import Hub
from anycowork.events.stream import Streams
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.mcp.manager import McpManager
from anycowork.providers.discovery import LocalServerWatcher
from anycowork.providers.local.models import LocalModels
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.openai.passthrough import Passthrough
from anycowork.providers.registry import ProviderRegistry
from anycowork.sandbox.egress import Egress
from anycowork.sandbox.network import Network
from anycowork.server.agent_setup import build_rule_service, build_scheduler
from anycowork.server.announcement import Announcement, NewCode
from anycowork.server.audit_service import AuditService
from anycowork.server.browser_sessions import BrowserSessions
from anycowork.server.clock import SystemClock
from anycowork.server.crash_recovery import recover_after_crash
from anycowork.server.data_folder import ServerInfo, load_or_create_token, lock_data_folder
from anycowork.server.database_setup import open_database
from anycowork.server.definition_files import DefinitionFiles
from anycowork.server.disk_usage import disk_usage
from anycowork.server.file_setup import build_file_services, build_person_commands, build_workspace_copies
from anycowork.server.live_settings import LiveSettings, provider_configs
from anycowork.server.maintenance import Maintenance
from anycowork.server.model_connections import ModelConnections
from anycowork.server.peer_setup import (
    build_job_engine,
    join_peers,
    rest_later,
    server_watches,
    takes_none,
    takes_turn,
    worker_watches,
)
from anycowork.server.provider_keys import ProviderKeys
from anycowork.server.server_peers import build_locks
from anycowork.server.shared_components import (
    add_delegates,
    build_isolated_tasks,
    build_local_models,
    build_mcp_manager,
    build_shared_components,
)
from anycowork.server.stall_watchdog import StallWatch
from anycowork.server.uvicorn_server import serve_app, tune_gc
from anycowork.store.sql.database import Database
from anycowork.workflows.template_service import JobTemplateService
from anycowork.workflows.workflow_editor import WorkflowEditor
from anycowork.workflows.workflow_service import WorkflowService

log = logging.getLogger(__name__)
JOIN_AGAIN_SECONDS = 1.0
PASSTHROUGH_SECONDS = 600.0  # as long as OpenAI's own clients wait for an answer to begin


@value
class RunningServer:
    """All open parts of a running server, until the block that opened it ends."""

    settings: LiveSettings
    database: Database
    providers: ProviderRegistry
    scheduler: TurnScheduler
    engine: Engine
    job_engine: DbosEngine | None
    """Hands jobs to workers, if the database is shared."""
    coordinator: JobCoordinator
    chats: ChatService
    local: LocalModels
    maintenance: Maintenance
    mcp: McpManager
    services: Services
    app: ASGIApp
    stopping: asyncio.Event
    lost: asyncio.Event
    """Set when others took over what this process did: it must be built anew."""
    peer_watches: tuple[Coroutine[None, None, None], ...] = ()


@asynccontextmanager
async def start_services(
    settings: Settings,
    clock: Clock | None = None,
    *,
    token: str,
    outside: Network | None = None,
    worker_jobs: int | None = None,
) -> AsyncIterator[RunningServer]:
    """Builds all services and recovers what the last server left; requests are served after that. `outside` is the network of commands.

    With `worker_jobs` it is a worker, which runs so many jobs of the database at the same time and nothing else.
    Raises: StorageFault, BadWorkspace.
    """
    clock = clock or SystemClock()
    hub = Hub(heartbeat_seconds=settings.heartbeat_seconds)
    is_worker = worker_jobs is not None
    database = await open_database(settings, clock, hub.publish, hub.chats_changed, is_worker=is_worker)
    keys = await asyncio.to_thread(ProviderKeys, settings.data_dir)
    providers = ProviderRegistry(
        provider_configs(settings),
        default=settings.model,
        environment=os.environ,
        stored_key=keys.find,
        timeouts=Timeouts(idle=settings.provider_timeout),
        catalog=known_models(settings.data_dir),
    )
    stalls = StallWatch()
    try:
        async with asyncio.TaskGroup() as tasks:
            server = await _build_services(
                settings,
                clock,
                token,
                hub=hub,
                database=database,
                providers=providers,
                provider_keys=keys,
                tasks=tasks,
                egress=Egress(outside),
                stalls=stalls,
                worker_jobs=worker_jobs,
            )
            watches = [tasks.create_task(server.local.watch()), tasks.create_task(server.maintenance.keep_up())]
            watches += [tasks.create_task(watch) for watch in server.peer_watches]
            if settings.probe_local_servers:
                watches.append(tasks.create_task(LocalServerWatcher(providers).watch()))
            try:
                with stalls.watching(asyncio.get_running_loop()):
                    yield server
            finally:
                server.stopping.set()
                for watch in watches:
                    watch.cancel()
                server.coordinator.close()
                server.services.queue.close()
                await server.services.person_commands.aclose()
                await _interrupt_turns(server)
                await server.engine.aclose()
                if server.job_engine is not None:
                    await server.job_engine.aclose()
                await server.local.aclose()
                await server.mcp.aclose()
    finally:
        await providers.aclose()
        await database.aclose()


async def _interrupt_turns(server: RunningServer) -> None:
    """Ends the running turns. Where others share the database, one of them does so if it is away."""
    try:
        await server.scheduler.interrupt_all()
    except StorageFault as error:
        if server.database.peers is None:
            raise
        log.warning("another process ends the turns that ran here: %s", error.message)


async def _numbers(database: Database, stalls: StallWatch) -> dict[str, int]:
    return {**await database.store.numbers(), **stalls.numbers()}


async def _build_services(
    settings: Settings,
    clock: Clock,
    token: str,
    *,
    hub: Hub,
    database: Database,
    providers: ProviderRegistry,
    provider_keys: ProviderKeys,
    tasks: asyncio.TaskGroup,
    egress: Egress,
    stalls: StallWatch,
    worker_jobs: int | None,
) -> RunningServer:
    is_worker = worker_jobs is not None
    shared = await build_shared_components(settings, clock, database, providers, egress, is_worker=is_worker)
    mcp = build_mcp_manager(settings, shared, egress, tasks)
    add_delegates(shared, settings, egress, providers)
    journal, store = database.journal, database.store
    workspaces, snapshots = shared.workspaces, shared.snapshots
    recovery = TurnRecovery(
        journal=journal,
        store=store,
        rows=store,
        workspaces=workspaces,
        snapshots=snapshots,
        toolbox=shared.toolbox,
        clock=clock,
    )
    rollback = RollbackService(
        journal=journal, store=store, rows=store, workspaces=workspaces, snapshots=snapshots, clock=clock
    )
    scheduler = build_scheduler(shared, clock, database, providers, recovery, tasks)
    engine = InProcessEngine(tasks)
    turns = TaskTurns(engine=engine, scheduler=scheduler, store=store, clock=clock, tasks=tasks)
    locks = build_locks(database, database.peers, turns, waits=not is_worker) if database.peers is not None else None
    job_engine = None
    if database.peers is not None:
        job_engine = build_job_engine(settings, database.peers, shared, worker_jobs=worker_jobs)
        turns.placement = await join_peers(database.peers, shared, store, job_engine, is_worker=is_worker)
    takes = partial(takes_turn, turns, is_worker)
    await recover_after_crash(
        shared.sandbox_setup.staging,
        database,
        None if is_worker else rollback,
        recovery,
        turns,
        locks or SingleServerOwnership(),
        takes_none if is_worker else takes,
    )
    chat_coordinator = ChatCoordinator(journal=journal, store=store, scheduler=turns, locks=locks)
    isolated = build_isolated_tasks(settings, shared, database, clock)
    coordinator = JobCoordinator(
        journal=journal,
        store=store,
        turns=chat_coordinator,
        agents=shared.agents,
        isolated=isolated,
        clock=clock,
        tasks=tasks,
        parallel_tasks=shared.live_settings.parallel_tasks,
        placement=turns.placement,
    )
    maintenance = Maintenance(receipts=database.idempotency, snapshots=snapshots, staging=shared.sandbox_setup.staging)
    workflows = WorkflowService(
        files=shared.trusted_files, toolbox=shared.toolbox, roles=shared.roles, prompts=mcp.workflows
    )
    chats = ChatService(
        chat_coordinator=chat_coordinator,
        store=store,
        roles=shared.roles,
        prompts=shared.prompts,
        workflows=workflows,
        providers=providers,
        clock=clock,
        find_workspace=shared.workspace_roots.find,
        image_bytes=database.blobs,
        removed=maintenance.soon,
        holds_commands=shared.sandbox_setup.sandbox is not None,
    )
    queue = QueueService(chat_coordinator=chat_coordinator, chats=chats, store=store, clock=clock, tasks=tasks)

    def on_rest(chat_id: str) -> None:
        coordinator.wake(chat_id)
        queue.wake(chat_id)

    scheduler.on_rest = on_rest
    if locks is not None:
        locks.is_due = coordinator.is_woken
        coordinator.on_done = partial(rest_later, tasks, locks)
    await coordinator.resume_all(wakes=not is_worker)
    if not is_worker:
        await queue.resume_all()
    local = build_local_models(settings, providers, tasks)
    local.offer()
    plan_audit = PlanAudit(store=store, toolbox=shared.toolbox, cost_of=shared.live_settings.cost)
    definitions = DefinitionFiles(settings.data_dir)
    file_services = build_file_services(shared, database, clock)
    services = Services(
        chats=chats,
        queue=queue,
        compaction=CompactionService(chat_coordinator=chat_coordinator, store=store, providers=providers, clock=clock),
        forks=ForkService(
            chat_coordinator=chat_coordinator,
            chats=chats,
            rollback=rollback,
            copies=build_workspace_copies(settings, shared, database, rollback, clock),
            store=store,
            clock=clock,
        ),
        files=file_services.files,
        file_edits=file_services.edits,
        git=file_services.git,
        worktrees=file_services.worktrees,
        person_commands=build_person_commands(settings, shared, database, clock, tasks),
        pdf_texts=file_services.pdf_texts,
        symbols=SymbolService(store=store, rules=database.rules, workspaces=workspaces, toolbox=shared.toolbox),
        decisions=DecisionService(
            chat_coordinator=chat_coordinator,
            store=store,
            toolbox=shared.toolbox,
            clock=clock,
            questions=shared.questions,
        ),
        jobs=JobService(
            chat_coordinator=chat_coordinator,
            store=store,
            agents=shared.agents,
            coordinator=coordinator,
            isolated=isolated,
            clock=clock,
            cost_of=shared.live_settings.cost,
            parallel_tasks=shared.live_settings.parallel_tasks,
        ),
        job_audit=JobAudit(store=store, toolbox=shared.toolbox, cost_of=shared.live_settings.cost),
        earlier_plans=EarlierPlans(chat_coordinator=chat_coordinator, store=store),
        job_commits=JobCommitService(
            chat_coordinator=chat_coordinator,
            store=store,
            isolated=isolated,
            rollback=rollback,
            clock=clock,
            cost_of=shared.live_settings.cost,
        ),
        agents=shared.agents,
        rules=build_rule_service(shared, clock, database),
        rollback=rollback,
        plan_audit=plan_audit,
        export=ChatExport(store=store, plan_audit=plan_audit, clock=clock),
        store=store,
        image_bytes=database.blobs,
        workflows=workflows,
        workflow_editor=WorkflowEditor(files=shared.trusted_files, writer=definitions, toolbox=shared.toolbox),
        job_templates=JobTemplateService(shared.trusted_files.job_templates),
        streams=Streams(store, hub),
        roles=shared.roles,
        role_editor=RoleService(roles=shared.roles, files=definitions, journal=journal, store=store, clock=clock),
        toolbox=shared.toolbox,
        prompts=shared.prompts,
        mcp=mcp,
        clock=clock,
        models=ModelServices(
            providers=providers,
            connections=ModelConnections(shared.live_settings, providers, provider_keys),
            local=local,
            upstreams=Passthrough(providers, Timeouts(first_byte=PASSTHROUGH_SECONDS, idle=settings.provider_timeout)),
        ),
        access=AccessServices(
            token=token,
            keys=database.principals,
            sessions=BrowserSessions(settings.data_dir, token, clock),
            ledger=database.ledger,
            receipts=database.idempotency,
            host=settings.host,
            allowed_hosts=settings.allowed_hosts,
            request_limit_bytes=settings.request_limit_bytes,
        ),
        workspaces=WorkspaceServices(
            roots=shared.workspace_roots,
            trusted_files=shared.trusted_files,
            trust=TrustService(
                files=shared.trusted_files,
                journal=journal,
                store=store,
                clock=clock,
                find_workspace=shared.workspace_roots.find,
            ),
            find=shared.workspace_roots.find,
        ),
        server=ServerServices(
            settings=shared.live_settings,
            numbers=partial(_numbers, database, stalls),
            storage=partial(asyncio.to_thread, disk_usage, settings, shared.sandbox_setup.staging),
            forwarder=database.peers.requests if database.peers is not None else None,
            workers=database.peers.table.workers if database.peers is not None else None,
            database_away=database.peers.away if database.peers is not None else asyncio.Event(),
            audit=AuditService(settings, clock),
        ),
    )
    app = create_worker_api(services) if is_worker else create_api(services)
    lost, stopping = asyncio.Event(), services.server.stopping
    watches: tuple[Coroutine[None, None, None], ...] = ()
    if locks is not None and job_engine is not None:
        known = (database, hub, locks, recovery, turns, on_rest, takes, coordinator, job_engine, lost)
        watches = worker_watches(*known, partial(answer_here, app)) if is_worker else server_watches(*known, stopping)
    return RunningServer(
        shared.live_settings,
        database,
        providers,
        scheduler,
        engine,
        job_engine,
        coordinator,
        chats,
        local,
        maintenance,
        mcp,
        services,
        app,
        stopping,
        lost,
        watches,
    )


# --- serving


async def serve(
    settings: Settings,
    *,
    ready: Callable[[ServerInfo, NewCode], None] | None = None,
    handle_signals: bool = False,
) -> None:
    """Runs the data folder's only server until it is told to stop. `ready` gets a function that makes one-time sign-in codes.

    A server whose chats others took over while it did not answer drops what it had begun, and joins again at the same address.
    Raises: AlreadyRunning, CannotListen, StorageFault, BadWorkspace.
    """
    clock = SystemClock()
    with lock_data_folder(settings.data_dir) as folder:
        token = load_or_create_token(settings.data_dir, settings.token).get_secret_value()
        announcement = Announcement(settings, folder, clock, ready)
        while True:
            lost: asyncio.Event | None = None
            try:
                async with start_services(settings, clock, token=token) as server:
                    lost = server.lost
                    tune_gc()
                    await serve_app(
                        server.app,
                        announcement.address,
                        stopping=server.stopping,
                        ready=partial(announcement.publish, server.services.access.sessions),
                        handle_signals=handle_signals,
                    )
            except* StorageFault:
                if not announcement.published or (lost is not None and not lost.is_set()):
                    raise
                await asyncio.sleep(JOIN_AGAIN_SECONDS)
            if lost is not None and not lost.is_set():
                return


# --- working


async def work(
    settings: Settings, *, most_jobs: int, stopping: asyncio.Event, ready: Callable[[], None] = lambda: None
) -> None:
    """Runs jobs of the database until `stopping` is set. The tasks at work then get a while to end; the rest is left to other processes.

    A worker that lost the database stops all it does, and joins again as a new one. `ready` is called after each join.
    Raises: AlreadyRunning, StorageFault if it cannot join at the first time.
    """
    joined = False
    with lock_data_folder(settings.data_dir):
        while not stopping.is_set():
            try:
                async with start_services(settings, token=secrets.token_urlsafe(32), worker_jobs=most_jobs) as services:
                    joined, engine = True, services.job_engine
                    assert engine is not None
                    tune_gc()
                    await _first_of(stopping, services.lost, engine.started)
                    if engine.started.is_set():
                        ready()
                    await _first_of(stopping, services.lost)
                    if not services.lost.is_set():
                        services.coordinator.close()
                        engine.take_no_more()
                        await services.scheduler.finish(settings.shutdown_seconds)
            except* StorageFault:
                if not joined:
                    raise
                with suppress(TimeoutError):
                    async with asyncio.timeout(JOIN_AGAIN_SECONDS):
                        await stopping.wait()


async def _first_of(*events: asyncio.Event) -> None:
    """Returns when one of them is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
