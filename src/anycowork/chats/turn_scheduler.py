"""Keeps the running turns: one per chat, each a task with an owner, stopped at will and healed when the disk comes back."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from anycowork.agent.loop import Agent
from anycowork.agent.turn_context import TurnContext
from anycowork.chats.lookup import progress_of, require_chat
from anycowork.chats.turn_recovery import TurnRecovery, Unfinished
from anycowork.domain.chats import EndReason, Turn, TurnState
from anycowork.domain.errors import AnyCoworkError, LimitReached, StorageFault, TooManyFaults
from anycowork.domain.events import EventType
from anycowork.domain.journal import Change
from anycowork.domain.ports import Journal, Store, Toolbox, Workspaces
from anycowork.domain.principals import HOUSE
from anycowork.permissions.roles import RoleRegistry
from anycowork.prompts.tool_selection import LOOKED_AT
from anycowork.workflows.runner import WorkflowRunner

log = logging.getLogger(__name__)
Sleep = Callable[[float], Awaitable[None]]


class InternalError(AnyCoworkError):
    code = "internal_error"


class TurnScheduler:
    """`tasks` is the house's own group: no turn outlives it."""

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
        workflows: WorkflowRunner,
        tasks: asyncio.TaskGroup,
        find_workspace: Callable[[str | None], Awaitable[str]],
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._agent = agent
        self._recovery = recovery
        self._journal = journal
        self._store = store
        self._workspaces = workspaces
        self._roles = roles
        self._toolbox = toolbox
        self._workflows = workflows
        self._tasks = tasks
        self._find_workspace = find_workspace
        self._sleep = sleep
        self._running: dict[str, asyncio.Task[None]] = {}

    def start(self, turn: Turn) -> None:
        """Runs the turn's next segment; the segment before it, which may just be ending, comes to its end first."""
        before = self._running.get(turn.chat_id)
        self._running[turn.chat_id] = self._tasks.create_task(self._segment(turn, before))

    async def stop(self, turn: Turn, *, principal: str, said: str) -> None:
        """Ends the turn at once: what it runs is killed, and the history is consistent when this returns."""
        running = self._running.pop(turn.chat_id, None)
        if running is not None:
            running.cancel()
            await asyncio.wait([running])
        current = await self._store.current_turn(turn.chat_id)
        if current is None:
            return
        left = await broken_off(self._store, current)
        await self._recovery.end(current, EndReason.STOPPED, said=said, unfinished=left, principal=principal)

    async def interrupt_all(self) -> None:
        """Clean shutdown: running turns end as interrupted; parked ones stay parked and open."""
        for chat_id, running in list(self._running.items()):
            running.cancel()
            await asyncio.wait([running])
            turn = await self._store.current_turn(chat_id)
            if turn is not None and turn.state is TurnState.RUNNING:
                said = "The server was stopped during this turn. Continue it, or send a message."
                left = await broken_off(self._store, turn)
                await self._recovery.end(turn, EndReason.INTERRUPTED, said=said, unfinished=left)
        self._running.clear()

    async def _segment(self, turn: Turn, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        try:
            await self._run(turn)
        except AnyCoworkError as error:
            log.warning("turn %s ended: %s", turn.id, error.message)
            await self._heal(turn, error)
        except Exception:  # the top of a turn: whatever fails, the chat stays usable
            log.exception("turn %s failed inside AnyCowork", turn.id)
            await self._heal(
                turn, InternalError("Something inside AnyCowork failed; the log says what. The chat is usable.")
            )
        finally:
            if self._running.get(turn.chat_id) is asyncio.current_task():
                del self._running[turn.chat_id]

    async def _run(self, turn: Turn) -> None:
        if turn.state is not TurnState.RUNNING:
            turn = replace(turn, state=TurnState.RUNNING)
            await self._journal.write(Change(turn.chat_id, (turn,)))
        if run := await self._store.run(turn.id):
            await self._workflows.go_on(run, turn, self._context)
        else:
            await self._agent.run(await self._context(turn))

    async def _context(self, turn: Turn) -> TurnContext:
        """Raises: BadWorkspace, also where nobody registered the folder: an imported chat names whatever its file said."""
        chat = await require_chat(self._store, turn.chat_id)
        await self._find_workspace(chat.workspace)
        recent = await self._store.recent_history(chat.id, since=turn.message_id)
        return TurnContext(
            chat=chat,
            turn=turn,
            role=self._roles.stored(turn.role),
            workspace=self._workspaces.open(chat.workspace),
            toolbox=self._toolbox,
            history=recent.messages,
            beginning=() if recent.complete else await self._store.first_messages(chat.id, LOOKED_AT),
            calls=await self._store.calls(turn.id),
            progress=await progress_of(self._store, self._toolbox, turn, chat.workspace),
        )

    async def _heal(self, turn: Turn, error: AnyCoworkError) -> None:
        """Ends the turn for this reason, as soon as the store takes it."""
        wait = 0.5
        while True:
            try:
                current = await self._store.current_turn(turn.chat_id)
                if current is not None and current.id == turn.id:
                    left = await broken_off(self._store, current)
                    await self._recovery.end(current, _reason(error), said=error.message, unfinished=left, error=error)
                return
            except StorageFault as again:
                log.error("turn %s: still cannot be settled: %s", turn.id, again.message)
                await self._sleep(wait)
                wait = min(30.0, wait * 2)


def _reason(error: AnyCoworkError) -> EndReason:
    """A model that could not be used has failed; every other limit is just reached."""
    limit = isinstance(error, LimitReached) and not isinstance(error, TooManyFaults)
    return EndReason.LIMIT if limit else EndReason.FAILED


async def settle_after_crash(store: Store, recovery: TurnRecovery, scheduler: TurnScheduler) -> None:
    """Before the doors open: running turns end interrupted, answered ones are taken up, parked ones stay parked."""
    for turn in await store.turns_in(TurnState.RUNNING):
        await recovery.clear_leftovers(turn)
        left = await broken_off(store, turn)
        said = "The server ended during this turn. Continue it, or send a message."
        await recovery.end(turn, EndReason.INTERRUPTED, said=said, unfinished=left, principal=HOUSE.label())
    for turn in await store.turns_in(TurnState.DUE):
        scheduler.start(turn)


async def waiting_stages(store: Store) -> frozenset[str]:
    """Where changes wait that a person may still be asked about: a sweep must leave them."""
    turns = await store.turns_in(TurnState.PARKED, TurnState.DUE, TurnState.RUNNING)
    calls = [call for turn in turns for call in await store.calls(turn.id)]
    return frozenset(call.intent.staged for call in calls if call.intent is not None and call.intent.staged is not None)


async def broken_off(store: Store, turn: Turn) -> list[Unfinished]:
    """What was shown of answers that never became messages. The store knows: an answer that was just being written may have made it."""
    left: dict[str, Unfinished] = {}
    for piece in await store.unfinished_text(turn.chat_id, turn.id):
        known = left.get(piece.message_id, Unfinished(piece.message_id))
        part = "text" if piece.kind is EventType.TEXT_DELTA else "reasoning"
        left[piece.message_id] = replace(known, **{part: piece.text})
    return list(left.values())
