"""Statements that write and wait for each other: they reach the database as one statement, in one round trip."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, overload  # Any: rows have no types

from anycowork.domain.values import value

MOST_TOGETHER = 64  # statements in one: each combination is prepared once and kept
CHANGES_NOTHING = "changes no row"
"""In the error of a merged statement with a part that had to change a row."""
_TABLE = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_MARK = re.compile(r"\?(\d*)")


class PositionMark(int):
    """Stands in a row for the position with this ordinal, which the database gives while it runs the statement."""


class TakenPositions(Sequence[int]):
    """Positions of records: marks until the statement that takes them has run, then the numbers."""

    def __init__(self, given: list[int], ordinals: range) -> None:
        self._given, self._ordinals = given, ordinals

    def __len__(self) -> int:
        return len(self._ordinals)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> "TakenPositions": ...
    def __getitem__(self, at: int | slice) -> "int | TakenPositions":
        if isinstance(at, slice):
            return TakenPositions(self._given, self._ordinals[at])
        ordinal = self._ordinals[at]
        return self._given[ordinal] if self._given else PositionMark(ordinal)


@dataclass
class WriteGuard:
    """Goes before the merged writes in their statement, and makes it fail unless the chats are as they were last seen here."""

    parts: str
    values: Sequence[Any]
    was_written: str
    """Selects whether what the statement wrote is there, and the positions of its records."""
    evidence: Sequence[Any] = ()
    positions: list[int] = field(default_factory=list)


@value
class PendingWrite:
    sql: str
    rows: list[Sequence[Any]]
    missing: Exception | None


@value
class MergedWrites:
    sql: str
    values: list[Any]
    guard: WriteGuard | None
    missing: Exception | None


class PendingWrites:
    """Collects writes of one transaction. All parts of a merged statement see the rows as they were before it, so it never changes a row
    twice: of each table it holds rows that are added, and before these rows that are deleted, or rows of one other statement, or of several
    that are known to be others (`apart`)."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.guard: WriteGuard | None = None
        self._writes: list[PendingWrite] = []
        self._kinds: dict[str, set[str]] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._writes) or self.guard is not None

    def fits(self, sql: str, count: int, *, apart: bool) -> bool:
        """Tells whether so many rows of this statement can be added to what waits."""
        kind, table = _kind_of(sql)
        pending = self._kinds.get(table, set())
        changes_twice = not pending.isdisjoint({"change"} if kind == "add" else {"add", "change", "delete"})
        is_alone = pending <= {"apart"} if apart else not changes_twice and "apart" not in pending
        return is_alone and self._count + count <= MOST_TOGETHER

    def touches(self, sql: str) -> bool:
        """Tells whether what waits has to come before this statement: it guards it, changes its table, or could be read by it."""
        changing = _TABLE.match(sql)
        return bool(self) and (self.guard is not None or changing is None or changing.group(2) in self._kinds)

    def add(self, sql: str, rows: list[Sequence[Any]], missing: Exception | None, *, apart: bool) -> None:
        kind, table = _kind_of(sql)
        self._kinds.setdefault(table, set()).add("apart" if apart else kind)
        self._writes.append(PendingWrite(sql, rows, missing))
        self._count += len(rows)

    def take(self) -> MergedWrites:
        """Returns one statement for everything that waits; nothing waits afterwards."""
        guard = self.guard
        parts = [] if guard is None else [guard.parts]
        values: list[Any] = [] if guard is None else list(guard.values)
        results = [] if guard is None else ["CAST(pg_current_xact_id() AS TEXT), positions, (SELECT passed FROM guard)"]
        numbers = count()
        for write in self._writes:
            head, adds, marks = write.sql.partition(" VALUES ")
            if adds and " ON CONFLICT " not in write.sql:
                rows = ", ".join(_rendered(marks, row, values) for row in write.rows)
                parts.append(f"w{next(numbers)} AS ({head}{adds}{rows})")
                continue
            for row in write.rows:
                name = f"w{next(numbers)}"
                returning = "" if write.missing is None else " RETURNING 1"
                parts.append(f"{name} AS ({_rendered(write.sql, row, values)}{returning})")
                if write.missing is not None:
                    results.append(_required(name))
        missing = next((write.missing for write in self._writes if write.missing is not None), None)
        self.clear()
        source = "" if guard is None else " FROM taken"
        return MergedWrites(f"WITH {', '.join(parts)} SELECT {', '.join(results)}{source}", values, guard, missing)


def _required(name: str) -> str:
    """The number of rows that the part changed; none is an error, which undoes the statement."""
    changed = f"(SELECT COUNT(*) FROM {name})"
    return f"CASE WHEN {changed} > 0 THEN 1 ELSE CAST('{CHANGES_NOTHING} ' || {changed} AS INTEGER) END"


def _rendered(sql: str, row: Sequence[Any], values: list[Any]) -> str:
    """Writes parameters as PostgreSQL does, and adds their values: `?` becomes $7, if six are there, and `?1` the row's first."""
    names: dict[int, str] = {}
    indexes = count()

    def name(match: re.Match[str]) -> str:
        index = int(match.group(1)) - 1 if match.group(1) else next(indexes)
        if index not in names:
            if type(row[index]) is PositionMark:
                names[index] = f"(SELECT positions[{row[index] + 1}] FROM taken)"
            else:
                values.append(row[index])
                names[index] = f"${len(values)}"
        return names[index]

    return _MARK.sub(name, sql)


def with_positions(row: Sequence[Any], positions: Sequence[int]) -> Sequence[Any]:
    """Returns the row with positions that were given since it was made."""
    if not any(type(item) is PositionMark for item in row):
        return row
    return [positions[item] if type(item) is PositionMark else item for item in row]


def numbered(sql: str) -> str:
    """Writes parameters as PostgreSQL does: `?` becomes $1, $2 and so on, `?1` becomes $1."""
    next_number = count(1)
    return _MARK.sub(lambda match: f"${match.group(1) or next(next_number)}", sql)


def _kind_of(sql: str) -> tuple[str, str]:
    matched = _TABLE.match(sql)
    if matched is None:
        raise AssertionError(f"not a statement that writes: {sql[:80]}")
    verb, table = matched.groups()
    if verb == "DELETE FROM":
        return "delete", table
    return "add" if verb == "INSERT INTO" and " ON CONFLICT " not in sql else "change", table
