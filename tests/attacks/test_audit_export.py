"""Attempts to change an audit export unnoticed, and exports that are made to harm whoever verifies them."""

import io
import json
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from anycowork.config.settings import Settings
from anycowork.domain.events import EventType, NewEvent
from anycowork.domain.evidence import receipt_of
from anycowork.domain.journal import Change, RemoveChat
from anycowork.domain.limits import DayLimits, LimitKind
from anycowork.domain.people import AccessLevel, Person
from anycowork.server.audit import export_verifier
from anycowork.server.audit.audit_export import export_audit
from anycowork.store.role_changes import ROLE_CHANGES, add_role_change
from anycowork.store.sql.database import Database
from support.spec import proves
from support.stored import add_chat, note, opened, said

AT = "2026-11-17T10:00:00.000000Z"
SECRET = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
SCRIPT = Path(export_verifier.__file__)
Files = dict[str, list[bytes]]


async def fill(database: Database) -> None:
    """Three chats, of which one was deleted; two people; a decided call, an approved plan, a receipt and a hidden value."""
    receipt = receipt_of(
        chat_id="c1", turn_id="t1", snapshot_id=None, command="pytest", exit_code=0,
        files={"ä.py": "0" * 64, "a\x7f\n.py": "1" * 64}, sandbox="full", checked_at=AT,
    )  # fmt: skip
    asked = NewEvent(EventType.PERMISSION_REQUEST, {"approval": {"id": "a1", "tool": "delete_file"}})
    decided = NewEvent(
        EventType.PERMISSION_DECIDED, {"approval": {"id": "a1", "state": "allowed"}}, principal="person:p1:Ada"
    )
    plan = [
        NewEvent(EventType.PLAN_UPDATE, {"plan": {"message_id": "m1", "status": status}}, principal="person:owner")
        for status in ("proposed", "approved")
    ]
    for chat_id in ("c1", "c2", "c3"):
        await database.journal.write(add_chat(chat_id))
        await database.journal.write(said(f"{chat_id}-m", chat_id=chat_id))
    ended = NewEvent(EventType.TURN_ENDED, {"evidence": {"receipt": receipt.id}})
    await database.journal.write(Change("c1", (receipt,), events=(asked, decided, *plan, ended)))
    await database.journal.write(said("secret", f"the key is {SECRET}", chat_id="c2"))
    await database.journal.write(Change("c2", (), events=(note("last"),)))
    await database.journal.write(Change("c3", (RemoveChat(),)))
    await database.people.add(Person("p1", "Ada", AccessLevel.MEMBER, AT, None, "d1"), by="person:owner")
    await database.people.add(Person("p2", "Bob", AccessLevel.VIEWER, AT, None, "d2"), by="person:owner")
    await database.people.remove("p2", by="person:p1:Ada")
    await database.limits.put({(LimitKind.PERSON, "p1"): DayLimits(jobs=1)}, {"p1": "Ada"}, by="person:owner")


@pytest.fixture
async def files(tmp_path: Path) -> Files:
    async with opened(tmp_path / "data") as database:
        await fill(database)
        for role in ("one", "two"):
            add_role_change(tmp_path / "data" / ROLE_CHANGES, {"role": role})
        export = b"".join(export_audit(Settings(data_dir=tmp_path / "data"), AT))
    with zipfile.ZipFile(io.BytesIO(export)) as archive:
        return {name: archive.read(name).splitlines(keepends=True) for name in archive.namelist()}


def forged(files: Files) -> Files:
    """With a manifest that describes these files, as whoever can write the whole export would make it."""
    about, *entries, _ = map(json.loads, files["manifest.jsonl"])
    entries = [entry for entry in entries if entry["file"] in files]
    for entry in entries:
        data = b"".join(files[entry["file"]])
        entry |= {"sha256": sha256(data).hexdigest(), "bytes": len(data), "lines": len(files[entry["file"]])}
    lines = [about, *entries, {"files": len(entries)}]
    return {**files, "manifest.jsonl": [json.dumps(line).encode() + b"\n" for line in lines]}


def verified(folder: Path, files: Files, *kept: str) -> tuple[int, str]:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, lines in files.items():
            archive.writestr(name, b"".join(lines))
    return run(path, *kept)


def run(path: Path, *kept: str) -> tuple[int, str]:
    """In a Python that has nothing but its standard library."""
    options = [f"--kept={text}" for text in kept]
    ended = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPT, path, *options], capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.returncode, ended.stdout + ended.stderr


@proves("OPS-9/1", "OPS-9/2", "OPS-9/3", "OPS-9/4", "OPS-9/5")
async def test_export_holds_chains_people_decisions_and_checks_and_verifies_offline(
    tmp_path: Path, files: Files
) -> None:
    code, printed = verified(tmp_path, files)
    assert (code, "Holds: 2 chats" in printed, "2 decisions, 1 receipts" in printed) == (0, True, True), printed
    assert "1 lines have hidden values" in printed and SECRET.encode() not in b"".join(
        b"".join(lines) for lines in files.values()
    )
    decisions = [json.loads(line) for line in files["decisions.jsonl"]]
    records = {json.loads(line)["hash"]: json.loads(line)["record"] for line in files["chats/c1.jsonl"]}
    assert [(each["principal"], each["about"], each["state"]) for each in decisions] == [
        ("person:p1:Ada", "approval a1", "allowed"),
        ("person:owner", "plan m1", "approved"),
    ]
    assert '"delete_file"' in records[decisions[0]["request"]], "the hash is that of what was shown to the person"
    people = [json.loads(line) for line in files["people.jsonl"]]
    assert [(person["name"], person["removed_at"] is None) for person in people] == [("Ada", True), ("Bob", False)]
    digest = sha256(b"".join(files["manifest.jsonl"])).hexdigest()
    assert f"Digest: {digest}" in printed
    end = json.loads(files["chats/c2.jsonl"][-1])["hash"]
    assert verified(tmp_path, files, digest, end)[0] == 0
    assert verified(tmp_path, files, "0" * 64)[0] == 1


def _changed(lines: list[bytes], at: int) -> list[bytes]:
    """Another digit in the middle of the line, so that it stays JSON."""
    line = lines[at].decode()
    where = next(i for i in range(len(line) // 2, len(line)) if line[i] in "0123456789abcdef")
    return [
        *lines[:at],
        f"{line[:where]}{'1' if line[where] != '1' else '2'}{line[where + 1 :]}".encode(),
        *lines[at + 1 :],
    ]


CHANGES: dict[str, Callable[[list[bytes], int], list[bytes]]] = {
    "changed": _changed,
    "removed": lambda lines, at: lines[:at] + lines[at + 1 :],
    "duplicated": lambda lines, at: lines[: at + 1] + lines[at:],
    "moved": lambda lines, at: [*lines[:at], *lines[at + 1 :], lines[at]] if at + 1 < len(lines) else lines[-1:] + lines[:-1],
    "cut": lambda lines, at: [*lines[:at], lines[at][:-7]],
}  # fmt: skip


@proves("OPS-9/5")
@pytest.mark.parametrize("change", CHANGES)
async def test_any_changed_removed_moved_duplicated_or_cut_line_is_found(
    tmp_path: Path, files: Files, change: str
) -> None:
    digest = looked_through(tmp_path, files).digest
    for name, lines in files.items():
        for at in range(len(lines)):
            altered = CHANGES[change](lines, at)
            if altered == lines:
                continue
            verifier = looked_through(tmp_path, {**files, name: altered})
            if name == "manifest.jsonl":
                assert verifier.problems or verifier.digest != digest, at  # its time is vouched for by the digest alone
            else:
                assert any(name in problem for problem in verifier.problems), (name, at)
            if name in ("manifest.jsonl", "people.jsonl", "receipts.jsonl"):
                continue  # whoever writes them anew, and the manifest with them, is found by a digest that was kept
            last_of_roles = name == "role-changes.jsonl" and at + 1 == len(lines)
            whole_head = name == "heads.jsonl" and at + 1 == len(lines) and change in ("removed", "cut")
            hidden = b'"hidden":true' in lines[at] and change == "changed"
            if not (last_of_roles or whole_head or hidden):
                anew = looked_through(tmp_path, forged({**files, name: altered}))
                assert anew.problems, ("with a new manifest", name, at)


def looked_through(folder: Path, files: Files) -> export_verifier.ExportVerifier:
    path = folder / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, lines in files.items():
            archive.writestr(name, b"".join(lines))
    verifier = export_verifier.ExportVerifier(path)
    try:
        verifier.run()
    except export_verifier.NotAnExport as error:
        verifier.problems.append(str(error))
    return verifier


@proves("OPS-9/5")
async def test_swapped_chats_a_missing_chat_and_a_cut_chain_are_found_whatever_the_manifest_says(
    tmp_path: Path, files: Files
) -> None:
    one, two = files["chats/c1.jsonl"], files["chats/c2.jsonl"]
    for manifest in (dict, forged):
        swapped = manifest({**files, "chats/c1.jsonl": two, "chats/c2.jsonl": one})
        assert verified(tmp_path, swapped)[0] == 1
        without = {name: lines for name, lines in files.items() if name != "chats/c2.jsonl"}
        assert "c2" in verified(tmp_path, manifest(without))[1]
    cut = forged({**files, "chats/c2.jsonl": two[:-1]})
    end = json.loads(two[-2])["hash"].encode()
    old = json.loads(two[-1])["hash"].encode()
    cut["manifest.jsonl"] = [line.replace(old, end) for line in cut["manifest.jsonl"]]
    code, printed = verified(tmp_path, cut)
    assert code == 1 and "once reached record" in printed, "the end was moved back, but the heads know better"
    heads = [line for line in files["heads.jsonl"] if old not in line]
    _, rewritten = _heads_anew(heads)
    both = forged({**cut, "heads.jsonl": rewritten})
    assert verified(tmp_path, both)[0] == 0, "what no offline check can show"
    assert verified(tmp_path, both, old.decode())[0] == 1, "except by a hash that was kept"


def _heads_anew(lines: list[bytes]) -> tuple[str, list[bytes]]:
    previous, rewritten = "", []
    for count, line in enumerate(lines, 1):
        head = json.loads(line) | {"count": count}
        covered = json.dumps([head[name] for name in ("count", "at", "event", "chat_id", "seq", "hash")])
        previous = head["head"] = sha256((previous + covered).encode()).hexdigest()
        rewritten.append(json.dumps(head).encode() + b"\n")
    return previous, rewritten


@proves("OPS-9/5")
async def test_a_changed_database_is_found_in_its_export(tmp_path: Path) -> None:
    async with opened(tmp_path / "data") as database:
        await fill(database)
    settings = Settings(data_dir=tmp_path / "data")
    with sqlite3.connect(settings.database_path) as connection:
        connection.execute("UPDATE people SET access = 'admin' WHERE id = 'p1'")
        connection.execute(
            "UPDATE records SET body = replace(body, 'allowed', 'denied') WHERE type = 'permission-decided'"
        )
        connection.execute("DELETE FROM chats WHERE id = 'c2'")
    (tmp_path / "export.zip").write_bytes(b"".join(export_audit(settings, AT)))
    code, printed = run(tmp_path / "export.zip")
    assert code == 1
    for reason in (
        "this person is not what",
        "chats/c1.jsonl, line 3: this record was changed",
        "the chat itself is missing",
    ):
        assert reason in printed, printed
    assert len(printed.splitlines()) == 3, "what follows from a broken chain is not listed too"


@proves("OPS-9/5")
async def test_hostile_zip_files_write_nothing_and_end_in_one_sentence(
    tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def zipped(name: str, entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w", method) as archive:
            for entry, data in entries:
                archive.writestr(entry, data)
        return tmp_path / name

    whole = [(name, b"".join(lines)) for name, lines in files.items()]
    before = {path.name for path in tmp_path.iterdir()}
    bad = zipped("paths.zip", [*whole, ("../../escaped", b"x"), ("/tmp/escaped", b"x"), ("chats/\x1b[2Jc.jsonl", b"x")])
    code, printed = run(bad)
    assert code == 1 and printed.count("it was added") == 3 and "\x1b" not in printed
    with pytest.warns(UserWarning):
        twice = zipped("twice.zip", [*whole, whole[0]])
    assert run(twice)[0] == 1
    bomb = zipped("bomb.zip", [*whole[:-1], ("manifest.jsonl", b'{"format":"' + b"0" * (16 << 20))])
    assert bomb.stat().st_size < 1 << 17
    monkeypatch.setattr(export_verifier, "LONGEST_LINE", 1 << 20)
    verifier = export_verifier.ExportVerifier(bomb)
    verifier.run()
    assert "manifest.jsonl: a line is longer than any of an export" in verifier.problems
    assert run(zipped("lzma.zip", whole, zipfile.ZIP_LZMA))[0] == 2
    deep = zipped("deep.zip", [*whole[:-1], ("manifest.jsonl", b"[" * 1_000_000 + b"\n")])
    assert run(deep)[0] == 1
    cut = tmp_path / "cut.zip"
    cut.write_bytes(bad.read_bytes()[:-200])
    assert run(cut)[0] == 1
    front = tmp_path / "front.zip"
    front.write_bytes(b"PK" + zipped("whole.zip", whole).read_bytes())
    assert run(front)[0] == 1 and run(tmp_path / "whole.zip")[0] == 0
    (tmp_path / "text.zip").write_text("no export")
    assert run(tmp_path / "text.zip")[0] == run(tmp_path / "none.zip")[0] == run(zipped("e.zip", [("a", b"")]))[0] == 2
    made = {path.name for path in tmp_path.iterdir()} - before
    assert all(name.endswith(".zip") for name in made) and not Path("/tmp/escaped").exists()
