"""Sends the turns of a job's tasks through the engine, and runs all other turns in this process."""

import asyncio

from anycowork.chats.turn_scheduler import TurnScheduler
from anycowork.domain.chats import Turn, TurnState
from anycowork.domain.engine import Engine, Park, Segment
from anycowork.domain.errors import NotFound
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock, Store

KIND = "task_turn"
DECIDED = "decided"
STOP_SECONDS = 30.0


class TaskTurns:
    """Implements `TurnEngine`. A run of the engine is one task's turn, under the turn's id; what it has done stands in the journal."""

    def __init__(
        self, *, engine: Engine, scheduler: TurnScheduler, store: Store, clock: Clock, tasks: asyncio.TaskGroup
    ) -> None:
        self._engine = engine
        self._scheduler = scheduler
        self._store = store
        self._clock = clock
        self._tasks = tasks
        engine.register(KIND, self.run_segment)

    def start(self, turn: Turn) -> None:
        """Run the turn's next segment, after the previous segment has ended."""
        if turn.task_id is None:
            self._scheduler.start(turn)
        else:
            self._tasks.create_task(self._submit(turn))

    async def stop(self, turn: Turn, *, principal: str, note: str) -> None:
        """End the turn; the history is consistent when this returns."""
        await self._scheduler.stop(turn, principal=principal, note=note)
        if turn.task_id is not None:
            await self._engine.cancel(turn.id, timeout=STOP_SECONDS)

    async def _submit(self, turn: Turn) -> None:
        if turn.state is TurnState.DUE:
            try:
                await self._engine.signal(turn.id, DECIDED, {}, dedup=self._clock.new_id())
                return
            except NotFound:
                pass  # it parked before this server started, or only asks
        await self._engine.submit(KIND, {"turn_id": turn.id}, key=turn.id)

    async def run_segment(self, segment: Segment) -> Json | Park:
        """The engine calls it. A turn that still waits for a person parks again, whatever woke it."""
        turn = await self._store.turn(segment.run_id)
        if turn is not None and turn.state in (TurnState.RUNNING, TurnState.DUE):
            await self._scheduler.run(turn)
            turn = await self._store.turn(segment.run_id)
        if turn is not None and turn.state is not TurnState.ENDED:
            return Park(DECIDED)
        return {"reason": turn.reason.value if turn is not None and turn.reason else None}
