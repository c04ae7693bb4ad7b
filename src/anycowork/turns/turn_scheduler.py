"""Schedules the running turns: one per chat, and one per task of its job. Each is an owned task that can be stopped, and is settled when
the disk recovers."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from anycowork.agent.loop import Agent
from anycowork.agent.turn_context import Assignment, TurnContext, TurnConversation
from anycowork.domain import event_factory
from anycowork.domain.chats import EndReason, Turn, TurnState
from anycowork.domain.errors import AnyCoworkError, ContentElsewhere, LimitReached, StorageFault, TooManyFaults
from anycowork.domain.events import EventType
from anycowork.domain.jobs import Job
from anycowork.domain.journal import Change
from anycowork.domain.messages import Message
from anycowork.domain.ports import RecentMessages
from anycowork.domain.principals import SERVER_PRINCIPAL
from anycowork.domain.tool_ports import Toolbox
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.compaction import without_undone
from anycowork.prompts.tool_selection import LOOKED_AT, opening_request
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.telemetry.server_log import with_log_fields
from anycowork.turns.chat_coordinator import TurnEngine
from anycowork.turns.distributed_chat_locks import ChatClaims
from anycowork.turns.lookup import (
    ApprovedPlans,
    earlier_effects,
    earlier_turns,
    progress_of,
    require_chat_row,
    unknown_effects,
)
from anycowork.turns.turn_recovery import TurnRecovery, Unfinished

log = logging.getLogger(__name__)
ContextOf = Callable[[Turn, str | None], Awaitable[TurnContext]]
"""Builds the context of a turn, with as much of the chat as this model can be shown; None: the chat's own model."""
TurnRunner = Callable[[Turn, ContextOf], Awaitable[bool]]
"""Runs the turn's next segment if the turn belongs to it, and tells whether it did."""
UntilReady = Callable[[str, Callable[[Sequence[str]], None]], Awaitable[object]]
"""Waits, bounded, for what starts later than the server and what a turn of this chat may use; passes on the names of what it waits for."""
_LOOKED_AT_FIRST = 3  # messages
_Line = tuple[str, str | None]
"""A chat's id, and the id of a task of its job."""


class JobPlacement(Protocol):
    async def runs_here(self, job: Job) -> bool:
        """Whether this process takes the job on. Raises: StorageFault."""

    async def leave(self, job: Job) -> None:
        """Has the job go on in another process. Raises: StorageFault."""

    async def find_away(self, job: Job) -> ContentElsewhere | None:
        """Returns why the job's changes cannot be reached now; None if they can, or it has none. Raises: StorageFault."""


class LocalPlacement:
    """Runs every job here: no other process could."""

    async def runs_here(self, job: Job) -> bool:
        return True

    async def leave(self, job: Job) -> None:
        return

    async def find_away(self, job: Job) -> ContentElsewhere | None:
        return None


class InternalError(AnyCoworkError):
    code = "internal_error"


class TurnScheduler:
    """Runs each turn by the first of `runners` that takes it, else by the agent alone.

    `tasks` is the server's task group: no turn outlives it. `on_rest` is told of every chat whose turn's segment is over."""

    def __init__(
        self,
        *,
        agent: Agent,
        recovery: TurnRecovery,
        journal: Journal,
        store: Store,
        workspaces: Workspaces,
        roles: RoleRegistry,
        toolbox: Toolbox,
        runners: Sequence[TurnRunner],
        plans: ApprovedPlans,
        tasks: asyncio.TaskGroup,
        find_workspace: Callable[[str | None], Awaitable[str]],
    ) -> None:
        self._agent = agent
        self._recovery = recovery
        self._journal = journal
        self._store = store
        self._workspaces = workspaces
        self._roles = roles
        self._toolbox = toolbox
        self._runners = runners
        self.introduce: Callable[[TurnContext], None] = lambda context: None
        """Tells the agent of a chat's own turn which others it may give tasks to."""
        self._plans = plans
        self.on_rest: Callable[[str], None] = lambda chat_id: None
        self._tasks = tasks
        self._find_workspace = find_workspace
        self.placement: JobPlacement | None = None
        """Where jobs run, if other processes could run them too."""
        self._ending = False
        self._until_ready: asyncio.Future[Sequence[UntilReady]] = asyncio.get_running_loop().create_future()
        self._placing: dict[str, str] = {}  # turn ids with their chats, until it is known whether they run here
        self._running: dict[_Line, asyncio.Task[None]] = {}

    def open(self, *until_ready: UntilReady) -> None:
        """Lets turns run, each segment after these: everything that they use is built. Those that recovery resumed have waited for it."""
        self._until_ready.set_result(until_ready)

    def start(self, turn: Turn) -> None:
        """Runs the turn's next segment, after the previous segment has ended. A decided turn of a job is left to the process that runs
        the job."""
        if self.placement is None or turn.job_id is None or turn.state is not TurnState.DUE:
            self._start_segment(turn)
        else:
            self._placing[turn.id] = turn.chat_id
            self._tasks.create_task(self._start_if_here(turn))

    def is_busy(self, chat_id: str) -> bool:
        """Tells whether a turn of the chat runs in this process, or may be about to."""
        return chat_id in self._placing.values() or any(of_chat == chat_id for of_chat, _ in self._running)

    async def runs_here(self, turn: Turn) -> bool:
        """Tells whether this process takes the turn on. Raises: StorageFault."""
        if turn.job_id is None or self.placement is None:
            return True
        job = await self._store.jobs.find_in(turn.chat_id, turn.job_id)
        return job is None or await self.placement.runs_here(job)

    async def stop(self, turn: Turn, *, principal: str, note: str) -> None:
        """Ends the turn at once: its processes are killed, and the history is consistent when this returns."""
        running = self._running.pop(_line_of(turn), None)
        if running is not None:
            running.cancel()
            await asyncio.wait([running])
        current = await self._store.turns.find(turn.id)
        if current is not None and current.state is not TurnState.ENDED:
            unfinished = await broken_off(self._store, current)
            await self._recovery.end(current, EndReason.STOPPED, note=note, unfinished=unfinished, principal=principal)
        self.on_rest(turn.chat_id)  # also of one that had just ended: its cancelled segment tells nobody

    async def finish(self, seconds: float) -> None:
        """Waits until nothing runs any more, at most so long. Start nothing meanwhile."""
        if self._running:
            await asyncio.wait(self._running.values(), timeout=seconds)

    async def interrupt_all(self) -> None:
        """Shuts down cleanly: running turns end as interrupted; parked turns stay parked."""
        self._ending = True
        chat_ids = {chat_id for chat_id, _ in self._running}  # before they end: what has ended is forgotten
        for running in self._running.values():
            running.cancel()
        if self._running:
            await asyncio.wait(self._running.values())
        for turn in [turn for chat_id in sorted(chat_ids) for turn in await self._store.turns.all_current(chat_id)]:
            if turn.state is TurnState.RUNNING:
                note = f"The server was stopped during this turn. {_goes_on(turn)}"
                unfinished = await broken_off(self._store, turn)
                await self._recovery.end(turn, EndReason.INTERRUPTED, note=note, unfinished=unfinished)
        self._running.clear()

    async def _start_if_here(self, turn: Turn) -> None:
        try:
            runs_here = await self._runs_here_when_stored(turn)
        finally:
            self._placing.pop(turn.id, None)
        if not runs_here:
            self.on_rest(turn.chat_id)
        elif not self._ending:
            self._start_segment(turn)

    async def _runs_here_when_stored(self, turn: Turn) -> bool:
        """Tells whether this process takes the turn on, as soon as the database says so."""
        wait = 0.5
        while not self._ending:
            try:
                return await self.runs_here(turn)
            except StorageFault as fault:
                log.warning("turn %s: cannot be placed yet: %s", turn.id, fault.message)
                await asyncio.sleep(wait)
                wait = min(30.0, wait * 2)
        return False

    def _start_segment(self, turn: Turn) -> None:
        before = self._running.get(_line_of(turn))
        self._running[_line_of(turn)] = self._tasks.create_task(self._segment(turn, before))

    async def _segment(self, turn: Turn, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        try:
            with with_log_fields(chat_id=turn.chat_id, turn_id=turn.id, job_id=turn.job_id):
                await self._run_to_end(turn)
        finally:
            if self._running.get(_line_of(turn)) is asyncio.current_task():
                del self._running[_line_of(turn)]
                self.on_rest(turn.chat_id)

    async def _run_to_end(self, turn: Turn) -> None:
        try:
            await self._run(turn)
        except AnyCoworkError as error:
            log.warning("turn %s ended: %s", turn.id, error.message)
            await self._end_failed(turn, error)
        except Exception:  # top level of a turn: whatever fails, the chat stays usable
            log.exception("turn %s failed inside AnyCowork", turn.id)
            await self._end_failed(
                turn, InternalError("An internal error occurred; see the log. You can continue the chat.")
            )

    async def _run(self, turn: Turn) -> None:
        for until_ready in await asyncio.shield(self._until_ready):
            await until_ready(turn.chat_id, partial(self._show_wait, turn))
        if turn.state is TurnState.DUE:
            current = await self._store.turns.find(turn.id)
            if current is None or current.state not in (TurnState.RUNNING, TurnState.DUE):
                return  # an earlier segment took the decision along, or the turn was stopped
            turn = current
        if turn.state is not TurnState.RUNNING:
            turn = replace(turn, state=TurnState.RUNNING)
            await self._journal.write(Change(turn.chat_id, (turn,)))
        for run in self._runners:
            if await run(turn, self._context):
                return
        await self._agent.run(await self._context(turn))

    def _show_wait(self, turn: Turn, servers: Sequence[str]) -> None:
        self._journal.show_event(turn.chat_id, event_factory.mcp_wait(turn.id, servers))

    async def _context(self, turn: Turn, model_id: str | None = None) -> TurnContext:
        """Builds the turn's context. Raises: BadWorkspace, also for an unregistered folder: an imported chat may name any folder.

        `model_id` is the model of an agent that works instead of the chat's own. No more is read of the chat than the model can be shown.
        """
        chat = await require_chat_row(self._store, turn.chat_id)
        await self._find_workspace(chat.workspace)
        recent = await self._history(turn, model_id or chat.config.model_id)
        calls = await self._store.calls.of(turn)
        context = TurnContext(
            chat=chat,
            turn=turn,
            role=self._roles.stored(turn.role),
            workspace=self._workspaces.open(turn.workspace or chat.workspace),
            toolbox=self._toolbox,
            conversation=TurnConversation(
                turn, without_undone(recent.messages), () if recent.complete else await self._beginning(chat.id)
            ),
            calls=calls,
            progress=await progress_of(self._store, self._toolbox, turn, chat.workspace, self._plans),
            assignment=Assignment(
                earlier_turns=await earlier_turns(self._store, turn) if turn.job_id is None else (),
                earlier_effects=[
                    *unknown_effects(calls),
                    *await earlier_effects(self._store, self._toolbox, turn),
                ],
            ),
        )
        if turn.job_id is None:
            self.introduce(context)
        return context

    async def _history(self, turn: Turn, model_id: str | None) -> RecentMessages:
        """A worker sees its own turn alone, which begins with its assignment; everybody else the chat without what workers did."""
        if turn.task_id is None:
            limit = self._agent.history_limit(turn, model_id)
            return await self._store.messages.recent(turn.chat_id, since=turn.message_id, until=limit.reached)
        return RecentMessages(await self._store.messages.of_turn(turn), complete=True)

    async def _beginning(self, chat_id: str) -> list[Message]:
        """Returns the first messages of a long chat, until one is a request, which nearly always comes at once."""
        first = await self._store.messages.first(chat_id, _LOOKED_AT_FIRST)
        return first if opening_request(first) else await self._store.messages.first(chat_id, LOOKED_AT)

    async def _end_failed(self, turn: Turn, error: AnyCoworkError) -> None:
        """Ends the turn with this error, as soon as the store accepts writes."""
        wait = 0.5
        while True:
            try:
                current = await self._store.turns.find(turn.id)
                if current is not None and current.state is not TurnState.ENDED:
                    unfinished = await broken_off(self._store, current)
                    await self._recovery.end(
                        current, _reason(error), note=error.message, unfinished=unfinished, error=error
                    )
                return
            except StorageFault as again:
                log.error("turn %s: still cannot be settled: %s", turn.id, again.message)
                if self._ending:  # its cancellation may have been lost to this fault
                    return
                await asyncio.sleep(wait)
                wait = min(30.0, wait * 2)


def _line_of(turn: Turn) -> _Line:
    """Segments of one line run one after another."""
    return (turn.chat_id, turn.task_id)


def _goes_on(turn: Turn) -> str:
    return "The job continues automatically." if turn.job_id is not None else "Continue it, or send a message."


def _reason(error: AnyCoworkError) -> EndReason:
    """Returns the end reason: too many faults count as a failure, every other limit as a limit."""
    limit = isinstance(error, LimitReached) and not isinstance(error, TooManyFaults)
    return EndReason.LIMIT if limit else EndReason.FAILED


async def settle_after_crash(
    store: Store,
    recovery: TurnRecovery,
    scheduler: TurnEngine,
    claims: ChatClaims,
    takes: Callable[[Turn], Awaitable[bool]] | None = None,
    *,
    chat_id: str | None = None,
) -> list[str]:
    """Ends the running turns of servers that died as interrupted, resumes answered ones, leaves parked ones parked; only those of the chat
    if one is named.

    Returns the chats whose turns were ended. A chat that a living server holds is left to it, and a turn that this process does not take.
    """
    ended_chats: list[str] = []
    running, due_turns = await store.turns.in_states(TurnState.RUNNING), await store.turns.in_states(TurnState.DUE)
    for turn in (*running, *due_turns):
        if chat_id is not None and turn.chat_id != chat_id:
            continue
        if takes is not None and not await takes(turn):
            continue
        async with claims.claiming(turn.chat_id) as claimed:
            current = await store.turns.find(turn.id) if claimed else None
            if current is None or current.state is not turn.state:
                continue  # another server has it, or had it meanwhile
            if turn.state is TurnState.DUE:
                scheduler.start(turn)
                continue
            await recovery.clear_leftovers(turn)
            unfinished = await broken_off(store, turn)
            note = f"The server ended during this turn. {_goes_on(turn)}"
            by = SERVER_PRINCIPAL.label()
            await recovery.end(turn, EndReason.INTERRUPTED, note=note, unfinished=unfinished, principal=by)
            ended_chats.append(turn.chat_id)
    return ended_chats


async def waiting_stages(store: Store) -> frozenset[str]:
    """Returns the stages of changes that a person may still decide about: a cleanup must keep them."""
    turns = await store.turns.in_states(TurnState.PARKED, TurnState.DUE, TurnState.RUNNING)
    calls = [call for turn in turns for call in await store.calls.of_turn(turn.id)]
    return frozenset(call.intent.staged for call in calls if call.intent is not None and call.intent.staged is not None)


async def broken_off(store: Store, turn: Turn) -> list[Unfinished]:
    """Returns the published parts of answers that never became messages, as the store knows them."""
    unfinished: dict[str, Unfinished] = {}
    for piece in await store.records.unfinished_text(turn.chat_id, turn.id):
        earlier = unfinished.get(piece.message_id, Unfinished(piece.message_id))
        part = "text" if piece.kind is EventType.TEXT_DELTA else "reasoning"
        unfinished[piece.message_id] = replace(earlier, **{part: piece.text})
    return list(unfinished.values())
