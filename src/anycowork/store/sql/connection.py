"""What the statements need of a database: connections, a dialect for the little that differs, readers. Knows no driver."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar  # Any: a database's rows have no types

from anycowork.domain.errors import StorageFault
from anycowork.domain.text_search import SearchTerm

P = ParamSpec("P")
T = TypeVar("T")


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


class WriteConnection(SqlConnection, Protocol):
    """The connection of the writer. One transaction writes at a time, whichever connection or server it belongs to."""

    @property
    def in_transaction(self) -> bool: ...
    def begin(self) -> object: ...
    def commit(self) -> object: ...
    def rollback(self) -> object: ...
    def restore(self, error: BaseException) -> bool:
        """Return True if the connection was lost by this error and is open again: nothing was written, and it can be done again."""

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
        """Return what `search` takes: all terms must occur."""

    def has_table(self, connection: SqlConnection, name: str) -> bool: ...
    def index(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None:
        """Add texts to the full-text index, under their positions."""

    def unindex(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None: ...


class SqlReader(Protocol):
    """Runs reads, each on a connection that writes nothing."""

    async def read(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T: ...
    async def read_large(
        self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Read what grows with a chat or a change. The event loop goes on meanwhile."""

    def read_now(self, work: Callable[Concatenate[SqlConnection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Read while the caller waits. Only where a caller cannot await."""
