"""The approvals, questions and plans tables: what waits for a person's decision, and the decision. Each is decided once."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from anycowork.domain.approvals import (
    Approval,
    ApprovalState,
    DecidedCall,
    PlanRow,
    PlanState,
    QuestionRow,
    QuestionState,
    Risk,
)
from anycowork.domain.disclosure import DisclosedItem
from anycowork.domain.errors import (
    AlreadyAnswered,
    AlreadyDecided,
    NotFound,
    PlanAlreadyApproved,
    PlanSuperseded,
    RejectedByUser,
)
from anycowork.domain.journal import ApprovePlan, DecideApproval, RequireNoDenial, SettleQuestion
from anycowork.domain.origins import Endorsement
from anycowork.store.sql.connection import SqlConnection, Table, query
from anycowork.store.sql.row_mapper import (
    BOOLEAN,
    JSON_OBJECT,
    RowMapper,
    enum_of,
    json_of,
    nullable,
    to_json_text,
    to_json_text_or_null,
)

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
_QUESTIONS = RowMapper(
    QuestionRow,
    "message_id, chat_id, turn_id, state, answer, answered_by",
    types={"state": enum_of(QuestionState), "answer": nullable(JSON_OBJECT)},
)
_PLANS = RowMapper(
    PlanRow,
    "message_id, chat_id, state, approved, approved_by, turn_id",
    types={"state": enum_of(PlanState), "approved": nullable(JSON_OBJECT)},
)
_ADD_QUESTION, _ADD_PLAN = _QUESTIONS.insert("questions"), _PLANS.insert("plans")


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


def add_question(connection: SqlConnection, question: QuestionRow) -> None:
    connection.execute(_ADD_QUESTION, _QUESTIONS.row(question))


def settle_question(connection: SqlConnection, chat_id: str, write: SettleQuestion) -> None:
    settled = connection.execute(
        "UPDATE questions SET state = ?, answer = ?, answered_by = ? WHERE message_id = ? AND chat_id = ? AND state = 'open'",
        (write.state.value, to_json_text_or_null(write.answer), write.answered_by, write.message_id, chat_id),
    )
    if settled.rowcount == 1:
        return
    row = connection.execute(
        "SELECT state FROM questions WHERE message_id = ? AND chat_id = ?", (write.message_id, chat_id)
    ).fetchone()
    if row is None:
        raise NotFound("question", write.message_id)
    raise AlreadyAnswered(f"Question '{write.message_id}' is already {row[0]}. Reload the chat to see the answer.")


class QuestionTable(Table):
    """Reads questions."""

    @query
    def find(connection: SqlConnection, message_id: str) -> QuestionRow | None:
        return _question(connection, "message_id = ?", message_id)

    @query
    def open(connection: SqlConnection, chat_id: str, *, turn_id: str) -> QuestionRow | None:
        """Returns the open question of a turn."""
        return _question(connection, "chat_id = ? AND state = 'open' AND turn_id = ?", chat_id, turn_id)

    @query
    def open_in(connection: SqlConnection, chat_id: str) -> Sequence[QuestionRow]:
        """Returns the open questions of the chat, oldest first: several tasks of a job may ask."""
        where = "chat_id = ? AND state = 'open' ORDER BY message_id"
        rows = connection.execute(f"SELECT {_QUESTIONS.columns} FROM questions WHERE {where}", (chat_id,)).fetchall()
        return [_QUESTIONS.value(row) for row in rows]


def _question(connection: SqlConnection, where: str, *values: str) -> QuestionRow | None:
    row = connection.execute(f"SELECT {_QUESTIONS.columns} FROM questions WHERE {where}", values).fetchone()
    return None if row is None else _QUESTIONS.value(row)


def add_plan(connection: SqlConnection, plan: PlanRow) -> None:
    """Adds a plan. It supersedes older open plans of the chat."""
    if plan.state is PlanState.OPEN:
        connection.execute(
            "UPDATE plans SET state = 'superseded' WHERE chat_id = ? AND state = 'open'", (plan.chat_id,)
        )
    connection.execute(_ADD_PLAN, _PLANS.row(plan))


def approve_plan(connection: SqlConnection, chat_id: str, write: ApprovePlan) -> None:
    approved = connection.execute(
        "UPDATE plans SET state = 'approved', approved = ?, approved_by = ?, turn_id = ? WHERE message_id = ? AND chat_id = ? AND state = 'open'",
        (to_json_text(write.approved), write.approved_by, write.turn_id, write.message_id, chat_id),
    )
    if approved.rowcount == 1:
        return
    row = connection.execute(
        "SELECT state FROM plans WHERE message_id = ? AND chat_id = ?", (write.message_id, chat_id)
    ).fetchone()
    if row is None:
        raise NotFound("plan", write.message_id)
    if PlanState(row[0]) is PlanState.SUPERSEDED:
        raise PlanSuperseded(f"Plan '{write.message_id}' is outdated: a newer plan replaced it. Approve the newer one.")
    raise PlanAlreadyApproved(f"Plan '{write.message_id}' is already approved. See its run in the chat.")


class PlanTable(Table):
    """Reads plans."""

    @query
    def find(connection: SqlConnection, message_id: str) -> PlanRow | None:
        row = connection.execute(f"SELECT {_PLANS.columns} FROM plans WHERE message_id = ?", (message_id,)).fetchone()
        return None if row is None else _PLANS.value(row)

    @query
    def approved(connection: SqlConnection, chat_id: str) -> list[PlanRow]:
        """Returns approved plans, ordered by message id, and therefore by time."""
        query = f"SELECT {_PLANS.columns} FROM plans WHERE chat_id = ? AND state = 'approved' ORDER BY message_id"
        return [_PLANS.value(row) for row in connection.execute(query, (chat_id,))]
