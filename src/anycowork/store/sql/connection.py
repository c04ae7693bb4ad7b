"""What the statements need of a database: connections, a dialect for the little that differs, readers. Knows no driver."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    overload,
)  # Any: a database's rows have no types

from anycowork.domain.errors import DatabaseDamaged, StorageFault
from anycowork.domain.text_search import SearchTerm

P = ParamSpec("P")
T = TypeVar("T")
UNREADABLE = (TypeError, ValueError, LookupError, AttributeError)
"""What reading raises where a row holds something else than its column is for."""


def damaged_row(error: BaseException) -> DatabaseDamaged:
    """Returns the fault of a row that cannot be read, without what the row holds."""
    return DatabaseDamaged(
        f"The database is damaged: a row cannot be read ({type(error).__name__}). Stop the server and replace the database with a"
        " backup. If the database is sound, this is a fault of AnyCowork: ANYCOWORK_LOG_LEVEL=debug shows where."
    )


class SqlResult(Protocol):
    """What a statement brought. `rowcount` is how many rows it changed."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class SqlConnection(Protocol):
    """Runs one statement after another. A parameter is written `?`, or `?1` where it occurs twice."""

    @property
    def dialect(self) -> "Dialect": ...
    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> SqlResult: ...
    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> SqlResult: ...
    def write_later(
        self, sql: str, parameters: Iterable[Sequence[Any]], /, *, missing: Exception | None = ..., apart: bool = ...
    ) -> object:
        """Runs the statement for each row before the next statement that reads, or before the commit, together with others.

        No two of them may change the same row unless they name the same table. Errors appear when they run; `missing` is raised if it
        changes no row. `apart`: no other statement of the transaction changes these rows, though they are in the same table.
        """


class WriteConnection(SqlConnection, Protocol):
    """The connection of the writer. In SQLite one transaction writes at a time; in PostgreSQL one for each chat, and one that is `exclusive`."""

    @property
    def in_transaction(self) -> bool: ...
    def begin(self, *, exclusive: bool = ..., later: bool = ...) -> object:
        """`later`: with the first statement, and if it can be, the transaction is that one statement."""

    def flush(self) -> object:
        """Runs what waits in `write_later`."""

    def commit(self) -> object: ...
    def rollback(self) -> object: ...
    def restore(self, error: BaseException) -> bool:
        """Returns True if the connection was lost by this error and is open again: nothing was written, and it can be done again."""

    def close(self) -> object: ...


class Dialect(Protocol):
    """What differs between the databases, except their schema."""

    @property
    def errors(self) -> tuple[type[BaseException], ...]:
        """Every error that the database raises."""

    @property
    def errors_of_work(self) -> tuple[type[BaseException], ...]:
        """Errors that a statement itself caused. Every other one is the fault of the disk or the network, and undoes the group."""

    @property
    def integrity_errors(self) -> tuple[type[BaseException], ...]: ...
    def storage_fault(self, error: BaseException) -> StorageFault: ...

    @property
    def search(self) -> str:
        """Selects positions of messages, newest first. Its parameters: what matches, a position above all found, the limit."""

    def match(self, terms: Sequence[SearchTerm]) -> str:
        """Returns what `search` takes: all terms must occur."""

    @property
    def merges_writes(self) -> bool:
        """Whether `write_later` merges: then a statement that need not be waited for is cheaper than one that does less."""

    @property
    def share(self) -> str:
        """Ends a SELECT: nobody changes the rows before the transaction ends."""

    @property
    def lock(self) -> str:
        """Ends a SELECT: nobody reads the rows so, or changes them, before the transaction ends."""

    def has_table(self, connection: SqlConnection, name: str) -> bool: ...
    def take_positions(self, connection: SqlConnection, count: int) -> Sequence[int]:
        """Returns so many ascending positions of records that were never used."""

    def settled_position(self, connection: SqlConnection) -> int | None:
        """Returns the last position below which no record can appear any more; None if records appear in their order."""

    def index(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None:
        """Adds texts to the full-text index, under their positions."""

    def unindex(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None: ...


class SqlReader(Protocol):
    """Runs reads, each on a connection that writes nothing."""

    async def read(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T: ...
    async def read_large(
        self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Reads what grows with a chat or a change. The event loop goes on meanwhile."""

    def read_now(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Reads while the caller waits. Only where a caller cannot await."""


class Table:
    """Reads one table: its methods are the functions marked `@query`, each beside its statement."""

    def __init__(self, reader: SqlReader) -> None:
        self._reader = reader


class query(Generic[P, T]):
    """Makes a function of a connection a method of its table that awaits the reader.

    Through the class, as `JobTable.find(connection, job_id)`, it stays the function: for a transaction that reads.
    """

    def __init__(self, work: Callable[Concatenate[SqlConnection, P], T]) -> None:
        self._work, self._name = work, ""

    def __set_name__(self, owner: type[Table], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, table: None, owner: type[Table]) -> Callable[Concatenate[SqlConnection, P], T]: ...
    @overload
    def __get__(self, table: Table, owner: type[Table]) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, table: Table | None, owner: type[Table]) -> object:
        if table is None:
            return self._work
        bound = table.__dict__[self._name] = partial(
            self._read_with(table._reader), self._work
        )  # found there next time
        return bound

    def _read_with(self, reader: SqlReader) -> Callable[..., Awaitable[Any]]:
        return reader.read


class large_query(query[P, T]):
    """A query whose result grows with a chat or a change: the event loop goes on meanwhile."""

    def _read_with(self, reader: SqlReader) -> Callable[..., Awaitable[Any]]:
        return reader.read_large
