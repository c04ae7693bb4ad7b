"""Where the tasks of a job work: in the chat's workspace, or each in one of its own, whose changes are merged when the task is done."""

import logging
from collections.abc import Iterable, Sequence

from anycowork.domain.chats import Chat
from anycowork.domain.errors import AnyCoworkError, StorageFault
from anycowork.domain.jobs import CommitMode, Job, JobTask
from anycowork.domain.messages import Json
from anycowork.domain.ports import TaskWorkspaces
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.task_commits import MergeConflict, TaskCommitter, TaskMerge

log = logging.getLogger(__name__)


class IsolatedTasks:
    """`data_folder` is the id of the data folder that holds the copies, if several processes share a database."""

    def __init__(self, copies: TaskWorkspaces, committer: TaskCommitter, data_folder: str | None = None) -> None:
        self._copies = copies
        self._data_folder = data_folder
        self.committer = committer

    async def collecting(self, job: Job, chat: Chat) -> Job:
        """Returns the job with the data folder of its tasks' copies, and the copy that collects its changes, as far as it needs them.

        Raises: ToolFault, BadWorkspace.
        """
        if job.isolates and self._data_folder not in (None, job.data_folder):
            job = replace(job, data_folder=self._data_folder)
        if job.commit is not CommitMode.JOB or job.race or job.workspace is not None:
            return job
        return replace(job, workspace=await self._copies.create(chat.workspace))

    async def workspace_for(
        self, job: Job, chat: Chat, *, reads: bool, candidate: str | None
    ) -> tuple[str | None, bool]:
        """Returns where a task's turn works, None for the chat's workspace, and whether that is a copy of its own.

        `candidate` is the copy that earlier tasks of the same agent in a race worked in. Raises: ToolFault, BadWorkspace.
        """
        if reads or not job.isolates:
            return job.workspace, False
        if candidate is not None:
            return candidate, True
        return await self._copies.create(job.workspace or chat.workspace), True

    async def merge(self, job: Job, chat: Chat, task: JobTask) -> TaskMerge | Json:
        """Commits the task's changes to the workspace, or to the copy that collects the job's; returns the error if that failed."""
        assert task.workspace is not None, "only a task with its own copy is merged"
        target = job.workspace or chat.workspace
        try:
            if await self._copies.has_commits(task.workspace):
                return _COMMITS_MADE
            return await self.committer.commit(chat.id, task.turn_id, task.workspace, target, choices=task.conflicts)
        except StorageFault:
            raise
        except AnyCoworkError as error:
            return {"code": error.code, "message": error.message, "retryable": error.retryable}

    async def has_commits(self, task: JobTask) -> bool:
        """Whether commits were made with git in the task's copy."""
        return task.workspace is not None and await self._copies.has_commits(task.workspace)

    async def without_leftovers(self, job: Job, tasks: Iterable[JobTask]) -> list[JobTask]:
        """Removes the copies of attempts that did not succeed: the next one starts from a clean state. Returns those tasks.

        In a race the copy holds all that the agent has done, so it stays, and the next attempt is told of the last one's calls.
        """
        if job.race:
            return []
        stale = [
            task
            for task in tasks
            if task.workspace is not None and task.status not in _AT_WORK and not is_interrupted(task)
        ]
        await self.remove(task.workspace for task in stale)
        return [replace(task, workspace=None, conflicts=None) for task in stale]

    async def remove(self, copies: Iterable[str | None]) -> None:
        for copy in copies:
            if copy is not None:
                await self._copies.remove(copy)

    async def remove_all(self, job: Job, tasks: Sequence[JobTask]) -> None:
        await self.remove([job.workspace, *(task.workspace for task in tasks)])

    async def keep_only(self, needed: Iterable[str | None]) -> None:
        await self._copies.keep_only({copy for copy in needed if copy is not None})


_COMMITS_MADE: Json = {
    "code": "git_commits",
    "message": "The task made commits with git in its own workspace. Commits cannot be merged, so nothing of this attempt was kept. "
    "Change the files and leave committing to the person, or run the job without parallel writers.",
    "retryable": True,
}
_AT_WORK = (TaskStatus.RUNNING, TaskStatus.COMPLETED)


def is_interrupted(task: JobTask) -> bool:
    """Whether a crash ended the last attempt: the next one goes on where it was, in the same place."""
    return task.status is TaskStatus.PENDING and (task.error or {}).get("code") == "interrupted"


def is_reported(task: JobTask) -> bool:
    """Whether the worker has reported success and its changes are still to be merged."""
    return task.status is TaskStatus.RUNNING and task.workspace is not None and task.result is not None


def conflict_words(task: JobTask, name: str, conflict: MergeConflict) -> str:
    """`name` is the task's, as a person reads it."""
    sides_json = conflict.to_json()
    author = conflict.other.words(job_id=task.job_id, chat_id=task.chat_id)
    sides = [
        f"{title}:\n{text if text is not None else '(there is no such file)'}"
        for title, text in (
            ("The task's version", sides_json["task"]),
            (f"The version that is there now, by {author}", sides_json["workspace"]),
        )
    ]
    return (
        f"Task {name} and {author} changed '{sides_json['path']}', and the two changes cannot be merged. "
        "Nothing was overwritten. Which version should stay?\n\n" + "\n\n".join(sides)
    )
