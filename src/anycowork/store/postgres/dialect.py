"""What only PostgreSQL does so: its errors, and its full-text index."""

from collections.abc import Iterable, Sequence

import asyncpg

from anycowork.domain.errors import StorageFault
from anycowork.domain.text_search import SearchTerm, index_words
from anycowork.store.sql.connection import SqlConnection

LARGEST_VECTOR = 700_000  # bytes of one message's words; PostgreSQL refuses more than a megabyte
LONGEST_WORD = 500  # characters
LAST_PLACE = 16_383  # PostgreSQL counts the places of words no further


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
        """Return a query of lexemes. Words hold letters and digits only, so nothing in the quotes can end them."""
        return " & ".join(f"({part})" for term in terms if (part := _phrase(term)))

    def index(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None:
        rows = [(position, words) for position, text in texts if (words := _vector(text))]
        connection.executemany(
            "INSERT INTO message_search (position, words) VALUES (?, CAST(CAST(? AS TEXT) AS TSVECTOR))", rows
        )

    def unindex(self, connection: SqlConnection, texts: Iterable[tuple[int, str]]) -> None:
        connection.executemany("DELETE FROM message_search WHERE position = ?", [(position,) for position, _ in texts])

    def has_table(self, connection: SqlConnection, name: str) -> bool:
        return bool(connection.execute("SELECT to_regclass(?) IS NOT NULL", (name,)).fetchone()[0])

    def storage_fault(self, error: BaseException) -> StorageFault:
        fault = StorageFault(
            f"The database could not be used ({error}); nothing of this request was kept."
            " Check that PostgreSQL runs and has free disk space, then try again."
        )
        fault.__cause__ = error
        return fault


def _phrase(term: SearchTerm) -> str:
    words = [folded for word in term.words for folded in index_words(word)]
    ending = ":*" if term.prefix else ""
    return " <-> ".join(f"'{word}'" for word in words) + ending if words else ""


def _vector(text: str) -> str:
    """Return the words with their places. A very long text is indexed up to PostgreSQL's limit."""
    places: dict[str, list[str]] = {}
    size = 0
    for place, word in enumerate(index_words(text), 1):
        if len(word) > LONGEST_WORD:
            continue
        known = places.setdefault(word, [])
        size += 4 if known else len(word.encode()) + 8
        if size > LARGEST_VECTOR:
            break
        known.append(str(min(place, LAST_PLACE)))
    return " ".join(f"{word}:{','.join(at)}" for word, at in places.items() if at)
