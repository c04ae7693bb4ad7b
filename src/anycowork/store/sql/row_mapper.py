"""Maps a value to the columns of its table and back. A table names its columns once, and how those are stored that are not plain: JSON as text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from math import isfinite
from operator import attrgetter, itemgetter
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints  # Any: a database's rows have no types

import msgspec

from anycowork.domain.errors import DatabaseDamaged
from anycowork.domain.messages import Json

_as_object = msgspec.json.Decoder(dict)


def to_json_text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def to_json_text_or_null(value: object | None) -> str | None:
    return None if value is None else to_json_text(value)


def from_json_text(text: str | bytes) -> Json:
    document: Json = _as_object.decode(text)
    return document


def from_json_text_or_none(text: str | bytes | None) -> Json | None:
    return None if text is None else from_json_text(text)


T = TypeVar("T")


class ColumnType(NamedTuple):
    """How a field is written to its column, and read from it. None: as it is."""

    encode: Callable[[Any], object] | None
    decode: Callable[[Any], object] | None
    is_nullable: bool = False


BOOLEAN = ColumnType(int, bool)
JSON_OBJECT = ColumnType(to_json_text, from_json_text)


def enum_of(kind: type[Enum]) -> ColumnType:
    return ColumnType(attrgetter("_value_"), _EnumMembers(kind).__getitem__)


class _EnumMembers(dict[object, Enum]):
    """The members by their values. A call of the enum is ten times as slow; it is left to values that no member has."""

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__({member.value: member for member in kind})
        self._kind = kind

    def __missing__(self, stored: object) -> Enum:
        return self._kind(stored)


def json_of(kind: Any) -> ColumnType:  # Any: tuple[str, ...] is no type to mypy
    return ColumnType(to_json_text, msgspec.json.Decoder(kind).decode)


def nullable(column: ColumnType) -> ColumnType:
    return column._replace(is_nullable=True)


class RowMapper(Generic[T]):
    """`columns` as in SQL. `names` are the fields whose name differs from their column's, by column; `types` belong to fields."""

    def __init__(
        self, kind: type[T], columns: str, *, names: Mapping[str, str] | None = None, types: Mapping[str, ColumnType]
    ) -> None:
        self._kind = kind
        self.columns = columns
        attributes = tuple((names or {}).get(name, name) for name in columns.split(", "))
        self._values_of = attrgetter(*attributes)
        self._encoders = [
            (attributes.index(name), it.encode, it.is_nullable) for name, it in types.items() if it.encode
        ]
        self._decoders = [
            (attributes.index(name), it.decode, it.is_nullable) for name, it in types.items() if it.decode
        ]
        hints = get_type_hints(kind)
        self._numbers = [
            (index, name) for index, name in enumerate(attributes) if hints[name] in (int, float) and name not in types
        ]
        # The type is called with its fields in their order, which is faster than by name, as far as columns hold them.
        ordered = _leading(kind, attributes)
        self._count = len(attributes)
        self._arranged = None if ordered == attributes else itemgetter(*map(attributes.index, ordered))
        self._named = [(name, index) for index, name in enumerate(attributes) if name not in ordered]

    def insert(self, table: str, *more: str) -> str:
        """Returns the statement that adds a row of these columns, and of `more`."""
        names = [*self.columns.split(", "), *more]
        return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"

    def row(self, value: T, *more: object) -> tuple[object, ...]:
        row = [*self._values_of(value), *more]
        for index, encode, is_nullable in self._encoders:
            if not is_nullable or row[index] is not None:
                row[index] = encode(row[index])
        return tuple(row)

    def value(self, row: Sequence[Any], **others: object) -> T:
        """Reads the row. `others` are fields that its first columns do not hold."""
        values = list(row[: self._count])
        for index, name in self._numbers:
            require_number(values[index], name)
        for index, decode, is_nullable in self._decoders:
            if not is_nullable or values[index] is not None:
                values[index] = decode(values[index])
        if self._arranged is None:
            return self._kind(*values, **others)
        keywords = {name: values[index] for name, index in self._named}
        return self._kind(*self._arranged(values), **keywords, **others)


def require_number(stored: Any, column: str) -> Any:
    """Returns the number. SQLite keeps any text in a column of numbers. Raises: DatabaseDamaged if this is none."""
    if stored.__class__ is int or (stored.__class__ is float and isfinite(stored)):
        return stored
    raise DatabaseDamaged(
        f"The database is damaged: '{column}' of a row holds no number. Stop the server and replace the database with a backup."
    )


def _leading(kind: type[object], columns: Sequence[str]) -> tuple[str, ...]:
    """Returns the first fields of the type, up to one that no column holds."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # a dataclass, which its type does not tell
    missing = next((index for index, name in enumerate(names) if name not in columns), len(names))
    return tuple(names[:missing])
