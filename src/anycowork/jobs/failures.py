"""What follows a task that did not complete, by the job's policy. Pure."""

from anycowork.domain.chats import EndReason, Turn
from anycowork.domain.jobs import Job, JobTask, OnFailure
from anycowork.domain.messages import Json
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace

RETRIES = 2  # attempts after the first
MOST_REPLANS = 3  # of one job, without a person asking for them
MOST_INTERRUPTIONS = 20  # of one task, by crashes or stops: then something is wrong with it


def after_failure(job: Job, task: JobTask, error: Json, *, at: str) -> JobTask:
    """The task as it stands after one more failed attempt: to be tried again, or failed for good."""
    failed = replace(task, failures=task.failures + 1, error=error)
    if job.on_failure is OnFailure.RETRY and failed.failures <= RETRIES and error.get("code") != "limit_reached":
        return replace(failed, status=TaskStatus.PENDING)
    return replace(failed, status=TaskStatus.FAILED, completed_at=at)


def after_turn(job: Job, task: JobTask, turn: Turn | None, *, at: str) -> JobTask:
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
        return replace(task, status=TaskStatus.FAILED, error=too_often, completed_at=at)
    reason = turn.reason.value if turn.reason else "unknown"
    error = turn.error or {"code": reason, "message": f"The task's turn ended: {reason}.", "retryable": True}
    return after_failure(job, task, error, at=at)
