"""Statements that write and wait for each other: they reach the database as one statement, in one round trip."""

import re
from collections.abc import Sequence
from typing import Any  # rows have no types

from anycowork.domain.values import value

MOST_TOGETHER = 24  # statements in one: each combination is prepared once and kept
_TABLE = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_MARK = re.compile(r"\?(\d*)")


@value
class PendingWrite:
    sql: str
    rows: list[Sequence[Any]]


class PendingWrites:
    """Collects writes of one transaction. All parts of a merged statement see the rows as they were before it, so it never changes a row
    twice: of each table it holds rows that are added, and before these rows that are deleted, or rows of one other statement."""

    def __init__(self) -> None:
        self._writes: list[PendingWrite] = []
        self._kinds: dict[str, set[str]] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._writes)

    def fits(self, sql: str, count: int) -> bool:
        """Tells whether so many rows of this statement can be added to what waits."""
        kind, table = _kind_of(sql)
        pending = self._kinds.get(table, set())
        alone = not pending or (kind == "add" and "change" not in pending)
        return alone and self._count + count <= MOST_TOGETHER

    def touches(self, sql: str) -> bool:
        """Tells whether what waits changes the table that this statement changes, or could be read by it."""
        changing = _TABLE.match(sql)
        return bool(self._writes) and (changing is None or changing.group(2) in self._kinds)

    def add(self, sql: str, rows: list[Sequence[Any]]) -> None:
        kind, table = _kind_of(sql)
        self._kinds.setdefault(table, set()).add(kind)
        self._writes.append(PendingWrite(sql, rows))
        self._count += len(rows)

    def clear(self) -> None:
        self._writes.clear()
        self._kinds.clear()
        self._count = 0

    def take(self) -> tuple[str, list[Any]]:
        """Returns one statement for everything that waits, and its parameters; nothing waits afterwards."""
        parts: list[str] = []
        values: list[Any] = []
        for write in self._writes:
            for row in write.rows:
                parts.append(f"w{len(parts)} AS ({numbered(write.sql, first=len(values) + 1)})")
                values += row
        self.clear()
        return f"WITH {', '.join(parts)} SELECT", values


def numbered(sql: str, *, first: int = 1) -> str:
    """Writes parameters as PostgreSQL does, counting from `first`: `?` becomes $1, $2 and so on, `?1` becomes $1."""
    next_number = first

    def mark(match: re.Match[str]) -> str:
        nonlocal next_number
        if match.group(1):
            return f"${first - 1 + int(match.group(1))}"
        next_number += 1
        return f"${next_number - 1}"

    return _MARK.sub(mark, sql)


def _kind_of(sql: str) -> tuple[str, str]:
    matched = _TABLE.match(sql)
    if matched is None:
        raise AssertionError(f"not a statement that writes: {sql[:80]}")
    verb, table = matched.groups()
    if verb == "DELETE FROM":
        return "delete", table
    return "add" if verb == "INSERT INTO" and " ON CONFLICT " not in sql else "change", table
