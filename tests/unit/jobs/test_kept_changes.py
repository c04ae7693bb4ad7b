"""What is kept of a job's changes, what its job is then, and what the write of them requires."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from anycowork.chats.jobs.job_commit_service import JobCommitService, _status_when_kept, paths_left_out
from anycowork.domain.errors import Conflict, Invalid
from anycowork.domain.jobs import Job, JobStatus, JobTask
from anycowork.domain.journal import Change, RequireAccess, RequireLease
from anycowork.domain.messages import Json
from anycowork.domain.people import AccessLevel
from anycowork.domain.snapshots import PathImage, PathKind, Restored, Snapshot, SnapshotMoment, TaskCommit, Undo, absent
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.policies import named_gap, tasks_failed
from anycowork.jobs.task_commits import TaskCommitter, TaskMerge
from support.spec import proves

JOB = Job(id="j", chat_id="c", request="r", message_id="m", principal="person:ann")
CHANGED = ["docs/a.txt", "docs/sub/b.txt", "docs2.txt", "x.txt"]


@proves("JOB-10")
@pytest.mark.parametrize(
    ("error", "race", "status"),
    [
        (None, (), JobStatus.COMPLETED),
        (tasks_failed(["a"]), (), JobStatus.FAILED),
        (named_gap(["a"]), (), JobStatus.COMPLETED),
        (tasks_failed(["a@fast"]), ("fast", "slow"), JobStatus.COMPLETED),
    ],
)
def test_job_with_kept_changes_stays_failed_unless_a_person_let_it_go_on(
    error: Json | None, race: tuple[str, ...], status: JobStatus
) -> None:
    assert _status_when_kept(replace(JOB, error=error, race=race)) is status


@proves("JOB-10")
def test_kept_folder_keeps_what_is_below_it_and_nothing_else() -> None:
    assert paths_left_out(CHANGED, ["docs/"]) == ("docs2.txt", "x.txt")
    assert paths_left_out(CHANGED, ["docs/sub", "x.txt"]) == ("docs/a.txt", "docs2.txt")
    with pytest.raises(Invalid, match="nothing at 'docs/none'"):
        paths_left_out(CHANGED, ["docs", "docs/none"])


@proves("JOB-10")
@pytest.mark.parametrize("required", [None, RequireAccess("ann", AccessLevel.MEMBER)])
async def test_changes_are_intended_under_the_lease_of_the_workspace_before_any_is_written(
    required: RequireAccess | None,
) -> None:
    steps: list[Any] = []
    before, after = (Snapshot("s", "c", "/w", moment, "t") for moment in (SnapshotMoment.BEFORE, SnapshotMoment.AFTER))

    async def saved(*_: object, **__: object) -> Snapshot:
        return before

    async def read_after(*_: object) -> Snapshot:
        return after

    async def write(change: Change) -> None:
        steps.append(change.writes)

    async def restore(*_: object) -> Restored:
        steps.append("written")
        return Restored()

    snapshots = SimpleNamespace(before=saved, meant=lambda *_: before, restore=restore, after=read_after)
    committer = TaskCommitter(
        journal=SimpleNamespace(write=write), snapshots=snapshots, store=None, workspaces=None, clock=None, is_copy=bool
    )  # type: ignore[arg-type]  # fmt: skip
    merge = TaskMerge((Undo(PathImage("a.txt", PathKind.FILE, "h"), absent("a.txt")),))
    await committer._write(TaskCommit("t", "c"), merge, cast(Any, SimpleNamespace(root="/w")), 7, required)
    lease = RequireLease("/w", 7)
    assert steps == [(*filter(None, [required]), lease, before, before), "written", (after,)]


@proves("JOB-10")
async def test_task_that_runs_is_not_undone() -> None:
    running = JobTask("j", "c", "a", 0, "do a", status=TaskStatus.RUNNING)

    async def find(_: str) -> Job:
        return JOB

    async def of_job(_: str) -> list[JobTask]:
        return [running]

    store = SimpleNamespace(jobs=SimpleNamespace(find=find), tasks=SimpleNamespace(of_job=of_job))
    service = cast(Any, SimpleNamespace(_store=store))
    with pytest.raises(Conflict, match="Task a is running"):
        await JobCommitService.undo_task(service, cast(Any, None), "j", "a", cast(Any, None))
