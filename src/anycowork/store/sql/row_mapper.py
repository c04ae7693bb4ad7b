"""Maps a value to the columns of its table and back. A table names its columns once, and how those are stored that are not plain."""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar  # Any: a database's rows have no types

import msgspec

from anycowork.store.sql.columns import from_json_text, to_json_text

T = TypeVar("T")


class ColumnType(NamedTuple):
    """How a field is written to its column, and read from it. None: as it is."""

    encode: Callable[[Any], object] | None
    decode: Callable[[Any], object] | None


BOOLEAN = ColumnType(int, bool)
JSON_OBJECT = ColumnType(to_json_text, from_json_text)


def enum_of(kind: type[Enum]) -> ColumnType:
    return ColumnType(attrgetter("value"), kind)


def json_of(kind: Any) -> ColumnType:  # Any: tuple[str, ...] is no type to mypy
    return ColumnType(to_json_text, msgspec.json.Decoder(kind).decode)


def nullable(column: ColumnType) -> ColumnType:
    return ColumnType(_unless_none(column.encode), _unless_none(column.decode))


class RowMapper(Generic[T]):
    """`columns` as in SQL. `names` are the fields whose name differs from their column's, by column; `types` belong to fields."""

    def __init__(
        self, kind: type[T], columns: str, *, names: Mapping[str, str] | None = None, types: Mapping[str, ColumnType]
    ) -> None:
        self._kind = kind
        self.columns = columns
        self._fields = tuple((names or {}).get(name, name) for name in columns.split(", "))
        self._values_of = attrgetter(*self._fields)
        self._encoders = [(self._fields.index(name), it.encode) for name, it in types.items() if it.encode]
        self._decoders = [(name, it.decode) for name, it in types.items() if it.decode]

    def insert(self, table: str, *more: str) -> str:
        """Returns the statement that adds a row of these columns, and of `more`."""
        names = [*self.columns.split(", "), *more]
        return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"

    def row(self, value: T, *more: object) -> tuple[object, ...]:
        row = [*self._values_of(value), *more]
        for at, encode in self._encoders:
            row[at] = encode(row[at])
        return tuple(row)

    def value(self, row: Sequence[Any], **others: object) -> T:
        """Reads the row. `others` are fields that its first columns do not hold."""
        found = dict(zip(self._fields, row, strict=False))
        for name, decode in self._decoders:
            found[name] = decode(found[name])
        return self._kind(**found, **others)


def _unless_none(convert: Callable[[Any], object] | None) -> Callable[[Any], object] | None:
    if convert is None:
        return None
    return lambda given: None if given is None else convert(given)
