"""Sends the turns of a job's tasks through the engine, and runs all other turns in this process."""

import asyncio

from anycowork.chats.turn_scheduler import TurnScheduler
from anycowork.domain.chats import Turn, TurnState
from anycowork.domain.engine import Engine, ParkUntil, RunOver, RunSegment
from anycowork.domain.errors import NotFound
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock, Store
from anycowork.jobs.job_placement import JobPlacement

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
        self.placement: JobPlacement | None = None
        """Where jobs run, if other processes could run them too."""
        self._starting: dict[str, str] = {}
        self._continued: dict[str, str] = {}  # turns that ended and were continued: the key of their newest run
        engine.register(KIND, self.run_segment)

    def start(self, turn: Turn) -> None:
        """Run the turn's next segment, after the previous segment has ended."""
        if turn.task_id is None and (turn.job_id is None or self.placement is None):
            self._scheduler.start(turn)
        else:
            self._starting[turn.id] = turn.chat_id
            self._tasks.create_task(self._submit(turn))

    def is_busy(self, chat_id: str) -> bool:
        """Tell whether a turn of the chat runs in this process, or is about to."""
        return chat_id in self._starting.values() or self._scheduler.is_busy(chat_id)

    async def stop(self, turn: Turn, *, principal: str, note: str) -> None:
        """End the turn; the history is consistent when this returns."""
        await self._scheduler.stop(turn, principal=principal, note=note)
        if turn.task_id is not None:
            await self._engine.cancel(self._continued.get(turn.id, turn.id), timeout=STOP_SECONDS)

    async def runs_here(self, turn: Turn) -> bool:
        """Tell whether this process takes the turn on: a decided turn of a job that another process runs is left to that one."""
        if turn.job_id is None or self.placement is None:
            return True
        job = await self._store.job(turn.job_id, with_plan=False)
        return job is None or await self.placement.runs_here(job)

    async def _submit(self, turn: Turn) -> None:
        try:
            if turn.state is TurnState.DUE and not await self.runs_here(turn):
                self._starting.pop(turn.id, None)
                self._scheduler.on_rest(turn.chat_id)
            elif turn.task_id is None:
                self._scheduler.start(turn)
                self._starting.pop(turn.id, None)
            else:
                await self._hand_over(turn)
        except BaseException:
            self._starting.pop(turn.id, None)
            raise

    async def _hand_over(self, turn: Turn) -> None:
        key = self._continued.get(turn.id, turn.id)
        if turn.state is TurnState.DUE:
            try:
                await self._engine.signal(key, DECIDED, {}, dedup=self._clock.new_id())
                return
            except NotFound:
                pass  # it parked before this server started, or only asks
            except RunOver:
                key = self._continued[turn.id] = f"{turn.id}:{self._clock.new_id()}"
        await self._engine.submit(KIND, {"turn_id": turn.id}, key=key)

    async def run_segment(self, segment: RunSegment) -> Json | ParkUntil:
        """The engine calls it. A turn that still waits for a person parks again, whatever woke it."""
        turn_id = str(segment.payload["turn_id"])
        turn = await self._store.turn(turn_id)
        self._starting.pop(turn_id, None)
        if turn is not None and turn.state in (TurnState.RUNNING, TurnState.DUE):
            await self._scheduler.run(turn)
            turn = await self._store.turn(turn_id)
        if turn is not None and turn.state is not TurnState.ENDED:
            return ParkUntil(DECIDED)
        self._continued.pop(turn_id, None)
        return {"reason": turn.reason.value if turn is not None and turn.reason else None}
