"""What was there before chats and workspaces had an owner gets the one that its label names, alike in both databases."""

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from anycowork.domain.people import AccessLevel, Person
from anycowork.domain.principals import OWNER, Principal, PrincipalKind, read_label
from anycowork.store.postgres import database as postgres_database
from anycowork.store.postgres.address import read_address
from anycowork.store.postgres.connection import PostgresConnection
from anycowork.store.sqlite import database as sqlite_database
from support.postgres import PostgresCluster
from support.spec import proves

VISIBILITY = "0411-visibility"
ADA, BEN = "0197-ada", "b"
NAMES = ("Ada", "Ada Lovelace", "Ada: the first", ":", "a:b:c:d", "person:owner", "Łódź 100%", "o'Neill")
Rows = list[tuple[str, str, str]]
Upgraded = Callable[[Sequence[str], Iterable[bool]], tuple[Rows, Rows, str]]


def labels() -> dict[str, str]:
    """Every label that a record can have, with the id of whose it is."""
    found: dict[str, str] = {}
    people = [None, *(Person(id_, name, AccessLevel.MEMBER, "then") for id_ in (ADA, BEN) for name in NAMES)]
    for kind in PrincipalKind:
        for person in people:
            own_id = kind is PrincipalKind.PERSON
            id_ = (person.id if person else OWNER.id) if own_id else "zed-1.2_x"
            label = Principal(id_, kind, id_, AccessLevel.MEMBER, person).label()
            found[label] = person.id if person else OWNER.id
            assert (read_label(label).person is None) == (person is None), label
    return found


@pytest.fixture(params=["sqlite", "postgres"])
def upgraded(request: pytest.FixtureRequest, tmp_path: Path) -> Upgraded:
    """Opens a database of the release before, with a chat and a workspace by each of these labels and people who are here or gone."""
    if request.param == "sqlite":
        return lambda by, people: _in_sqlite(tmp_path, by, people)
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    return lambda by, people: _in_postgres(cluster, tmp_path, by, people)


@proves("OPS-6/1")
def test_what_was_there_is_of_who_made_it_and_for_everyone(upgraded: Upgraded) -> None:
    owner_of = labels()
    chats, workspaces, _ = upgraded([*owner_of], ())
    for rows in (chats, workspaces):
        assert {label: (owner, seen_by) for label, owner, seen_by in rows} == {
            label: (owner, "everyone") for label, owner in owner_of.items()
        }


@pytest.mark.parametrize(
    ("people", "of_new"),
    [((), "private"), ((False,), "private"), ((True,), "everyone"), ((False, True), "everyone")],
    ids=["nobody", "one who left", "somebody", "some"],
)
def test_what_people_start_is_for_everyone_only_where_people_were(
    upgraded: Upgraded, people: Sequence[bool], of_new: str
) -> None:
    assert upgraded(["person:owner"], people)[2] == of_new


def _before(migrations: Path, folder: Path) -> Path:
    older = folder / "older"
    older.mkdir()
    for file in migrations.glob("*.sql"):
        if file.stem < VISIBILITY:
            shutil.copy(file, older)
    return older


def _statements(by: Sequence[str], people: Iterable[bool]) -> list[tuple[str, tuple[object, ...]]]:
    chat = (
        "INSERT INTO chats (id, title, title_folded, workspace, config, state, next_seq, created_by, created_at, updated_at)"
        " VALUES (?, 'A', 'a', '/w', '{}', 'idle', 1, ?, 'then', 'then')"
    )
    workspace = "INSERT INTO workspaces (root, registered_by, created_at) VALUES (?, ?, 'then')"
    person = (
        "INSERT INTO people (id, name, name_key, access, created_at, removed_at, token_digest, groups)"
        " VALUES (?, ?, ?, 'member', 'then', ?, ?, '[]')"
    )
    return [
        *((chat, (f"c{number}", label)) for number, label in enumerate(by)),
        *((workspace, (f"/w{number}", label)) for number, label in enumerate(by)),
        *(
            (person, (f"p{number}", f"P{number}", f"p{number}", None if is_here else "then", f"d{number}"))
            for number, is_here in enumerate(people)
        ),
        ("INSERT INTO house (opened_at, closed_at) VALUES ('then', 'later')", ()),
    ]


_READ = (
    "SELECT created_by, owner, visibility FROM chats",
    "SELECT registered_by, owner, visibility FROM workspaces",
    "SELECT first_visibility FROM house",
)


def _in_sqlite(folder: Path, by: Sequence[str], people: Iterable[bool]) -> tuple[Rows, Rows, str]:
    path = folder / "anycowork.db"
    sqlite_database.migrate(path, migrations=_before(sqlite_database.MIGRATIONS, folder))
    with closing(sqlite3.connect(path)) as connection:
        for statement, values in _statements(by, people):
            connection.execute(statement, values)
        connection.commit()
    sqlite_database.migrate(path)
    with closing(sqlite3.connect(path)) as connection:
        chats, workspaces, [of_new] = (connection.execute(query).fetchall() for query in _READ)
    return chats, workspaces, of_new[0]


def _in_postgres(
    cluster: PostgresCluster, folder: Path, by: Sequence[str], people: Iterable[bool]
) -> tuple[Rows, Rows, str]:
    address = read_address(cluster.new_database())
    with closing(PostgresConnection(address)) as connection:
        older = _before(postgres_database.MIGRATIONS, folder)
        postgres_database.migrate(connection, address, migrations=older)
        for statement, values in _statements(by, people):
            connection.execute(statement, values)
        postgres_database.migrate(connection, address)
        chats, workspaces, [of_new] = ([tuple(row) for row in connection.execute(query).fetchall()] for query in _READ)
    return chats, workspaces, of_new[0]
