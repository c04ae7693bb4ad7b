"""The usage table: what was set aside before a model was asked, and what it used."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from anycowork.domain.errors import NotFound
from anycowork.domain.journal import Reserve, Spend
from anycowork.domain.usage import ChatUsage, ModelUsage

Connection = sqlite3.Connection


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """`reserved` is what is set aside and not settled: after a crash it counts as spent."""

    requests: int = 0
    reserved: int = 0
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    estimated: bool = False


_RESERVE = "INSERT INTO usage (chat_id, id, turn_id, purpose, model, reserved) VALUES (?, ?, ?, ?, ?, ?)"
_SPEND = (
    "UPDATE usage SET prompt = ?, completion = ?, cached = ?, reasoning = ?, estimated = ?, settled = 1 WHERE id = ?"
)


def reserve(connection: Connection, rows: Sequence[tuple[str, Reserve]]) -> None:
    """What is set aside, each in its chat."""
    connection.executemany(
        _RESERVE, [(chat, one.id, one.turn_id, one.purpose, one.model, one.tokens) for chat, one in rows]
    )


def spend(connection: Connection, writes: Sequence[Spend]) -> None:
    """Raises: NotFound if nothing was set aside for one of them."""
    rows = [(one.prompt, one.completion, one.cached, one.reasoning, int(one.estimated), one.id) for one in writes]
    if connection.executemany(_SPEND, rows).rowcount == len(rows):
        return
    for one in writes:
        if connection.execute("SELECT id FROM usage WHERE id = ?", (one.id,)).fetchone() is None:
            raise NotFound("reservation", one.id)


def totals(connection: Connection, chat_id: str) -> UsageTotals:
    row = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN settled = 0 THEN reserved ELSE 0 END), 0), COALESCE(SUM(prompt), 0),"
        " COALESCE(SUM(completion), 0), COALESCE(SUM(cached), 0), COALESCE(SUM(reasoning), 0), COALESCE(MAX(estimated), 0)"
        " FROM usage WHERE chat_id = ?",
        (chat_id,),
    ).fetchone()
    requests, reserved, prompt, completion, cached, reasoning, estimated = row
    return UsageTotals(requests, reserved, prompt, completion, cached, reasoning, bool(estimated))


def of_chat(connection: Connection, chat_id: str) -> ChatUsage:
    newest = connection.execute(
        "SELECT prompt + completion FROM usage WHERE chat_id = ? AND settled = 1 ORDER BY id DESC LIMIT 1", (chat_id,)
    ).fetchone()
    return ChatUsage(_models(connection, "chat_id = ?", chat_id), window=newest[0] if newest else 0)


def of_turn(connection: Connection, chat_id: str, turn_id: str) -> tuple[ModelUsage, ...]:
    return _models(connection, "chat_id = ? AND turn_id = ?", chat_id, turn_id)  # the index is the chat's


def _models(connection: Connection, where: str, *of: str) -> tuple[ModelUsage, ...]:
    """Per model, the one that was asked first standing first."""
    rows = connection.execute(
        "SELECT model, COUNT(*), SUM(CASE WHEN settled = 0 THEN reserved ELSE 0 END), SUM(prompt), SUM(completion),"
        f" SUM(cached), SUM(reasoning), MAX(estimated) FROM usage WHERE {where} GROUP BY model ORDER BY MIN(id)",
        of,
    ).fetchall()
    return tuple(
        ModelUsage(model, requests, reserved, prompt, completion, cached, reasoning, bool(estimated))
        for model, requests, reserved, prompt, completion, cached, reasoning, estimated in rows
    )
