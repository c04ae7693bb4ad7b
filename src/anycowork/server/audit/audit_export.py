"""Writes one file for auditors: every chain, the people, the decisions and the receipts, as JSON Lines in a zip file. It is made while it is
sent, from one moment of the database, so that a server of any size takes the same memory. `export_verifier.py` verifies it."""

import io
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import IO
from urllib.parse import quote

import msgspec

from anycowork import __version__
from anycowork.config.settings import Settings
from anycowork.domain.bounded_json import STORED_DEPTH, read_json
from anycowork.domain.messages import Json
from anycowork.domain.secret_values import SecretHider
from anycowork.server.audit import export_verifier as form
from anycowork.server.setup.database_setup import open_to_read
from anycowork.store.role_changes import ROLE_CHANGES
from anycowork.store.sql.audit import AuditChains, chain_ids, heads_path
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.people import stored_people
from anycowork.store.sql.receipts import ReceiptTable

_PAGE = 100
_PIECE = 1 << 16  # bytes
_IN_MEMORY = 1 << 20  # bytes of the decisions, which are written last; more of them go to a temporary file


def export_audit(settings: Settings, now: str) -> Iterator[bytes]:
    """Yields the file piece by piece. Values that look like secrets are hidden. Blocking. Raises: StorageFault, OSError."""
    heads = heads_path(settings.database_path)
    heads_size = (
        heads.stat().st_size if heads.exists() else 0
    )  # first: the chains that are read later reach these heads
    with open_to_read(settings) as (connection, expects_heads), tempfile.SpooledTemporaryFile(_IN_MEMORY) as decisions:
        archive = _Archive()
        about: Json = {"format": form.FORMAT, "release": __version__, "at": now, "heads_expected": expects_heads}
        chats = chain_ids(connection)
        yield from archive.file(form.HEADS, _beginning(heads, heads_size))
        if form.PEOPLE_CHAIN_ID in chats:
            chats.remove(form.PEOPLE_CHAIN_ID)
            yield from archive.chain(form.PEOPLE_CHANGES, connection, form.PEOPLE_CHAIN_ID)
        yield from archive.file(form.PEOPLE, _people(connection))
        yield from archive.file(form.ROLES, _role_changes(settings))
        for chat_id in chats:
            yield from archive.chain(f"chats/{quote(chat_id, safe='')}.jsonl", connection, chat_id, decisions)
        decisions.seek(0)
        yield from archive.file(form.DECISIONS, decisions)
        yield from archive.file(form.RECEIPTS, _receipts(connection, chats))
        yield from archive.end(about)


class _Archive:
    """A zip file that is handed on while it is written, and the manifest of what is in it."""

    def __init__(self) -> None:
        self._written = _Written()
        self._zip = zipfile.ZipFile(self._written, "w", zipfile.ZIP_DEFLATED)
        self._entries: list[Json] = []

    def file(self, name: str, lines: Iterable[bytes], facts: Json | None = None) -> Iterator[bytes]:
        """`facts` go into the manifest beside name and digest; the lines may add to them."""
        digest, size, count = sha256(), 0, 0
        info = zipfile.ZipInfo(name)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
        with self._zip.open(info, "w", force_zip64=True) as member:
            for line in lines:
                member.write(line)
                digest.update(line)
                size, count = size + len(line), count + 1
                if self._written.size >= _PIECE:
                    yield self._written.take()
        self._entries.append(
            {"file": name, "sha256": digest.hexdigest(), "bytes": size, "lines": count, **(facts or {})}
        )
        yield self._written.take()

    def chain(
        self, name: str, connection: SqlConnection, chat_id: str, decisions: IO[bytes] | None = None
    ) -> Iterator[bytes]:
        end = AuditChains.end_of(connection, chat_id)
        facts: Json = {"chat_id": chat_id, "end": end.hash if end else None}
        return self.file(name, _chain_lines(connection, chat_id, decisions), facts)

    def end(self, about: Json) -> Iterator[bytes]:
        lines: list[Json] = [about, *self._entries, {"files": len(self._entries)}]
        yield from self.file(form.MANIFEST, map(_line, lines))
        self._zip.close()
        yield self._written.take()


class _Written(io.RawIOBase):
    """What was written since it was last taken."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # zipfile writes bytes
        self._pieces.append(bytes(data))
        self.size += len(data)
        return len(data)

    def take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces, self.size = [], 0
        return data


def _chain_lines(connection: SqlConnection, chat_id: str, decisions: IO[bytes] | None) -> Iterator[bytes]:
    reader, seq = form.Decisions(chat_id), 0
    while page := list(AuditChains.links_after(connection, chat_id, seq, limit=_PAGE)):
        for link in page:
            record, text, hidden = _shown(link.body)
            yield _line({"seq": link.seq, "hash": link.hash, "record": text, **hidden})
            if decisions is not None and (decision := _decision(reader, record, link.hash)) is not None:
                decisions.write(_line(decision))
        seq = page[-1].seq


def _decision(reader: form.Decisions, record: Json, link: str) -> Json | None:
    try:
        return reader.of_record(record, link)
    except (KeyError, TypeError, AttributeError):
        return None  # the verifier reads none out of it either


def _shown(body: bytes) -> tuple[Json, str, Json]:
    """Returns a record as it is exported, its text, and that values in it are hidden, if any are."""
    text = body.decode("utf-8", "replace")  # what is no text was tampered with, and will not verify
    try:
        record = read_json(text, strict=False, max_depth=STORED_DEPTH, max_values=len(body))
    except ValueError:
        return {}, SecretHider().hide(text), {}
    if not isinstance(record, dict):
        return {}, SecretHider().hide(text), {}
    hider = SecretHider()
    redacted = hider.object(record)
    return (redacted, msgspec.json.encode(redacted).decode(), {"hidden": True}) if hider.values else (record, text, {})


def _people(connection: SqlConnection) -> Iterator[bytes]:
    if connection.dialect.has_table(connection, "people"):
        for person in stored_people(connection):
            names = ("id", "name", "access", "created_at", "removed_at", "groups")
            facts = {name: getattr(person, name) for name in names}
            yield _line(facts)


def _role_changes(settings: Settings) -> Iterator[bytes]:
    path = settings.data_dir / ROLE_CHANGES
    if path.exists():
        with path.open("rb") as lines:
            for line in lines:
                _, text, hidden = _shown(line.rstrip(b"\n"))
                yield _line({"line": text, "sha256": sha256(line.rstrip(b"\n")).hexdigest(), **hidden})


def _receipts(connection: SqlConnection, chats: Iterable[str]) -> Iterator[bytes]:
    for chat_id in chats:
        for receipt_id in ReceiptTable.ids_of(connection, chat_id):
            hider = SecretHider()
            receipt = hider.object(ReceiptTable.find(connection, receipt_id) or {})
            hidden = {"hidden": True} if hider.values else {}
            yield _line({"chat_id": chat_id, "id": receipt_id, "receipt": receipt, **hidden})


def _beginning(path: Path, size: int) -> Iterator[bytes]:
    """Yields the whole lines among the first bytes of the file."""
    if size:
        with path.open("rb") as lines:
            for line in lines:
                size -= len(line)
                if size < 0 or not line.endswith(b"\n"):
                    return
                yield line


def _line(fields: Json) -> bytes:
    return msgspec.json.encode(fields) + b"\n"
