"""The audit chain: each record's hash covers the one before it, so a changed or missing record is found. Deltas are outside it."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

START = ""


def link(previous: str, body: bytes) -> str:
    return sha256(previous.encode() + body).hexdigest()


@dataclass(frozen=True, slots=True)
class Broken:
    """The first record at which the chain does not hold, and why."""

    seq: int
    reason: str


def verify(records: Iterable[tuple[int, bytes, str]], *, end: str) -> Broken | None:
    """`records` are (seq, body, hash), ascending; `end` is the hash that the chat's row holds."""
    previous, last_seq = START, 0
    for seq, body, recorded in records:
        if link(previous, body) != recorded:
            return Broken(seq, "this record was changed, or one before it is missing")
        previous, last_seq = recorded, seq
    if previous != end:
        return Broken(last_seq, "records after this one are missing")
    return None
