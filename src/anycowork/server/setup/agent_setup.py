"""Builds the agent and what runs its turns."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from anycowork.agent.call_hooks import CallHooks, TurnHooks
from anycowork.agent.evidence_checker import EvidenceChecker
from anycowork.agent.fresh_drafts import FreshDrafts
from anycowork.agent.live_questions import LiveQuestions
from anycowork.agent.loop import Agent
from anycowork.agent.mentions import Mentions
from anycowork.agent.model_caller import ModelCaller
from anycowork.agent.plan_checks import PlanChecker
from anycowork.agent.prompt_sampler import PromptSampler
from anycowork.agent.steering_messages import Steering
from anycowork.agent.tool_runner import ToolRunner
from anycowork.agent.turn_recorder import TurnRecorder
from anycowork.chats.chat_visibility import ChatVisibility
from anycowork.chats.rule_service import RuleService
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.approvals import AskWhen
from anycowork.domain.chats import Autonomy, Limits
from anycowork.domain.hooks import Hook
from anycowork.domain.ports import Clock
from anycowork.domain.skills import Skill
from anycowork.domain.telemetry import NO_TELEMETRY, Telemetry
from anycowork.jobs.job_runner import JobRunner
from anycowork.permissions.budgets import CostOf
from anycowork.permissions.gate import Gate
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.providers.registry import ProviderRegistry
from anycowork.sandbox.workspaces import Workspaces, under_a_root
from anycowork.server.setup.shared_components import SharedComponents
from anycowork.store.sql.database import Database
from anycowork.store.sql.store import Store
from anycowork.tools.hook_runner import HookRunner
from anycowork.tools.language.language_servers import LanguageServers
from anycowork.tools.toolbox import ToolRegistry
from anycowork.turns.lookup import ApprovedPlans
from anycowork.turns.turn_recovery import TurnRecovery
from anycowork.turns.turn_scheduler import TurnScheduler
from anycowork.workflows.runner import WorkflowRunner
from anycowork.workspace.skill_store import HookStore


def build_scheduler(shared: SharedComponents, recovery: TurnRecovery) -> TurnScheduler:
    database, clock, settings = shared.database, shared.clock, shared.live_settings
    agent = build_agent(
        database,
        providers=shared.providers,
        toolbox=shared.toolbox,
        workspaces=shared.workspaces,
        snapshots=shared.snapshots,
        roles=shared.roles,
        prompts=shared.prompts,
        skills=shared.skills.skills,
        hooks=shared.hooks,
        hook_runner=shared.hook_runner,
        clock=clock,
        limits=settings.limits,
        ask_when=settings.ask_when,
        cost_of=settings.cost,
        questions=shared.questions,
        telemetry=shared.telemetry,
        language_servers=shared.language_servers,
    )
    plans = ApprovedPlans(database.store)
    jobs = JobRunner(
        journal=database.journal,
        store=database.store,
        agent=agent,
        agents=shared.agents,
        plans=plans,
        clock=clock,
        limits=settings.limits,
        cost_of=settings.cost,
        remote=shared.remote_runs,
    )
    workflows = WorkflowRunner(
        journal=database.journal,
        store=database.store,
        snapshots=shared.snapshots,
        toolrunner=agent.toolrunner,
        agent=agent,
        clock=clock,
        limits=settings.limits,
        cost_of=settings.cost,
    )
    return TurnScheduler(
        agent=agent,
        recovery=recovery,
        journal=database.journal,
        store=database.store,
        workspaces=shared.workspaces,
        roles=shared.roles,
        toolbox=shared.toolbox,
        runners=(jobs.run, workflows.run),
        plans=plans,
        tasks=shared.tasks,
        find_workspace=shared.workspace_roots.find,
    )


def visibility_of(shared: SharedComponents) -> ChatVisibility:
    return ChatVisibility(shared.database.store.visibility, shared.live_settings.new_visibility)


def gate_of(shared: SharedComponents) -> Gate:
    """Returns a gate for what asks it beside turns."""
    database, settings = shared.database, shared.live_settings
    return Gate(
        toolbox=shared.toolbox,
        store=database.store,
        rules=database.rules,
        clock=shared.clock,
        ask_when=settings.ask_when,
    )


def build_rule_service(shared: SharedComponents) -> RuleService:
    toolbox, store, rules, clock = shared.toolbox, shared.database.store, shared.database.rules, shared.clock
    return RuleService(
        visibility=visibility_of(shared),
        rules=rules,
        store=store,
        gate=gate_of(shared),
        toolbox=toolbox,
        roles=shared.roles,
        workspaces=shared.workspaces,
        clock=clock,
        find_workspace=shared.workspace_roots.find,
    )


async def no_skills(workspace: str) -> Sequence[Skill]:
    """Returns none."""
    return ()


def build_agent(
    database: Database,
    *,
    providers: ProviderRegistry,
    toolbox: ToolRegistry,
    workspaces: Workspaces,
    snapshots: Snapshots,
    roles: RoleRegistry,
    prompts: PromptService,
    clock: Clock,
    limits: Callable[[Autonomy], Limits],
    ask_when: Callable[[], AskWhen] = lambda: AskWhen.BEFORE,
    cost_of: CostOf = lambda used: None,
    skills: Callable[[str], Awaitable[Sequence[Skill]]] = no_skills,
    hooks: HookStore | None = None,
    hook_runner: HookRunner | None = None,
    questions: LiveQuestions | None = None,
    telemetry: Telemetry = NO_TELEMETRY,
    language_servers: LanguageServers | None = None,
) -> Agent:
    journal, store = database.journal, database.store
    recorder = TurnRecorder(journal=journal, clock=clock)
    gate = Gate(toolbox=toolbox, store=store, rules=database.rules, clock=clock, ask_when=ask_when)
    turn_hooks = build_turn_hooks(hooks, hook_runner, gate, workspaces, store) if hooks and hook_runner else None
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
        questions=questions,
        sampling=PromptSampler(journal=journal, providers=providers, clock=clock, telemetry=telemetry),
        telemetry=telemetry,
        hooks=CallHooks(read=hooks.hooks, runner=hook_runner, hidden=gate.hidden) if hooks and hook_runner else None,
        language_servers=language_servers,
    )
    return Agent(
        journal=journal,
        recorder=recorder,
        model_caller=ModelCaller(
            journal=journal,
            clock=clock,
            providers=providers,
            prompts=prompts,
            hidden=gate.hidden,
            skills=skills,
            foreign_among=store.origins.foreign_among,
            image_bytes=database.blobs,
            telemetry=telemetry,
        ),
        toolrunner=toolrunner,
        checker=PlanChecker(recorder=recorder, toolrunner=toolrunner),
        evidence=EvidenceChecker(recorder=recorder, toolrunner=toolrunner, store=store, contents=snapshots),
        drafts=FreshDrafts(recorder=recorder, toolrunner=toolrunner, contents=snapshots),
        mentions=Mentions(recorder=recorder, toolrunner=toolrunner, snapshots=store),
        steering=Steering(journal=journal, recorder=recorder, store=store, clock=clock, hooks=turn_hooks),
        clock=clock,
        limits=limits,
        hooks=turn_hooks,
    )


def build_turn_hooks(
    hooks: HookStore, runner: HookRunner, gate: Gate, workspaces: Workspaces, store: Store
) -> TurnHooks:
    async def has_begun(chat_id: str) -> bool:
        return await store.turns.newest(chat_id) is not None

    async def read(workspace: str) -> Sequence[Hook]:
        """A hook tells what it sees, so none looks into a folder that nobody registered."""
        is_registered = await asyncio.to_thread(under_a_root, workspace, await store.folders.roots())
        return await hooks.hooks(workspace) if is_registered else ()

    return TurnHooks(
        read=read,
        read_in_turn=hooks.hooks,  # a turn begins in a registered folder alone
        runner=runner,
        hidden=gate.hidden,
        open_folder=workspaces.open,
        has_begun=has_begun,
    )
