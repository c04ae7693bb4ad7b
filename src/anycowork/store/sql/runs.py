"""The workflow_runs table: a running workflow, with its steps as they were fixed at the start."""

from typing import Any  # stored JSON, read leniently by the step itself

import msgspec

from anycowork.domain.roles import Permission
from anycowork.domain.workflows import Run, RunStatus, RunStep
from anycowork.store.sql.connection import SqlConnection, Table, query
from anycowork.store.sql.row_mapper import JSON_OBJECT, ColumnType, RowMapper, enum_of, json_of, nullable, to_json_text
from anycowork.store.sql.schedules import BUDGET

_ROWS = RowMapper(
    Run,
    "turn_id, chat_id, workflow, steps, needs, content_hash, at, begun, status, error, limits, origins",
    names={"turn_id": "id"},
    types={
        "steps": ColumnType(lambda steps: to_json_text([step.to_json() for step in steps]), lambda text: _steps(text)),
        "needs": ColumnType(
            lambda needs: to_json_text(sorted(needs)), msgspec.json.Decoder(frozenset[Permission]).decode
        ),
        "status": enum_of(RunStatus),
        "error": nullable(JSON_OBJECT),
        "limits": BUDGET,
        "origins": json_of(tuple[str, ...]),
    },
)
_PUT = (
    f"{_ROWS.insert('workflow_runs')}"
    " ON CONFLICT (turn_id) DO UPDATE SET at = excluded.at, begun = excluded.begun, status = excluded.status, error = excluded.error,"
    " limits = excluded.limits"
)


def put(connection: SqlConnection, run: Run) -> None:
    """Writes a run. The steps and their permissions never change; only the run's progress and what is left of its limits do."""
    connection.execute(_PUT, _ROWS.row(run))


class WorkflowRunTable(Table):
    """Reads workflow runs."""

    @query
    def find(connection: SqlConnection, turn_id: str) -> Run | None:
        row = connection.execute(f"SELECT {_ROWS.columns} FROM workflow_runs WHERE turn_id = ?", (turn_id,)).fetchone()
        return None if row is None else _ROWS.value(row)


def _steps(text: str) -> tuple[RunStep, ...]:
    return tuple(RunStep.from_stored(step) for step in msgspec.json.decode(text, type=list[dict[str, Any]]))
