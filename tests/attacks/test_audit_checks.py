"""A check of the audit chains that goes on where the last one ended claims what it has read, and nothing else."""

import json
import sqlite3
from pathlib import Path

import pytest

from anycowork.config.settings import Settings
from anycowork.domain.journal import Change, RemoveChat
from anycowork.server.audit.audit_check import FULL_DAYS, AuditProgress, AuditReport, check_audit
from anycowork.server.audit.audit_marks import marks_path
from anycowork.store.role_changes import ROLE_CHANGES, add_role_change
from anycowork.store.sql.audit import heads_path
from support.spec import proves
from support.stored import add_chat, message, opened

NOW, LATER = "2026-11-16T10:00:00.000000Z", "2026-11-17T10:00:00.000000Z"
FIRST, MORE = 30, 5


def check(folder: Path, at: str = LATER, *, full: bool = False, progress: AuditProgress | None = None) -> AuditReport:
    """As if these were many records."""
    return check_audit(Settings(data_dir=folder), at, full=full, read_anyway=0, progress=progress)


def reasons(report: AuditReport) -> list[str]:
    return [finding.broken.reason for finding in report.findings if finding.broken]


def change(folder: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(folder / "anycowork.db") as database:
        assert database.execute(statement, values).rowcount > 0


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """Two chats that were checked once, in full, and one of them went on since then."""
    async with opened(tmp_path) as database:
        for chat_id in ("c1", "c2"):
            await database.journal.write(add_chat(chat_id))
            words = tuple(message(f"{chat_id}-{at}", chat_id=chat_id) for at in range(FIRST))
            await database.journal.write(Change(chat_id, words))
        first = check(tmp_path, NOW)
        assert (first.full, first.full_at, reasons(first)) == (True, NOW, [])
        await database.journal.write(Change("c1", tuple(message(f"c1-new{at}") for at in range(MORE))))
    return tmp_path


@proves("AUD-1")
async def test_next_check_reads_and_claims_only_what_is_new(folder: Path) -> None:
    records = check(folder, full=True).checked
    second = check(folder)
    assert (second.full, second.checked, second.earlier, second.full_at) == (False, 0, records, LATER)
    (folder / "audit-verified.json").unlink()
    assert check(folder).full, "without a known check everything is read"


@proves("AUD-1")
async def test_few_records_are_always_read_again(folder: Path) -> None:
    change(folder, "UPDATE records SET body = replace(body, 'hello', 'HELLO') WHERE chat_id = 'c1' AND seq = 9")
    found = check_audit(Settings(data_dir=folder), LATER)
    assert found.full and reasons(found) == ["this record was changed, or one before it is missing"]


@proves("AUD-1")
async def test_changed_old_record_is_found_by_a_full_check_and_not_vouched_for_by_the_next_one(folder: Path) -> None:
    change(folder, "UPDATE records SET body = replace(body, 'hello', 'HELLO') WHERE chat_id = 'c1' AND seq = 9")
    second = check(folder)
    assert not reasons(second) and not second.full and second.full_at == NOW
    claimed = {finding.what: (finding.checked, finding.earlier) for finding in second.findings}
    assert claimed["chat c1"][0] == MORE and claimed["chat c2"][0] == 0
    assert reasons(check(folder, full=True)) == ["this record was changed, or one before it is missing"]
    assert reasons(check(folder)), "after a broken chain every check reads everything, until it is intact again"


@proves("AUD-1")
async def test_old_change_is_found_without_asking_once_the_last_full_check_is_a_week_old(folder: Path) -> None:
    change(folder, "UPDATE records SET type = 'turn-started' WHERE chat_id = 'c2' AND seq = 7")
    assert not reasons(check(folder, f"2026-11-{16 + FULL_DAYS:02}T09:59:59.000000Z"))
    report = check(folder, f"2026-11-{16 + FULL_DAYS:02}T10:00:01.000000Z")
    assert report.full and reasons(report) == ["the record's type differs from its signed text"]


@proves("AUD-1")
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE records SET body = replace(body, 'new2', 'odd2') WHERE chat_id = 'c1'", "this record was changed"),
        ("DELETE FROM records WHERE chat_id = 'c1' AND seq > 20", "no longer does"),
        (
            "DELETE FROM records WHERE chat_id = 'c2' AND seq = (SELECT MAX(seq) FROM records WHERE chat_id = 'c2')",
            "no longer",
        ),
        (
            "UPDATE records SET hash = 'x' WHERE chat_id = 'c2' AND seq = (SELECT MAX(seq) FROM records WHERE chat_id = 'c2')",
            "no longer",
        ),
        ("DELETE FROM chats WHERE id = 'c2'", "the chat itself is missing"),
        ("UPDATE chats SET chain = 'x' WHERE id = 'c2'", "records after this one are missing"),
    ],
)
async def test_cut_chain_a_missing_chat_and_a_changed_new_record_are_found_at_once(
    folder: Path, statement: str, reason: str
) -> None:
    change(folder, statement)
    report = check(folder)
    assert not report.full and any(reason in found for found in reasons(report))


@proves("AUD-1")
async def test_heads_that_were_cut_or_changed_after_a_check_are_found(folder: Path) -> None:
    path = heads_path(folder / "anycowork.db")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1]))
    assert reasons(check(folder))
    path.write_bytes(b"".join(lines[:-1]) + lines[-1].replace(b'"seq":', b'"seq":1'))
    check(folder, full=True)
    assert reasons(check(folder))
    path.unlink()
    assert "the file is missing or empty" in reasons(check(folder))


async def test_marks_that_were_changed_or_damaged_make_no_check_hold_that_read_less(folder: Path) -> None:
    """Whoever rewrites the marks can keep the next check from reading. The check then says that it read nothing."""
    path = marks_path(folder / "anycowork.db")
    marks = json.loads(path.read_text())
    with sqlite3.connect(folder / "anycowork.db") as database:
        (seq, chain) = database.execute(
            "SELECT MAX(seq), (SELECT chain FROM chats WHERE id = 'c1') FROM records WHERE chat_id = 'c1'"
        ).fetchone()
    path.write_text(json.dumps({**marks, "chats": {**marks["chats"], "c1": [seq, chain, seq]}}))
    assert check(folder).checked == 0
    for damaged in (
        "",
        "{",
        "[]",
        '{"v":1}',
        '{"v":2,"full_at":"","heads":null,"chats":{}}',
        '{"v":1,"full_at":"x","heads":[1],"chats":{}}',
    ):
        path.write_text(damaged)
        assert check(folder).full, damaged


async def test_stopped_check_says_so_and_counts_for_nothing(folder: Path) -> None:
    progress = AuditProgress()
    progress.stop()
    before = marks_path(folder / "anycowork.db").read_bytes()
    report = check(folder, full=True, progress=progress)
    assert report.stopped and report.full_at == NOW and len(report.findings) < 3
    assert marks_path(folder / "anycowork.db").read_bytes() == before


async def test_chat_that_a_person_deleted_and_imported_again_is_read_from_its_beginning(folder: Path) -> None:
    async with opened(folder) as database:
        await database.journal.write(Change("c2", (RemoveChat(),)))
        await database.journal.write(add_chat("c2"))
        await database.journal.write(Change("c2", (message("again", chat_id="c2"),)))
    report = check(folder)
    assert not reasons(report) and not report.full
    found = next(finding for finding in report.findings if finding.what == "chat c2")
    assert found.earlier == 0 and found.checked > 0


@proves("AUD-1")
async def test_changed_removed_and_cut_off_changes_of_roles_are_found(folder: Path) -> None:
    file = folder / ROLE_CHANGES
    for number in range(4):
        add_role_change(file, {"by": "person:owner", "role": {"name": f"r{number}"}})
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert not reasons(check(folder)) and "changes of roles" in {one.what for one in check(folder).findings}
    changed, cut_off = whole.replace(b"r1", b"rX"), whole + lines[0][:20]
    faulty = {changed: 3, b"".join((lines[0], *lines[2:])): 2, whole[len(lines[0]) :]: 1, cut_off: 5}
    for content, line in faulty.items():
        file.write_bytes(content)
        (broken,) = [one.broken for one in check(folder).findings if one.broken]
        assert broken.seq == line, broken
    add_role_change(file, {"by": "person:owner", "role": {"name": "after a crash"}})
    assert json.loads(file.read_bytes().splitlines()[-1])["role"]["name"] == "after a crash"
    file.write_bytes(whole)
    assert not reasons(check(folder))
