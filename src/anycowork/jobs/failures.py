"""What follows a task that did not complete, by the job's policy. Pure."""

from collections.abc import Iterable, Sequence

from anycowork.domain.chats import EndReason, Turn
from anycowork.domain.jobs import Job, JobTask, OnFailure
from anycowork.domain.messages import Json
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace

GAP = "completed_with_gap"
RETRIES = 2  # attempts after the first
MOST_REPLANS = 3  # of one job, without a person asking for them
MOST_INTERRUPTIONS = 20  # of one task, by crashes or stops: then something is wrong with it


def after_failure(job: Job, task: JobTask, error: Json, *, now: str) -> JobTask:
    """The task as it stands after one more failed attempt: to be tried again, or failed for good."""
    failed = replace(task, failures=task.failures + 1, error=error)
    if job.on_failure is OnFailure.RETRY and failed.failures <= RETRIES and error.get("code") != "limit_reached":
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
    """The error of the task that met the limit of the whole job; None while there is room."""
    errors = (task.error for task in tasks if task.status is TaskStatus.FAILED and task.error is not None)
    return next((error for error in errors if error.get("limit") == "job"), None)


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
