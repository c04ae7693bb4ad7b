"""Writes what becomes true about a job, each time in one transaction, and starts the turns that follow from it."""

from collections.abc import Sequence

from anycowork.domain import event_factory
from anycowork.domain.chats import ChatState, Turn
from anycowork.domain.events import NewEvent
from anycowork.domain.jobs import Job, JobStatus, JobTask
from anycowork.domain.journal import Change, SetChat, Write
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.store.sql.journal import Journal
from anycowork.turns.chat_coordinator import ChatCoordinator


class JobWriter:
    def __init__(self, *, journal: Journal, turns: ChatCoordinator, clock: Clock) -> None:
        self._journal = journal
        self._turns = turns
        self._clock = clock

    async def write(self, job: Job, *writes: Write, events: tuple[NewEvent, ...] = ()) -> None:
        await self._journal.write(Change(job.chat_id, writes, events, principal=job.principal, cause=job.message_id))

    async def begin(self, job: Job, turns: Sequence[Turn], *writes: Write, events: tuple[NewEvent, ...] = ()) -> None:
        """Writes the turns with what belongs to them in one transaction, then starts the turns."""
        all_events = (*events, *map(event_factory.turn_started, turns))
        state = (SetChat(ChatState.RUNNING),) if turns else ()
        await self.write(job, *writes, *turns, *state, events=all_events)
        for turn in turns:
            self._turns.start(turn)

    async def fail(self, job: Job, tasks: Sequence[JobTask], error: Json) -> None:
        """Ends the job, and those of its tasks that are not over, with this error."""
        now = self._clock.now()
        failed = [
            replace(task, status=TaskStatus.FAILED, error=error, completed_at=now)
            for task in tasks
            if not task.status.over
        ]
        failed_job = replace(job, status=JobStatus.FAILED, error=error, completed_at=now)
        events = (*map(event_factory.task_ended, failed), event_factory.job_completed(failed_job))
        await self.write(job, *failed, failed_job, SetChat(ChatState.IDLE), events=events)

    async def rest(self, job: Job, status: JobStatus, error: Json | None = None) -> None:
        """The job goes on only when a person says so."""
        resting = replace(job, status=status, error=error)
        updated = event_factory.job_updated(resting, ChatState.IDLE)
        await self.write(job, resting, SetChat(ChatState.IDLE), events=(updated,))

    async def end(
        self, job: Job, status: JobStatus, error: Json | None, *writes: Write, final_response: str | None = None
    ) -> None:
        ended_job = replace(
            job,
            status=status,
            error=error,
            final_response=final_response or job.final_response,
            completed_at=self._clock.now(),
        )
        events = (event_factory.job_completed(ended_job),)
        await self.write(job, *writes, ended_job, SetChat(ChatState.IDLE), events=events)
