"""The usage table: tokens reserved before a model request, and tokens used."""

from collections.abc import Collection, Sequence
from typing import Any, assert_never

from anycowork.domain.errors import NotFound
from anycowork.domain.journal import Reserve, Spend
from anycowork.domain.limits import ANSWER_TOKENS
from anycowork.domain.metering import ChatUsage, GroupedUsage, ModelUsage, TurnUsage, UsageGroup
from anycowork.domain.values import mutable_value
from anycowork.domain.visibility import Viewer
from anycowork.store.sql.connection import SqlConnection, Table, large_query, query
from anycowork.store.sql.row_mapper import require_number
from anycowork.store.sql.visibility import values_of, visible_to

_COUNTED = ("requests", "reserved", "prompt", "completion", "cached", "reasoning", "estimated")
_SUMS = ", ".join(f"SUM({name})" for name in _COUNTED)
_WRITTEN = (*_COUNTED, "reserved_answer")
_MORE = ", ".join(f"{name} = usage.{name} + excluded.{name}" for name in _WRITTEN)
_BEGIN = (
    f"INSERT INTO usage ({', '.join(_WRITTEN)}, newest, filled, chat_id, turn_id, model, purpose, day, first, payer)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    f" ON CONFLICT (chat_id, turn_id, model, purpose, day) DO UPDATE SET {_MORE},"
    " newest = CASE WHEN excluded.newest = '' THEN usage.newest ELSE excluded.newest END,"
    " filled = CASE WHEN excluded.newest = '' THEN usage.filled ELSE excluded.filled END"
)
_GO_ON = (
    f"UPDATE usage SET {', '.join(f'{name} = {name} + ?' for name in _WRITTEN)}, newest = ?, filled = ?"
    " WHERE chat_id = ? AND turn_id = ? AND model = ? AND purpose = ? AND day = ?"
)

Put = tuple[str, Reserve | Spend]
"""A reservation or usage, with its chat."""


def put(connection: SqlConnection, puts: Sequence[Put]) -> None:
    """Writes one row per turn and model: the usage of the last request and the reservation for the next are written together.

    Raises: NotFound if nothing was reserved for the usage; IntegrityError if less was.
    """
    begun: dict[_Key, _Sum] = {}
    going_on: dict[_Key, _Sum] = {}
    for chat_id, write in puts:
        reservation = write.of if isinstance(write, Spend) else write
        key = (chat_id, reservation.turn_id, reservation.model, reservation.purpose, reservation.day)
        summed = going_on.get(key) or begun.get(key)
        if summed is None:
            summed = _Sum(payer=reservation.payer)
            (going_on if reservation is not write else begun)[key] = summed
        summed.add(write)
    if begun:
        connection.write_later(
            _BEGIN, [(*summed.row(), *key, summed.first, summed.payer) for key, summed in begun.items()], apart=True
        )
    if going_on:
        missing = NotFound("reservation", " or ".join(summed.first for summed in going_on.values()))
        rows = [(*summed.row(), *key) for key, summed in going_on.items()]
        connection.write_later(_GO_ON, rows, missing=missing, apart=True)


_KEPT = (
    f"INSERT INTO usage ({', '.join(_WRITTEN)}, newest, filled, chat_id, turn_id, model, purpose, day, first, payer)"
    f" SELECT {', '.join(f'SUM({name})' for name in _WRITTEN)}, '', 0, '', payer, model, 'removed', day, '', payer FROM usage"
    " WHERE chat_id = ? GROUP BY payer, model, day"
    f" ON CONFLICT (chat_id, turn_id, model, purpose, day) DO UPDATE SET {_MORE}"
)


def keep_of_removed_chat(connection: SqlConnection, chat_id: str) -> None:
    """Keeps what each person used in a chat on each day: deleting a chat gives nobody more of the day's limits."""
    connection.execute(_KEPT, (chat_id,))


_Key = tuple[str, str, str, str, str]


@mutable_value
class _Sum:
    """What is added to a row."""

    payer: str
    first: str = ""
    requests: int = 0
    reserved: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: int = 0
    reserved_answer: int = 0
    newest: str = ""
    filled: int = 0

    def add(self, write: Reserve | Spend) -> None:
        match write:
            case Reserve():
                self.first = self.first or write.id
                self.requests += 1
                self.reserved += write.tokens
                self.reserved_answer += ANSWER_TOKENS
            case Spend():
                self.first = self.first or write.of.id
                self.reserved -= write.of.tokens
                self.reserved_answer -= ANSWER_TOKENS
                self.prompt += write.prompt
                self.completion += write.completion
                self.cached += write.cached
                self.reasoning += write.reasoning
                self.estimated += write.estimated
                self.newest, self.filled = write.of.id, write.prompt + write.completion
            case _:
                assert_never(write)

    def row(self) -> tuple[int | str, ...]:
        counted = (self.requests, self.reserved, self.prompt, self.completion, self.cached, self.reasoning)
        return (*counted, self.estimated, self.reserved_answer, self.newest, self.filled)


class UsageTable(Table):
    """Reads what models were used for."""

    @query
    def of_chat(connection: SqlConnection, chat_id: str) -> ChatUsage:
        """Returns the usage of the chat; empty if there is no such chat."""
        newest = connection.execute(
            "SELECT filled FROM usage WHERE chat_id = ? AND newest <> '' ORDER BY newest DESC LIMIT 1", (chat_id,)
        ).fetchone()
        return ChatUsage(
            _models(connection, "chat_id = ?", chat_id), window=require_number(newest[0], "filled") if newest else 0
        )

    @query
    def of_turn(connection: SqlConnection, chat_id: str, turn_id: str) -> tuple[ModelUsage, ...]:
        """Returns the usage of one turn, per model."""
        return _models(connection, "chat_id = ? AND turn_id = ?", chat_id, turn_id)

    @query
    def of_job(connection: SqlConnection, job_id: str, *, task_ids: Collection[str] | None = None) -> list[TurnUsage]:
        """Returns what the turns on each task have used together, of all tasks or of these; of turns without a task under None."""
        only = "" if task_ids is None else f" AND turns.task_id IN ({', '.join('?' * len(task_ids)) or 'NULL'})"
        values = (job_id, *(task_ids or ()))
        models: dict[str | None, list[ModelUsage]] = {}
        rows = connection.execute(
            f"SELECT turns.task_id, model, {_SUMS} FROM turns JOIN usage ON usage.chat_id = turns.chat_id AND usage.turn_id = turns.id"
            f" WHERE turns.job_id = ?{only} GROUP BY turns.task_id, model ORDER BY MIN(first)",
            values,
        )
        for task_id, *counted in rows:
            models.setdefault(task_id, []).append(_model(counted))
        seconds = connection.execute(
            f"SELECT task_id, SUM(seconds) FROM turns WHERE job_id = ?{only} GROUP BY task_id", values
        )
        return [TurnUsage(task_id, float(total), tuple(models.get(task_id, ()))) for task_id, total in seconds]

    @query
    def of_whole_job(connection: SqlConnection, job_id: str) -> TurnUsage:
        """Returns what all turns of the job have used so far, together."""
        rows = connection.execute(
            f"SELECT model, {_SUMS} FROM turns JOIN usage ON usage.chat_id = turns.chat_id AND usage.turn_id = turns.id"
            " WHERE turns.job_id = ? GROUP BY model ORDER BY MIN(first)",
            (job_id,),
        )
        [seconds] = connection.execute("SELECT SUM(seconds) FROM turns WHERE job_id = ?", (job_id,)).fetchone()
        return TurnUsage(None, float(seconds or 0.0), tuple(_model(row) for row in rows))

    @large_query
    def grouped(
        connection: SqlConnection, by: UsageGroup, since: str, until: str, *, viewer: Viewer | None = None
    ) -> list[GroupedUsage]:
        """Returns the use by model of each chat, job, role, model or day, of turns that began on these days. It reads all turns.

        With a viewer, of chats that this person may see.
        """
        of_chats = "" if viewer is None else f" AND turns.chat_id IN (SELECT id FROM chats WHERE {visible_to(viewer)})"
        rows = connection.execute(
            f"SELECT {_GROUPS[by]}, model, {_SUMS} FROM turns"
            " JOIN usage ON usage.chat_id = turns.chat_id AND usage.turn_id = turns.id"
            f" WHERE substr(turns.created_at, 1, 10) BETWEEN ? AND ?{of_chats} GROUP BY 1, 2",
            (since, until, *(values_of(viewer) if viewer is not None else ())),
        )
        return [GroupedUsage(row[0], _model(row[1:])) for row in rows if row[0] is not None]


_GROUPS = {
    UsageGroup.CHAT: "turns.chat_id",
    UsageGroup.JOB: "turns.job_id",
    UsageGroup.ROLE: "turns.role",
    UsageGroup.MODEL: "usage.model",
    UsageGroup.DAY: "substr(turns.created_at, 1, 10)",
}


def _models(connection: SqlConnection, where: str, *values: str) -> tuple[ModelUsage, ...]:
    """Returns usage per model, in the order in which the models were first asked."""
    rows = connection.execute(
        f"SELECT model, {_SUMS} FROM usage WHERE {where} GROUP BY model ORDER BY MIN(first)", values
    ).fetchall()
    return tuple(_model(row) for row in rows)


def _model(row: Sequence[Any]) -> ModelUsage:  # Any: sqlite's rows have no types
    model, requests, reserved, prompt, completion, cached, reasoning, estimated = row
    return ModelUsage(model, requests, reserved, prompt, completion, cached, reasoning, bool(estimated))
