"""The rules table: permanent allow, ask and deny rules for a chat, a workspace or everywhere. Makes no decisions."""

from collections.abc import Sequence
from functools import partial

from anycowork.domain.approvals import Approval
from anycowork.domain.errors import NotFound
from anycowork.domain.fixed_arguments import stored_arguments, stored_text
from anycowork.domain.origins import Sink, read_sink
from anycowork.domain.ports import Clock
from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.store.sql.approvals import newest_decided
from anycowork.store.sql.connection import SqlConnection, SqlReader
from anycowork.store.sql.row_mapper import ColumnType, RowMapper, enum_of, nullable
from anycowork.store.sql.writer import Work, Writer

_ARGUMENTS = ColumnType(stored_text, stored_arguments)
_ROWS = RowMapper(
    Rule,
    "id, tool, resource, effect, scope, chat_id, workspace, expires_at, created_by, created_at, origin, sink, arguments",
    types={
        "effect": enum_of(Effect),
        "scope": enum_of(RuleScope),
        "sink": nullable(ColumnType(Sink.to_text, read_sink)),
        "arguments": nullable(_ARGUMENTS),
    },
)
_ADD = _ROWS.insert("rules")
_Key = tuple[str, str]
_Held = tuple[tuple[Rule, ...], str | None]


class Rules:
    """Stores standing rules. Writes return when the rule is durable; it applies from the next call on.

    Belongs to one event loop: the rules for a call are cached until a rule changes.
    """

    def __init__(self, reader: SqlReader, writer: Writer, clock: Clock, *, shared: bool) -> None:
        """`shared`: other servers write rules too, so they are read before every call."""
        self._shared = shared
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._held: dict[_Key, _Held] = {}

    async def add(self, rule: Rule) -> None:
        await self._write(partial(add, rule=rule))

    async def change(self, rule: Rule) -> None:
        """Raises: NotFound."""
        await self._write(partial(_change, rule=rule))

    async def remove(self, rule_id: str) -> None:
        """Raises: NotFound."""
        await self._write(partial(_remove, rule_id=rule_id))

    async def find(self, rule_id: str) -> Rule | None:
        return await self._reader.read(_find, rule_id)

    async def all(self) -> list[Rule]:
        """Returns all rules, oldest first, including expired ones."""
        return await self._reader.read(_all)

    async def decided_approvals(self, *, limit: int) -> list[tuple[Approval, str]]:
        """Returns what people decided, newest first, each with its workspace: rules could have answered it."""
        return await self._reader.read(newest_decided, limit)

    async def for_call(self, chat_id: str, workspace: str) -> Sequence[Rule]:
        """Returns the rules that apply there now. The same object is returned while they do not change."""
        cached = self._held.get((chat_id, workspace))
        if cached is None or self._shared or (cached[1] is not None and cached[1] <= self._clock.now()):
            current = await self._read(chat_id, workspace, self._clock.now())
            if cached is None or current != cached:  # unchanged rules stay the same object
                cached = self._held[chat_id, workspace] = current
        return cached[0]

    async def _write(self, work: Work[None]) -> None:
        try:
            await self._writer.run(work)
        finally:  # also on cancellation: the write still happens
            self.changed()

    def changed(self) -> None:
        """Clears the cache. Called whenever a rule was written, here or in a chat's change."""
        self._held.clear()

    async def _read(self, chat_id: str, workspace: str, now: str) -> _Held:
        """Returns the rules in force, and when the first of them expires."""
        candidates = await self._reader.read(_around, chat_id, workspace)
        rules = tuple(rule for rule in candidates if rule.holds_in(chat_id, workspace, now=now))
        return rules, min((rule.expires_at for rule in rules if rule.expires_at is not None), default=None)


def _find(connection: SqlConnection, rule_id: str) -> Rule | None:
    row = connection.execute(f"SELECT {_ROWS.columns} FROM rules WHERE id = ?", (rule_id,)).fetchone()
    return None if row is None else _ROWS.value(row)


def _all(connection: SqlConnection) -> list[Rule]:
    return [_ROWS.value(row) for row in connection.execute(f"SELECT {_ROWS.columns} FROM rules ORDER BY id")]


def _around(connection: SqlConnection, chat_id: str, workspace: str) -> list[Rule]:
    rows = connection.execute(
        f"SELECT {_ROWS.columns} FROM rules WHERE scope = 'global' OR workspace = ? OR chat_id = ? ORDER BY id",
        (workspace, chat_id),
    )
    return [_ROWS.value(row) for row in rows]


def add(connection: SqlConnection, rule: Rule) -> None:
    connection.execute(_ADD, _ROWS.row(rule))


def _change(connection: SqlConnection, rule: Rule) -> None:
    done = connection.execute(
        "UPDATE rules SET tool = ?, resource = ?, effect = ?, expires_at = ?, arguments = ? WHERE id = ?",
        (
            rule.tool,
            rule.resource,
            rule.effect.value,
            rule.expires_at,
            stored_text(rule.arguments) if rule.arguments is not None else None,
            rule.id,
        ),
    )
    if done.rowcount != 1:
        raise NotFound("rule", rule.id)


def _remove(connection: SqlConnection, rule_id: str) -> None:
    if connection.execute("DELETE FROM rules WHERE id = ?", (rule_id,)).rowcount != 1:
        raise NotFound("rule", rule_id)
