"""The jobs and tasks tables."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import compress
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
    " created_at, completed_at, commit_mode, race, workspace, replan_id, forgotten"
)
_TASK = (
    "job_id, chat_id, id, ordinal, description, dependencies, status, claimed, result, error, attempt, failures, interruptions,"
    " turn_id, created_at, started_at, completed_at, agent, workspace, conflicts"
)
_ALWAYS = "job_id, chat_id, id, ordinal, description, dependencies, status, claimed, attempt, failures, interruptions, created_at, seq"
_SOMETIMES = ("result", "error", "turn_id", "started_at", "completed_at", "agent", "workspace", "conflicts")

_WITHOUT_PLAN = _JOB.replace(" plan,", " NULL,")  # a plan has up to 2 MB


def _marks(fields: str) -> str:
    return ", ".join("?" for _ in fields.split(","))


def _updates(fields: str, *key: str) -> str:
    names = [name.strip() for name in fields.split(",")]
    return ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)


_PUT_JOB = (
    f"INSERT INTO jobs ({_JOB}) VALUES ({_marks(_JOB)}) ON CONFLICT (id) DO UPDATE SET {_updates(_JOB, 'id', 'plan')}"
)
_PUT_PLAN = f"{_PUT_JOB}, plan = excluded.plan"

TaskPut = tuple[JobTask, int]
"""A task, and the number of the change that it belongs to."""


def put_job(connection: SqlConnection, job: Job) -> None:
    """A job that was read without its plan keeps the stored one."""
    connection.execute(
        _PUT_JOB if job.plan is None else _PUT_PLAN,
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
            int(job.forgotten),
        ),
    )


def put_tasks(connection: SqlConnection, puts: Iterable[TaskPut]) -> None:
    """Writes whole rows, all that have the same columns filled with one statement. Of a task that occurs twice, the last counts."""
    alike: dict[tuple[bool, ...], list[tuple[str | int, ...]]] = {}
    for task, seq in {(put[0].job_id, put[0].id): put for put in puts}.values():
        filled, row = _task_row(task, seq)
        alike.setdefault(filled, []).append(row)
    for filled, rows in alike.items():
        connection.executemany(_put_task(filled), rows)


@cache
def _put_task(filled: tuple[bool, ...]) -> str:
    """The columns that are not filled are NULL in the statement: Python's SQLite binds a None ten times as slowly as a text."""
    given = ", ".join((_ALWAYS, *compress(_SOMETIMES, filled)))
    emptied = "".join(f", {name} = NULL" for name, is_filled in zip(_SOMETIMES, filled, strict=True) if not is_filled)
    return (
        f"INSERT INTO tasks ({given}) VALUES ({_marks(given)})"
        f" ON CONFLICT (job_id, id) DO UPDATE SET {_updates(given, 'job_id', 'id', 'chat_id')}{emptied}"
    )


def _task_row(task: JobTask, seq: int) -> tuple[tuple[bool, ...], tuple[str | int, ...]]:
    """Which columns of `_SOMETIMES` are filled, and the values of `_ALWAYS` and of those."""
    sometimes = (
        task.result,
        None if task.error is None else to_json_text(task.error),
        task.turn_id,
        task.started_at,
        task.completed_at,
        task.agent,
        task.workspace,
        None if task.conflicts is None else to_json_text(task.conflicts),
    )
    filled = tuple([each is not None for each in sometimes])
    always = (
        task.job_id,
        task.chat_id,
        task.id,
        task.ordinal,
        task.description,
        to_json_text(task.dependencies),
        str(task.status),
        int(task.claimed),
        task.attempt,
        task.failures,
        task.interruptions,
        task.created_at,
        seq,
    )
    return filled, (*always, *compress(sometimes, filled))  # type: ignore[arg-type]  # `compress` leaves no None


def find(connection: SqlConnection, job_id: str, *, with_plan: bool = True) -> Job | None:
    fields = _JOB if with_plan else _WITHOUT_PLAN
    row = connection.execute(f"SELECT {fields} FROM jobs WHERE id = ?", (job_id,)).fetchone()
    return None if row is None else _job(row)


def page(
    connection: SqlConnection, *, chat_id: str | None, limit: int, before: str | None = None
) -> tuple[list[Job], str | None]:
    """Newest first, without their plans, and the cursor for the page beyond."""
    where, given = ["1 = 1"], []
    if chat_id is not None:
        where.append("chat_id = ?")
        given.append(chat_id)
    if before is not None:
        where.append("id < ?")
        given.append(before)
    rows = connection.execute(
        f"SELECT {_WITHOUT_PLAN} FROM jobs WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?", (*given, limit + 1)
    ).fetchall()
    found = [_job(row) for row in rows[:limit]]
    return found, found[-1].id if len(rows) > limit else None


def in_states(connection: SqlConnection, states: Sequence[JobStatus], *, chat_id: str | None = None) -> list[Job]:
    """Oldest first, without their plans."""
    marks = ", ".join("?" for _ in states)
    only, given = (" AND chat_id = ?", (chat_id,)) if chat_id is not None else ("", ())
    rows = connection.execute(
        f"SELECT {_WITHOUT_PLAN} FROM jobs WHERE status IN ({marks}){only} ORDER BY id",
        (*(s.value for s in states), *given),
    )
    return [_job(row) for row in rows]


def completed_requests(connection: SqlConnection, workspace: str, *, limit: int, longest: int) -> list[tuple[str, str]]:
    """Newest first; without races, whose plan is one task for several agents, and without forgotten ones."""
    rows = connection.execute(
        "SELECT jobs.id, substr(jobs.request, 1, ?) FROM jobs JOIN chats ON chats.id = jobs.chat_id"
        " WHERE chats.workspace = ? AND jobs.status = ? AND jobs.forgotten = 0 AND jobs.race = '[]'"
        " ORDER BY jobs.id DESC LIMIT ?",
        (longest, workspace, JobStatus.COMPLETED.value, limit),
    )
    return [(job_id, request) for job_id, request in rows]


def tasks(connection: SqlConnection, job_id: str) -> list[JobTask]:
    """In the order of the plan."""
    rows = connection.execute(f"SELECT {_TASK} FROM tasks WHERE job_id = ? ORDER BY ordinal, id", (job_id,))
    return [_task(row) for row in rows]


def task(connection: SqlConnection, job_id: str, task_id: str) -> JobTask | None:
    row = connection.execute(f"SELECT {_TASK} FROM tasks WHERE job_id = ? AND id = ?", (job_id, task_id)).fetchone()
    return None if row is None else _task(row)


def tasks_since(connection: SqlConnection, job_id: str, seq: int) -> tuple[list[JobTask], int]:
    """The tasks that changed after the change with this number, oldest change first, and the number of the newest change."""
    rows = connection.execute(
        f"SELECT {_TASK}, seq FROM tasks WHERE job_id = ? AND seq > ? ORDER BY seq, ordinal", (job_id, seq)
    ).fetchall()
    return [_task(row[:-1]) for row in rows], rows[-1][-1] if rows else seq


def tasks_page(connection: SqlConnection, job_id: str, *, after: str | None, limit: int) -> list[JobTask]:
    """The tasks behind this one, in the order of the plan."""
    behind = "" if after is None else " AND (ordinal, id) > (SELECT ordinal, id FROM tasks WHERE job_id = ? AND id = ?)"
    given = () if after is None else (job_id, after)
    rows = connection.execute(
        f"SELECT {_TASK} FROM tasks WHERE job_id = ?{behind} ORDER BY ordinal, id LIMIT ?", (job_id, *given, limit)
    )
    return [_task(row) for row in rows]


def counts(connection: SqlConnection, job_id: str) -> dict[TaskStatus, int]:
    rows = connection.execute("SELECT status, COUNT(*) FROM tasks WHERE job_id = ? GROUP BY status", (job_id,))
    return {TaskStatus(status): int(count) for status, count in rows}


def _job(row: tuple[Any, ...]) -> Job:  # Any: rows have no types
    id_, chat_id, request, message_id, principal, status, plan_id, plan, on_failure, parallel, limits, *rest = row
    final_response, error, created_at, completed_at, commit, race, workspace, replan_id, forgotten = rest
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
        forgotten=bool(forgotten),
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
