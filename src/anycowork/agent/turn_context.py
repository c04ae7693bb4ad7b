"""The state of a running turn: read from the journal at the start of each segment, and updated while the segment runs.

Its parts have one writer each: who gives the turn out (`Assignment`), the conversation, the calls (`TurnCalls`), the plan's progress
(`PlanProgress`), the time, what shows that the work is done, and what is not written yet (`WriteBuffer`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from dataclasses import field

from anycowork.agent.expectations import RequestExpectations
from anycowork.agent.injection_detector import InjectionScanner
from anycowork.agent.plan_progress import PlanProgress
from anycowork.agent.reply_parser import FoundCall
from anycowork.agent.reply_stream import ReplyStream
from anycowork.agent.turn_calls import TurnCalls, path_changes
from anycowork.agent.turn_origins import TurnOrigins
from anycowork.agent.turn_policy import CHAT_POLICY, TurnPolicy
from anycowork.domain.agents import AgentSpec, AgentTask
from anycowork.domain.chats import Chat, Limits, Turn
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.events import NewEvent
from anycowork.domain.evidence import CheckNotRun, Evidence, Receipt
from anycowork.domain.hooks import Hook, HookRuns, checks_recorded
from anycowork.domain.journal import Change, Reserve, Write
from anycowork.domain.limits import SpendingLimitReached
from anycowork.domain.messages import Message, Speaker, draft_start, is_continuation
from anycowork.domain.origins import NO_ORIGINS, Origins
from anycowork.domain.plan import Plan
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.skills import activated
from anycowork.domain.tool_ports import NO_COMMIT, CommitSession, Toolbox, ToolContext
from anycowork.domain.tools import Call, ToolResult
from anycowork.domain.values import mutable_value, replace, value
from anycowork.prompts.conversation import results_before_summary
from anycowork.prompts.tool_selection import opening_request
from anycowork.prompts.window import Window
from anycowork.store.sql.journal import Journal
from anycowork.workspace.folder import Folder

_NOTHING_HELD: AbstractAsyncContextManager[None] = nullcontext()


def unlimited(reserve: Reserve) -> AbstractAsyncContextManager[None]:
    """The budget of a turn that has none."""
    return _NOTHING_HELD


async def nothing() -> None:
    """Does nothing."""


@value
class Assignment:
    """What the turn is given before its segment runs: by the chat, a job or a workflow."""

    policy: TurnPolicy = CHAT_POLICY
    has_approved_plan: bool = True  # a task of another agent has a plan that no person approved, unless it names paths
    earlier_turns: Sequence[Turn] = ()  # that carried out the same plan
    # Of earlier attempts at the task: those that stand, or may; and what was interrupted in this turn.
    earlier_effects: Sequence[Call] = ()
    completed_tasks: frozenset[str] = frozenset()  # of the job that the turn plans anew
    job_request: str = ""  # of the job that the turn is a task of
    extra_prompt: str = ""  # what the agent's own configuration adds to the system prompt
    limits: Limits | None = None  # instead of the settings'
    # Around the write of each reservation; raises LimitReached if the budget has no room for it.
    reserving: Callable[[Reserve], AbstractAsyncContextManager[None]] = unlimited
    read_history: Callable[[int | None], Awaitable[str]] | None = None  # for a worker, which does not see the chat
    agents: tuple[AgentSpec, ...] = ()  # that it may give tasks to
    ask_agent: "Callable[[TurnContext, Call, AgentTask], Awaitable[ToolResult]] | None" = None
    agents_prompt: str = ""  # what the system prompt tells of other agents
    worker: str | None = None  # the joined worker that the commands of this task run on
    worker_needs: tuple[str, ...] = ()
    unlisted_tools: tuple[str, ...] = ()  # that only this turn's agent is offered
    before_end: Callable[[], Awaitable[None]] = nothing  # before the policy ends the turn

    def repeats_effect(self, call: FoundCall) -> bool:
        """Whether the same call took effect in an earlier attempt at the task, or may have when it was interrupted."""
        if not self.earlier_effects:  # the usual case
            return False
        return any((effect.tool, effect.parameters) == (call.tool, call.parameters) for effect in self.earlier_effects)


class TurnConversation:
    """The messages for the model. Of a long chat, `history` has only the newest messages, and `beginning` the first ones."""

    def __init__(self, turn: Turn, history: list[Message], beginning: Sequence[Message]) -> None:
        self.history = history
        self._turn = turn
        self.beginning = beginning
        self._opening: str | None = None
        of_turn = [m for m in history if m.turn_id == turn.id]
        own_messages = [m for m in of_turn if m.role is Speaker.USER]
        self.user_text = "\n".join(m.content for m in own_messages)
        """The person's messages of this turn."""
        self.skills = tuple(skill for m in own_messages if (skill := activated(m.payload)) is not None)
        """The skills that the turn works by: what they did not declare asks."""
        checks = (check for m in of_turn if m.payload for check in checks_recorded(m.payload))
        self.hook_checks: tuple[str, ...] = tuple(dict.fromkeys(checks))
        """Commands that hooks named as checks of this turn."""
        self.system_prompt: str | None = None
        self.window = Window()
        self.image_bytes: dict[str, bytes] = {}
        self.reply_stream: ReplyStream | None = None
        self.looked_up_origins = NO_ORIGINS
        """Those of what `read_history` has returned."""
        self._turn_origins = TurnOrigins()

    @property
    def origins(self) -> Origins:
        """Where everything came from that the model was shown so far."""
        return self._turn_origins.of(self.history)

    def person_words(self) -> list[str]:
        """Returns what the person wrote in this chat in their own words."""
        return self._turn_origins.words(self.history)

    def add_message(self, message: Message) -> None:
        """Takes a message that the person sent while the turn runs."""
        self.history.append(message)
        self.user_text = f"{self.user_text}\n{message.content}"

    def add_hook_checks(self, runs: HookRuns) -> None:
        checks = (check for _, outcome in runs for check in outcome.checks)
        self.hook_checks = tuple(dict.fromkeys((*self.hook_checks, *checks)))

    def request(self) -> str:
        """Returns the message that started the turn."""
        return next((m.content for m in reversed(self.history) if m.id == self._turn.message_id), "")

    def opening(self) -> str:
        """Returns the message that started the chat. It selects the tools if there are too many, and is the same in every turn."""
        if self._opening is None:
            self._opening = opening_request(self.beginning or self.history)
        return self._opening

    def all_requests(self) -> str:
        """Returns all messages of the person in this chat."""
        return "\n".join(message.content for message in self.history if message.role is Speaker.USER)


@mutable_value
class TurnTime:
    """The working time of a turn, without waiting for a person. The loop starts it."""

    started: float = 0.0
    seconds_before: float = 0.0
    deadline: asyncio.Timeout | None = None

    def seconds_at(self, now: float) -> float:
        return self.seconds_before + now - self.started

    @contextmanager
    def paused(self, monotonic: Callable[[], float]) -> Iterator[None]:
        """Does not count the time of the block against the turn: a call waits for a person, or for another agent."""
        paused_at, loop, deadline = monotonic(), asyncio.get_running_loop(), self.deadline
        deadline_time = deadline.when() if deadline is not None else None
        remaining = deadline_time - loop.time() if deadline_time is not None else None
        if deadline is not None:
            deadline.reschedule(None)
        try:
            yield
        finally:
            self.started += monotonic() - paused_at
            if deadline is not None and remaining is not None:
                with suppress(RuntimeError):  # the turn has ended meanwhile
                    deadline.reschedule(loop.time() + remaining)


@mutable_value
class WorkProof:
    """What speaks for and against the end of the turn."""

    finished_steps: int = 0  # of the plan, when its limits were last reset
    rejected_answers: int = 0  # how often an answer was rejected
    must_call: bool = False  # a small model's answer was rejected: its next reply must be a call
    # With the person's messages, and the checks of hooks, that it was derived from.
    expected: tuple[tuple[str, tuple[str, ...]], RequestExpectations] | None = None
    evidence: Evidence | None = None  # once the turn is about to end
    receipt: Receipt | None = None  # of the check that proves the work
    stop_hooks: HookRuns = ()  # those that last looked at the end of the turn
    checks_tried: list[str] = field(default_factory=list)  # commands that may be the project's own check
    workspace_check: str | None = None  # that a person set; empty: none is set
    checks_not_run: dict[str, CheckNotRun] = field(default_factory=dict)  # by command: nothing allows them unasked

    def reject_answer(self) -> None:
        """Counts a rejected answer; a small model must call a tool next."""
        self.rejected_answers += 1
        self.must_call = True


class TurnContext:
    """Mutable, and owned by one segment. Everything in it is also in the journal, or will be with the next write."""

    def __init__(
        self,
        *,
        chat: Chat,
        turn: Turn,
        role: RoleDefinition,
        workspace: Folder,
        toolbox: Toolbox,
        conversation: TurnConversation,
        calls: Iterable[Call],
        progress: PlanProgress | None,
        assignment: Assignment,
    ) -> None:
        self.chat = chat
        self.turn = turn
        self.role = role
        self.workspace = workspace
        self.toolbox = toolbox
        self.conversation = conversation
        self.calls = TurnCalls(calls, results_before_summary(conversation.history))
        self.progress = progress
        self.assignment = assignment
        self.time = TurnTime()
        self.proof = WorkProof(progress.count_finished() if progress else 0)
        self.write_buffer = WriteBuffer()
        self.hooks: tuple[Hook, ...] | None = None
        """The hooks that look at this segment's calls, once they were read."""
        self.hook_outcomes: dict[str, HookRuns] = {}
        """By call, of the hooks that ran before it."""
        self.steps_left = 0
        """How many steps the turn has until it pauses at its limit."""
        self.brief = False
        """Whether the model is a small one."""
        self.own_model: str | None = None
        """The model of the chat or the agent, once another one goes on for it."""
        self.models_gone_on: list[str] = []
        """Those that went on for it in this segment, in order."""
        self._injection_scanner = InjectionScanner(
            spec.name for spec in toolbox.specs() if spec.web or not spec.read_only
        )

    @property
    def plan(self) -> Plan | None:
        """The approved plan that the turn executes."""
        return self.progress.plan if self.progress else None

    def bound(self, call: Call) -> Call:
        """Returns the call with its plan step set; it is recorded, so that later calls of the same reply take it into account."""
        if self.progress is None:
            return call
        bound = self.progress.bound(call)
        self.progress.record(bound)
        return bound

    def plan_events(self, *calls: Call) -> tuple[NewEvent, ...]:
        """Returns a progress event if these calls changed the status of a plan step."""
        return self.progress.events_for(self.turn, *calls) if self.progress else ()

    def tool_context(
        self,
        permissions: frozenset[Permission] | None = None,
        *,
        commit: CommitSession = NO_COMMIT,
        hidden: HiddenPathRules = NOTHING_HIDDEN,
    ) -> ToolContext:
        """Returns the context for a tool: the files read in this turn with their hashes, and the user's text. `permissions` defaults to
        the role's."""
        return ToolContext(
            self.workspace,
            self.role.permissions if permissions is None else permissions,
            self.calls.read_files,
            self.conversation.user_text,
            wary=self.brief,
            commit=commit,
            hidden=hidden,
            history=self.assignment.read_history,
            agents=self.assignment.agents,
            worker=self.assignment.worker,
            worker_needs=self.assignment.worker_needs,
            job_id=self.turn.job_id,
            turn_id=self.turn.id,
        )

    def may_be_injected(self, call: FoundCall) -> bool:
        """Whether the same call occurs, in any spelling, in text of others that the model was shown: someone may have planted it."""
        return self._injection_scanner.contains(call, self.conversation.history, self.plan)

    def times_told(self, code: str) -> int:
        """Counts how often the model was told of a fault with this code, since a person last continued the turn."""
        count = 0
        for message in reversed(self.conversation.history):
            if message.turn_id == self.turn.id and is_continuation(message):
                break
            error = (message.payload or {}).get("error") if message.turn_id == self.turn.id else None
            count += isinstance(error, dict) and error.get("code") == code
        return count

    def drafts_begun(self) -> int:
        """Counts how often the model started anew in this turn, since a person last continued it."""
        count = 0
        for message in reversed(self.conversation.history):
            if message.turn_id == self.turn.id and is_continuation(message):
                break
            count += message.turn_id == self.turn.id and draft_start(message) is not None
        return count

    def tool_context_for(self, call: Call) -> ToolContext:
        """Returns the context in which the call is prepared. What the server takes back is known, and no small model wrote it."""
        tool_context = self.tool_context()
        if not call.provenance.restores:
            return tool_context
        known = {change.path: change.after for change in path_changes(self.calls) if change.after is not None}
        return replace(tool_context, read=known, wary=False)

    def only_reads(self, call: Call) -> bool:
        tool = self.toolbox.find(call.tool)
        return tool is None or tool.spec.read_only

    def is_command(self, call: Call) -> bool:
        tool = self.toolbox.find(call.tool)
        return tool is not None and tool.spec.runs_commands

    def is_built_in(self, call: Call) -> bool:
        tool = self.toolbox.find(call.tool)
        return tool is not None and not tool.spec.foreign

    def has_entry(self, path: str) -> bool:
        """Whether there is a file or a folder at this path of the workspace."""
        try:
            return self.workspace.has_entry(path)
        except AnyCoworkError:
            return False

    def has_file(self, path: str) -> bool:
        try:
            return self.workspace.file_hash(path) is not None
        except AnyCoworkError:
            return False


FLUSH_SECONDS = 0.05  # seconds at most, so that readers see a slow read while it runs


class WriteBuffer:
    """Changes of one turn, in order. None of them was published, and none has an effect. `pending` and `announcements` go into the next
    change, whatever it is."""

    def __init__(self) -> None:
        self.pending: list[Write] = []
        self.announcements: list[NewEvent] = []
        self._changes: list[Change] = []
        self._submitted: Awaitable[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def take_pending(self) -> tuple[tuple[Write, ...], tuple[NewEvent, ...]]:
        """Returns and clears the writes and events for the next change: the usage of an answer, or the result of a read."""
        writes, drafts = tuple(self.pending), tuple(self.announcements)
        self.pending, self.announcements = [], []
        return writes, drafts

    def keep(self, journal: Journal, change: Change) -> None:
        """Buffer a change; it is written with the next one, or alone after a short time."""
        self._changes.append(change)
        if self._timer is None:  # a running timer covers this change too
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._submit, journal)

    async def reserve(
        self, journal: Journal, change: Change, pending: Sequence[Write], announcements: Sequence[NewEvent]
    ) -> None:
        """Writes as `write` does. Raises: SpendingLimitReached; then `pending` and what was buffered waits again, to be written without
        the reservation."""
        waiting = self._changes
        try:
            await self.write(journal, change)
        except SpendingLimitReached:
            self._changes = [*waiting, *self._changes]
            self.pending = [*pending, *self.pending]
            self.announcements = [*announcements, *self.announcements]
            raise

    async def write(self, journal: Journal, *changes: Change) -> None:
        """Writes all buffered changes and then these, in one transaction. Raises: as `Journal.write`, also for submitted changes."""
        if self._submitted is not None:
            submitted, self._submitted = self._submitted, None
            await submitted  # if it failed, later changes must not be written either
        waited, self._changes = self._changes, []
        if waited or changes:
            await journal.write(*waited, *changes)

    def _submit(self, journal: Journal) -> None:
        self._timer = None
        if self._changes:
            waited, self._changes = self._changes, []
            self._submitted = journal.submit_change(*waited)
