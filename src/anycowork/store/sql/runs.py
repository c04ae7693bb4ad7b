"""The workflow_runs table: a running workflow, with its steps as they were fixed at the start."""

from typing import Any  # stored JSON, read leniently by the step itself

import msgspec

from anycowork.domain.roles import Permission
from anycowork.domain.workflows import Run, RunStatus, RunStep
from anycowork.store.sql.columns import from_json_text_or_none, to_json_text, to_json_text_or_null
from anycowork.store.sql.connection import SqlConnection

_FIELDS = "turn_id, chat_id, workflow, steps, needs, content_hash, at, begun, status, error"


def put(connection: SqlConnection, run: Run) -> None:
    """Writes a run. The steps and their permissions never change; only the run's progress does."""
    connection.execute(
        f"INSERT INTO workflow_runs ({_FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (turn_id) DO UPDATE SET at = excluded.at, begun = excluded.begun, status = excluded.status, error = excluded.error",
        (
            run.id,
            run.chat_id,
            run.workflow,
            to_json_text([step.to_json() for step in run.steps]),
            to_json_text(sorted(run.needs)),
            run.content_hash,
            run.at,
            run.begun,
            run.status.value,
            to_json_text_or_null(run.error),
        ),
    )


def find(connection: SqlConnection, turn_id: str) -> Run | None:
    row = connection.execute(f"SELECT {_FIELDS} FROM workflow_runs WHERE turn_id = ?", (turn_id,)).fetchone()
    return None if row is None else _run(row)


def _run(row: tuple[str, str, str, str, str, str, int, str | None, str, str | None]) -> Run:
    id_, chat_id, workflow, steps, needs, content_hash, at, begun, status, error = row
    return Run(
        id=id_,
        chat_id=chat_id,
        workflow=workflow,
        steps=tuple(RunStep.from_stored(step) for step in msgspec.json.decode(steps, type=list[dict[str, Any]])),
        needs=frozenset(Permission(name) for name in msgspec.json.decode(needs, type=list[str])),
        content_hash=content_hash,
        at=at,
        begun=begun,
        status=RunStatus(status),
        error=from_json_text_or_none(error),
    )
