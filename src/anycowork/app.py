"""The composition root: the only file that knows every room. It opens the house, settles what a crash left, and serves it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from starlette.types import ASGIApp

from anycowork import __version__
from anycowork.agent.asking import Asking
from anycowork.agent.checking import Checker
from anycowork.agent.loop import Agent
from anycowork.agent.recorder import Recorder
from anycowork.agent.referring import Referrer
from anycowork.agent.toolrunner import ToolRunner
from anycowork.api.build import create_api
from anycowork.api.rooms import Rooms, Sessions
from anycowork.browser_sessions import BrowserSessions
from anycowork.chats.actual import PlanAudit
from anycowork.chats.deciding import DecisionDesk
from anycowork.chats.desk import FrontDesk
from anycowork.chats.rollback import RollbackDesk
from anycowork.chats.rules import RuleDesk
from anycowork.chats.settling import Settler
from anycowork.chats.trust import TrustDesk
from anycowork.chats.turns import TurnKeeper, settle_after_crash, waiting_stages
from anycowork.chats.turnstile import Turnstile
from anycowork.clock import SystemClock
from anycowork.containment import Containment, Room, find_containment
from anycowork.daemon import DaemonInfo, hold_data_folder, load_or_create_token
from anycowork.domain.approvals import AskWhen
from anycowork.domain.asking import Providers
from anycowork.domain.chats import Limits
from anycowork.domain.ports import Clock, Snapshots, Workspaces
from anycowork.domain.values import value
from anycowork.drawer import Drawer, provider_configs
from anycowork.events.hub import Hub
from anycowork.events.stream import Streams
from anycowork.grounds import Grounds
from anycowork.permissions.budgets import CostOf
from anycowork.permissions.gate import Gate
from anycowork.permissions.roles import RoleBook
from anycowork.prompts.book import PromptBook
from anycowork.providers.completion_stream import Timeouts
from anycowork.providers.discovery import Lookout
from anycowork.providers.local.folder import ModelFolder
from anycowork.providers.local.models import LocalModels
from anycowork.providers.local.pulling import Pulling
from anycowork.providers.local.supervisor import Supervisor
from anycowork.providers.passthrough import Passthrough
from anycowork.providers.registry import ProviderRegistry
from anycowork.serving import Place, serve_app, settle_memory
from anycowork.settings import BadSettings, Settings
from anycowork.storage import storage
from anycowork.store.opening import Database, open_store
from anycowork.supplies import Supplies, custom_roles
from anycowork.tools.plugins.housing import Housing
from anycowork.tools.plugins.keeping import Plugins
from anycowork.tools.toolbox import Toolbox, built_in_tools
from anycowork.upkeep import Upkeep
from anycowork.workflows.registry import WorkflowBook
from anycowork.workflows.runner import WorkflowRunner
from anycowork.workspace.egress import Egress
from anycowork.workspace.outside import Outside
from anycowork.workspace.pack import Pack
from anycowork.workspace.snapshots import PackedSnapshots
from anycowork.workspace.stage import Staging
from anycowork.workspace.workspaces import LocalWorkspaces

NewCode = Callable[[float], str]
"""Makes a one-time sign-in code that is good for so many seconds."""

PASSTHROUGH_SECONDS = 600.0  # as long as OpenAI's own clients wait for an answer to begin


@value
class OpenHouse:
    """Everything open and at work, until the block that opened it ends."""

    settings: Drawer
    database: Database
    providers: ProviderRegistry
    keeper: TurnKeeper
    desk: FrontDesk
    local: LocalModels
    upkeep: Upkeep
    rooms: Rooms
    app: ASGIApp
    stopping: asyncio.Event


@asynccontextmanager
async def open_house(
    settings: Settings, clock: Clock | None = None, *, token: str, outside: Outside | None = None
) -> AsyncIterator[OpenHouse]:
    """Opens every room and settles what the last server left; the doors open after that. `outside` is the network that commands reach.

    Raises: StorageFault, BadWorkspace, BadSettings.
    """
    if settings.database_url is not None:  # told to keep chats elsewhere, it must not quietly keep them here
        raise BadSettings(
            "'database_url' names another database, and this version keeps chats in SQLite in the data folder only. Take it out "
            "of the settings (ANYCOWORK_DATABASE_URL, or config.toml).",
            param="database_url",
        )
    clock = clock or SystemClock()
    hub = Hub(heartbeat_seconds=settings.heartbeat_seconds)
    database = open_store(settings.database_path, clock, hub.publish, hub.chats_changed)
    providers = ProviderRegistry(
        provider_configs(settings),
        default=settings.model,
        environment=os.environ,
        timeouts=Timeouts(idle=settings.provider_timeout),
    )
    try:
        async with asyncio.TaskGroup() as tasks:
            house = await _furnish(
                settings,
                clock,
                token,
                hub=hub,
                database=database,
                providers=providers,
                tasks=tasks,
                egress=Egress(outside),
            )
            watches = [tasks.create_task(house.local.watch()), tasks.create_task(house.upkeep.keep_up())]
            if settings.probe_local_servers:
                watches.append(tasks.create_task(Lookout(providers).keep_looking()))
            try:
                yield house
            finally:
                house.stopping.set()
                for watch in watches:
                    watch.cancel()
                await house.keeper.interrupt_all()
                await house.local.aclose()
    finally:
        await providers.aclose()
        await database.aclose()


async def _furnish(
    settings: Settings,
    clock: Clock,
    token: str,
    *,
    hub: Hub,
    database: Database,
    providers: ProviderRegistry,
    tasks: asyncio.TaskGroup,
    egress: Egress,
) -> OpenHouse:
    shared = await _share(settings, clock, database, providers, egress)
    journal, store = database.journal, database.store
    workspaces, snapshots = shared.workspaces, shared.snapshots
    settler = Settler(
        journal=journal,
        store=store,
        rows=store,
        workspaces=workspaces,
        snapshots=snapshots,
        toolbox=shared.toolbox,
        clock=clock,
    )
    rollback = RollbackDesk(
        journal=journal, store=store, rows=store, workspaces=workspaces, snapshots=snapshots, clock=clock
    )
    keeper = _keep_turns(shared, clock, database, providers, settler, tasks)
    await _settle_what_was_left(shared.contained.staging, database, rollback, settler, keeper)
    turnstile = Turnstile(journal=journal, store=store, keeper=keeper)
    upkeep = Upkeep(receipts=database.idempotency, snapshots=snapshots, staging=shared.contained.staging)
    workflows = WorkflowBook(files=shared.supplies, toolbox=shared.toolbox, roles=shared.roles)
    desk = FrontDesk(
        turnstile=turnstile,
        store=store,
        roles=shared.roles,
        prompts=shared.prompts,
        workflows=workflows,
        providers=providers,
        clock=clock,
        find_workspace=shared.grounds.find,
        image_bytes=database.blobs,
        removed=upkeep.soon,
    )
    local = local_models(settings, providers, tasks)
    local.offer()
    rooms = Rooms(
        desk=desk,
        decisions=DecisionDesk(turnstile=turnstile, store=store, clock=clock),
        rules=_rule_desk(shared, clock, database),
        rollback=rollback,
        plan_audit=PlanAudit(store=store, toolbox=shared.toolbox, cost_of=shared.drawer.cost),
        store=store,
        image_bytes=database.blobs,
        keys=database.principals,
        sessions=BrowserSessions(settings.data_dir, token, clock),
        ledger=database.ledger,
        receipts=database.idempotency,
        roots=shared.grounds,
        supplies=shared.supplies,
        trust=TrustDesk(
            files=shared.supplies, journal=journal, store=store, clock=clock, find_workspace=shared.grounds.find
        ),
        workflows=workflows,
        find_workspace=shared.grounds.find,
        streams=Streams(store, hub),
        roles=shared.roles,
        prompts=shared.prompts,
        providers=providers,
        local=local,
        upstreams=Passthrough(providers, Timeouts(first_byte=PASSTHROUGH_SECONDS, idle=settings.provider_timeout)),
        settings=shared.drawer,
        clock=clock,
        token=token,
        numbers=store.numbers,
        storage=partial(asyncio.to_thread, storage, settings, shared.contained.staging),
        host=settings.host,
        allowed_hosts=settings.allowed_hosts,
        request_limit_bytes=settings.request_limit_bytes,
        stopping=asyncio.Event(),
    )
    app = create_api(rooms)
    return OpenHouse(shared.drawer, database, providers, keeper, desk, local, upkeep, rooms, app, rooms.stopping)


@value
class _Shared:
    """What several rooms work with, made before any of them."""

    roles: RoleBook
    grounds: Grounds
    contained: Containment
    workspaces: LocalWorkspaces
    snapshots: PackedSnapshots
    toolbox: Toolbox
    drawer: Drawer
    supplies: Supplies
    prompts: PromptBook


async def _share(
    settings: Settings, clock: Clock, database: Database, providers: ProviderRegistry, egress: Egress
) -> _Shared:
    grounds = Grounds(database, settings)
    await grounds.register_default()
    contained = await asyncio.to_thread(find_containment, settings.data_dir, Room.of(settings))
    toolbox = built_in_tools(None, settings.command_timeout, contained.sandbox, egress)
    housing = Housing(contained.sandbox, egress, settings.data_dir) if contained.sandbox else None
    plugins = Plugins(settings.plugins_folder, toolbox, housing, timeout=settings.command_timeout)
    await plugins.switch_on(settings.plugins)
    supplies = Supplies(roots=database.roots, data_dir=settings.data_dir)
    pack = Pack(settings.snapshots_folder)
    return _Shared(
        roles=RoleBook(custom_roles(settings.data_dir)),
        grounds=grounds,
        contained=contained,
        workspaces=LocalWorkspaces(
            lambda root: database.leases.take(root, owner=f"{os.getpid()}"), staging=contained.staging
        ),
        snapshots=PackedSnapshots(pack, database.retention, clock, quota_bytes=settings.snapshot_quota_bytes),
        toolbox=toolbox,
        drawer=Drawer(settings, providers, contained, plugins),
        supplies=supplies,
        prompts=PromptBook(database.system_prompts, toolbox, supplies),
    )


def _keep_turns(
    shared: _Shared,
    clock: Clock,
    database: Database,
    providers: ProviderRegistry,
    settler: Settler,
    tasks: asyncio.TaskGroup,
) -> TurnKeeper:
    agent = build_agent(
        database,
        providers=providers,
        toolbox=shared.toolbox,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        roles=shared.roles,
        prompts=shared.prompts,
        clock=clock,
        limits=shared.drawer.limits,
        ask_when=shared.drawer.ask_when,
        cost_of=shared.drawer.cost,
    )
    runner = WorkflowRunner(
        journal=database.journal,
        store=database.store,
        rows=database.store,
        snapshots=shared.snapshots,
        toolrunner=agent.toolrunner,
        agent_with=agent.with_recorder,
        clock=clock,
        limits=shared.drawer.limits,
    )
    return TurnKeeper(
        agent=agent,
        settler=settler,
        journal=database.journal,
        store=database.store,
        workspaces=shared.workspaces,
        roles=shared.roles,
        toolbox=shared.toolbox,
        workflows=runner,
        tasks=tasks,
        find_workspace=shared.grounds.find,
    )


async def _settle_what_was_left(
    staging: Staging, database: Database, rollback: RollbackDesk, settler: Settler, keeper: TurnKeeper
) -> None:
    """Before anybody works in a workspace again: restores, then commands, then turns."""
    await rollback.settle_after_crash()
    await asyncio.to_thread(staging.end_orphans)
    left = await asyncio.to_thread(staging.left_behind)  # before a turn that is due begins anew
    await settle_after_crash(database.store, settler, keeper)
    await asyncio.to_thread(staging.sweep, left, waiting=await waiting_stages(database.store))


def _rule_desk(shared: _Shared, clock: Clock, database: Database) -> RuleDesk:
    toolbox, store, rules = shared.toolbox, database.store, database.rules
    return RuleDesk(
        rules=rules,
        store=store,
        gate=Gate(toolbox=toolbox, store=store, rules=rules, clock=clock, ask_when=shared.drawer.ask_when),
        toolbox=toolbox,
        roles=shared.roles,
        workspaces=shared.workspaces,
        clock=clock,
        find_workspace=shared.grounds.find,
    )


def build_agent(
    database: Database,
    *,
    providers: Providers,
    toolbox: Toolbox,
    workspaces: Workspaces,
    snapshots: Snapshots,
    roles: RoleBook,
    prompts: PromptBook,
    clock: Clock,
    limits: Callable[[], Limits],
    ask_when: Callable[[], AskWhen] = lambda: AskWhen.BEFORE,
    cost_of: CostOf = lambda used: None,
) -> Agent:
    journal, store = database.journal, database.store
    recorder = Recorder(journal=journal, clock=clock)
    gate = Gate(toolbox=toolbox, store=store, rules=database.rules, clock=clock, ask_when=ask_when)
    toolrunner = ToolRunner(
        gate=gate,
        journal=journal,
        store=store,
        toolbox=toolbox,
        workspaces=workspaces,
        snapshots=snapshots,
        roles=roles,
        clock=clock,
        cost_of=cost_of,
    )
    return Agent(
        journal=journal,
        recorder=recorder,
        asking=Asking(
            journal=journal, providers=providers, prompts=prompts, hidden=gate.hidden, image_bytes=database.blobs
        ),
        toolrunner=toolrunner,
        checker=Checker(recorder=recorder, toolrunner=toolrunner),
        referrer=Referrer(recorder=recorder, toolrunner=toolrunner),
        clock=clock,
        limits=limits,
    )


def local_models(settings: Settings, providers: ProviderRegistry, tasks: asyncio.TaskGroup) -> LocalModels:
    folder = ModelFolder(settings.models_folder)
    supervisor = Supervisor(
        log=settings.data_dir / "local-model.log",
        idle_seconds=settings.local_idle_seconds,
        threads=settings.local_threads,
    )
    return LocalModels(folder, Pulling(folder, providers.pool), supervisor, providers, tasks)


# --- serving


async def serve(
    settings: Settings,
    *,
    ready: Callable[[DaemonInfo, NewCode], None] | None = None,
    heed_signals: bool = False,
) -> None:
    """Runs the one daemon of the data folder until it is told to end. `ready` gets a maker of one-time sign-in codes.

    Raises: AlreadyRunning, CannotListen, StorageFault, BadWorkspace.
    """
    clock = SystemClock()
    place = Place(settings.host, settings.port, settings.shutdown_seconds)
    with hold_data_folder(settings.data_dir) as folder:
        token = load_or_create_token(settings.data_dir, settings.token).get_secret_value()

        def announce(sessions: Sessions, port: int) -> None:
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            info = DaemonInfo(
                pid=os.getpid(),
                url=f"http://{host}:{port}",
                host=settings.host,
                port=port,
                started_at=clock.now(),
                version=__version__,
            )
            folder.announce(info)
            if ready:
                ready(info, lambda seconds: sessions.offer(seconds)[0])

        async with open_house(settings, clock, token=token) as house:
            settle_memory()
            known = partial(announce, house.rooms.sessions)
            await serve_app(house.app, place, stopping=house.stopping, ready=known, heed_signals=heed_signals)
