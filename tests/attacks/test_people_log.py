"""Attempts to change the people of a server, or the record of such changes, past the server."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from anycowork.config.settings import Settings
from anycowork.domain.errors import Conflict, NotFound
from anycowork.domain.limits import DayLimits, LimitKind
from anycowork.domain.people import AccessLevel, Person
from anycowork.server.audit.audit_check import AuditReport, check_audit
from anycowork.store.sql.database import Database
from support.spec import proves
from support.stored import opened

AT = "2026-11-17T10:00:00.000000Z"
OWNER = "person:owner"
ADA = Person("p1", "Ada", AccessLevel.MEMBER, AT, None, "d1")
BOB = Person("p2", "Bob", AccessLevel.VIEWER, AT, None, "d2")


@asynccontextmanager
async def with_people(folder: Path) -> AsyncIterator[Database]:
    """Four changes: two people were added, one got another access, the other was removed."""
    async with opened(folder) as database:
        await database.people.add(ADA, by=OWNER)
        await database.people.add(BOB, by="person:p1:Ada")
        await database.people.change("p1", access=AccessLevel.ADMIN, by=OWNER)
        await database.people.remove("p2", by=OWNER)
        yield database


def broken(folder: Path, *, read_anyway: int = 100) -> list[tuple[str, str]]:
    report: AuditReport = check_audit(Settings(data_dir=folder), AT, read_anyway=read_anyway)
    return [(finding.what, finding.broken.reason) for finding in report.findings if finding.broken]


def change(folder: Path, statement: str) -> None:
    with sqlite3.connect(folder / "anycowork.db") as database:
        assert database.execute(statement).rowcount > 0


@proves("AUD-1", "OPS-3/3")
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE people_changes SET body = replace(body, 'admin', 'viewer') WHERE seq = 3", "this record was changed"),
        ("UPDATE people_changes SET body = replace(body, 'person:p1:Ada', 'person:owner')", "this record was changed"),
        ("UPDATE people_changes SET type = 'person-changed' WHERE seq = 1", "type differs from its signed text"),
        ("UPDATE people_changes SET seq = 9 WHERE seq = 4", "number differs from its signed text"),
        ("DELETE FROM people_changes WHERE seq = 1", "one before it is missing"),
        ("DELETE FROM people_changes WHERE seq = 2", "one before it is missing"),
        ("DELETE FROM people_changes WHERE seq = 4", "the chain once reached this record"),
        ("DELETE FROM people_changes", "all its records are missing"),
    ],
)
async def test_a_changed_or_removed_entry_is_found(tmp_path: Path, statement: str, reason: str) -> None:
    async with with_people(tmp_path):
        assert broken(tmp_path) == []
    change(tmp_path, statement)
    [found] = [why for what, why in broken(tmp_path) if what == "changes of people"]
    assert reason in found


@proves("AUD-1")
@pytest.mark.parametrize("which", ["seq = 4", "seq > 0"])
async def test_a_cut_end_is_found_also_by_a_check_that_reads_only_new_records(tmp_path: Path, which: str) -> None:
    async with with_people(tmp_path):
        assert broken(tmp_path) == []
    change(tmp_path, f"DELETE FROM people_changes WHERE {which}")
    assert "changes of people" in [what for what, _ in broken(tmp_path, read_anyway=0)]


@proves("AUD-1", "OPS-3/3")
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE people SET access = 'viewer' WHERE id = 'p1'", "the access of 'Ada' is not the recorded one"),
        ("UPDATE people SET name = 'Eve' WHERE id = 'p1'", "the name of 'Ada' is not the recorded one"),
        ("UPDATE people SET token_digest = 'mine' WHERE id = 'p1'", "the token of 'Ada' is not the recorded one"),
        ("UPDATE people SET removed_at = NULL WHERE id = 'p2'", "the removal of 'Bob' is not the recorded one"),
        ("DELETE FROM people WHERE id = 'p1'", "the row of 'Ada' is missing"),
        (
            "INSERT INTO people (id, name, name_key, access, created_at) VALUES ('p3', 'Eve', 'eve', 'admin', 'x')",
            "'Eve' is here without a recorded change",
        ),
        ("UPDATE people SET access = 'king' WHERE id = 'p1'", "a row cannot be read"),
    ],
)
async def test_a_person_who_was_changed_past_the_server_is_found(tmp_path: Path, statement: str, reason: str) -> None:
    async with with_people(tmp_path):
        assert broken(tmp_path) == []
    change(tmp_path, statement)
    [(what, why)] = broken(tmp_path)
    assert what == "people" and reason in why


@proves("AUD-1")
async def test_a_database_from_before_the_log_is_checked_without_it(tmp_path: Path) -> None:
    async with opened(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "anycowork.db") as database:
        database.execute("DROP TABLE people_changes")
    assert broken(tmp_path) == []


@proves("OPS-3/3")
async def test_a_refused_change_leaves_no_entry(tmp_path: Path) -> None:
    async with with_people(tmp_path) as database:
        before = await database.people.changes(before=None, limit=10)
        for attempt in (
            database.people.add(Person("p9", "ADA", AccessLevel.ADMIN, AT, None, "d9"), by=OWNER),
            database.people.remove("p2", by=OWNER),
        ):
            with pytest.raises((Conflict, NotFound)):
                await attempt
        await database.people.change("p1", access=AccessLevel.ADMIN, by=OWNER)  # as it was
        assert await database.people.changes(before=None, limit=10) == before
        assert broken(tmp_path) == []


@proves("AUD-1")
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE limits SET tokens_per_day = 9000", "the limits of 'p1' are not the recorded ones"),
        ("DELETE FROM limits", "the limits of 'p1' are not the recorded ones"),
        ("INSERT INTO limits (kind, subject) VALUES ('person', 'p2')", "the limits of 'p2' are not the recorded ones"),
        ("UPDATE people SET groups = '[]' WHERE id = 'p1'", "the groups of 'Ada' is not the recorded one"),
        ("UPDATE people_changes SET body = replace(body, '100', '999') WHERE type = 'limits-changed'", "was changed"),
    ],
)
async def test_limits_and_groups_that_were_changed_past_the_server_are_found(
    tmp_path: Path, statement: str, reason: str
) -> None:
    async with with_people(tmp_path) as database:
        await database.people.change("p1", groups=("design",), by=OWNER)
        await database.limits.put({(LimitKind.PERSON, "p1"): DayLimits(tokens_per_day=100)}, {"p1": "Ada"}, by=OWNER)
        assert broken(tmp_path) == []
    change(tmp_path, statement)
    assert any(reason in why for _, why in broken(tmp_path)), broken(tmp_path)
