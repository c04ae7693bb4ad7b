"""The jobs and tasks tables."""

from collections.abc import Iterable, Sequence
from functools import cache, partial
from itertools import compress, takewhile

from anycowork.domain.jobs import CommitMode, Job, JobLimits, JobStatus, JobTask, OnFailure
from anycowork.domain.messages import Json
from anycowork.domain.plan import Budget
from anycowork.domain.task_progress import TaskStatus
from anycowork.domain.visibility import Viewer
from anycowork.store.sql.connection import SqlConnection, SqlReader, Table, query
from anycowork.store.sql.held_rows import HeldRows, Tasks, job_key, jobs_in, tasks_of
from anycowork.store.sql.row_mapper import (
    BOOLEAN,
    JSON_OBJECT,
    ColumnType,
    RowMapper,
    enum_of,
    from_json_text,
    json_of,
    nullable,
    to_json_text,
)
from anycowork.store.sql.visibility import VisibilityTable, values_of, visible_to

_JOB = (
    "id, chat_id, request, message_id, principal, status, plan_id, plan, on_failure, parallel, limits, final_response, error,"
    " created_at, completed_at, commit_mode, race, workspace, replan_id, forgotten, data_folder, asked_by,"
    " left_out"
)
_ALWAYS = "job_id, chat_id, id, ordinal, description, dependencies, status, claimed, attempt, failures, interruptions, created_at"
_SOMETIMES = (
    "result",
    "error",
    "turn_id",
    "started_at",
    "completed_at",
    "agent",
    "workspace",
    "conflicts",
    "evidence",
    "worker",
    "waiting_for",
    "undone_by",
)
_TASK = ", ".join((_ALWAYS, *_SOMETIMES))

_JOBS = RowMapper(
    Job,
    _JOB,
    names={"commit_mode": "commit"},
    types={
        "status": enum_of(JobStatus),
        "plan": nullable(JSON_OBJECT),
        "on_failure": enum_of(OnFailure),
        "limits": ColumnType(lambda limits: to_json_text(limits.to_json()), lambda text: _limits(from_json_text(text))),
        "error": nullable(JSON_OBJECT),
        "commit": enum_of(CommitMode),
        "race": json_of(tuple[str, ...]),
        "forgotten": BOOLEAN,
        "left_out": json_of(tuple[str, ...]),
    },
)
_TASKS = RowMapper(
    JobTask,
    _TASK,
    types={
        "dependencies": json_of(tuple[str, ...]),
        "status": enum_of(TaskStatus),
        "claimed": BOOLEAN,
        "error": nullable(JSON_OBJECT),
        "conflicts": nullable(JSON_OBJECT),
        "evidence": nullable(JSON_OBJECT),
    },
)

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
    connection.write_later(_PUT_JOB if job.plan is None else _PUT_PLAN, [_JOBS.row(job)])


def put_tasks(connection: SqlConnection, puts: Iterable[TaskPut]) -> None:
    """Writes whole rows, all that have the same columns filled with one statement. Of a task that occurs twice, the last counts."""
    alike: dict[tuple[bool, ...], list[tuple[object, ...]]] = {}
    for task, seq in {(entry[0].job_id, entry[0].id): entry for entry in puts}.values():
        filled, row = _task_row(task, seq)
        alike.setdefault(filled, []).append(row)
    for filled, rows in alike.items():
        connection.write_later(_put_task(filled), rows, apart=True)


@cache
def _put_task(filled: tuple[bool, ...]) -> str:
    """The columns that are not filled are NULL in the statement: Python's SQLite binds a None ten times as slowly as a text."""
    columns = ", ".join((_ALWAYS, *compress(_SOMETIMES, filled), "seq"))
    emptied = "".join(f", {name} = NULL" for name, is_filled in zip(_SOMETIMES, filled, strict=True) if not is_filled)
    return (
        f"INSERT INTO tasks ({columns}) VALUES ({_marks(columns)})"
        f" ON CONFLICT (job_id, id) DO UPDATE SET {_updates(columns, 'job_id', 'id', 'chat_id')}{emptied}"
    )


def _task_row(task: JobTask, seq: int) -> tuple[tuple[bool, ...], tuple[object, ...]]:
    """Which columns of `_SOMETIMES` are filled, and the values of `_ALWAYS`, of those and of `seq`."""
    row = _TASKS.row(task)
    always, sometimes = row[: -len(_SOMETIMES)], row[-len(_SOMETIMES) :]
    filled = tuple([value is not None for value in sometimes])
    return filled, (*always, *compress(sometimes, filled), seq)


class JobTable(Table):
    """Reads jobs."""

    def __init__(self, reader: SqlReader, held_rows: HeldRows) -> None:
        super().__init__(reader)
        self._held_rows = held_rows

    async def find_in(self, chat_id: str, job_id: str) -> Job | None:
        """Returns the job of this chat without its plan; from memory while the chat is held here."""
        return await self._held_rows.read(chat_id, job_key(job_id), partial(self.find, job_id, with_plan=False))

    async def in_states(self, *states: JobStatus, chat_id: str | None = None) -> list[Job]:
        """Oldest first, without their plans; those of a chat from memory while it is held here."""
        read = partial(self._reader.read, _in_states, states, chat_id)
        return await read() if chat_id is None else list(await self._held_rows.read(chat_id, jobs_in(states), read))

    @query
    def find(connection: SqlConnection, job_id: str, *, with_plan: bool = True) -> Job | None:
        """A job that was read without its plan, which may be large, is written without changing the stored plan."""
        fields = _JOB if with_plan else _WITHOUT_PLAN
        row = connection.execute(f"SELECT {fields} FROM jobs WHERE id = ?", (job_id,)).fetchone()
        return None if row is None else _JOBS.value(row)

    @query
    def page(
        connection: SqlConnection,
        *,
        chat_id: str | None = None,
        limit: int,
        before: str | None = None,
        viewer: Viewer | None = None,
    ) -> tuple[list[Job], str | None]:
        """Newest first, without their plans, and the cursor for the page beyond; with a viewer, those that this person may see."""
        where, values = ["1 = 1"], []
        if chat_id is not None:
            where.append("chat_id = ?")
            values.append(chat_id)
        if before is not None:
            where.append("id < ?")
            values.append(before)
        if viewer is not None:
            where.append(f"(SELECT 1 FROM chats WHERE chats.id = jobs.chat_id AND {visible_to(viewer)}) = 1")
            values += values_of(viewer)
        rows = connection.execute(
            f"SELECT {_WITHOUT_PLAN} FROM jobs WHERE {' AND '.join(where)} ORDER BY id DESC LIMIT ?",
            (*values, limit + 1),
        ).fetchall()
        jobs = [_JOBS.value(row) for row in rows[:limit]]
        return jobs, jobs[-1].id if len(rows) > limit else None

    @query
    def completed_requests(
        connection: SqlConnection, workspace: str, *, limit: int, longest: int, viewer: Viewer | None = None
    ) -> list[tuple[str, str]]:
        """Newest first; without races, whose plan is one task for several agents, and without forgotten ones."""
        rows = connection.execute(
            "SELECT jobs.id, substr(jobs.request, 1, ?), jobs.chat_id FROM jobs JOIN chats ON chats.id = jobs.chat_id"
            " WHERE chats.workspace = ? AND jobs.status = ? AND jobs.forgotten = 0 AND jobs.race = '[]'"
            " ORDER BY jobs.id DESC LIMIT ?",
            (longest, workspace, JobStatus.COMPLETED.value, limit),
        ).fetchall()
        chat_ids = list({chat_id for _, _, chat_id in rows})
        hidden = VisibilityTable.hidden_chats(connection, viewer, chat_ids) if viewer is not None and rows else set()
        return [(job_id, request) for job_id, request, chat_id in rows if chat_id not in hidden]


def _in_states(connection: SqlConnection, states: Sequence[JobStatus], chat_id: str | None) -> list[Job]:
    marks = ", ".join("?" for _ in states)
    only, values = (" AND chat_id = ?", (chat_id,)) if chat_id is not None else ("", ())
    rows = connection.execute(
        f"SELECT {_WITHOUT_PLAN} FROM jobs WHERE status IN ({marks}){only} ORDER BY id",
        (*(s.value for s in states), *values),
    )
    return [_JOBS.value(row) for row in rows]


class TaskTable(Table):
    """Reads the tasks of jobs. `in_chat`: from memory while the job's chat is held here."""

    def __init__(self, reader: SqlReader, held_rows: HeldRows) -> None:
        super().__init__(reader)
        self._held_rows = held_rows

    async def find_in(self, chat_id: str, job_id: str, task_id: str) -> JobTask | None:
        if not self._held_rows.holds(chat_id):
            return await self.find(job_id, task_id)
        entry = (await self._kept(chat_id, job_id)).get(task_id)
        return None if entry is None else entry[0]

    async def of_job_in(self, chat_id: str, job_id: str) -> list[JobTask]:
        """In the order of the plan."""
        if not self._held_rows.holds(chat_id):
            return await self.of_job(job_id)
        tasks = [task for task, _ in (await self._kept(chat_id, job_id)).values()]
        return sorted(tasks, key=lambda task: (task.ordinal, task.id))

    async def since(self, chat_id: str, job_id: str, seq: int) -> tuple[list[JobTask], int]:
        """The tasks that changed after the change with this number, oldest change first, and the number of the newest change."""
        if self._held_rows.holds(chat_id):
            newer = takewhile(lambda entry: entry[1] > seq, reversed((await self._kept(chat_id, job_id)).values()))
            changed = sorted(newer, key=lambda entry: (entry[1], entry[0].ordinal))
        else:
            changed = await self._reader.read(_since, job_id, seq)
        return [task for task, _ in changed], changed[-1][1] if changed else seq

    async def _kept(self, chat_id: str, job_id: str) -> Tasks:
        async def read() -> Tasks:
            return {task.id: (task, seq) for task, seq in await self._reader.read(_since, job_id, -1)}

        return await self._held_rows.read(chat_id, tasks_of(job_id), read)

    @query
    def of_job(connection: SqlConnection, job_id: str) -> list[JobTask]:
        """In the order of the plan."""
        rows = connection.execute(f"SELECT {_TASK} FROM tasks WHERE job_id = ? ORDER BY ordinal, id", (job_id,))
        return [_TASKS.value(row) for row in rows]

    @query
    def find(connection: SqlConnection, job_id: str, task_id: str) -> JobTask | None:
        row = connection.execute(f"SELECT {_TASK} FROM tasks WHERE job_id = ? AND id = ?", (job_id, task_id)).fetchone()
        return None if row is None else _TASKS.value(row)

    @query
    def undone_by(connection: SqlConnection, chat_id: str, snapshot_id: str) -> list[JobTask]:
        rows = connection.execute(
            f"SELECT {_TASK} FROM tasks WHERE chat_id = ? AND undone_by = ?", (chat_id, snapshot_id)
        )
        return [_TASKS.value(row) for row in rows]

    @query
    def page(connection: SqlConnection, job_id: str, *, after: str | None = None, limit: int) -> list[JobTask]:
        """The tasks behind this one, in the order of the plan."""
        behind = (
            "" if after is None else " AND (ordinal, id) > (SELECT ordinal, id FROM tasks WHERE job_id = ? AND id = ?)"
        )
        values = () if after is None else (job_id, after)
        rows = connection.execute(
            f"SELECT {_TASK} FROM tasks WHERE job_id = ?{behind} ORDER BY ordinal, id LIMIT ?", (job_id, *values, limit)
        )
        return [_TASKS.value(row) for row in rows]

    @query
    def counts(connection: SqlConnection, job_id: str) -> dict[TaskStatus, int]:
        """Returns how many tasks of the job have each status."""
        rows = connection.execute("SELECT status, COUNT(*) FROM tasks WHERE job_id = ? GROUP BY status", (job_id,))
        return {TaskStatus(status): int(count) for status, count in rows}


def _since(connection: SqlConnection, job_id: str, seq: int) -> list[tuple[JobTask, int]]:
    rows = connection.execute(
        f"SELECT {_TASK}, seq FROM tasks WHERE job_id = ? AND seq > ? ORDER BY seq, ordinal", (job_id, seq)
    )
    return [(_TASKS.value(row), row[-1]) for row in rows]


def _limits(stored: Json) -> JobLimits:
    return JobLimits(Budget.model_validate(stored.get("task") or {}), Budget.model_validate(stored.get("job") or {}))
