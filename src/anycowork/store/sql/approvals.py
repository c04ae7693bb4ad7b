"""The approvals table: one open question about one call. It is decided once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from anycowork.domain.approvals import Approval, ApprovalState, DecidedCall, Risk
from anycowork.domain.disclosure import DisclosedItem
from anycowork.domain.errors import AlreadyDecided, NotFound, RejectedByUser
from anycowork.domain.journal import DecideApproval, RequireNoDenial
from anycowork.domain.origins import Endorsement
from anycowork.store.sql.connection import SqlConnection, Table, query
from anycowork.store.sql.row_mapper import BOOLEAN, JSON_OBJECT, RowMapper, enum_of, json_of, nullable

_ROWS = RowMapper(
    Approval,
    "id, chat_id, turn_id, batch_id, tool_call_id, tool, parameters, resource, risk, reasons, binding, outside_plan, proposed_rule, diff,"
    " state, note, decided_by, created_at, network, held, items, endorsement",
    types={
        "parameters": JSON_OBJECT,
        "risk": enum_of(Risk),
        "reasons": json_of(tuple[str, ...]),
        "outside_plan": BOOLEAN,
        "proposed_rule": nullable(JSON_OBJECT),
        "state": enum_of(ApprovalState),
        "network": json_of(tuple[str, ...]),
        "held": BOOLEAN,
        "items": json_of(tuple[DisclosedItem, ...]),
        "endorsement": nullable(json_of(Endorsement)),
    },
)
_ADD = _ROWS.insert("approvals", "seq", "ordinal")

_OF_JOB = "(SELECT job_id FROM turns WHERE turns.id = turn_id) AS of_job, (SELECT task_id FROM turns WHERE turns.id = turn_id) AS of_task"


def add(connection: SqlConnection, approval: Approval, *, seq: int, ordinal: int) -> None:
    connection.execute(_ADD, _ROWS.row(approval, seq, ordinal))


def decide(connection: SqlConnection, chat_id: str, write: DecideApproval) -> None:
    decided = connection.execute(
        "UPDATE approvals SET state = ?, note = ?, decided_by = ? WHERE id = ? AND chat_id = ? AND state = 'pending'",
        (write.state.value, write.note, write.decided_by, write.approval_id, chat_id),
    )
    if decided.rowcount == 1:
        return
    row = connection.execute(
        "SELECT state FROM approvals WHERE id = ? AND chat_id = ?", (write.approval_id, chat_id)
    ).fetchone()
    if row is None:
        raise NotFound("approval", write.approval_id)
    raise AlreadyDecided(f"Approval '{write.approval_id}' is already {row[0]}. Reload the chat to see where it stands.")


def require_no_denial(connection: SqlConnection, write: RequireNoDenial) -> None:
    row = connection.execute(
        "SELECT tool, resource FROM approvals WHERE tool_call_id = ? AND state = 'denied' LIMIT 1", (write.call_id,)
    ).fetchone()
    if row is not None:
        raise RejectedByUser(
            f"The person denied this call ({row[0]} on {row[1]}). Do not try it again; choose another way or ask."
        )


class ApprovalTable(Table):
    """Reads approvals."""

    @query
    def of_chat(connection: SqlConnection, chat_id: str, *, pending_only: bool = True) -> list[Approval]:
        only = " AND state = 'pending'" if pending_only else ""
        rows = connection.execute(
            f"SELECT {_ROWS.columns}, {_OF_JOB} FROM approvals WHERE chat_id = ?{only} ORDER BY seq, ordinal",
            (chat_id,),
        )
        return [_approval(row) for row in rows]

    @query
    def of_call(connection: SqlConnection, call_id: str) -> list[Approval]:
        """Newest last."""
        rows = connection.execute(
            f"SELECT {_ROWS.columns}, {_OF_JOB} FROM approvals WHERE tool_call_id = ? ORDER BY seq, ordinal", (call_id,)
        )
        return [_approval(row) for row in rows]

    @query
    def decided_in_waiting_batches(connection: SqlConnection, chat_id: str) -> dict[str, DecidedCall]:
        """Returns what a person decided of calls whose batch still waits for other decisions, by call."""
        rows = connection.execute(
            "SELECT tool_call_id, state, decided_by FROM approvals WHERE chat_id = ? AND state IN ('allowed', 'denied')"
            " AND batch_id IN (SELECT batch_id FROM approvals WHERE chat_id = ? AND state = 'pending') ORDER BY seq, ordinal",
            (chat_id, chat_id),
        )
        return {call_id: DecidedCall(ApprovalState(state), by) for call_id, state, by in rows}

    @query
    def seconds_waited(connection: SqlConnection, chat_id: str) -> dict[str, float]:
        """Returns how long each call waited for a person: until the last decision of its batch."""
        records = connection.execute(
            "SELECT body FROM records WHERE chat_id = ? AND type = 'permission-decided' ORDER BY seq", (chat_id,)
        )
        decided = {record.approval.batch_id: record.at for record in (_decided_of.decode(body) for (body,) in records)}
        approvals = connection.execute(
            "SELECT tool_call_id, batch_id, created_at FROM approvals WHERE chat_id = ?", (chat_id,)
        )
        waited: dict[str, float] = {}
        for call_id, batch_id, created_at in approvals:
            if batch_id in decided:
                waited[call_id] = waited.get(call_id, 0.0) + _seconds_between(created_at, decided[batch_id])
        return waited


def newest_decided(connection: SqlConnection, limit: int) -> list[tuple[Approval, str]]:
    """Returns the approvals that people decided, newest first, each with its chat's workspace."""
    rows = connection.execute(
        f"SELECT {_ROWS.columns}, {_OF_JOB}, (SELECT workspace FROM chats WHERE chats.id = chat_id) AS of_workspace FROM approvals"
        " WHERE state IN ('allowed', 'denied') ORDER BY created_at DESC, id DESC LIMIT ?",
        (limit,),
    )
    return [(_approval(row[:-1]), row[-1]) for row in rows]


class _Batch(msgspec.Struct):
    batch_id: str


class _Decided(msgspec.Struct):
    """What is read of a record of a decision."""

    at: str
    approval: _Batch


_decided_of = msgspec.json.Decoder(_Decided)


def _seconds_between(start: str, end: str) -> float:
    return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def _approval(row: Sequence[Any]) -> Approval:  # Any: rows have no types
    return _ROWS.value(row, job_id=row[-2], task_id=row[-1])
