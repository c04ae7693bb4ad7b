"""A statement is parsed and planned once in a session, so that PostgreSQL does not do it again at each use."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import LONGEST_KEPT, PostgresConnection
from anycowork.store.postgres.peers import PostgresPeers

USES = 8  # from the sixth on PostgreSQL may keep the plan, too
PREPARED = (
    "SELECT COUNT(*), COALESCE(SUM(generic_plans + custom_plans), 0) FROM pg_prepared_statements WHERE statement LIKE ?"
)


@pytest.fixture
def connection(database_url: str) -> Iterator[PostgresConnection]:
    with closing(PostgresConnection(read_address(database_url))) as connection:
        connection.connect()
        yield connection


def test_a_statement_is_prepared_once_and_its_plan_used_again(connection: PostgresConnection) -> None:
    for number in range(USES):
        assert (
            connection.execute("SELECT CAST(? AS INTEGER) + 1 AS prepared_once", (number,)).fetchone()[0] == number + 1
        )
    assert tuple(connection.execute(PREPARED, ("%prepared_once%",)).fetchone()) == (1, USES)


def test_a_long_merged_statement_leaves_no_plan_in_the_session(connection: PostgresConnection) -> None:
    long = f"SELECT CAST(? AS INTEGER) AS merged_long {' ' * LONGEST_KEPT}"
    for number in range(2):
        assert connection.execute(long, (number,)).fetchone()[0] == number
        assert connection.execute("SELECT 1").fetchone()[0] == 1, "another one takes its place without a name"
    assert connection.execute(PREPARED, ("%merged_long%",)).fetchone()[0] == 0


async def test_what_processes_ask_of_each_other_is_prepared_once(database_url: str) -> None:
    peers = PostgresPeers(read_address(database_url), "p1")
    await peers.join()
    try:
        for number in range(USES):
            assert (await peers.fetch("SELECT CAST($1 AS INTEGER) AS asked_of_peers", number))[0][0] == number
        [row] = await peers.fetch(PREPARED.replace("?", "$1"), "%asked_of_peers%")
        assert tuple(row) == (1, USES)
    finally:
        await peers.aclose()
