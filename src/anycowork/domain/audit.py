"""The audit chain: each record's hash covers the one before it, so a changed or missing record is found. Pure."""

from collections.abc import Iterable
from hashlib import sha256

from anycowork.domain.values import value

START = ""
_BEGUN = sha256()  # copied at every record: looking the algorithm up anew costs as much as the hash


@value
class Link:
    """One record as the chain holds it: the canonical bytes, and the hash over them and all before."""

    seq: int
    body: bytes
    hash: str


@value
class ChainEnd:
    """The last hash, and the number of the last record at that moment."""

    hash: str
    seq: int


@value
class Broken:
    """The first record at which the chain does not hold, and why."""

    seq: int
    reason: str


def link(previous: str, body: bytes) -> str:
    digest = _BEGUN.copy()
    digest.update(previous.encode())
    digest.update(body)
    return digest.hexdigest()


def verify(links: Iterable[Link], *, end: str) -> Broken | None:
    """The links ascending; `end` is the last hash as it was written elsewhere."""
    previous, last_seq = START, 0
    for each in links:
        if link(previous, each.body) != each.hash:
            return Broken(each.seq, "this record was changed, or one before it is missing")
        previous, last_seq = each.hash, each.seq
    if previous != end:
        return Broken(last_seq, "records after this one are missing")
    return None
