"""The chained record of changes to people: written in the transaction of each change, and compared with the people table by a check."""

from anycowork.domain.audit import START, BrokenChain, ChainEnd, link
from anycowork.domain.people import AccessLevel, Person
from anycowork.domain.people_changes import PeopleChange, find_unrecorded, people_change, read_people_change
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.row_mapper import RowMapper, enum_of

PERSON_ROWS = RowMapper(
    Person, "id, name, access, created_at, removed_at, token_digest", types={"access": enum_of(AccessLevel)}
)


def add_change(connection: SqlConnection, by: str, recorded_at: str, before: Person | None, after: Person) -> None:
    """Adds the change to the end of the chain. Transactions that write follow one another, so no other change comes between."""
    end = people_chain_end(connection) or ChainEnd(START, 0)
    change = people_change(end.seq + 1, by, recorded_at, before, after)
    body = change.to_bytes()
    connection.execute(
        "INSERT INTO people_changes (seq, type, hash, body) VALUES (?, ?, ?, ?)",
        (change.seq, change.type.value, link(end.hash, body), body),
    )


def people_chain_end(connection: SqlConnection) -> ChainEnd | None:
    """Returns None if no change was ever recorded."""
    row = connection.execute("SELECT hash, seq FROM people_changes ORDER BY seq DESC LIMIT 1").fetchone()
    return None if row is None else ChainEnd(str(row[0]), int(row[1]))


def newest_changes(connection: SqlConnection, before: int | None, limit: int) -> list[PeopleChange]:
    """Returns a page of the changes, newest first: those before this number, or the newest."""
    rows = connection.execute(
        "SELECT body FROM people_changes WHERE seq < ? ORDER BY seq DESC LIMIT ?",
        (2**62 if before is None else before, limit),
    )
    return [read_people_change(row[0]) for row in rows]


def stored_people(connection: SqlConnection) -> list[Person]:
    """In the order in which they were added, removed ones included."""
    rows = connection.execute(f"SELECT {PERSON_ROWS.columns} FROM people ORDER BY created_at, id")
    return [PERSON_ROWS.value(row) for row in rows]


def check_people(connection: SqlConnection) -> BrokenChain | None:
    """Finds a person whose row was changed past the server. The chain itself is checked before."""
    try:
        rows = connection.execute("SELECT body FROM people_changes ORDER BY seq")
        return find_unrecorded([read_people_change(row[0]) for row in rows], stored_people(connection))
    except (ValueError, KeyError, TypeError) as error:
        return BrokenChain(0, f"a row cannot be read ({error})")
