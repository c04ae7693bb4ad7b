"""Our side, composed as `app.py` does it: the real agent, gate, tool runner, journal and store. Only the model is made of wood."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from anycowork.chats.chat_service import ChatService
from anycowork.chats.chat_visibility import ChatVisibility
from anycowork.chats.files.rollback_service import RollbackService
from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.chats import Autonomy, Chat, ChatConfig, Limits
from anycowork.domain.events import EventType, Record
from anycowork.domain.journal import AddChat, Change
from anycowork.domain.messages import Message, Speaker
from anycowork.domain.model import Chunk, ModelOptions, ModelRequest, Provider, ReplyFinished, TextChunk, UsageChunk
from anycowork.domain.people import AccessLevel
from anycowork.domain.principals import Principal, PrincipalKind
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Prepared, Tool, ToolContext
from anycowork.domain.tools import CallStatus, Parameters, ToolResult, ToolSpec
from anycowork.events.hub import Hub
from anycowork.jobs.agents import AgentRegistry
from anycowork.jobs.job_runner import JobRunner
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.prompt_service import PromptService
from anycowork.sandbox.remote.remote_runs import RemoteRuns
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.workspaces import Workspaces
from anycowork.server.clock import SystemClock
from anycowork.server.setup.agent_setup import build_agent
from anycowork.server.uvicorn_server import tune_gc
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import open_store
from anycowork.tools.toolbox import ToolRegistry, built_in_tools
from anycowork.turns.chat_coordinator import ChatCoordinator
from anycowork.turns.lookup import ApprovedPlans
from anycowork.turns.turn_recovery import TurnRecovery
from anycowork.turns.turn_scheduler import TurnScheduler
from anycowork.workflows.runner import WorkflowRunner
from anycowork.workflows.workflow_service import WorkflowService

PERSON = Principal(id="owner", kind=PrincipalKind.PERSON, name="Owner", access=AccessLevel.ADMIN)
LOOK_UP = "look_up"
CONTEXT_TOKENS = 32_768


class InstantModel:
    """A provider that answers at once: so many calls of one tool, each with other parameters, then a sentence. The words are written before."""

    name = "instant"

    def __init__(self, calls: int, tool: str, parameters: dict[str, str]) -> None:
        self._replies = [_call_of(tool, parameters, number) for number in range(calls)]

    async def answer(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        made = sum(said.role == "assistant" for said in request.messages)
        yield TextChunk(self.reply(made))
        yield UsageChunk(prompt=500, completion=40)
        yield ReplyFinished("stop")

    def reply(self, made: int) -> str:
        """The words after so many calls."""
        return self._replies[made] if made < len(self._replies) else "All of it was looked up."


def _call_of(tool: str, parameters: dict[str, str], number: int) -> str:
    filled = {name: value.format(number=number) for name, value in parameters.items()}
    return json.dumps({"tool": tool, "parameters": filled, "terminate": False})


class OneProvider:
    """The `Providers` of the domain's ports, with one in it."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def find(self, model_id: str | None) -> tuple[Provider, str]:
        return self._provider, "instant"

    def lasting_id(self) -> str | None:
        return None

    def context_tokens(self, model_id: str | None) -> int:
        return CONTEXT_TOKENS

    def options(self, model_id: str | None) -> ModelOptions:
        return ModelOptions()


class NoFiles:
    """The `WorkflowFiles` of the domain's ports: nobody wrote any."""

    async def of_data_folder(self) -> tuple[()]:
        return ()

    async def of_workspace(self, workspace: str) -> tuple[()]:
        return ()


class LookUp:
    """A tool that only reads and costs nothing: what is left is the loop itself."""

    spec = ToolSpec(
        name=LOOK_UP,
        category="facts",
        description="Look a word up.",
        permissions=frozenset({Permission.READ_FILES}),
        schema={"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
        requires_approval=False,
    )

    def problems(self, parameters: Parameters) -> list[str]:
        return [] if isinstance(parameters.get("word"), str) else ["'word' must be text"]

    async def prepare(self, parameters: Parameters, tool_context: ToolContext) -> Prepared:
        return Prepared(LOOK_UP, parameters, resource=str(parameters["word"]))

    async def run(self, prepared: Prepared, tool_context: ToolContext) -> ToolResult:
        return ToolResult(CallStatus.OK, looked_up(prepared.resource))


def looked_up(word: str) -> str:
    return f"{word}: " + "a short definition that says what the word means. " * 4


_CLOCK = SystemClock()
_TEXT = "The quick brown fox jumps over the lazy dog, and then it does so once more. " * 5


def new_message(chat_id: str) -> Message:
    """A message of a person; 600 bytes as it is stored."""
    return Message(_CLOCK.new_id(), chat_id, Speaker.USER, _TEXT, created_at=_CLOCK.now())


async def new_chat(database: Database) -> str:
    """The id of an empty chat, for benchmarks of the store alone."""
    chat = Chat(_CLOCK.new_id(), "Bench", "/", ChatConfig("actor"), created_at=_CLOCK.now(), updated_at=_CLOCK.now())
    await database.journal.write(Change(chat.id, (AddChat(chat, PERSON.label()),)))
    return chat.id


@dataclass(frozen=True, slots=True)
class Workplace:
    database: Database
    hub: Hub
    cli: ChatService
    rollback: RollbackService
    resting: "Resting"

    async def open_chat(self) -> Chat:
        return await self.cli.open_chat(
            PERSON, title="Bench", workspace=None, role=None, model=None, system_prompt_id=None
        )

    async def turn(self, chat: Chat, seconds: float = 120) -> None:
        """One message in, and the agent at rest again."""
        ended = self.resting.next_end_of(chat.id)
        await self.cli.send(PERSON, chat.id, "Look all the words up, one after the other.")
        await asyncio.wait_for(ended, seconds)


class Resting:
    """Sees every record on its way to the hub, and tells who waits for the end of a turn."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._waiting: dict[str, asyncio.Future[None]] = {}

    def publish(self, record: Record) -> None:
        self._hub.publish(record)
        if record.type is EventType.TURN_ENDED and (waiter := self._waiting.pop(record.chat_id, None)):
            waiter.set_result(None)
        if record.type is EventType.PERMISSION_REQUEST and (waiter := self._waiting.pop(record.chat_id, None)):
            waiter.set_exception(AssertionError(f"the benchmark's call asks: {record.body}"))

    def next_end_of(self, chat_id: str) -> "asyncio.Future[None]":
        waiter = self._waiting[chat_id] = asyncio.get_running_loop().create_future()
        return waiter


@asynccontextmanager
async def open_workplace(
    folder: Path,
    provider: Provider,
    *,
    steps: int = 100,
    sandbox: Sandbox | None = None,
    more_tools: Sequence[Tool] = (),
) -> AsyncIterator[Workplace]:
    """With a `sandbox`, commands run in it, and chats may be given the autonomy 'sandboxed'."""
    workspace = folder / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "words.txt").write_text(looked_up("word"))
    clock, hub = SystemClock(), Hub()
    resting = Resting(hub)
    database = open_store(folder / "anycowork.db", clock, resting.publish)
    built_in = built_in_tools(None, lambda: 600.0, sandbox)
    found = (tool for spec in built_in.specs() if (tool := built_in.find(spec.name)))
    toolbox = ToolRegistry([LookUp(), *more_tools, *found])
    journal, store, roles = database.journal, database.store, RoleRegistry([])
    prompts = PromptService(database.system_prompts, toolbox)
    staging = sandbox.staging if sandbox else None
    workspaces = Workspaces(lambda root: database.leases.take(root, owner="bench", seconds=60), staging=staging)
    snapshots = Snapshots(
        Pack(folder / "snapshots"), database.retention, clock, quota_bytes=1 << 31, layers=workspaces.layers
    )
    providers = OneProvider(provider)

    async def find_workspace(wanted: str | None) -> str:
        return str(workspace)

    def limits(autonomy: Autonomy) -> Limits:
        return Limits(steps=steps, seconds=300, faults=3)

    agent = build_agent(
        database,
        providers=providers,
        toolbox=toolbox,
        workspaces=workspaces,
        snapshots=snapshots,
        roles=roles,
        prompts=prompts,
        clock=clock,
        limits=limits,
    )
    runner = WorkflowRunner(
        journal=journal,
        store=store,
        snapshots=snapshots,
        toolrunner=agent.toolrunner,
        agent=agent,
        clock=clock,
        limits=limits,
        cost_of=lambda used: None,
    )
    plans = ApprovedPlans(store)
    jobs = JobRunner(
        journal=journal,
        store=store,
        agent=agent,
        agents=AgentRegistry(tuple, roles),
        plans=plans,
        clock=clock,
        limits=limits,
        cost_of=lambda used: None,
        remote=RemoteRuns(folder / "returned"),
    )
    recovery = TurnRecovery(
        journal=journal,
        store=store,
        workspaces=workspaces,
        snapshots=snapshots,
        toolbox=toolbox,
        clock=clock,
    )
    try:
        async with asyncio.TaskGroup() as tasks:
            scheduler = TurnScheduler(
                agent=agent,
                recovery=recovery,
                journal=journal,
                store=store,
                workspaces=workspaces,
                roles=roles,
                toolbox=toolbox,
                runners=(jobs.run, runner.run),
                plans=plans,
                tasks=tasks,
                find_workspace=find_workspace,
            )
            scheduler.open()
            cli = ChatService(
                chat_coordinator=ChatCoordinator(journal=journal, store=store, scheduler=scheduler),
                visibility=ChatVisibility(store.visibility, lambda: None),
                store=store,
                roles=roles,
                prompts=prompts,
                workflows=WorkflowService(files=NoFiles(), toolbox=toolbox, roles=roles),
                providers=providers,
                clock=clock,
                find_workspace=find_workspace,
                image_bytes=database.blobs,
                holds_commands=sandbox is not None,
            )
            rollback = RollbackService(
                journal=journal, store=store, workspaces=workspaces, snapshots=snapshots, clock=clock
            )
            tune_gc()
            yield Workplace(database, hub, cli, rollback, resting)
    finally:
        await database.aclose()
