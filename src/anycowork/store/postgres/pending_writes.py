"""Statements that write and wait for each other: they reach the database as one statement, together with the commit."""

import re
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
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
        return f"WITH {', '.join(parts)} SELECT WHERE false", values


def storable(row: Sequence[Any]) -> Sequence[Any]:
    """PostgreSQL's text holds every character but one: U+0000 is stored as its visible sign. Messages are bytes and keep it."""
    if any(isinstance(item, str) and "\0" in item for item in row):
        return [item.replace("\0", "\N{SYMBOL FOR NULL}") if isinstance(item, str) else item for item in row]
    return row


@lru_cache(maxsize=1024)
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


# --- messages to PostgreSQL

_LENGTH = struct.Struct(">i")
_NULL = _LENGTH.pack(-1)
_ALL_BINARY = struct.pack(">HH", 1, 1)  # one format for all values, and it is the binary one
_UNNAMED = b"\0\0"  # portal and statement
_EXECUTE = b"E" + struct.pack(">i", 9) + b"\0" + struct.pack(">i", 0)


def _text(item: Any) -> bytes:
    if not isinstance(item, str):
        raise TypeError
    return item.encode()


def _boolean(item: Any) -> bytes:
    if not isinstance(item, bool):
        raise TypeError
    return b"\1" if item else b"\0"


_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "text": _text,
    "int8": struct.Struct(">q").pack,
    "int4": struct.Struct(">i").pack,
    "float8": struct.Struct(">d").pack,
    "bytea": lambda item: bytes(memoryview(item)),
    "bool": _boolean,
}


def execution(sql: str, types: Sequence[str] = (), values: Sequence[Any] = ()) -> bytes | None:
    """Returns the messages that run a statement with values of these types, without the one that ends a round trip: what is sent next is
    done after it, and not at all if it fails. Returns None if a value does not have its type; the driver says so better."""
    if len(types) != len(values) or not _ENCODERS.keys() >= set(types):
        return None
    parts = [_UNNAMED, _ALL_BINARY, struct.pack(">H", len(values))]
    try:
        for type_name, item in zip(types, values, strict=True):
            if item is None:
                parts.append(_NULL)
            else:
                encoded = _ENCODERS[type_name](item)
                parts += _LENGTH.pack(len(encoded)), encoded
    except (TypeError, ValueError, struct.error):
        return None
    parts.append(_ALL_BINARY)
    parse = b"\0" + sql.encode() + b"\0\0\0"  # the database infers the types as it did when the driver asked for them
    return _message(b"P", parse) + _message(b"B", b"".join(parts)) + _EXECUTE


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + _LENGTH.pack(len(content) + 4) + content
