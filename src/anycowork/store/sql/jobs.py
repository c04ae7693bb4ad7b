"""The jobs and tasks tables."""

from collections.abc import Sequence
from typing import Any

import msgspec

from anycowork.domain.jobs import CommitMode, Job, JobLimits, JobStatus, JobTask, OnFailure
from anycowork.domain.messages import Json
from anycowork.domain.plan import Budget
from anycowork.domain.task_progress import TaskStatus
from anycowork.store.sql.columns import from_json_text, from_json_text_or_none, to_json_text, to_json_text_or_null
from anycowork.store.sql.connection import SqlConnection

_JOB = (
    "id, chat_id, request, message_id, principal, status, plan_id, plan, on_failure, parallel, limits, final_response, error,"
    " created_at, completed_at, commit_mode, race, workspace, replan_id"
)
_TASK = (
    "job_id, chat_id, id, ordinal, description, dependencies, status, claimed, result, error, attempt, failures, interruptions,"
    " turn_id, created_at, started_at, completed_at, agent, workspace, conflicts"
)


def _marks(fields: str) -> str:
    return ", ".join("?" for _ in fields.split(","))


def _replaced(fields: str) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in fields.replace(" ", "").split(","))


def put_job(connection: SqlConnection, job: Job) -> None:
    connection.execute(
        f"INSERT INTO jobs ({_JOB}) VALUES ({_marks(_JOB)}) ON CONFLICT (id) DO UPDATE SET {_replaced(_JOB)}",
        (
            job.id,
            job.chat_id,
            job.request,
            job.message_id,
            job.principal,
            job.status.value,
            job.plan_id,
            to_json_text_or_null(job.plan),
            job.on_failure.value,
            job.parallel,
            to_json_text(job.limits.to_json()),
            job.final_response,
            to_json_text_or_null(job.error),
            job.created_at,
            job.completed_at,
            job.commit.value,
            to_json_text(list(job.race)),
            job.workspace,
            job.replan_id,
        ),
    )


def put_task(connection: SqlConnection, task: JobTask) -> None:
    connection.execute(
        f"INSERT INTO tasks ({_TASK}) VALUES ({_marks(_TASK)}) ON CONFLICT (job_id, id) DO UPDATE SET {_replaced(_TASK)}",
        (
            task.job_id,
            task.chat_id,
            task.id,
            task.ordinal,
            task.description,
            to_json_text(list(task.dependencies)),
            task.status.value,
            int(task.claimed),
            task.result,
            to_json_text_or_null(task.error),
            task.attempt,
            task.failures,
            task.interruptions,
            task.turn_id,
            task.created_at,
            task.started_at,
            task.completed_at,
            task.agent,
            task.workspace,
            to_json_text_or_null(task.conflicts),
        ),
    )


def find(connection: SqlConnection, job_id: str) -> Job | None:
    row = connection.execute(f"SELECT {_JOB} FROM jobs WHERE id = ?", (job_id,)).fetchone()
    return None if row is None else _job(row)


def page(
    connection: SqlConnection, *, chat_id: str | None, limit: int, before: str | None = None
) -> tuple[list[Job], str | None]:
    """Newest first, and the cursor for the page beyond."""
    where, given = ["1 = 1"], []
    if chat_id is not None:
        where.append("chat_id = ?")
        given.append(chat_id)
    if before is not None:
        where.append("id < ?")
        given.append(before)
    rows = connection.execute(
        f"SELECT {_JOB} FROM jobs WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?", (*given, limit + 1)
    ).fetchall()
    found = [_job(row) for row in rows[:limit]]
    return found, found[-1].id if len(rows) > limit else None


def in_states(connection: SqlConnection, states: Sequence[JobStatus], *, chat_id: str | None = None) -> list[Job]:
    """Oldest first."""
    marks = ", ".join("?" for _ in states)
    only, given = (" AND chat_id = ?", (chat_id,)) if chat_id is not None else ("", ())
    rows = connection.execute(
        f"SELECT {_JOB} FROM jobs WHERE status IN ({marks}){only} ORDER BY id", (*(s.value for s in states), *given)
    )
    return [_job(row) for row in rows]


def tasks(connection: SqlConnection, job_id: str) -> list[JobTask]:
    """In the order of the plan."""
    rows = connection.execute(f"SELECT {_TASK} FROM tasks WHERE job_id = ? ORDER BY ordinal, id", (job_id,))
    return [_task(row) for row in rows]


def turn_rows(connection: SqlConnection, job_id: str) -> list[tuple[str, str | None, float]]:
    """Every turn of the job: its id, its task and its seconds at work."""
    rows = connection.execute("SELECT id, task_id, seconds FROM turns WHERE job_id = ? ORDER BY id", (job_id,))
    return [(str(id_), task_id, float(seconds)) for id_, task_id, seconds in rows]


def _job(row: tuple[Any, ...]) -> Job:  # Any: rows have no types
    id_, chat_id, request, message_id, principal, status, plan_id, plan, on_failure, parallel, limits, *rest = row
    final_response, error, created_at, completed_at, commit, race, workspace, replan_id = rest
    return Job(
        id=id_,
        chat_id=chat_id,
        request=request,
        message_id=message_id,
        principal=principal,
        status=JobStatus(status),
        plan_id=plan_id,
        plan=from_json_text_or_none(plan),
        on_failure=OnFailure(on_failure),
        parallel=parallel,
        limits=_limits(from_json_text(limits)),
        commit=CommitMode(commit),
        race=msgspec.json.decode(race, type=tuple[str, ...]),
        workspace=workspace,
        replan_id=replan_id,
        final_response=final_response,
        error=from_json_text_or_none(error),
        created_at=created_at,
        completed_at=completed_at,
    )


def _limits(stored: Json) -> JobLimits:
    return JobLimits(Budget.model_validate(stored.get("task") or {}), Budget.model_validate(stored.get("job") or {}))


def _task(row: tuple[Any, ...]) -> JobTask:  # Any: rows have no types
    job_id, chat_id, id_, ordinal, description, dependencies, status, claimed, result, error, *rest = row
    attempt, failures, interruptions, turn_id, created_at, started_at, completed_at, agent, workspace, conflicts = rest
    return JobTask(
        job_id=job_id,
        chat_id=chat_id,
        id=id_,
        ordinal=ordinal,
        description=description,
        dependencies=msgspec.json.decode(dependencies, type=tuple[str, ...]),
        status=TaskStatus(status),
        claimed=bool(claimed),
        result=result,
        error=from_json_text_or_none(error),
        attempt=attempt,
        failures=failures,
        interruptions=interruptions,
        turn_id=turn_id,
        agent=agent,
        workspace=workspace,
        conflicts=from_json_text_or_none(conflicts),
        created_at=created_at,
        started_at=started_at,
        completed_at=completed_at,
    )
