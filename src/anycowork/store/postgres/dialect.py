"""What only PostgreSQL does so: its errors, and its full-text index."""

from collections.abc import Iterable, Sequence

import asyncpg

from anycowork.domain.errors import DatabaseUnreachable, StorageFault
from anycowork.domain.text_search import SearchTerm, index_words
from anycowork.store.sql.connection import SqlConnection

LARGEST_VECTOR = 700_000  # bytes of one message's words; PostgreSQL refuses more than a megabyte
LONGEST_WORD = 500  # characters
LAST_PLACE = 16_383  # PostgreSQL counts the places of words no further

# Records get their positions from a sequence, and become visible in another order. Who reads in this order has to know which positions may
# still be taken: a transaction that takes some holds a shared lock, whose number says where the sequence stood before.
POSITION_MARKS = 2**31
POSITION_LOCKS = "hashtext('anycowork positions ' || current_schema())"
MARK_POSITION = f"""begun AS MATERIALIZED (
  SELECT last_value FROM record_positions
), marked AS MATERIALIZED (
  SELECT pg_advisory_xact_lock_shared({POSITION_LOCKS}, CAST(last_value % {POSITION_MARKS} AS INTEGER)) FROM begun
)"""
TAKE_POSITIONS = f"""
WITH {MARK_POSITION}
SELECT ARRAY(SELECT nextval('record_positions') FROM (SELECT COUNT(*) FROM marked) AS marks, generate_series(1, CAST(? AS INTEGER)))
"""
MARKED_POSITIONS = f"""
SELECT DISTINCT CAST(objid AS BIGINT) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND classid = CAST(CAST({POSITION_LOCKS} AS BIGINT) & 4294967295 AS OID)
"""

_LOST = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InternalClientError,
)


def is_lost(error: BaseException) -> bool:
    """Tells whether the session has ended, or cannot begin."""
    if isinstance(error, asyncpg.InterfaceError):
        return not isinstance(error, ValueError)  # used after its end; ValueError: wrong settings or values
    return isinstance(error, _LOST)


def is_away(error: BaseException) -> bool:
    """Tells whether the database does not run, starts, stops or has no connection free. A wrong password or name of a database is none of
    these."""
    return is_lost(error) or isinstance(error, asyncpg.OperatorInterventionError)


class PostgresDialect:
    errors: tuple[type[BaseException], ...] = (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        asyncpg.InternalClientError,  # a session that ended in the middle of a statement
        OSError,
    )
    errors_of_work: tuple[type[BaseException], ...] = (
        asyncpg.IntegrityConstraintViolationError,
        asyncpg.DataError,
        asyncpg.SyntaxOrAccessError,
    )
    integrity_errors: tuple[type[BaseException], ...] = (asyncpg.IntegrityConstraintViolationError,)
    search = (
        "SELECT position FROM message_search WHERE words @@ CAST(CAST(? AS TEXT) AS TSQUERY) AND position < ?"
        " ORDER BY position DESC LIMIT ?"
    )

    def match(self, terms: Sequence[SearchTerm]) -> str:
        """Returns a query of lexemes. Words hold letters and digits only, so nothing in the quotes can end them."""
        return " & ".join(f"({part})" for term in terms if (part := _phrase(term)))

    def index(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None:
        rows = [(position, vector) for position, text in texts if (vector := _vector(text))]
        connection.write_later(
            "INSERT INTO message_search (position, words) VALUES (?, CAST(CAST(? AS TEXT) AS TSVECTOR))", rows
        )

    def unindex(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None:
        connection.executemany("DELETE FROM message_search WHERE position = ?", [(position,) for position, _ in texts])

    share = " FOR SHARE"
    lock = " FOR UPDATE"
    merges_writes = True

    def take_positions(self, connection: SqlConnection, count: int) -> Sequence[int]:
        return list(connection.execute(TAKE_POSITIONS, (count,)).fetchone()[0])

    def settled_position(self, connection: SqlConnection) -> int | None:
        """Looks at the sequence first, then at the transactions that have begun and not ended: each marks where the sequence stood before."""
        last = int(connection.execute("SELECT last_value FROM record_positions").fetchone()[0])
        distances = [(last - int(row[0])) % POSITION_MARKS for row in connection.execute(MARKED_POSITIONS)]
        return last - max((distance for distance in distances if distance < POSITION_MARKS // 2), default=0)

    def has_table(self, connection: SqlConnection, name: str) -> bool:
        return bool(connection.execute("SELECT to_regclass(?) IS NOT NULL", (name,)).fetchone()[0])

    def storage_fault(self, error: BaseException) -> StorageFault:
        kind = DatabaseUnreachable if is_away(error) else StorageFault
        fault = kind(
            f"The database could not be used ({error}); nothing of this request was kept."
            " Check that PostgreSQL runs and has free disk space, then try again."
        )
        fault.__cause__ = error
        return fault


def _phrase(term: SearchTerm) -> str:
    folded_words = [folded for word in term.words for folded in index_words(word)]
    ending = ":*" if term.prefix else ""
    return " <-> ".join(f"'{word}'" for word in folded_words) + ending if folded_words else ""


def _vector(text: str) -> str:
    """Returns the words with their places. A very long text is indexed up to PostgreSQL's limit."""
    positions: dict[str, list[str]] = {}
    size = 0
    for position, word in enumerate(index_words(text), 1):
        if len(word) > LONGEST_WORD:
            continue
        word_positions = positions.setdefault(word, [])
        size += 4 if word_positions else len(word.encode()) + 8
        if size > LARGEST_VECTOR:
            break
        word_positions.append(str(min(position, LAST_PLACE)))
    return " ".join(f"{word}:{','.join(numbers)}" for word, numbers in positions.items() if numbers)
