"""What stands until a person decides: read from the rows of approvals, questions, plans, jobs and turns, so that nothing can be missed."""

from collections.abc import Sequence
from datetime import datetime

from anycowork.domain.chats import CONTINUABLE, EndReason
from anycowork.domain.notifications import Wait, WaitKind, kind_of_end
from anycowork.domain.principals import Principal
from anycowork.domain.times import later
from anycowork.domain.visibility import viewer_of
from anycowork.store.sql.connection import SqlConnection, Table, query
from anycowork.store.sql.messages import message_in
from anycowork.store.sql.visibility import VisibilityTable

_NEW_SECONDS = 24 * 3600.0
"""What began before is not told any more."""
_JOB_SECONDS = 7 * 24 * 3600.0
# The ids of approvals, questions, plans and jobs begin with their time, so that their keys are in its order.
_APPROVALS = (
    "SELECT a.batch_id, a.chat_id, t.principal FROM approvals a JOIN turns t ON t.id = a.turn_id JOIN chats c ON c.id = a.chat_id"
    " WHERE a.id >= ? AND a.state = 'pending' AND c.archived = 0 ORDER BY a.id LIMIT 500"
)
_QUESTIONS = (
    "SELECT q.message_id, q.chat_id, t.principal, t.job_id FROM questions q JOIN turns t ON t.id = q.turn_id"
    " JOIN chats c ON c.id = q.chat_id WHERE q.message_id >= ? AND q.state = 'open' AND c.archived = 0 ORDER BY q.message_id LIMIT 500"
)
_PLANS = (
    "SELECT p.message_id, p.chat_id, COALESCE((SELECT j.principal FROM jobs j WHERE j.chat_id = p.chat_id AND j.plan_id = p.message_id LIMIT 1),"
    " (SELECT t.principal FROM turns t WHERE t.chat_id = p.chat_id ORDER BY t.seq DESC LIMIT 1), c.created_by)"
    " FROM plans p JOIN chats c ON c.id = p.chat_id"
    " WHERE p.message_id >= ? AND p.state = 'open' AND c.archived = 0 AND c.state <> 'running' ORDER BY p.message_id LIMIT 500"
)
_JOBS = (
    "SELECT j.id, j.chat_id, j.principal, j.status FROM jobs j JOIN chats c ON c.id = j.chat_id"
    " WHERE j.id >= ? AND c.archived = 0 AND (j.status = 'awaiting_commit' OR (j.status = 'paused' AND j.error IS NOT NULL))"
    " ORDER BY j.id LIMIT 500"
)
# Filtered where it is read: with a filter, PostgreSQL would rather read every chat.
_CHATS = "SELECT id, state, archived FROM chats WHERE updated_at >= ? ORDER BY updated_at DESC, id DESC LIMIT 500"
_NEWEST_TURN = (
    "SELECT id, principal, state, reason, steps, job_id FROM turns WHERE chat_id = ? ORDER BY seq DESC LIMIT 1"
)
_MESSAGE = "SELECT r.body FROM messages m JOIN records r ON r.chat_id = m.chat_id AND r.seq = m.seq WHERE m.id = ? AND m.chat_id = ?"


class WaitTable(Table):
    """Reads what waits for a person."""

    @query
    def hidden_from(connection: SqlConnection, person: Principal, chat_ids: Sequence[str]) -> set[str]:
        """Returns which of these chats the person may not see any more."""
        viewer = viewer_of(person)
        if viewer is None or not chat_ids:
            return set()
        return VisibilityTable.hidden_chats(connection, viewer, chat_ids)

    @query
    def standing(connection: SqlConnection, now: str) -> list[Wait]:
        """Returns everything that began to wait in the last day, each once. Of archived chats nothing waits."""
        since, jobs_since = _first_id(later(now, -_NEW_SECONDS)), _first_id(later(now, -_JOB_SECONDS))
        waits: dict[str, Wait] = {}
        for wait in (
            *_approvals(connection, since),
            *_questions(connection, since),
            *_plans(connection, since),
            *_jobs(connection, jobs_since),
            *_ended_turns(connection, later(now, -_NEW_SECONDS)),
        ):
            waits.setdefault(wait.id, wait)
        return list(waits.values())


def _approvals(connection: SqlConnection, since: str) -> list[Wait]:
    rows = connection.execute(_APPROVALS, (since,)).fetchall()
    return [Wait(f"approval:{batch_id}", WaitKind.APPROVAL, chat_id, by) for batch_id, chat_id, by in rows]


def _questions(connection: SqlConnection, since: str) -> list[Wait]:
    waits = []
    for message_id, chat_id, by, job_id in connection.execute(_QUESTIONS, (since,)).fetchall():
        is_conflict = job_id is not None and _asks_about_conflict(connection, message_id, chat_id)
        kind = WaitKind.CONFLICT if is_conflict else WaitKind.QUESTION
        waits.append(Wait(f"question:{message_id}", kind, chat_id, by))
    return waits


def _asks_about_conflict(connection: SqlConnection, message_id: str, chat_id: str) -> bool:
    row = connection.execute(_MESSAGE, (message_id, chat_id)).fetchone()
    return row is not None and "conflict" in (message_in(chat_id, row[0]).payload or {})


def _plans(connection: SqlConnection, since: str) -> list[Wait]:
    rows = connection.execute(_PLANS, (since,)).fetchall()
    return [Wait(f"plan:{message_id}", WaitKind.PLAN, chat_id, by) for message_id, chat_id, by in rows]


def _jobs(connection: SqlConnection, since: str) -> list[Wait]:
    kinds = {"awaiting_commit": WaitKind.REVIEW, "paused": WaitKind.LIMIT}
    rows = connection.execute(_JOBS, (since,)).fetchall()
    return [Wait(f"job:{job_id}:{status}", kinds[status], chat_id, by) for job_id, chat_id, by, status in rows]


def _ended_turns(connection: SqlConnection, since: str) -> list[Wait]:
    """Returns the newest turn of each idle chat that a person may let go on. Its steps tell one end of a turn from a later one."""
    waits = []
    for chat_id, state, is_archived in connection.execute(_CHATS, (since,)).fetchall():
        if state != "idle" or is_archived:
            continue
        row = connection.execute(_NEWEST_TURN, (chat_id,)).fetchone()
        if row is None or row[2] != "ended" or row[3] not in _CONTINUABLE or row[5] is not None:
            continue
        kind = kind_of_end(EndReason(row[3]))
        assert kind is not None  # each continuable end has one
        waits.append(Wait(f"turn:{row[0]}:{row[4]}", kind, chat_id, row[1]))
    return waits


_CONTINUABLE = frozenset(reason.value for reason in CONTINUABLE)


def _first_id(time: str) -> str:
    """Returns what is not greater than any UUIDv7 that was made since."""
    milliseconds = int(datetime.fromisoformat(time).timestamp() * 1000)
    return f"{milliseconds >> 16:08x}-{milliseconds & 0xFFFF:04x}-7"
