"""Builds the parts that several services use: workspaces, tools, snapshots, prompts, roles, and the sources of tools and local models."""

import asyncio
import platform
from collections.abc import Callable

from anycowork.agent.live_questions import LiveQuestions
from anycowork.checkpoints.other_packs import OtherPacks, PackFolder, pack_id
from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.config.settings import BadSettings, Settings
from anycowork.delegates.tool import DelegateSource
from anycowork.domain.ports import Clock, TaskWorkspaces
from anycowork.domain.tools import ToolSpec
from anycowork.domain.values import value
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.isolated_tasks import IsolatedTasks
from anycowork.jobs.task_commits import TaskCommitter
from anycowork.mcp.manager import McpManager
from anycowork.mcp.modules import ModuleLoader
from anycowork.mcp.server_launcher import DataFolders, ServerLauncher
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.providers.local.download import ModelDownload
from anycowork.providers.local.folder import ModelFolder
from anycowork.providers.local.provider import LocalModels
from anycowork.providers.local.supervisor import Supervisor
from anycowork.providers.registry import ProviderRegistry
from anycowork.sandbox.layers.stage import Layer
from anycowork.sandbox.layers.task_workspaces import PrivateCopies, TaskLayers
from anycowork.sandbox.limits import CommandLimits
from anycowork.sandbox.network.egress import Egress
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.sandbox.workspaces import Workspaces
from anycowork.server.cluster.server_peers import build_workspaces
from anycowork.server.live_settings import LiveSettings
from anycowork.server.secrets.mcp_stores import McpServerStore, McpTokenStore
from anycowork.server.setup.sandbox_setup import DiskBudgets, SandboxSetup, set_up_sandbox
from anycowork.server.workspace_roots import WorkspaceRoots
from anycowork.store.sql.database import Database
from anycowork.telemetry.server_metrics import CostOfUse, ServerMetrics
from anycowork.telemetry.telemetry import ServerTelemetry, Traces
from anycowork.tools.hook_runner import HookRunner
from anycowork.tools.language.language_servers import LanguageServers
from anycowork.tools.plugins.manager import PluginManager
from anycowork.tools.plugins.manifest import plain_name
from anycowork.tools.plugins.runtime import PluginRuntime
from anycowork.tools.toolbox import ToolRegistry, built_in_tools
from anycowork.workflows.definition_files import DefinitionFiles
from anycowork.workspace.skill_store import HookStore, SkillStore
from anycowork.workspace.trusted_files import TrustedFileStore


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
    remote_runs: RemoteRuns
    workspaces: Workspaces
    snapshots: Snapshots
    toolbox: ToolRegistry
    language_servers: LanguageServers | None
    live_settings: LiveSettings
    trusted_files: TrustedFileStore
    skills: SkillStore
    hooks: HookStore
    hook_runner: HookRunner
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
    """Builds the components that servers and workers share. A worker registers no folder: people register folders with servers."""
    workspace_roots = WorkspaceRoots(database.roots, settings)
    if not is_worker:
        await workspace_roots.register_default()
    sandbox_setup = await asyncio.to_thread(
        set_up_sandbox, settings.data_dir, DiskBudgets.of(settings), settings.sandbox_paths
    )

    def command_timeout() -> float:
        return live_settings.command_timeout()

    remote_runs = RemoteRuns(settings.data_dir / "returned", travel_of=database.roots.travel_of)
    sandbox = sandbox_setup.sandbox
    language_servers = LanguageServers(sandbox, tasks, lambda: live_settings.diagnostics_seconds()) if sandbox else None
    toolbox = built_in_tools(None, command_timeout, sandbox, egress, remote_runs, language_servers)
    runtime = PluginRuntime(sandbox_setup.sandbox, egress, settings.data_dir) if sandbox_setup.sandbox else None
    plugins = PluginManager(settings.plugins_folder, toolbox, runtime, timeout=command_timeout)
    await plugins.enable(settings.plugins)
    trusted_files = TrustedFileStore(roots=database.roots, data_dir=settings.data_dir)
    skills = SkillStore(files=trusted_files, data_dir=settings.data_dir)
    pack = Pack(settings.snapshots_folder, others=await _other_packs(settings, database, is_worker=is_worker))
    workspaces = build_workspaces(database, sandbox_setup.staging)
    roles = RoleRegistry(DefinitionFiles(settings.data_dir).read_roles())
    live_settings = LiveSettings(settings, providers, sandbox_setup, plugins)
    telemetry = build_telemetry(settings, toolbox, roles, live_settings.cost)
    database.journal.committed = telemetry.committed
    database.limits.enforcer.priced_by = live_settings.cost_of_day
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
        remote_runs=remote_runs,
        workspaces=workspaces,
        snapshots=Snapshots(
            pack,
            database.retention,
            clock,
            quota_bytes=settings.snapshot_quota_bytes,
            layers=workspaces.layers,
            unkept_folders=settings.unkept_folders,
        ),
        toolbox=toolbox,
        language_servers=language_servers,
        live_settings=live_settings,
        trusted_files=trusted_files,
        hooks=HookStore(trusted_files, skills),
        hook_runner=HookRunner(sandbox, database.store.origins.of_workspace),
        skills=skills,
        prompts=PromptService(database.system_prompts, toolbox, trusted_files.instructions),
        questions=LiveQuestions(journal=database.journal, clock=clock),
        telemetry=telemetry,
    )


async def _other_packs(settings: Settings, database: Database, *, is_worker: bool) -> OtherPacks | None:
    """Tells the other processes on this database where this one keeps contents. Returns their packs; None where there are none."""
    if database.peers is None:
        return None
    folder = settings.snapshots_folder
    own_pack = await asyncio.to_thread(pack_id, folder)
    kind = "worker" if is_worker else "server"
    await database.peers.table.put_pack_folder(own_pack, kind, platform.node(), str(folder))
    return OtherPacks(lambda: [PackFolder(*row) for row in database.pack_folders(besides=own_pack)])


def build_isolated_tasks(shared: SharedComponents) -> IsolatedTasks:
    setup, workspaces, database = shared.sandbox_setup, shared.workspaces, shared.database
    task_workspaces: TaskWorkspaces = PrivateCopies(
        setup.staging, workspaces, most_bytes=shared.settings.command_copy_bytes, spare=CommandLimits().free_space
    )
    if setup.layer is Layer.OVERLAY:
        task_workspaces = TaskLayers(setup.staging, workspaces, task_workspaces)
    committer = TaskCommitter(
        journal=database.journal,
        store=database.store,
        workspaces=workspaces,
        snapshots=shared.snapshots,
        clock=shared.clock,
        is_copy=lambda root: setup.staging.task_folders.origin_of(root) is not None,
    )
    return IsolatedTasks(task_workspaces, committer, workspaces.data_folder)


def build_mcp_manager(shared: SharedComponents) -> McpManager:
    """Builds the MCP manager. Servers connect in the background; the SDK is not imported without any. Raises: StorageFault."""
    settings = shared.settings
    store = McpServerStore(settings.data_dir)
    launcher = _server_launcher(shared)
    modules = ModuleLoader(settings.plugins_folder, frozenset(map(plain_name, settings.mcp_modules)))
    manager = McpManager(shared.toolbox, launcher, shared.tasks, store.save, McpTokenStore(settings.data_dir), modules)
    manager.start(store.load())
    return manager


def add_delegates(shared: SharedComponents) -> None:
    """Offers the agents of other vendors as tools, and as what answers a chat. Their protocol is imported with the first task."""
    launcher = _server_launcher(shared)

    def offer() -> None:
        source = DelegateSource(shared.live_settings.delegates(), launcher)
        shared.toolbox.refresh(source)
        shared.providers.put_delegates([tool.spec.delegate for tool in source.tools() if tool.spec.delegate])

    offer()
    shared.live_settings.pass_on("agents", offer)


def _server_launcher(shared: SharedComponents) -> ServerLauncher:
    settings = shared.settings
    folders = DataFolders(settings.mcp_data_folder, settings.mcp_data_bytes)
    return ServerLauncher(shared.sandbox_setup.sandbox, shared.egress, settings.data_dir, folders)


def build_local_models(shared: SharedComponents) -> LocalModels:
    settings, providers = shared.settings, shared.providers
    folder = ModelFolder(settings.models_folder)
    supervisor = Supervisor(
        log=settings.data_dir / "local-model.log",
        idle_seconds=settings.local_idle_seconds,
        threads=settings.local_threads,
    )
    return LocalModels(folder, ModelDownload(folder, providers.pool), supervisor, providers, shared.tasks)


def build_telemetry(settings: Settings, toolbox: ToolRegistry, roles: RoleRegistry, cost: CostOfUse) -> ServerTelemetry:
    """Raises: BadSettings if traces are on and their packages are not installed."""

    def find_spec(name: str) -> ToolSpec | None:
        tool = toolbox.find(name)
        return None if tool is None else tool.spec

    metrics = ServerMetrics(find_spec, lambda name: roles.get(name) is not None, cost)
    return ServerTelemetry(metrics, _open_traces(settings, metrics.span_failures.add) if settings.traces else None)


def _open_traces(settings: Settings, failed: Callable[[], None]) -> Traces:
    try:
        from anycowork.telemetry.otlp import OtlpTraces  # only who traces pays for the packages
    except ModuleNotFoundError as missing:
        raise BadSettings(
            f"'traces' is on, but {missing.name} is not installed. Install AnyCowork with its extra 'traces', or turn it off.",
            param="traces",
        ) from missing
    return OtlpTraces(contents=settings.trace_contents, failed=failed)
