"""What a failed attempt means for its task, another attempt or the end, and what is free again after it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from anycowork.agent.turn_context import Assignment
from anycowork.domain.chats import EndReason, Turn
from anycowork.domain.errors import (
    AnyCoworkError,
    BadWorkspace,
    Conflict,
    OutOfTime,
    Refusal,
    RestoreConflict,
    TooManyFaults,
    TooManySteps,
)
from anycowork.domain.event_factory import error_json
from anycowork.domain.jobs import Job, JobTask
from anycowork.domain.provider_errors import BadKey, BrokenStream, NoAnswerInTime, NoSuchModel, RateLimited
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.values import replace
from anycowork.jobs.job_runner import JobRunner
from anycowork.jobs.policies import RETRIES, after_turn
from anycowork.jobs.task_dispatcher import TaskDispatcher
from support.spec import proves

JOB = Job(id="j", chat_id="c", request="r", message_id="m", principal="person:ann")


def task(**parts: Any) -> JobTask:
    return JobTask("j", "c", "a", 0, "do a", status=TaskStatus.RUNNING, **parts)


def ended(reason: EndReason, error: AnyCoworkError | None = None) -> Turn:
    return Turn("t", "c", "actor", "p", "m", reason=reason, error=error and error_json(error))


@proves("JOB-5/1")
def test_interruption_is_no_failed_attempt() -> None:
    again = after_turn(JOB, task(failures=RETRIES), ended(EndReason.INTERRUPTED), now="")
    assert (again.status, again.failures, again.interruptions) == (TaskStatus.PENDING, RETRIES, 1)


@proves("JOB-5/1")
@pytest.mark.parametrize(
    ("kind", "attempts"),
    [
        *((kind, 1) for kind in (BadKey, NoSuchModel, TooManySteps, OutOfTime)),
        *((kind, RETRIES + 1) for kind in (RateLimited, BrokenStream, NoAnswerInTime, TooManyFaults)),
        *((kind, RETRIES + 1) for kind in (BadWorkspace, Conflict, RestoreConflict, Refusal)),
    ],
)
def test_failure_is_tried_again_only_where_that_may_help(kind: type[AnyCoworkError], attempts: int) -> None:
    tried = task()
    for number in range(1, attempts + 1):
        tried = after_turn(JOB, tried, ended(EndReason.FAILED, kind("why")), now="now")
        assert tried.status is (TaskStatus.FAILED if number == attempts else TaskStatus.PENDING)
    assert (tried.error or {})["message"] == "why" and tried.completed_at == "now"


@proves("JOB-12/1")
async def test_place_on_a_worker_is_free_again_however_the_turn_ends() -> None:
    released: list[str] = []

    async def broken(*_: object) -> None:
        raise OutOfTime("too long")

    remote, clock = SimpleNamespace(release=released.append), SimpleNamespace(now=lambda: "now")
    runner = SimpleNamespace(_remote=remote, _clock=clock, _run=broken)
    conversation, turn = SimpleNamespace(history=()), SimpleNamespace(id="t1")
    context = SimpleNamespace(plan=None, turn=turn, conversation=conversation, assignment=Assignment())
    with pytest.raises(OutOfTime):
        await JobRunner._work(cast(Any, runner), JOB, task(), cast(Any, context))
    assert released == ["t1"]


@proves("JOB-6/2")
@pytest.mark.parametrize(("plan_id", "goes_on"), [("p1", True), ("p2", False)])
async def test_interrupted_turn_goes_on_only_for_the_plan_that_it_worked_on(plan_id: str, goes_on: bool) -> None:
    turn = replace(ended(EndReason.INTERRUPTED), plan_id="p1")

    async def find(turn_id: str) -> Turn:
        return turn

    dispatcher = SimpleNamespace(_store=SimpleNamespace(turns=SimpleNamespace(find=find)))
    waiting = replace(task(turn_id="t", error={"code": "interrupted"}), status=TaskStatus.PENDING)
    job = replace(JOB, plan_id=plan_id)
    resumed = await TaskDispatcher._interrupted_turn(cast(Any, dispatcher), job, waiting)
    assert (resumed is turn) is goes_on
