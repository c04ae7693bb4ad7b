"""The composition root: the only file that knows every room. It opens the house, settles what a crash left, and serves it."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.types import ASGIApp

from anycowork import __version__
from anycowork.agent.asking import Asking
from anycowork.agent.checking import Checker
from anycowork.agent.loop import Agent
from anycowork.agent.recorder import Recorder
from anycowork.agent.referring import Referrer
from anycowork.agent.toolrunner import ToolRunner
from anycowork.api.build import create_api
from anycowork.api.rooms import Rooms
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
from anycowork.containment import find_containment
from anycowork.daemon import DaemonInfo, hold_data_folder, load_or_create_token
from anycowork.domain.approvals import AskWhen
from anycowork.domain.asking import Providers
from anycowork.domain.chats import Limits
from anycowork.domain.ports import Clock, Snapshots, Workspaces
from anycowork.domain.roles import RoleDefinition
from anycowork.domain.values import value
from anycowork.drawer import Drawer, provider_configs
from anycowork.events.hub import Hub
from anycowork.events.stream import follow, follow_all
from anycowork.grounds import Grounds
from anycowork.permissions.budgets import CostOf
from anycowork.permissions.gate import Gate
from anycowork.permissions.roles import BadRoleFile, RoleBook, read_role_file
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
from anycowork.store.opening import Database, open_store
from anycowork.supplies import Supplies
from anycowork.tools.plugins.housing import Housing
from anycowork.tools.plugins.keeping import Plugins
from anycowork.tools.toolbox import Toolbox, built_in_tools
from anycowork.workflows.registry import WorkflowBook
from anycowork.workflows.runner import WorkflowRunner
from anycowork.workspace.egress import Egress
from anycowork.workspace.outside import Outside
from anycowork.workspace.pack import Pack
from anycowork.workspace.snapshots import PackedSnapshots
from anycowork.workspace.workspaces import LocalWorkspaces

log = logging.getLogger(__name__)
ROLES_FOLDER = "roles"
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
            watches = [tasks.create_task(house.local.watch())]
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
    roles = RoleBook(_custom_roles(settings.data_dir / ROLES_FOLDER))
    grounds = Grounds(database, settings)
    await grounds.register_default()
    contained = await asyncio.to_thread(find_containment, settings.data_dir, settings.command_copy_bytes)
    workspaces = LocalWorkspaces(
        lambda root: database.leases.take(root, owner=f"{os.getpid()}"), staging=contained.staging
    )
    toolbox = built_in_tools(None, settings.command_timeout, contained.sandbox, egress)
    housing = Housing(contained.sandbox, egress, settings.data_dir) if contained.sandbox else None
    plugins = Plugins(settings.plugins_folder, toolbox, housing, timeout=settings.command_timeout)
    await plugins.switch_on(settings.plugins)
    drawer = Drawer(settings, providers, contained, plugins)
    supplies = Supplies(roots=database.roots, data_dir=settings.data_dir)
    prompts = PromptBook(database.system_prompts, toolbox, supplies)
    journal, store = database.journal, database.store
    snapshots = PackedSnapshots(
        Pack(settings.snapshots_folder), database.retention, clock, quota_bytes=settings.snapshot_quota_bytes
    )
    agent = build_agent(
        database,
        providers=providers,
        toolbox=toolbox,
        workspaces=workspaces,
        snapshots=snapshots,
        roles=roles,
        prompts=prompts,
        clock=clock,
        limits=drawer.limits,
        ask_when=drawer.ask_when,
        cost_of=drawer.cost,
    )
    workflows = WorkflowBook(files=supplies, toolbox=toolbox, roles=roles)
    runner = WorkflowRunner(
        journal=journal,
        store=store,
        rows=store,
        snapshots=snapshots,
        toolrunner=agent.toolrunner,
        agent_with=agent.with_recorder,
        clock=clock,
        limits=drawer.limits,
    )
    settler = Settler(journal=journal, store=store, rows=store, workspaces=workspaces, snapshots=snapshots, clock=clock)
    keeper = TurnKeeper(
        agent=agent,
        settler=settler,
        journal=journal,
        store=store,
        workspaces=workspaces,
        roles=roles,
        toolbox=toolbox,
        workflows=runner,
        tasks=tasks,
    )
    rollback = RollbackDesk(
        journal=journal, store=store, rows=store, workspaces=workspaces, snapshots=snapshots, clock=clock
    )
    await rollback.settle_after_crash()
    await asyncio.to_thread(contained.staging.end_orphans)
    left = await asyncio.to_thread(contained.staging.left_behind)  # before a turn that is due begins anew
    await settle_after_crash(store, settler, keeper)
    await asyncio.to_thread(contained.staging.sweep, left, waiting=await waiting_stages(store))
    turnstile = Turnstile(journal=journal, store=store, keeper=keeper)
    desk = FrontDesk(
        turnstile=turnstile,
        store=store,
        roles=roles,
        prompts=prompts,
        workflows=workflows,
        providers=providers,
        clock=clock,
        find_workspace=grounds.find,
        image_bytes=database.blobs,
    )
    local = local_models(settings, providers, tasks)
    local.offer()
    stopping = asyncio.Event()
    rooms = Rooms(
        desk=desk,
        decisions=DecisionDesk(turnstile=turnstile, store=store, clock=clock),
        rules=RuleDesk(
            rules=database.rules,
            store=store,
            gate=Gate(toolbox=toolbox, store=store, rules=database.rules, clock=clock, ask_when=drawer.ask_when),
            toolbox=toolbox,
            roles=roles,
            workspaces=workspaces,
            clock=clock,
            find_workspace=grounds.find,
        ),
        rollback=rollback,
        plan_audit=PlanAudit(store=store, toolbox=toolbox, cost_of=drawer.cost),
        store=store,
        image_bytes=database.blobs,
        keys=database.principals,
        ledger=database.ledger,
        receipts=database.idempotency,
        roots=grounds,
        supplies=supplies,
        trust=TrustDesk(files=supplies, journal=journal, store=store, clock=clock, find_workspace=grounds.find),
        workflows=workflows,
        find_workspace=grounds.find,
        streams=Streams(database, hub),
        roles=roles,
        prompts=prompts,
        providers=providers,
        local=local,
        upstreams=Passthrough(providers, Timeouts(first_byte=PASSTHROUGH_SECONDS, idle=settings.provider_timeout)),
        settings=drawer,
        clock=clock,
        token=token,
        numbers=database.store.numbers,
        host=settings.host,
        allowed_hosts=settings.allowed_hosts,
        request_limit_bytes=settings.request_limit_bytes,
        stopping=stopping,
    )
    return OpenHouse(drawer, database, providers, keeper, desk, local, rooms, create_api(rooms), stopping)


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
    settings: Settings, *, ready: Callable[[DaemonInfo], None] | None = None, heed_signals: bool = False
) -> None:
    """Runs the one daemon of the data folder until it is told to end. Raises: AlreadyRunning, CannotListen, StorageFault, BadWorkspace."""
    clock = SystemClock()
    place = Place(settings.host, settings.port, settings.shutdown_seconds)
    with hold_data_folder(settings.data_dir) as folder:
        token = load_or_create_token(settings.data_dir, settings.token).get_secret_value()

        def announce(port: int) -> None:
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
                ready(info)

        async with open_house(settings, clock, token=token) as house:
            settle_memory()
            await serve_app(house.app, place, stopping=house.stopping, ready=announce, heed_signals=heed_signals)


# --- how rooms are introduced to each other


class Streams:
    """Events as bytes, from the journal and the hub together."""

    def __init__(self, database: Database, hub: Hub) -> None:
        self._store = database.store
        self._hub = hub

    def follow(self, chat_id: str, *, after: int) -> AsyncGenerator[bytes, None]:
        store = self._store
        return follow(chat_id, after, records_after=store.records_after, last_number=store.last_number, hub=self._hub)

    def follow_all(self, *, after: int | None) -> AsyncGenerator[bytes, None]:
        store = self._store
        return follow_all(after, sidebar_after=store.sidebar_after, last_position=store.last_position, hub=self._hub)


def _custom_roles(folder: Path) -> list[RoleDefinition]:
    """A bad file is said in the log and left out; the others still load."""
    roles = []
    for file in sorted(folder.glob("*.toml")) if folder.is_dir() else []:
        try:
            roles.append(read_role_file(file.name, file.read_text("utf-8")))
        except (BadRoleFile, OSError, UnicodeDecodeError) as error:
            log.error("role file left out: %s", error)
    return roles
