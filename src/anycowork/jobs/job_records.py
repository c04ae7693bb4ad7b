"""The records that a job writes: turns, assignments, results, the question about a failed task, and the end of a cancelled job."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from anycowork.domain import event_factory
from anycowork.domain.approvals import QuestionRow
from anycowork.domain.chats import ChatState, Turn
from anycowork.domain.events import NewEvent
from anycowork.domain.jobs import Job, JobStatus, JobTask, task_names
from anycowork.domain.journal import Change, SetChat, Write
from anycowork.domain.messages import QUOTED_REPORTS, Json, Message, MessageType, Speaker
from anycowork.domain.origins import Origins, written_by_model
from anycowork.domain.ports import Clock
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace, value
from anycowork.jobs.isolated_tasks import IsolatedTasks, conflict_words, is_reported
from anycowork.jobs.job_runner import RETRY, SKIP, STOP, WITHOUT
from anycowork.jobs.task_commits import KEEP_MERGED, KEEP_TASK, KEEP_WORKSPACE, MergeConflict
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.chat_coordinator import ChatCoordinator

_MOST_NAMED = 20  # tasks in a question


@value
class JobRecords:
    clock: Clock

    def turn(
        self, job: Job, *, role: str, message_id: str, task: JobTask | None = None, plan_id: str | None = None
    ) -> Turn:
        return Turn(
            id=(task.turn_id if task else None) or self.clock.new_id(),
            chat_id=job.chat_id,
            role=role,
            principal=job.principal,
            message_id=message_id,
            plan_id=job.plan_id if task else plan_id,
            created_at=self.clock.now(),
            job_id=job.id,
            task_id=task.id if task else None,
        )

    def assignment(self, job: Job, task: JobTask, text: str, quoted: str, origins: Origins) -> Message:
        """`origins` are those of the plan and of the reports that the text quotes."""
        payload: Json = {"task": task.to_json(), QUOTED_REPORTS: quoted}
        message = self._message(job, Speaker.USER, text, MessageType.TASK_ASSIGNMENT, payload, task.turn_id, task.id)
        return replace(message, origins=written_by_model(origins))

    def continuation(self, job: Job, task: JobTask) -> Message:
        """Says in an interrupted turn of a task that it goes on."""
        text = "The server ended during this task. It goes on where it stopped; what has a result is done."
        payload: Json = {"continued": "interrupted"}
        return self._message(job, Speaker.SYSTEM, text, MessageType.TEXT, payload, task.turn_id, task.id)

    def results(self, job: Job, turn: Turn, text: str, quoted: str, origins: Origins) -> Message:
        """Data, so it stands as a result: what workers say is never taken for a person's words."""
        payload: Json = {"tool_call_id": None, "tool": "tasks", "status": "ok", QUOTED_REPORTS: quoted}
        message = self._message(job, Speaker.TOOL, text, MessageType.TOOL_RESULT, payload, turn.id, None)
        return replace(message, origins=written_by_model(origins))

    def replan(self, job: Job, text: str, quoted: str, origins: Origins) -> Message:
        """The request for a new plan. It quotes what workers said, so it stands as a result and not as a person's words."""
        payload: Json = {"tool_call_id": None, "tool": "tasks", "status": "ok", QUOTED_REPORTS: quoted}
        message = self._message(job, Speaker.TOOL, text, MessageType.TOOL_RESULT, payload, None, None)
        return replace(message, origins=written_by_model(origins))

    def failure_question(self, job: Job, task: JobTask, tasks: Iterable[JobTask]) -> tuple[Message, QuestionRow, Turn]:
        """`tasks` are all of the job."""
        all_tasks = [*tasks]
        names = task_names(all_tasks)
        dependants = [names[other.id] for other in all_tasks if task.id in other.dependencies]
        reason = str((task.error or {}).get("message") or "It gave no reason.")[:2000].rstrip()
        end = "" if reason.endswith((".", "!", "?")) else "."
        text = f"Task {names[task.id]} failed: {reason}{end} What should the job do?"
        options = {"Try it again": RETRY, "Go on without it": SKIP}
        if dependants:
            listed = ", ".join(dependants[:_MOST_NAMED])
            text += f" These tasks build on it, and are left out with it unless they can do without: {listed}."
            options["Go on, and do what builds on it all the same"] = WITHOUT
        return self._question(job, task, text, {**options, "Stop the job": STOP})

    def conflict_question(
        self, job: Job, task: JobTask, tasks: Sequence[JobTask], conflict: MergeConflict
    ) -> tuple[Message, QuestionRow, Turn]:
        """`tasks` are all of the job."""
        options = {
            "Keep the task's version": KEEP_TASK,
            "Keep the version that is there now": KEEP_WORKSPACE,
            "Run the task again on the present files": RETRY,
        }
        if conflict.draft is not None:
            options["Merge by hand: write the file as it should be"] = KEEP_MERGED
        return self._question(
            job, task, conflict_words(task, task_names(tasks)[task.id], conflict), options, conflict=conflict.to_json()
        )

    def _question(
        self, job: Job, task: JobTask, text: str, options: Mapping[str, str], **more: JsonValue
    ) -> tuple[Message, QuestionRow, Turn]:
        payload: Json = {
            "type": "question",
            "format_version": "1.0",
            "severity": "major",
            "question": text,
            "options": [{"label": label, "value": value} for label, value in options.items()],
            **more,
        }
        turn_id = self.clock.new_id()
        message = self._message(job, Speaker.ASSISTANT, text, MessageType.QUESTION, payload, turn_id, task.id)
        turn = Turn(
            id=turn_id,
            chat_id=job.chat_id,
            role="actor",
            principal=job.principal,
            message_id=message.id,
            created_at=self.clock.now(),
            job_id=job.id,
            task_id=task.id,
        )
        return message, QuestionRow(message.id, job.chat_id, turn_id), turn

    def _message(
        self,
        job: Job,
        speaker: Speaker,
        text: str,
        kind: MessageType,
        payload: Json,
        turn_id: str | None,
        task_id: str | None,
    ) -> Message:
        return Message(
            self.clock.new_id(),
            job.chat_id,
            speaker,
            text,
            kind,
            payload,
            turn_id=turn_id,
            job_id=job.id,
            task_id=task_id,
            created_at=self.clock.now(),
        )


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
        """Stops the job's turns among `live`, ends its tasks and the job. The chat rests, unless another turn of it runs."""
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
        """Cancels a job whose asking turn has ended; returns whether it was. Reported work is merged all the same."""
        if job.status.over or job.asked_by in (None, *(turn.id for turn in live)):
            return False
        if any(map(is_reported, await self._store.tasks.of_job(job.id))):
            return False
        note = "Stopped: the turn that asked for this has ended."
        await self.cancel(job, live, by=job.principal, note=note)
        return True
