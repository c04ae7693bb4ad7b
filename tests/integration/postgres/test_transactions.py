"""A transaction on PostgreSQL: BEGIN goes with its first statement, what waits goes with COMMIT, and one that fails keeps nothing."""

from collections.abc import Coroutine, Iterator
from contextlib import closing
from typing import Any

import asyncpg
import pytest

from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection

ADD = "INSERT INTO kept (id, name, content, share, done) VALUES (?, ?, ?, ?, ?)"
ROW = (1, "ä\N{PILE OF POO}", b"\0\xff", 0.1, True)
LARGE = (-(2**63), "", b"\n" * 300_000, -0.0, False)
EMPTY = (3, None, None, None, None)


@pytest.fixture
def connection(database_url: str) -> Iterator[PostgresConnection]:
    with closing(PostgresConnection(read_address(database_url))) as opened:
        opened.script(
            "CREATE TEMPORARY TABLE kept (id BIGINT PRIMARY KEY, name TEXT, content BYTEA, share DOUBLE PRECISION, done BOOLEAN)"
        )
        yield opened


def rows(connection: PostgresConnection) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in connection.execute("SELECT * FROM kept ORDER BY id")]


def begun(connection: PostgresConnection) -> None:
    """Begins as a write to a chat does: the first statement brings the transaction's id."""
    connection.begin(exclusive=False)
    connection.transaction_id = connection.execute("SELECT CAST(pg_current_xact_id() AS TEXT)").fetchone()[0]


def test_a_write_is_two_round_trips_and_keeps_every_value(
    connection: PostgresConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips: list[str] = []
    run = PostgresConnection._run

    def counting(self: PostgresConnection, work: Coroutine[Any, Any, Any]) -> Any:
        trips.append(work.__name__)
        return run(self, work)

    monkeypatch.setattr(PostgresConnection, "_run", counting)
    begun(connection)
    connection.write_later(ADD, [ROW, LARGE, EMPTY])
    connection.commit()
    assert trips == ["_execute", "_commit"]
    assert rows(connection) == [LARGE, ROW, EMPTY]


def test_a_statement_that_fails_with_the_commit_keeps_nothing(connection: PostgresConnection) -> None:
    connection.execute(ADD, ROW)
    begun(connection)
    connection.execute(ADD, LARGE)
    connection.write_later(ADD, [EMPTY, ROW])
    with pytest.raises(asyncpg.UniqueViolationError):
        connection.commit()
    connection.rollback()
    assert rows(connection) == [ROW]
    begun(connection)
    connection.write_later(ADD, [EMPTY])
    connection.commit()
    assert rows(connection) == [ROW, EMPTY], "the session goes on"


@pytest.mark.parametrize("name", [5, b"bytes", "\ud800"])
def test_a_value_of_another_type_is_refused_at_the_commit_and_keeps_nothing(
    connection: PostgresConnection, name: object
) -> None:
    begun(connection)
    connection.execute(ADD, ROW)
    connection.write_later(ADD, [(2, name, None, None, None)])
    with pytest.raises(asyncpg.DataError):
        connection.commit()
    connection.rollback()
    assert rows(connection) == []


def test_a_value_that_the_first_statement_cannot_have_leaves_no_transaction(connection: PostgresConnection) -> None:
    connection.begin(exclusive=False)
    with pytest.raises(asyncpg.DataError):
        connection.execute(ADD, ("one", None, None, None, None))
    connection.rollback()
    connection.execute(ADD, EMPTY)
    begun(connection)
    connection.execute(ADD, ROW)
    connection.rollback()
    assert rows(connection) == [EMPTY]


def test_a_transaction_without_statements_is_not_sent(connection: PostgresConnection) -> None:
    connection.begin(exclusive=False)
    connection.rollback()
    connection.execute(ADD, ROW)
    assert rows(connection) == [ROW]


def test_the_first_statement_of_a_new_session_is_in_its_transaction(database_url: str) -> None:
    with closing(PostgresConnection(read_address(database_url))) as connection:
        connection.begin(exclusive=False)
        connection.execute("CREATE TABLE kept (id BIGINT)")
        connection.rollback()
        assert connection.execute("SELECT to_regclass('kept')").fetchone()[0] is None


def test_notes_are_sent_at_once_and_reach_a_listener_also_when_the_session_ends(database_url: str) -> None:
    address = read_address(database_url)
    with closing(PostgresConnection(address)) as listener:
        listener.script("LISTEN told")
        notes: list[str] = []

        async def listen() -> None:
            await listener._connected().add_listener("told", lambda *note: notes.append(note[3]))

        listener._run(listen())
        with closing(PostgresConnection(address)) as connection:
            for word in ("one", "two"):
                connection.send_note("SELECT pg_notify('told', ?)", (word,))
        listener.execute("SELECT 1")
    assert notes == ["one", "two"]
