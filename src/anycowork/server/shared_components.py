"""Builds the parts that several services use: workspaces, tools, snapshots, prompts, roles, and the sources of tools and local models."""

import asyncio
import platform

from anycowork.agent.live_questions import LiveQuestions
from anycowork.checkpoints.other_packs import OtherPacks, PackFolder, pack_id
from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.snapshots import PackedSnapshots
from anycowork.config.settings import Settings
from anycowork.delegates.source import DelegateSource
from anycowork.domain.ports import Clock, TaskWorkspaces
from anycowork.domain.values import value
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.jobs.task_commits import TaskCommitter
from anycowork.mcp.manager import McpManager
from anycowork.mcp.modules import ModuleLoader
from anycowork.mcp.stdio_transport import ServerLauncher
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.providers.local.download import ModelDownload
from anycowork.providers.local.folder import ModelFolder
from anycowork.providers.local.models import LocalModels
from anycowork.providers.local.supervisor import Supervisor
from anycowork.providers.registry import ProviderRegistry
from anycowork.sandbox.egress import Egress
from anycowork.sandbox.limits import CommandLimits
from anycowork.sandbox.stage import Layer
from anycowork.sandbox.task_layers import TaskLayers
from anycowork.sandbox.task_workspaces import PrivateCopies
from anycowork.sandbox.workspaces import LocalWorkspaces
from anycowork.server.definition_files import DefinitionFiles
from anycowork.server.live_settings import LiveSettings
from anycowork.server.mcp_server_store import McpServerStore
from anycowork.server.mcp_token_store import McpTokenStore
from anycowork.server.sandbox_setup import DiskBudgets, SandboxSetup, set_up_sandbox
from anycowork.server.server_peers import build_workspaces
from anycowork.server.telemetry_setup import build_telemetry
from anycowork.server.trusted_files import TrustedFileStore
from anycowork.server.workspace_roots import WorkspaceRoots
from anycowork.store.sql.database import Database
from anycowork.telemetry.telemetry import ServerTelemetry
from anycowork.tools.plugins.discovery import plain_name
from anycowork.tools.plugins.manager import PluginManager
from anycowork.tools.plugins.runtime import PluginRuntime
from anycowork.tools.toolbox import ToolRegistry, built_in_tools


@value
class SharedComponents:
    """The parts that several services use, built before any of them. `tasks` owns what runs beside the requests."""

    settings: Settings
    clock: Clock
    database: Database
    providers: ProviderRegistry
    egress: Egress
    tasks: asyncio.TaskGroup
    is_worker: bool
    roles: RoleRegistry
    workspace_roots: WorkspaceRoots
    sandbox_setup: SandboxSetup
    workspaces: LocalWorkspaces
    snapshots: PackedSnapshots
    toolbox: ToolRegistry
    live_settings: LiveSettings
    trusted_files: TrustedFileStore
    prompts: PromptService
    agents: AgentRegistry
    questions: LiveQuestions
    telemetry: ServerTelemetry


async def build_shared_components(
    settings: Settings,
    clock: Clock,
    database: Database,
    providers: ProviderRegistry,
    egress: Egress,
    tasks: asyncio.TaskGroup,
    *,
    is_worker: bool,
) -> SharedComponents:
    """Builds them. A worker registers no folder: people register the servers' ones."""
    workspace_roots = WorkspaceRoots(database.roots, settings)
    if not is_worker:
        await workspace_roots.register_default()
    sandbox_setup = await asyncio.to_thread(
        set_up_sandbox, settings.data_dir, DiskBudgets.of(settings), settings.sandbox_paths
    )
    toolbox = built_in_tools(None, settings.command_timeout, sandbox_setup.sandbox, egress)
    runtime = PluginRuntime(sandbox_setup.sandbox, egress, settings.data_dir) if sandbox_setup.sandbox else None
    plugins = PluginManager(settings.plugins_folder, toolbox, runtime, timeout=settings.command_timeout)
    await plugins.enable(settings.plugins)
    trusted_files = TrustedFileStore(roots=database.roots, data_dir=settings.data_dir)
    pack = Pack(settings.snapshots_folder, others=await _other_packs(settings, database, is_worker=is_worker))
    workspaces = build_workspaces(database, sandbox_setup.staging)
    roles = RoleRegistry(DefinitionFiles(settings.data_dir).read_roles())
    live_settings = LiveSettings(settings, providers, sandbox_setup, plugins)
    telemetry = build_telemetry(settings, toolbox, roles, live_settings.cost)
    database.journal.committed = telemetry.committed
    return SharedComponents(
        settings=settings,
        clock=clock,
        database=database,
        providers=providers,
        egress=egress,
        tasks=tasks,
        is_worker=is_worker,
        roles=roles,
        agents=AgentRegistry(live_settings.agents, roles),
        workspace_roots=workspace_roots,
        sandbox_setup=sandbox_setup,
        workspaces=workspaces,
        snapshots=PackedSnapshots(
            pack,
            database.retention,
            clock,
            quota_bytes=settings.snapshot_quota_bytes,
            layers=workspaces.layers,
            unkept_folders=settings.unkept_folders,
        ),
        toolbox=toolbox,
        live_settings=live_settings,
        trusted_files=trusted_files,
        prompts=PromptService(database.system_prompts, toolbox, trusted_files),
        questions=LiveQuestions(journal=database.journal, clock=clock),
        telemetry=telemetry,
    )


async def _other_packs(settings: Settings, database: Database, *, is_worker: bool) -> OtherPacks | None:
    """Tells the other processes on this database where this one keeps contents. Returns their packs; None where there are none."""
    if database.peers is None:
        return None
    folder = settings.snapshots_folder
    own = await asyncio.to_thread(pack_id, folder)
    kind = "worker" if is_worker else "server"
    await database.peers.table.put_pack_folder(own, kind, platform.node(), str(folder))
    return OtherPacks(lambda: [PackFolder(*row) for row in database.pack_folders(besides=own)])


def build_isolated_tasks(shared: SharedComponents) -> IsolatedTasks:
    setup, workspaces, database = shared.sandbox_setup, shared.workspaces, shared.database
    places: TaskWorkspaces = PrivateCopies(
        setup.staging, workspaces, most_bytes=shared.settings.command_copy_bytes, spare=CommandLimits().free_space
    )
    if setup.layer is Layer.OVERLAY:
        places = TaskLayers(setup.staging, workspaces, places)
    committer = TaskCommitter(
        journal=database.journal,
        rows=database.store,
        workspaces=workspaces,
        snapshots=shared.snapshots,
        clock=shared.clock,
    )
    return IsolatedTasks(places, committer)


def build_mcp_manager(shared: SharedComponents) -> McpManager:
    """Builds the MCP manager. Servers connect in the background; the SDK is not imported without any. Raises: StorageFault."""
    settings = shared.settings
    store = McpServerStore(settings.data_dir)
    launcher = ServerLauncher(shared.sandbox_setup.sandbox, shared.egress, settings.data_dir)
    modules = ModuleLoader(settings.plugins_folder, frozenset(map(plain_name, settings.mcp_modules)))
    manager = McpManager(shared.toolbox, launcher, shared.tasks, store.save, McpTokenStore(settings.data_dir), modules)
    manager.start(store.load())
    return manager


def add_delegates(shared: SharedComponents) -> None:
    """Offers the agents of other vendors as tools, and as what answers a chat. Their protocol is imported with the first task."""
    launcher = ServerLauncher(shared.sandbox_setup.sandbox, shared.egress, shared.settings.data_dir)
    source = DelegateSource(shared.live_settings.delegates(), launcher)
    shared.toolbox.refresh(source)
    shared.providers.put_delegates([tool.spec.delegate for tool in source.tools() if tool.spec.delegate])


def build_local_models(shared: SharedComponents) -> LocalModels:
    settings, providers = shared.settings, shared.providers
    folder = ModelFolder(settings.models_folder)
    supervisor = Supervisor(
        log=settings.data_dir / "local-model.log",
        idle_seconds=settings.local_idle_seconds,
        threads=settings.local_threads,
    )
    return LocalModels(folder, ModelDownload(folder, providers.pool), supervisor, providers, shared.tasks)
