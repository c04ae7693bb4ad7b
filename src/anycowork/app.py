"""The composition root. It opens the database, has the `*_setup` modules of `server/` build the services, and serves them."""

import asyncio
import logging
import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

from starlette.types import ASGIApp

from anycowork.api.application import build_routes, create_api, create_forwarded_api
from anycowork.api.middleware.held_chats import answer_here
from anycowork.chats.chat_service import ChatService
from anycowork.config.known_models import known_models
from anycowork.config.settings import Settings
from anycowork.domain.errors import DatabaseUnreachable, StorageFault
from anycowork.domain.ports import Clock
from anycowork.domain.values import value
from anycowork.engine.dbos_engine import DbosEngine
from anycowork.events.hub import Hub
from anycowork.jobs.coordinator import JobCoordinator
from anycowork.mcp.manager import McpManager
from anycowork.providers.discovery import LocalServerWatcher
from anycowork.providers.local.provider import LocalModels
from anycowork.providers.openai.completion_stream import Timeouts
from anycowork.providers.registry import ProviderRegistry
from anycowork.sandbox.network.dialer import Network
from anycowork.sandbox.network.egress import Egress
from anycowork.sandbox.workspaces import Workspaces
from anycowork.server.clock import SystemClock
from anycowork.server.cluster.peer_setup import PeerRuntime, server_watches, worker_watches
from anycowork.server.data_folder import ServerInfo, load_or_create_token, lock_data_folder
from anycowork.server.disk_usage import Maintenance
from anycowork.server.live_settings import LiveSettings, provider_configs
from anycowork.server.secrets.provider_keys import ProviderKeys
from anycowork.server.services import Services
from anycowork.server.setup.database_setup import open_database, stored_rows_required
from anycowork.server.setup.metrics_setup import build_metrics
from anycowork.server.setup.service_setup import build_models, build_services
from anycowork.server.setup.shared_components import (
    add_delegates,
    build_local_models,
    build_mcp_manager,
    build_shared_components,
)
from anycowork.server.setup.turn_setup import build_turn_runtime
from anycowork.server.stall_watchdog import StallWatch, stall_log_level
from anycowork.server.uvicorn_server import Announcement, NewCode, serve_app, tune_gc
from anycowork.store.postgres.address import read_address
from anycowork.store.sql.database import Database
from anycowork.telemetry.server_log import LogSecrets, server_log
from anycowork.telemetry.telemetry import ServerTelemetry
from anycowork.tools.language.language_servers import LanguageServers
from anycowork.turns.turn_scheduler import TurnScheduler

log = logging.getLogger(__name__)
Fault = TypeVar("Fault", bound=StorageFault)
JOIN_AGAIN_SECONDS = 1.0
MOST_JOIN_SECONDS = 5.0


@value
class RunningServer:
    """All open parts of a running server, until the block that opened it ends."""

    settings: LiveSettings
    database: Database
    providers: ProviderRegistry
    scheduler: TurnScheduler
    job_engine: DbosEngine | None
    """Hands jobs to workers, if the database is shared."""
    coordinator: JobCoordinator
    chats: ChatService
    local: LocalModels
    maintenance: Maintenance
    mcp: McpManager
    language_servers: LanguageServers | None
    workspaces: Workspaces
    services: Services
    telemetry: ServerTelemetry
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
    log_secrets: LogSecrets | None = None,
) -> AsyncIterator[RunningServer]:
    """Builds all services and recovers what the last server left; requests are served after that. `outside` is the network of commands.

    With `worker_jobs` it is a worker, which runs so many jobs of the database at the same time. `log_secrets` learns the keys and tokens
    that the log must not hold. Raises: StorageFault, BadWorkspace.
    """
    clock = clock or SystemClock()
    hub = Hub(heartbeat_seconds=settings.heartbeat_seconds, shared=settings.database_url is not None)
    is_worker = worker_jobs is not None
    database = await open_database(settings, clock, hub.publish, hub.chats_changed, is_worker=is_worker)
    keys = await asyncio.to_thread(ProviderKeys, settings.data_dir)
    providers = ProviderRegistry(
        provider_configs(settings),
        default=settings.model,
        environment=os.environ,
        stored_key=keys.find,
        timeouts=Timeouts(idle=settings.provider_timeout),
        find_facts=known_models(settings.data_dir).facts,
        is_worker=is_worker,
    )
    log_secrets = log_secrets or LogSecrets()
    log_secrets.add(keys.values)
    log_secrets.add(providers.keys)
    stalls = StallWatch(stall_log_level(settings.log_format, sys.stderr))
    try:
        async with asyncio.TaskGroup() as tasks:
            with stored_rows_required(settings):
                server = await _build_server(
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
            log_secrets.add(server.mcp.secret_values)
            watches = [tasks.create_task(server.local.watch()), tasks.create_task(server.maintenance.keep_up())]
            watches += [tasks.create_task(watch) for watch in server.peer_watches]
            if not is_worker:
                services = server.services
                workers = (services.schedules.runner, services.notifications.notifier, services.access.sign_on)
                watches += [tasks.create_task(worker.keep_up()) for worker in workers if worker is not None]
            watcher = LocalServerWatcher(providers, is_wanted=server.settings.probe_local_servers)
            server.settings.pass_on("probe_local_servers", watcher.changed.set)
            watches.append(tasks.create_task(watcher.watch()))
            server.scheduler.open(lambda chat_id, show_wait: watcher.looked.wait(), server.mcp.until_tried)
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
                if server.job_engine is not None:
                    await server.job_engine.aclose()
                await server.local.aclose()
                await server.mcp.aclose()
                if server.language_servers is not None:
                    await server.language_servers.aclose()
                await asyncio.to_thread(server.workspaces.mounts.end_all)
                await server.telemetry.aclose()
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


async def _build_server(
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
    shared = await build_shared_components(settings, clock, database, providers, egress, tasks, is_worker=is_worker)
    mcp = build_mcp_manager(shared)
    add_delegates(shared)
    turns = await build_turn_runtime(shared, worker_jobs)
    staging = shared.sandbox_setup.staging
    maintenance = Maintenance(receipts=database.idempotency, snapshots=shared.snapshots, staging=staging)
    local = build_local_models(shared)
    services = build_services(
        shared,
        turns,
        token=token,
        hub=hub,
        mcp=mcp,
        models=build_models(shared, local, provider_keys),
        maintenance=maintenance,
        metrics=build_metrics(shared, shared.telemetry.metrics, hub, stalls),
    )

    def on_rest(chat_id: str) -> None:
        turns.coordinator.wake(chat_id)
        services.queue.wake(chat_id)
        services.schedules.runner.on_rest()

    if not is_worker:
        await services.git.settle_after_crash()
    await turns.resume(on_rest)
    if not is_worker:
        await services.queue.resume_all()
    local.offer()
    routes = build_routes(services)
    forwarded = create_forwarded_api(routes)
    app = forwarded if is_worker else create_api(services, routes)
    lost, stopping = asyncio.Event(), services.server.stopping
    watches: tuple[Coroutine[None, None, None], ...] = ()
    if turns.locks is not None and turns.job_engine is not None:
        assert database.peers is not None
        runtime = PeerRuntime(
            database=database,
            peers=database.peers,
            hub=hub,
            locks=turns.locks,
            recovery=turns.recovery,
            scheduler=turns.scheduler,
            on_rest=on_rest,
            takes=turns.takes,
            coordinator=turns.coordinator,
            engine=turns.job_engine,
            lost=lost,
            workspaces=shared.workspaces,
        )
        answer = partial(answer_here, forwarded)
        watches = worker_watches(runtime, answer) if is_worker else server_watches(runtime, stopping, answer)
    return RunningServer(
        settings=shared.live_settings,
        database=database,
        providers=providers,
        scheduler=turns.scheduler,
        job_engine=turns.job_engine,
        coordinator=turns.coordinator,
        chats=services.chats,
        local=local,
        maintenance=maintenance,
        mcp=mcp,
        language_servers=shared.language_servers,
        workspaces=shared.workspaces,
        services=services,
        telemetry=shared.telemetry,
        app=app,
        stopping=stopping,
        lost=lost,
        peer_watches=watches,
    )


# --- serving


async def serve(
    settings: Settings,
    *,
    ready: Callable[[ServerInfo, NewCode], None] | None = None,
    handle_signals: bool = False,
) -> None:
    """Runs the data folder's only server until it is told to stop. `ready` gets a function that makes one-time sign-in codes.

    A server on a shared database whose chats others took over, or that cannot go on without the database, drops what it had begun, and
    joins again at the same address.
    Raises: AlreadyRunning, CannotListen, StorageFault, BadWorkspace.
    """
    clock = SystemClock()
    with lock_data_folder(settings.data_dir) as folder:
        token = load_or_create_token(settings.data_dir, settings.token).get_secret_value()
        announcement = Announcement(settings, folder, clock, ready)
        while True:
            was_stopped = False
            try:
                async with (
                    _server_log(settings, token) as log_secrets,
                    start_services(settings, clock, token=token, log_secrets=log_secrets) as server,
                ):
                    tune_gc()
                    await serve_app(
                        server.app,
                        announcement.address,
                        stopping=server.stopping,
                        ready=partial(announcement.publish, server.services.access.sessions),
                        handle_signals=handle_signals,
                    )
                    was_stopped = not server.lost.is_set()
            except* StorageFault as faults:
                if was_stopped or not announcement.published or settings.database_url is None:
                    raise
                log.error("this server joins its database again: %s", _first_fault(faults, StorageFault))
                await asyncio.sleep(JOIN_AGAIN_SECONDS)
            if was_stopped:
                return


@asynccontextmanager
async def _server_log(settings: Settings, token: str) -> AsyncIterator[LogSecrets]:
    """Writes the log while the block runs. Yields what it leaves out of each line."""
    url = settings.database_url
    log_secrets = LogSecrets(token, *(read_address(url.get_secret_value()).secrets if url is not None else ()))
    with server_log(settings.log_format, settings.log_level, log_secrets):
        yield log_secrets


# --- working


async def work(
    settings: Settings,
    *,
    most_jobs: int,
    stopping: asyncio.Event,
    ready: Callable[[], None] = lambda: None,
    waits: Callable[[DatabaseUnreachable], None] = lambda fault: None,
) -> None:
    """Runs jobs of the database until `stopping` is set. The tasks at work then get a while to end; the rest is left to other processes.

    A worker that lost the database stops all it does, and joins again as a new one. While the database is away it waits,
    longer each time. `ready` is called after each join, `waits` once for each outage before it.
    Raises: AlreadyRunning, StorageFault if it cannot join at the first time for another reason.
    """
    joined, tries = False, 0
    with lock_data_folder(settings.data_dir):
        while not stopping.is_set():
            try:
                token = secrets.token_urlsafe(32)
                async with (
                    _server_log(settings, token) as log_secrets,
                    start_services(settings, token=token, worker_jobs=most_jobs, log_secrets=log_secrets) as services,
                ):
                    joined, engine = True, services.job_engine
                    assert engine is not None
                    tune_gc()
                    await _first_of(stopping, services.lost, engine.started)
                    if engine.started.is_set():
                        tries = 0
                        ready()
                    await _first_of(stopping, services.lost)
                    if not services.lost.is_set():
                        services.coordinator.close()
                        engine.take_no_more()
                        await services.scheduler.finish(settings.shutdown_seconds)
            except* StorageFault as faults:
                away = _first_fault(faults, DatabaseUnreachable)
                if not joined and away is None:
                    raise
                if away is not None and tries == 0:
                    waits(away)
                with suppress(TimeoutError):
                    async with asyncio.timeout(join_again_after(tries)):
                        await stopping.wait()
                tries += 1


def join_again_after(tries: int) -> float:
    """Returns how many seconds a worker waits after so many tries: twice as many each time, up to a limit."""
    return min(JOIN_AGAIN_SECONDS * (1 << min(tries, 10)), MOST_JOIN_SECONDS)


def _first_fault(faults: BaseExceptionGroup[BaseException], kind: type[Fault]) -> Fault | None:
    for fault in faults.exceptions:
        first = _first_fault(fault, kind) if isinstance(fault, BaseExceptionGroup) else fault
        if isinstance(first, kind):
            return first
    return None


async def _first_of(*events: asyncio.Event) -> None:
    """Returns when one of them is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.wait(waits)
