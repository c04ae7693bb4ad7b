"""How the turns of a job end: the planner's with a plan, a worker's with a report, the primary agent's with the final response; and
what a failed task means for its job."""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import Field, JsonValue, ValidationError

from anycowork.agent.reply_parser import plan_problem
from anycowork.agent.turn_policy import EVERYTHING, TurnEnd
from anycowork.domain import event_factory
from anycowork.domain.approvals import PlanRow
from anycowork.domain.boundary import ModelDocument, Text
from anycowork.domain.chats import ChatState, EndReason, Turn
from anycowork.domain.errors import ContextFull, LimitReached, NotEnoughSpace, OutOfTime, TooManySteps
from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.evidence import is_claimed
from anycowork.domain.jobs import Job, JobStatus, JobTask, OnFailure, step_statuses
from anycowork.domain.messages import Json, Message, MessageType, Speaker
from anycowork.domain.model import LONGEST_REPLY
from anycowork.domain.plan import PlanStatus, plan_status
from anycowork.domain.provider_errors import BadKey, NoSuchModel
from anycowork.domain.roles import Permission
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace

GAP = "completed_with_gap"
RETRIES = 2  # attempts after the first
MOST_REPLANS = 3  # of one job, without a person asking for them
MOST_INTERRUPTIONS = 20  # of one task, by crashes or stops: then something is wrong with it
# What no other attempt can mend. Anything else is tried again: a new copy, a server that is back or files that changed may mend it.
_HOPELESS = frozenset(
    fault.code for fault in (BadKey, ContextFull, LimitReached, NoSuchModel, NotEnoughSpace, OutOfTime, TooManySteps)
)
_DECODER = json.JSONDecoder()
_MOST_TRIED = 50  # braces at which an object may begin


def after_failure(job: Job, task: JobTask, error: Json, *, now: str) -> JobTask:
    """The task as it stands after one more failed attempt: to be tried again, or failed for good, at once where that would not help."""
    failed = replace(task, failures=task.failures + 1, error=error)
    if job.on_failure is OnFailure.RETRY and failed.failures <= RETRIES and error.get("code") not in _HOPELESS:
        return replace(failed, status=TaskStatus.PENDING)
    return replace(failed, status=TaskStatus.FAILED, completed_at=now)


def after_turn(job: Job, task: JobTask, turn: Turn | None, *, now: str) -> JobTask:
    """The task whose turn ended without a report: a crash, a stop, a limit or a failure ended it."""
    if turn is None or turn.reason in (EndReason.INTERRUPTED, EndReason.STOPPED):
        if task.interruptions < MOST_INTERRUPTIONS:
            error: Json = {"code": "interrupted", "message": "it was interrupted", "retryable": True}
            return replace(task, status=TaskStatus.PENDING, interruptions=task.interruptions + 1, error=error)
        too_often: Json = {
            "code": "interrupted",
            "message": f"The task was interrupted {MOST_INTERRUPTIONS} times and is not tried again.",
            "retryable": False,
        }
        return replace(task, status=TaskStatus.FAILED, error=too_often, completed_at=now)
    reason = turn.reason.value if turn.reason else "unknown"
    error = turn.error or {"code": reason, "message": f"The task's turn ended: {reason}.", "retryable": True}
    return after_failure(job, task, error, now=now)


def spent_limit(tasks: Iterable[JobTask]) -> Json | None:
    """The error of the task that met the limit of the whole job, or of who pays for it; None while there is room."""
    errors = (task.error for task in tasks if task.status is TaskStatus.FAILED and task.error is not None)
    return next((error for error in errors if error.get("limit") in ("job", "person", "group")), None)


def is_accepted(tasks: Sequence[JobTask]) -> bool:
    """Whether a person said of every failed task that the job goes on without it."""
    failed = [task for task in tasks if task.status is TaskStatus.FAILED]
    others = (TaskStatus.COMPLETED, TaskStatus.SKIPPED, TaskStatus.FAILED)
    return bool(failed) and all(map(_is_left_out, failed)) and all(task.status in others for task in tasks)


def named_gap(task_ids: Sequence[str]) -> Json:
    """The error of a job that completed without these tasks."""
    names = ", ".join(task_id[:80] for task_id in task_ids[:20])
    return {"code": GAP, "message": f"Completed without: {names}.", "retryable": False}


def tasks_failed(task_ids: Sequence[str]) -> Json:
    """The error of a job of which these tasks did not complete."""
    names = ", ".join(task_id[:80] for task_id in task_ids[:20])
    message = f"These tasks did not complete: {names}. Retry a failed one to go on."
    return {"code": "tasks_failed", "message": message, "retryable": True}


def end_of_turn(turn: Turn) -> Json:
    """Why the turn ended, as an error."""
    reason = turn.reason.value if turn.reason else "unknown"
    return turn.error or {"code": reason, "message": f"The turn ended: {reason}.", "retryable": True}


def _is_left_out(task: JobTask) -> bool:
    return (task.error or {}).get("decision") in ("skip", "without")


class ReportStatus(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"


class TaskReport(ModelDocument):
    status: Annotated[ReportStatus, Field(strict=False)]
    summary: Text
    evidence: JsonValue = None

    def to_json(self) -> Json:
        return self.model_dump(mode="json", exclude_none=True)


def read_report(text: str) -> TaskReport | None:
    """The last object in the text that is a report; None if there is none."""
    text = text[:LONGEST_REPLY]
    start = text.rfind("{")
    for _ in range(_MOST_TRIED):
        if start < 0:
            return None
        try:
            document, _end = _DECODER.raw_decode(text, start)
            if isinstance(document, dict):
                return TaskReport.model_validate(document)
        except (ValidationError, ValueError, RecursionError):
            pass
        start = text.rfind("{", 0, start)
    return None


Now = Callable[[], str]
_REPORT_MISSING = 'The task needs your report: one JSON object with "status" (success or failure), "summary" and, if there is any, "evidence".'
_PLAN_MISSING = 'The job needs a plan: one JSON object with "goal" and "steps".'
_WHOLE_PLAN = "Correct that and reply with the whole plan as one JSON object."
_NO_REPORT: Json = {"code": "no_report", "message": "The worker ended without a report.", "retryable": True}
NO_PLAN: Json = {"code": "no_plan", "message": "The planner ended without a plan.", "retryable": True}


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

    def vouches(self, text: str) -> bool:
        return False

    def ask_once(self, text: str) -> str | None:
        if text in self._earlier:
            return None
        self._earlier.add(text)
        return text


class PlanningPolicy(_AskOnce):
    """The planner's turn: its plan waits for a person's approval."""

    speech = MessageType.TEXT

    def __init__(self, job: Job, now: Now, *, completed: Collection[str] = ()) -> None:
        super().__init__(())
        self.job = job
        self._now = now
        self._completed = completed

    @property
    def ceiling(self) -> frozenset[Permission]:
        return frozenset({Permission.READ_FILES})

    def missing(self, text: str) -> str | None:
        """What is wrong with the plan, each time: the turn's limit of faults ends it."""
        problem = plan_problem(text, self._completed)
        return _PLAN_MISSING if problem is None else f"This plan cannot be used: {problem} {_WHOLE_PLAN}"

    def end(self, end: TurnEnd) -> TurnEnd:
        plan = next((m for m in end.messages if m.message_type is MessageType.PLAN), None)
        if plan is not None:
            job = replace(self.job, status=JobStatus.AWAITING_APPROVAL, plan_id=plan.id, plan=plan.payload)
            return replace(end, writes=(*end.writes, job), events=(*end.events, event_factory.job_updated(job)))
        job = replace(self.job, status=JobStatus.FAILED, error=NO_PLAN, completed_at=self._now())
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
        evidence: Callable[[], Json | None],
        earlier: Sequence[str],
    ) -> None:
        super().__init__(earlier)
        self._job = job
        self.tasks: Sequence[JobTask] = ()
        self._task = task
        self._now = now
        self._evidence = evidence

    def missing(self, text: str) -> str | None:
        return None if read_report(text) else self.ask_once(_REPORT_MISSING)

    def gives_up(self, text: str) -> bool:
        report = read_report(text)
        return report is not None and report.status is ReportStatus.FAILURE

    def vouches(self, text: str) -> bool:
        report = read_report(text)
        return report is not None and report.status is ReportStatus.SUCCESS

    def end(self, end: TurnEnd) -> TurnEnd:
        report = _report(end.messages)
        task = self._settled(end, report)
        messages = tuple(_as_result(m, report) for m in end.messages)
        end_events = () if task.status is TaskStatus.RUNNING else (event_factory.task_ended(task),)
        events = (*end_events, self._plan_update(task))
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
        tasks = [task if other.id == task.id else other for other in self.tasks] or [task]
        finished = bool(self.tasks) and all(other.status.over for other in tasks)
        status = plan_status(step_statuses(tasks), finished=finished) if self.tasks else PlanStatus.APPROVED
        return event_factory.job_plan_update(self._job, tasks, status)

    def _settled(self, end: TurnEnd, report: TaskReport | None) -> JobTask:
        now = self._now()
        if end.reason is EndReason.BLOCKED:
            message = end.messages[-1].content if end.messages else "The task's step is not done."
            return after_failure(
                self._job, self._task, {"code": "not_done", "message": message, "retryable": True}, now=now
            )
        if report is None:
            return after_failure(self._job, self._task, _NO_REPORT, now=now)
        if report.status is ReportStatus.FAILURE:
            error: Json = {"code": "reported_failure", "message": report.summary, "retryable": True}
            return after_failure(self._job, self._task, error, now=now)
        evidence = self._evidence()
        claimed = is_claimed(evidence)
        done = replace(self._task, claimed=claimed, evidence=evidence, result=report.summary, error=None)
        if self._task.workspace is not None and not self._job.race:
            return done  # it is completed when its changes are merged
        return replace(done, status=TaskStatus.COMPLETED, completed_at=now)


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
        done = replace(self._job, status=JobStatus.COMPLETED, data_folder=None)  # all its copies are merged
        job = replace(done, final_response=answer, completed_at=self._now())
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


def _report(messages: Sequence[Message]) -> TaskReport | None:
    """The worker's report; a reviewer's structured review is one, and so is a planner's plan."""
    for message in messages:
        if message.role is not Speaker.ASSISTANT:
            continue
        if message.message_type is MessageType.REVIEW:
            summary = str((message.payload or {}).get("summary") or message.content)
            return TaskReport(status=ReportStatus.SUCCESS, summary=summary)
        if message.message_type is MessageType.PLAN:
            return TaskReport(status=ReportStatus.SUCCESS, summary=message.content)
        if report := read_report(message.content):
            return report
    return None


def _as_result(message: Message, report: TaskReport | None) -> Message:
    if message.role is not Speaker.ASSISTANT or message.message_type is MessageType.REVIEW:
        return message
    return replace(
        message, message_type=MessageType.TASK_RESULT, payload=report.to_json() if report else message.payload
    )
