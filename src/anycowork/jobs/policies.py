"""How the turns of a job end: the planner's with a plan, a worker's with a report, the primary agent's with the final response."""

from collections.abc import Callable, Sequence

from anycowork.agent.turn_policy import EVERYTHING, TurnEnd
from anycowork.domain import event_factory
from anycowork.domain.approvals import PlanRow
from anycowork.domain.chats import ChatState, EndReason
from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.jobs import Job, JobStatus, JobTask, step_statuses
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.plan_status import PlanStatus, StepStatus, plan_status
from anycowork.domain.roles import Permission
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.failures import after_failure
from anycowork.jobs.reports import ReportStatus, TaskReport, read_report

Now = Callable[[], str]
_REPORT_MISSING = 'The task needs your report: one JSON object with "status" (success or failure), "summary" and, if there is any, "evidence".'
_PLAN_MISSING = 'The job needs a plan: one JSON object with "goal" and "steps".'
_NO_REPORT: Json = {"code": "no_report", "message": "The worker ended without a report.", "retryable": True}
_NO_PLAN: Json = {"code": "no_plan", "message": "The planner ended without a plan.", "retryable": True}


class _AskOnce:
    """Asks once in a turn for what an answer lacks; the second answer ends the turn, whatever it is.

    `earlier` are the notes to the model in earlier segments: waiting for a person does not begin the count anew.
    """

    def __init__(self, earlier: Sequence[str]) -> None:
        self._earlier = set(earlier)

    @property
    def ceiling(self) -> frozenset[Permission]:
        return EVERYTHING

    def gives_up(self, text: str) -> bool:
        return False

    def ask_once(self, text: str) -> str | None:
        if text in self._earlier:
            return None
        self._earlier.add(text)
        return text


class PlanningPolicy(_AskOnce):
    """The planner's turn: its plan waits for a person's approval."""

    speech = MessageType.TEXT

    def __init__(self, job: Job, now: Now, *, earlier: Sequence[str] = ()) -> None:
        super().__init__(earlier)
        self.job = job
        self._now = now

    @property
    def ceiling(self) -> frozenset[Permission]:
        return frozenset({Permission.READ_FILES})

    def missing(self, text: str) -> str | None:
        return self.ask_once(_PLAN_MISSING)

    def end(self, end: TurnEnd) -> TurnEnd:
        plan = next((m for m in end.messages if m.message_type is MessageType.PLAN), None)
        if plan is not None:
            job = replace(self.job, status=JobStatus.AWAITING_APPROVAL, plan_id=plan.id, plan=plan.payload)
            return replace(end, writes=(*end.writes, job), events=(*end.events, event_factory.job_updated(job)))
        job = replace(self.job, status=JobStatus.FAILED, error=_NO_PLAN, completed_at=self._now())
        return replace(end, writes=(*end.writes, job), events=(*end.events, event_factory.job_completed(job)))


class TaskPolicy(_AskOnce):
    """A worker's turn: its report ends the task, in one transaction with the turn. `tasks` are all tasks of the job if they are few."""

    speech = MessageType.TASK_EXECUTION

    def __init__(
        self,
        job: Job,
        task: JobTask,
        *,
        now: Now,
        check_passed: Callable[[], bool],
        earlier: Sequence[str] = (),
    ) -> None:
        super().__init__(earlier)
        self._job = job
        self.tasks: Sequence[JobTask] = ()
        self._task = task
        self._now = now
        self._check_passed = check_passed

    def missing(self, text: str) -> str | None:
        return None if read_report(text) else self.ask_once(_REPORT_MISSING)

    def gives_up(self, text: str) -> bool:
        report = read_report(text)
        return report is not None and report.status is ReportStatus.FAILURE

    def end(self, end: TurnEnd) -> TurnEnd:
        report = _report(end.messages)
        task = self._settled(end, report)
        messages = tuple(_as_result(m, report) for m in end.messages)
        ended = () if task.status is TaskStatus.RUNNING else (event_factory.task_ended(task),)
        events = (*ended, self._plan_update(task))
        end = _without_proposals(end)
        return replace(
            end,
            messages=messages,
            writes=(*end.writes, task),
            events=(*end.events, *events),
            state=ChatState.RUNNING,  # the job goes on
        )

    def _plan_update(self, task: JobTask) -> NewEvent:
        """Of a large plan the step alone; when all of it is over, the coordinator says so."""
        tasks = [task if one.id == task.id else one for one in self.tasks] or [task]
        over = bool(self.tasks) and all(one.status.over for one in tasks)
        status = plan_status(step_statuses(tasks), over=over) if self.tasks else PlanStatus.APPROVED
        return event_factory.job_plan_update(self._job, tasks, status)

    def _settled(self, end: TurnEnd, report: TaskReport | None) -> JobTask:
        at = self._now()
        if end.reason is EndReason.BLOCKED:
            message = end.messages[-1].content if end.messages else "The task's step is not done."
            return after_failure(
                self._job, self._task, {"code": "not_done", "message": message, "retryable": True}, at=at
            )
        if report is None:
            return after_failure(self._job, self._task, _NO_REPORT, at=at)
        if report.status is ReportStatus.FAILURE:
            error: Json = {"code": "reported_failure", "message": report.summary, "retryable": True}
            return after_failure(self._job, self._task, error, at=at)
        done = replace(self._task, claimed=not self._check_passed(), result=report.summary, error=None)
        if self._task.workspace is not None and not self._job.race:
            return done  # it is completed when its changes are merged
        return replace(done, status=TaskStatus.COMPLETED, completed_at=at)


class ClosingPolicy(_AskOnce):
    """The primary agent's last turn: its answer is the job's final response."""

    speech = MessageType.TEXT

    def __init__(self, job: Job, now: Now, *, earlier: Sequence[str] = ()) -> None:
        super().__init__(earlier)
        self._job = job
        self._now = now

    @property
    def ceiling(self) -> frozenset[Permission]:
        return frozenset({Permission.READ_FILES})

    def missing(self, text: str) -> str | None:
        return None if text.strip() else self.ask_once("The job needs its final response: answer in words.")

    def end(self, end: TurnEnd) -> TurnEnd:
        end = _without_proposals(end)
        answer = next((m.content for m in end.messages if m.role is Speaker.ASSISTANT), "")
        if self._job.collects:
            job = replace(self._job, status=JobStatus.AWAITING_COMMIT, final_response=answer)
            return replace(end, writes=(*end.writes, job), events=(*end.events, event_factory.job_updated(job)))
        job = replace(self._job, status=JobStatus.COMPLETED, final_response=answer, completed_at=self._now())
        return replace(end, writes=(*end.writes, job), events=(*end.events, event_factory.job_completed(job)))


def _without_proposals(end: TurnEnd) -> TurnEnd:
    """Only a job's planner proposes plans: another agent that writes one has written text, and nobody waits for an answer to it."""
    return replace(
        end,
        reason=EndReason.ANSWERED if end.reason is EndReason.PLANNED else end.reason,
        messages=tuple(
            replace(m, message_type=MessageType.TEXT, payload=None) if m.message_type is MessageType.PLAN else m
            for m in end.messages
        ),
        writes=tuple(write for write in end.writes if not isinstance(write, PlanRow)),
        events=tuple(event for event in end.events if event.type is not EventType.PLAN_UPDATE),
    )


def proved(step_status: StepStatus | None, *, has_check: bool) -> bool:
    """A task counts as proved when the check that it names passed."""
    return has_check and step_status is StepStatus.DONE


def _report(messages: Sequence[Message]) -> TaskReport | None:
    """The worker's report; a reviewer's structured review is one."""
    for message in messages:
        if message.role is not Speaker.ASSISTANT:
            continue
        if message.message_type is MessageType.REVIEW:
            summary = str((message.payload or {}).get("summary") or message.content)
            return TaskReport(status=ReportStatus.SUCCESS, summary=summary)
        if found := read_report(message.content):
            return found
    return None


def _as_result(message: Message, report: TaskReport | None) -> Message:
    if message.role is not Speaker.ASSISTANT or message.message_type is MessageType.REVIEW:
        return message
    return replace(
        message, message_type=MessageType.TASK_RESULT, payload=report.to_json() if report else message.payload
    )
