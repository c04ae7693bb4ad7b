"""Remembers how far the audit chains were verified, so that the next check can go on from there.

The file lies beside the database, readable by its owner only. It says what was checked, not that it is still so: anybody who can write to the
data folder can change records and this file alike. A file that cannot be read counts as none, and the next check reads everything.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any  # JSON

import msgspec

from anycowork.domain.audit import ChainEnd
from anycowork.domain.values import value

_VERSION = 1


@value
class VerifiedChain:
    """The last record of a chat that was verified, and how many records there were up to it."""

    end: ChainEnd
    records: int


@value
class VerifiedHead:
    """The last head that was verified, and the byte at which its line begins."""

    offset: int
    count: int
    head: str


@value
class AuditMarks:
    """What the last check that found everything intact has read. `full_at` is when every record was last read."""

    full_at: str
    heads: VerifiedHead | None
    chains: Mapping[str, VerifiedChain]

    @property
    def records(self) -> int:
        return sum(chain.records for chain in self.chains.values())


def marks_path(database: Path) -> Path:
    return database.with_name("audit-verified.json")


def read_marks(path: Path) -> AuditMarks | None:
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        if stored["v"] != _VERSION:
            return None
        heads = stored["heads"]
        return AuditMarks(
            full_at=str(stored["full_at"]),
            heads=None if heads is None else VerifiedHead(int(heads[0]), int(heads[1]), str(heads[2])),
            chains={
                chat_id: VerifiedChain(ChainEnd(str(hash_), int(seq)), int(records))
                for chat_id, (seq, hash_, records) in stored["chats"].items()
            },
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None


def write_marks(path: Path, marks: AuditMarks) -> None:
    """Replaces the file. Raises: OSError."""
    heads = None if marks.heads is None else [marks.heads.offset, marks.heads.count, marks.heads.head]
    chats = {chat_id: [chain.end.seq, chain.end.hash, chain.records] for chat_id, chain in marks.chains.items()}
    data = msgspec.json.encode({"v": _VERSION, "full_at": marks.full_at, "heads": heads, "chats": chats})
    beside = path.with_name(f"{path.name}.{os.getpid()}.new")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
