"""Cancels a job: what runs is stopped, what has not started never starts, and its copies are removed."""

from collections.abc import Sequence

from anycowork.domain import event_factory
from anycowork.domain.chats import ChatState, Turn
from anycowork.domain.jobs import Job, JobStatus
from anycowork.domain.journal import SetChat
from anycowork.domain.ports import Clock
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.isolated_tasks import IsolatedTasks, is_reported
from anycowork.jobs.job_records import JobWriter
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator


class JobCanceller:
    """Only inside the chat's lock."""

    def __init__(
        self, *, store: Store, turns: ChatCoordinator, isolated: IsolatedTasks, writer: JobWriter, clock: Clock
    ) -> None:
        self._store = store
        self._turns = turns
        self._isolated = isolated
        self._writer = writer
        self._clock = clock

    async def cancel(self, job: Job, live: Sequence[Turn], *, by: str, note: str) -> Job:
        """Stop the job's turns among `live`, end its tasks and the job. The chat rests, unless another turn of it runs."""
        job_turns = [turn for turn in live if turn.job_id == job.id]
        for turn in job_turns:
            await self._turns.stop_turn(turn, principal=by, note=note)
        now = self._clock.now()
        before = await self._store.tasks.of_job(job.id)
        tasks = [
            replace(task, status=TaskStatus.CANCELLED, workspace=None, completed_at=now)
            for task in before
            if not task.status.over
        ]
        await self._isolated.remove_all(job, before)
        job = replace(job, status=JobStatus.CANCELLED, workspace=None, data_folder=None, completed_at=now)
        rests = len(job_turns) == len(live)
        state = (SetChat(ChatState.IDLE),) if rests else ()
        job_ended = event_factory.job_completed(job, ChatState.IDLE if rests else None)
        events = (*map(event_factory.task_ended, tasks), job_ended)
        await self._writer.write(replace(job, principal=by), *tasks, job, *state, events=events)
        return job

    async def cancel_unasked(self, job: Job, live: Sequence[Turn]) -> bool:
        """Cancel a job whose asking turn has ended; return whether it was. Reported work is merged all the same."""
        if job.status.over or job.asked_by in (None, *(turn.id for turn in live)):
            return False
        if any(map(is_reported, await self._store.tasks.of_job(job.id))):
            return False
        note = "Stopped: the turn that asked for this has ended."
        await self.cancel(job, live, by=job.principal, note=note)
        return True
