"""The questions and plans tables: what waits for a person's decision, and the decision."""

from collections.abc import Sequence

from anycowork.domain.approvals import PlanRow, PlanState, QuestionRow, QuestionState
from anycowork.domain.errors import AlreadyAnswered, NotFound, PlanAlreadyApproved, PlanSuperseded
from anycowork.domain.journal import ApprovePlan, SettleQuestion
from anycowork.store.sql.connection import SqlConnection, Table, query
from anycowork.store.sql.row_mapper import JSON_OBJECT, RowMapper, enum_of, nullable, to_json_text, to_json_text_or_null

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
