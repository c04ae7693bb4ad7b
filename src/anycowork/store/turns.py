"""The turns table."""

import sqlite3

from anycowork.domain.chats import EndReason, Turn, TurnState
from anycowork.store.columns import packed_or_null, unpacked_or_none

Connection = sqlite3.Connection

_FIELDS = "id, chat_id, role, principal, message_id, plan_id, state, steps, faults, seconds, reason, error, created_at"


def put(connection: Connection, turn: Turn, *, seq: int) -> None:
    """Most often it has only gone on, and that touches no index."""
    if not _go_on(connection, turn):
        _write(connection, turn, seq)


def _go_on(connection: Connection, turn: Turn) -> bool:
    """False if more than its counters changed, or it is not there."""
    if turn.state is not TurnState.RUNNING or turn.reason or turn.error is not None:
        return False
    gone_on = connection.execute(
        "UPDATE turns SET steps = ?, faults = ?, seconds = ? WHERE id = ? AND state = 'running' AND role = ?"
        " AND principal = ? AND message_id = ? AND plan_id IS ? AND reason IS NULL AND error IS NULL",
        (turn.steps, turn.faults, turn.seconds, turn.id, str(turn.role), turn.principal, turn.message_id, turn.plan_id),
    )
    return gone_on.rowcount == 1


def _write(connection: Connection, turn: Turn, seq: int) -> None:
    connection.execute(
        f"INSERT INTO turns ({_FIELDS}, seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET role = excluded.role, principal = excluded.principal, message_id = excluded.message_id,"
        " plan_id = excluded.plan_id, state = excluded.state, steps = excluded.steps, faults = excluded.faults,"
        " seconds = excluded.seconds, reason = excluded.reason, error = excluded.error",
        (
            turn.id,
            turn.chat_id,
            str(turn.role),
            turn.principal,
            turn.message_id,
            turn.plan_id,
            turn.state.value,
            turn.steps,
            turn.faults,
            turn.seconds,
            turn.reason.value if turn.reason else None,
            packed_or_null(turn.error),
            turn.created_at,
            seq,
        ),
    )


def find(connection: Connection, turn_id: str) -> Turn | None:
    row = connection.execute(f"SELECT {_FIELDS} FROM turns WHERE id = ?", (turn_id,)).fetchone()
    return None if row is None else _turn(row)


def in_states(connection: Connection, states: tuple[str, ...]) -> list[Turn]:
    marks = ", ".join("?" for _ in states)
    rows = connection.execute(f"SELECT {_FIELDS} FROM turns WHERE state IN ({marks}) ORDER BY chat_id, seq", states)
    return [_turn(row) for row in rows]


def current(connection: Connection, chat_id: str) -> Turn | None:
    """The newest that has not ended."""
    row = connection.execute(
        f"SELECT {_FIELDS} FROM turns WHERE chat_id = ? AND state <> 'ended' ORDER BY seq DESC LIMIT 1", (chat_id,)
    ).fetchone()
    return None if row is None else _turn(row)


def _turn(row: tuple[str, str, str, str, str, str | None, str, int, int, float, str | None, str | None, str]) -> Turn:
    id_, chat_id, role, principal, message_id, plan_id, state, steps, faults, seconds, reason, error, created_at = row
    return Turn(
        id=id_,
        chat_id=chat_id,
        role=role,
        principal=principal,
        message_id=message_id,
        plan_id=plan_id,
        state=TurnState(state),
        steps=steps,
        faults=faults,
        seconds=seconds,
        reason=EndReason(reason) if reason else None,
        error=unpacked_or_none(error),
        created_at=created_at,
    )
