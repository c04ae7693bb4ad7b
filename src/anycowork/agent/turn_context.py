"""The state of a running turn: read from the journal at the start of each segment, and updated while the segment runs."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from anycowork.agent.injection_scanner import InjectionScanner
from anycowork.agent.plan_progress import PlanProgress, was_deferred
from anycowork.agent.repeated_calls import was_a_repeat
from anycowork.agent.reply_parser import FoundCall
from anycowork.agent.reply_stream import ReplyStream
from anycowork.agent.turn_policy import CHAT_POLICY, TurnPolicy
from anycowork.agent.write_buffer import WriteBuffer
from anycowork.domain.chats import Chat, Limits, Turn
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.events import NewEvent
from anycowork.domain.journal import Reserve, Write
from anycowork.domain.messages import Json, Message, Speaker
from anycowork.domain.plan import Plan
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules, Workspace, names_nothing
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.tool_ports import Intend, Toolbox, ToolContext
from anycowork.domain.tools import Call, CallState, CallStatus
from anycowork.prompts.conversation import results_before_summary
from anycowork.prompts.tool_selection import opening_request
from anycowork.prompts.window import Window


@asynccontextmanager
async def unlimited(reserve: Reserve) -> AsyncIterator[None]:
    """The budget of a turn that has none."""
    yield


async def nothing() -> None:
    """Does nothing."""


@dataclass(slots=True)
class TurnContext:
    """Mutable, and owned by one segment. Everything in it is also in the journal, or will be with the next write."""

    chat: Chat
    turn: Turn
    role: RoleDefinition
    workspace: Workspace
    toolbox: Toolbox
    history: list[Message]  # of a long chat only the newest messages
    calls: list[Call]
    progress: PlanProgress | None = None
    beginning: Sequence[Message] = ()  # of the chat, where `history` is only its end
    policy: TurnPolicy = CHAT_POLICY
    extra_prompt: str = ""  # what the agent's own configuration adds to the system prompt
    limits: Limits | None = None  # instead of the settings'
    # Around the write of each reservation; raises LimitReached if the budget has no room for it.
    reserving: Callable[[Reserve], AbstractAsyncContextManager[None]] = unlimited
    read_history: Callable[[int | None], Awaitable[str]] | None = None  # for a worker, which does not see the chat
    unlisted_tools: tuple[str, ...] = ()  # that only this turn's agent is offered
    before_end: Callable[[], Awaitable[None]] = nothing  # before the policy ends the turn
    system_prompt: str | None = None
    reply_stream: ReplyStream | None = None
    rejected_answers: int = 0  # how often an answer was rejected
    must_call: bool = False  # a small model's answer was rejected: its next reply must be a call
    brief: bool = False  # the model is a small one
    started: float = 0.0
    seconds_before: float = 0.0
    deadline: asyncio.Timeout | None = None
    user_text: str = ""  # the person's messages of this turn
    finished_steps: int = 0  # of the plan, when its limits were last reset
    pending: list[Write] = field(default_factory=list)
    announcements: list[NewEvent] = field(default_factory=list)
    write_buffer: WriteBuffer = field(default_factory=WriteBuffer)
    window: Window = field(default_factory=Window)
    image_bytes: dict[str, bytes] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)
    _open: dict[str, Call] = field(default_factory=dict)
    _injection_scanner: InjectionScanner = field(init=False)
    _read: dict[str, str] = field(default_factory=dict)
    _read_so_far: Mapping[str, str] = field(init=False)
    _no_longer_shown: frozenset[str] = (
        frozenset()
    )  # calls whose results a compaction left out: what they read must be read again
    _refused: list[Call] = field(default_factory=list)
    _opening: str | None = None

    def __post_init__(self) -> None:
        self._read_so_far = MappingProxyType(self._read)
        self._injection_scanner = InjectionScanner(spec.name for spec in self.toolbox.specs() if not spec.read_only)
        known, self.calls = self.calls, []
        self._no_longer_shown = results_before_summary(self.history)
        self.issue(known)
        texts = [m.content for m in self.history if m.turn_id == self.turn.id and m.role is Speaker.USER]
        self.user_text = "\n".join(texts)  # while the segment runs, `add_message` adds to it
        self.finished_steps = self.progress.count_finished() if self.progress else 0

    def add_message(self, message: Message) -> None:
        """Take a message that the person sent while the turn runs."""
        self.history.append(message)
        self.user_text = f"{self.user_text}\n{message.content}"

    def reject_answer(self) -> None:
        """Count a rejected answer; a small model must call a tool next."""
        self.rejected_answers += 1
        self.must_call = True

    @property
    def plan(self) -> Plan | None:
        """The approved plan that the turn executes."""
        return self.progress.plan if self.progress else None

    def bound(self, call: Call) -> Call:
        """Return the call with its plan step set; it is recorded, so that later calls of the same reply take it into account."""
        if self.progress is None:
            return call
        bound = self.progress.bound(call)
        self.progress.record(bound)
        return bound

    def plan_events(self, *calls: Call) -> tuple[NewEvent, ...]:
        """Return a progress event if these calls changed the status of a plan step."""
        return self.progress.events_for(self.turn, *calls) if self.progress else ()

    def take_pending(self) -> tuple[tuple[Write, ...], tuple[NewEvent, ...]]:
        """Return and clear the writes and events for the next change: the usage of an answer, or the result of a read."""
        writes, drafts = tuple(self.pending), tuple(self.announcements)
        self.pending, self.announcements = [], []
        return writes, drafts

    def request(self) -> str:
        """Return the message that started the turn."""
        return next((m.content for m in reversed(self.history) if m.id == self.turn.message_id), "")

    def opening(self) -> str:
        """Return the message that started the chat. It selects the tools if there are too many, and is the same in every turn."""
        if self._opening is None:
            self._opening = opening_request(self.beginning or self.history)
        return self._opening

    def seconds_at(self, now: float) -> float:
        """Return the working time of this turn, without waiting for a person."""
        return self.seconds_before + now - self.started

    def issue(self, calls: Iterable[Call]) -> None:
        """Append newly issued calls."""
        for call in calls:
            self._places[call.id] = len(self.calls)
            self.calls.append(call)
            self.update_call(call)

    def open_calls(self) -> list[Call]:
        """Return the open calls in the order in which they were issued."""
        return list(self._open.values())

    def last_failure(self) -> Call | None:
        """Return the newest settled call of the turn, if it failed."""
        last = next((call for call in reversed(self.calls) if call.state is CallState.SETTLED), None)
        failed = last is not None and last.result is not None and last.result.status is CallStatus.ERROR
        return last if failed else None

    def update_call(self, call: Call) -> None:
        """Replace the known state of the call."""
        self.calls[self._places[call.id]] = call
        if call.state is CallState.SETTLED:
            self._open.pop(call.id, None)
        else:
            self._open[call.id] = call
        self._learn(call)

    def call(self, call_id: str) -> Call:
        return self.calls[self._places[call_id]]

    def tool_context(
        self,
        permissions: frozenset[Permission] | None = None,
        *,
        intend: Intend | None = None,
        named: Callable[[str], bool] = names_nothing,
        hidden: HiddenPathRules = NOTHING_HIDDEN,
    ) -> ToolContext:
        """Return the context for a tool: the files read in this turn with their hashes, and the user's text. `permissions` defaults to
        the role's."""
        return ToolContext(
            self.workspace,
            self.role.permissions if permissions is None else permissions,
            self._read_so_far,
            self.user_text,
            wary=self.brief,
            intend=intend,
            named=named,
            hidden=hidden,
            history=self.read_history,
        )

    def _learn(self, call: Call) -> None:
        """Remember which files a settled call read or wrote, and whether it was refused."""
        if call.result is None:
            return
        if call.result.status in (CallStatus.REFUSED, CallStatus.DENIED) and not was_a_repeat(call):
            self._refused.append(call)
        if call.result.status is CallStatus.OK and call.result.facts and call.id not in self._no_longer_shown:
            self._learn_file(call.result.facts)

    @property
    def was_denied(self) -> bool:
        """Whether a person denied a call of this turn."""
        return any(call.result is not None and call.result.status is CallStatus.DENIED for call in self._refused)

    def _learn_file(self, facts: Json) -> None:
        path, seen, after = facts.get("path"), facts.get("sha256"), facts.get("after")
        if not isinstance(path, str):
            return
        if facts.get("whole") is True and isinstance(seen, str):
            self._read[path] = seen
        elif isinstance(after, str) and (path in self._read or facts.get("before") is None):
            self._read[path] = after  # the content of a file that was read and changed, or created, is known

    def may_be_injected(self, call: FoundCall) -> bool:
        """Whether the same call occurs, in any spelling, in text of others that the model was shown: someone may have planted it."""
        return self._injection_scanner.contains(call, self.history, self.plan)

    def earlier_failure(self, call: Call) -> Call | None:
        """Return the same call made earlier in this turn, if it was refused or nothing has succeeded since. Workflow steps are exempt,
        because their author wants them repeated."""
        if call.provenance.workflow is not None:
            return None
        for earlier in reversed(self.calls):
            if earlier.id == call.id or earlier.result is None or was_a_repeat(earlier) or was_deferred(earlier):
                continue
            same = earlier.tool == call.tool and earlier.parameters == call.parameters
            status = earlier.result.status
            if same and status in (CallStatus.REFUSED, CallStatus.DENIED, CallStatus.ERROR):
                return None if earlier.result.was_model_fault else earlier
            if status is CallStatus.OK:
                return self._refused_before(call)
        return None

    def only_reads(self, call: Call) -> bool:
        tool = self.toolbox.find(call.tool)
        return tool is None or tool.spec.read_only

    def is_command(self, call: Call) -> bool:
        tool = self.toolbox.find(call.tool)
        return tool is not None and tool.spec.runs_commands

    def has_file(self, path: str) -> bool:
        try:
            return self.workspace.file_hash(path) is not None
        except AnyCoworkError:
            return False

    def all_requests(self) -> str:
        """Return all messages of the person in this chat."""
        return "\n".join(message.content for message in self.history if message.role is Speaker.USER)

    def _refused_before(self, call: Call) -> Call | None:
        same = (one for one in self._refused if (one.tool, one.parameters) == (call.tool, call.parameters))
        return next(same, None)
