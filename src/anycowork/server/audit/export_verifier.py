"""Verifies an audit export offline: `python export_verifier.py EXPORT.zip`. Needs Python's standard library and nothing else, so that this
one file can be copied to where the export is. Never unpacks anything to disk, and holds one line of the export in memory at a time.

Exit codes: 0 everything holds, 1 something was changed, removed, added or cut, 2 this is no audit export.
"""

import io
import json
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any  # JSON of an export, which says what it likes

FORMAT = "anycowork-audit-export/1"
MANIFEST, HEADS, PEOPLE, ROLES = "manifest.jsonl", "heads.jsonl", "people.jsonl", "role-changes.jsonl"
PEOPLE_CHANGES, DECISIONS, RECEIPTS = "people-changes.jsonl", "decisions.jsonl", "receipts.jsonl"
PEOPLE_CHAIN_ID = "people/changes"
STAND_IN = "«hidden "
LONGEST_LINE = 256 << 20  # bytes
MOST_BYTES = 200 << 30  # of all files together: a bomb is left before it takes days
MOST_NAMED = 100
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)
_WRONG_SHAPE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)

Object = dict[str, Any]


class NotAnExport(Exception):
    """The file is not an audit export."""


class Decisions:
    """Reads the decisions of one chat out of its records, in their order. The export and its verifier ask the same function."""

    def __init__(self, chat_id: str) -> None:
        self._chat_id = chat_id
        self._requests: dict[str, str] = {}  # what was asked, and the hash of the record that asked it

    def of_record(self, record: Object, link: str) -> Object | None:
        """Returns the line about this record if a decision is in it. `request` is the hash of the record with all that was shown."""
        kind = str(record["type"])
        about, state, is_request = _subject(kind, record)
        if about is None:
            return None
        if is_request:
            self._requests[about] = link
            return None
        line: Object = {"chat_id": self._chat_id, "seq": record["seq"], "hash": link, "type": kind, "at": record["at"]}
        by = {"principal": record["principal"], "about": about, "state": state}
        return {**line, **by, "request": self._requests.get(about)}


def _subject(kind: str, record: Object) -> tuple[str | None, str, bool]:
    """Returns what the record asks or decides, its new state, and whether it only asks; None for every other record."""
    if kind in ("permission-request", "permission-decided"):
        approval = record["approval"]
        return f"approval {approval['id']}", str(approval.get("state")), kind == "permission-request"
    if kind in ("question", "question-answered"):
        question = record["question"]
        return f"question {question['message_id']}", str(question.get("state")), kind == "question"
    if kind == "plan-update" and record["plan"].get("status") in ("proposed", "approved"):
        plan = record["plan"]
        return f"plan {plan['message_id']}", str(plan["status"]), plan["status"] == "proposed"
    if kind == "role-changed":
        return "role", f"{record['role']['old_role']} to {record['role']['new_role']}", False
    return None, "", False


def receipt_digest(body: Object) -> str:
    """Returns the id of a receipt: the hash of its content."""
    content = {name: part for name, part in body.items() if name != "id"}
    return sha256(
        json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()


class ExportVerifier:
    """One look through an export. `problems` says in plain words what is broken, and where."""

    def __init__(self, path: Path, known_hashes: Iterable[str] = ()) -> None:
        """`known_hashes` are hashes of this server that were kept elsewhere: each must still be in the export."""
        self.problems: list[str] = []
        self.counts = {"chats": 0, "records": 0, "decisions": 0, "receipts": 0, "hidden": 0, "absent": 0}
        self.about: Object = {}
        self.digest = ""
        self._path = path
        self._kept = {text.strip().lower() for text in known_hashes}
        self._manifest: dict[str, Object] = {}
        self._broken: set[str] = set()
        self._heads: dict[str, dict[int, str]] = {}  # of each chat that must be there, the hash at each number

    def run(self) -> None:
        """Raises: NotAnExport."""
        try:
            with self._path.open("rb") as file:
                is_zip = file.read(2) == b"PK"
        except OSError as error:
            raise NotAnExport(f"it cannot be read ({error.strerror})") from None
        if not is_zip:
            raise NotAnExport("it is no zip file")
        try:
            with zipfile.ZipFile(self._path) as self._archive:
                self._verify()
        except _UNREADABLE as error:
            self._report("", 0, f"the zip file was cut off or changed ({error})")

    def _verify(self) -> None:
        """Raises: NotAnExport, and what a damaged zip file raises."""
        self._check_entries()
        self._read_manifest()
        self._verify_heads()
        states = self._verify_people_changes()
        self._verify_people(states)
        self._verify_roles()
        decisions, receipts = _Ahead(self._lines(DECISIONS)), _Ahead(self._lines(RECEIPTS))
        for name, entry in self._manifest.items():
            if "chat_id" in entry and name != PEOPLE_CHANGES:
                self.counts["chats"] += 1
                receipt_ids = self._verify_chat(name, entry, decisions)
                self._verify_receipts(str(entry["chat_id"]), receipt_ids, receipts)
        for name, ahead in ((DECISIONS, decisions), (RECEIPTS, receipts)):
            if ahead.line is not None:
                self._report(name, ahead.number, "this line belongs to no chat of the export, or is out of order")
            ahead.skip_all()
        chats = {entry.get("chat_id") for entry in self._manifest.values()}
        for chat_id in self._heads:
            if chat_id not in chats:
                self._report(HEADS, 0, f"the whole chain of {chat_id} is missing from the export")
        for text in sorted(self._kept):
            self._report("", 0, f"the hash {text} that you kept is not in it: what it stood for was cut or rewritten")

    def _check_entries(self) -> None:
        infos = self._archive.infolist()
        names = [info.filename for info in infos]
        if MANIFEST not in names:
            raise NotAnExport(f"it has no {MANIFEST}")
        if len(set(names)) != len(names):
            self._report("", 0, "the zip file has two files of the same name")
        if min(info.header_offset for info in infos):
            self._report("", 0, "something stands in front of the zip file")
        if sum(info.file_size for info in infos) > MOST_BYTES:
            raise NotAnExport("it is larger than any export")
        if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
            raise NotAnExport("it is compressed in a way that no export is")

    def _read_manifest(self) -> None:
        """Raises: NotAnExport."""
        end: Object = {}
        digest = sha256()
        for number, line in enumerate(self._raw_lines(MANIFEST), 1):
            digest.update(line)
            try:
                entry = _object(line)
                if number == 1:
                    if entry.get("format") != FORMAT:
                        raise NotAnExport(f"its format is not {FORMAT}")
                    self.about = entry
                elif "files" in entry or end:
                    end = entry if not end else {}
                elif self._manifest.setdefault(str(entry["file"]), entry) is not entry:
                    self._report(MANIFEST, number, "it names a file twice")
            except _WRONG_SHAPE:
                self._report(MANIFEST, number, "this line was changed: it is no line of a manifest")
        self.digest = digest.hexdigest()
        self._kept.discard(self.digest)
        if end.get("files") != len(self._manifest):
            self._report(MANIFEST, 0, "it was cut off, or lines were added or removed")
        names = {*self._archive.namelist()} - {MANIFEST}
        for name in sorted(names - {*self._manifest}):
            self._report(name, 0, "the manifest does not name this file: it was added")
        always = {HEADS, PEOPLE, ROLES, DECISIONS, RECEIPTS}
        for name in sorted((always | {*self._manifest}) - names):
            self._report(name, 0, "this file is missing")
            self._manifest.pop(name, None)

    def _verify_heads(self) -> None:
        previous, count = "", 0
        for number, head in self._lines(HEADS):
            try:
                count += 1
                fields = [head[name] for name in ("count", "at", "event", "chat_id", "seq", "hash")]
                intact = head["count"] == count and _link(previous, json.dumps(fields)) == head["head"]
                previous = str(head["head"])
                if intact and head["event"] != "restarted":
                    self._kept.discard(previous)
                    self._note_head(head)
                    continue
                reason = "this head was changed, or one before it is missing"
                self._report(HEADS, number, reason if not intact else "the server's file of heads had been lost")
            except _WRONG_SHAPE:
                self._report(HEADS, number, "this is no head of a chain")
            break
        if self.about.get("heads_expected") and not count:
            self._report(HEADS, 0, "the server's file of heads is missing or empty: cut ends cannot be noticed")

    def _note_head(self, head: Object) -> None:
        if head["event"] == "removed":
            self._heads.pop(str(head["chat_id"]), None)
            return
        ends = self._heads.setdefault(str(head["chat_id"]), {})
        if head["seq"]:
            ends[int(head["seq"])] = str(head["hash"])

    def _verify_people_changes(self) -> dict[str, Object]:
        """Returns the newest recorded change of each person."""
        newest: dict[str, Object] = {}
        entry = self._manifest.get(PEOPLE_CHANGES)
        if entry is not None:
            for _, record, _ in self._chain(PEOPLE_CHANGES, entry):
                if record.get("type") != "limits-changed":
                    newest[str(record["person"]["id"])] = record
        return newest

    def _verify_people(self, newest: Mapping[str, Object]) -> None:
        seen: set[str] = set()
        for number, person in self._lines(PEOPLE):
            change = newest.get(str(person.get("id")))
            removed = change is not None and change.get("type") == "person-removed"
            seen.add(str(person.get("id")))
            recorded = change["person"] if change is not None else {}
            same = all(recorded.get(field) == person.get(field) for field in ("name", "access"))
            same = same and recorded.get("groups", []) == person.get("groups", [])
            if not same or removed != (person.get("removed_at") is not None):
                self._report(PEOPLE, number, "this person is not what the recorded changes made them")
        for person_id in sorted({*newest} - seen):
            self._report(PEOPLE, 0, f"the person {person_id} of the recorded changes is missing")

    def _verify_roles(self) -> None:
        previous: str | None = None
        for number, entry in self._lines(ROLES):
            text, digest = str(entry.get("line")), str(entry.get("sha256"))
            try:
                intact = self._is_hidden(entry, text) or sha256(text.encode()).hexdigest() == digest
                if not intact or json.loads(text)["previous"] != previous:  # noqa: TID251  # in a line of bounded length
                    raise ValueError
            except _WRONG_SHAPE:
                self._report(ROLES, number, "this change of a role was changed, or the one before it is missing")
                break
            previous = digest
            self._kept.discard(digest)

    def _verify_chat(self, name: str, entry: Object, decisions: "_Ahead") -> set[str] | None:
        """Returns the receipts that its records name; None if its chain is broken, so that some are not known."""
        receipts: set[str] = set()
        chat_id, expected = str(entry["chat_id"]), True
        reader = Decisions(chat_id)
        for seq, record, link in self._chain(name, entry):
            if record.get("chat_id") != chat_id:
                self._report(name, 0, f"record {seq} belongs to another chat ({record.get('chat_id')})")
            evidence = record.get("evidence")
            if isinstance(evidence, dict) and evidence.get("receipt"):
                receipts.add(str(evidence["receipt"]))
            try:
                decision = reader.of_record(record, link)
            except _WRONG_SHAPE:
                continue  # of a form that no release wrote: the chain covers it, but nothing is read out of it
            if decision is not None and expected:
                self.counts["decisions"] += 1
                expected = decisions.line == decision
                if expected:
                    decisions.next()
                else:
                    self._report(DECISIONS, decisions.number, f"it differs from record {seq} of {name}")
        intact = chat_id not in self._broken
        if intact and expected and decisions.is_of(chat_id):
            self._report(DECISIONS, decisions.number, f"no record of {name} says this")
        while decisions.is_of(chat_id):
            decisions.next()
        return receipts if intact else None

    def _verify_receipts(self, chat_id: str, receipt_ids: set[str] | None, receipts: "_Ahead") -> None:
        previous = ""
        while receipts.is_of(chat_id) and receipts.line is not None:
            body, receipt_id = receipts.line.get("receipt"), str(receipts.line.get("id"))
            self.counts["receipts"] += 1
            if not isinstance(body, dict) or not (
                self._is_hidden(receipts.line, json.dumps(body, ensure_ascii=False))
                or receipt_digest(body) == receipt_id
            ):
                self._report(RECEIPTS, receipts.number, "this receipt was changed")
            elif receipt_ids is not None and receipt_id not in receipt_ids:
                reason = "stands here twice" if receipt_id == previous else "is named by no record of its chat"
                self._report(RECEIPTS, receipts.number, f"this receipt {reason}")
            previous = receipt_id
            (receipt_ids or set()).discard(receipt_id)
            receipts.next()
        self.counts["absent"] += len(receipt_ids or ())

    def _chain(self, name: str, entry: Object) -> Iterator[tuple[int, Object, str]]:
        """Yields number, record and hash of each record up to the first broken one, and reports that one."""
        chat_id, end = str(entry.get("chat_id")), entry.get("end")
        heads, broken = self._heads.get(chat_id, {}), False
        previous, last = "", 0
        for number, line in self._lines(name):
            if broken:
                continue  # the rest counts for the digest of the file
            try:
                seq, link, text = int(line["seq"]), str(line["hash"]), str(line["record"])
                record = json.loads(text)  # noqa: TID251  # in a line of bounded length
                reason = self._broken_link(line, previous, last, record)
            except _WRONG_SHAPE:
                seq, record, reason = last, {}, "this is no record of a chain"
            if reason:
                broken = True
                self._report(name, number, f"{reason} (after record {last})")
                continue
            previous, last = link, seq
            if heads.get(seq) == link:
                del heads[seq]
            self.counts["records"] += 1
            self._kept.discard(link)
            yield seq, record, link
        if broken:
            self._broken.add(chat_id)
        elif end is None:
            self._report(name, 0, "the chat itself is missing from the database")
        elif previous != end:
            self._report(name, 0, f"records after number {last} are missing")
        elif heads:
            self._report(name, 0, f"the chain once reached record {min(heads)}, as the heads say, and no longer does")

    def _broken_link(self, line: Object, previous: str, last: int, record: Object) -> str:
        if line["seq"] <= last or record["seq"] != line["seq"]:
            return "this record is out of order or not the one of its number"
        text = line["record"]
        if not self._is_hidden(line, text) and _link(previous, text) != line["hash"]:
            return "this record was changed, or one before it is missing"
        return ""

    def _is_hidden(self, line: Object, text: str) -> bool:
        """Whether a value in it was hidden: then its own hash cannot be computed again. It must show the stand-in."""
        hidden = line.get("hidden") is True and STAND_IN in text
        self.counts["hidden"] += hidden
        return hidden

    def _lines(self, name: str) -> Iterator[tuple[int, Object]]:
        """Yields the objects of a file, and compares the file with the manifest at its end."""
        entry = self._manifest.get(name)
        if entry is None:
            return  # said to be missing already
        digest, size, number = sha256(), 0, 0
        for line in self._raw_lines(name):
            number, size = number + 1, size + len(line)
            digest.update(line)
            try:
                parsed = _object(line)
            except _WRONG_SHAPE:
                self._report(name, number, "this line was changed: it is no JSON object")
                continue
            yield number, parsed
        if (digest.hexdigest(), size, number) != (entry.get("sha256"), entry.get("bytes"), entry.get("lines")):
            self._report(name, 0, "the file is not the one that the manifest describes: it was changed, cut or swapped")

    def _raw_lines(self, name: str) -> Iterator[bytes]:
        try:
            member: Any = self._archive.open(name)  # it has readinto, which its type does not say
            with io.BufferedReader(member, 1 << 16) as lines:
                while line := lines.readline(LONGEST_LINE + 1):
                    if len(line) > LONGEST_LINE:
                        self._report(name, 0, "a line is longer than any of an export")
                        return
                    yield line
        except _UNREADABLE as error:
            self._report(name, 0, f"it cannot be unpacked: it was changed or cut ({error})")

    def _report(self, name: str, number: int, reason: str) -> None:
        if len(self.problems) == MOST_NAMED:
            self.problems.append("… and more")
        if len(self.problems) < MOST_NAMED:
            line = f", line {number}" if number else ""
            self.problems.append(f"{name or 'the export'}{line}: {reason}")


class _Ahead:
    """Lines of a file, the next one known."""

    def __init__(self, lines: Iterator[tuple[int, Object]]) -> None:
        self._lines = lines
        self.number = 0
        self.line: Object | None = None
        self.next()

    def next(self) -> None:
        self.number, self.line = next(self._lines, (self.number + 1, None))

    def is_of(self, chat_id: str) -> bool:
        return self.line is not None and self.line.get("chat_id") == chat_id

    def skip_all(self) -> None:
        for _ in self._lines:
            pass


def _object(line: bytes) -> Object:
    """Raises: ValueError, RecursionError for what is no JSON object, or names a field twice."""
    parsed = json.loads(line, object_pairs_hook=_unique)  # noqa: TID251  # of bounded length
    if not isinstance(parsed, dict) or not line.endswith(b"\n"):
        raise ValueError("no line of an export")
    return parsed


def _unique(pairs: Sequence[tuple[str, Any]]) -> Object:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field stands there twice")
    return fields


def _link(previous: str, text: str) -> str:
    return sha256(previous.encode() + text.encode("utf-8", "surrogatepass")).hexdigest()


def main(arguments: Sequence[str] | None = None) -> int:
    import argparse  # a server that writes exports needs none

    parser = argparse.ArgumentParser(description="Verify an audit export of AnyCowork, offline.", epilog=_LIMIT)
    parser.add_argument("export", type=Path)
    parser.add_argument("--kept", action="append", default=[], metavar="HASH", help=_KEPT)
    options = parser.parse_args(arguments)
    verifier = ExportVerifier(options.export, options.kept)
    try:
        verifier.run()
    except NotAnExport as error:
        sys.stderr.write(f"{_plain(str(options.export))} is no audit export: {error}.\n")
        return 2
    for problem in verifier.problems:
        sys.stderr.write(_plain(problem) + "\n")
    for line in () if verifier.problems else _summary(verifier):
        sys.stdout.write(_plain(line) + "\n")
    return 1 if verifier.problems else 0


def _summary(verifier: ExportVerifier) -> Iterator[str]:
    counts = verifier.counts
    numbers = ", ".join(f"{counts[name]:,} {name}" for name in ("chats", "records", "decisions", "receipts"))
    yield f"Holds: {numbers}; written {verifier.about.get('at')} by AnyCowork {verifier.about.get('release')}."
    if counts["hidden"]:
        yield f"{counts['hidden']:,} lines have hidden values: only the digest covers their text, no chain does."
    if counts["absent"]:
        yield f"{counts['absent']:,} receipts that records name are not in it: of forked chats, or removed."
    yield f"Digest: {verifier.digest}"


def _plain(text: str) -> str:
    """Keeps a hostile export from writing to the terminal anything but text."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:1_000])


_KEPT = (
    "a hash kept elsewhere: the digest of this export, a head, or the end of a chain; it must still be in the export"
)
_LIMIT = (
    "Whoever can write a whole new export can compute every hash anew: a cut end whose heads were forged too shows only by a hash "
    "that was kept elsewhere (--kept)."
)

if __name__ == "__main__":
    sys.exit(main())
