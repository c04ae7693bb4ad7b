"""The audit hash chain: each record's hash covers the previous one, so a changed or missing record is detected. Pure.

The heads of all chats' chains form a second chain, stored elsewhere, so that a truncated or removed chain is detected too.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256

from anycowork.domain.bounded_json import STORED_DEPTH, read_json
from anycowork.domain.values import value

START = ""
_BEGUN = sha256()  # copied for every record: looking up the algorithm each time costs as much as the hash


@value
class ChainLink:
    """One record of the chain: its canonical bytes, and the hash over them and all previous records.

    `type` is the record type in the database column beside the bytes; None if there is no such column.
    """

    seq: int
    body: bytes
    hash: str
    type: str | None = None


@value
class ChainEnd:
    """The last hash of a chain, and the number of its last record."""

    hash: str
    seq: int


@value
class BrokenChain:
    """The first record at which the chain is broken, and why."""

    seq: int
    reason: str


def link(previous: str, body: bytes) -> str:
    digest = _BEGUN.copy()
    digest.update(previous.encode())
    digest.update(body)
    return digest.hexdigest()


def verify(links: Iterable[ChainLink], *, end: str, after: ChainEnd | None = None) -> BrokenChain | None:
    """Verifies the links, in ascending order. `end` is the last hash as stored elsewhere; `after` is the record before the first link."""
    previous, last_seq = (START, 0) if after is None else (after.hash, after.seq)
    for entry in links:
        if link(previous, entry.body) != entry.hash:
            return BrokenChain(entry.seq, "this record was changed, or one before it is missing")
        if (beside := _changed_beside(entry)) is not None:
            return BrokenChain(entry.seq, f"the record's {beside} differs from its signed text")
        previous, last_seq = entry.hash, entry.seq
    if previous != end:
        return BrokenChain(last_seq, "records after this one are missing")
    return None


def _changed_beside(entry: ChainLink) -> str | None:
    """Returns the name of a database column that differs from the record's bytes."""
    try:
        body = read_json(entry.body, strict=False, max_depth=STORED_DEPTH, max_values=len(entry.body))
    except ValueError:
        return "text"
    if not isinstance(body, dict) or body.get("seq") != entry.seq:
        return "number"
    return "type" if entry.type is not None and body.get("type") != entry.type else None


# --- heads


class HeadEvent(StrEnum):
    ADVANCED = "advanced"
    REMOVED = "removed"
    RESTARTED = "restarted"
    """The file of heads was missing, and a new one was started."""


@value
class ChainHead:
    """The end of a chat's chain at one point in time. `count` numbers the heads of all chats; `head` is the hash over this head and
    all previous ones."""

    count: int
    at: str
    event: HeadEvent
    chat_id: str
    seq: int
    hash: str
    head: str = START


def next_head(previous: ChainHead | None, recorded_at: str, event: HeadEvent, chat_id: str, end: ChainEnd) -> ChainHead:
    count = previous.count + 1 if previous is not None else 1
    plain = ChainHead(count, recorded_at, event, chat_id, end.seq, end.hash)
    head = link(previous.head if previous is not None else START, _covered(plain))
    return ChainHead(count, recorded_at, event, chat_id, end.seq, end.hash, head)


def verify_heads(heads: Iterable[ChainHead], *, after: ChainHead | None) -> BrokenChain | None:
    """Returns None if no head was changed, removed or inserted. A head removed at the end is detected by the chats' own chains.

    `after` is the head before the first one.
    """
    previous, first = (START, 1) if after is None else (after.head, after.count + 1)
    for count, head in enumerate(heads, first):
        if head.count != count or link(previous, _covered(head)) != head.head:
            return BrokenChain(count, "this head was changed, or one before it is missing")
        if head.event is HeadEvent.RESTARTED:
            return BrokenChain(count, f"the file of heads was missing and was started anew at {head.at}")
        previous = head.head
    return None


def _covered(head: ChainHead) -> bytes:
    return json.dumps([head.count, head.at, str(head.event), head.chat_id, head.seq, head.hash]).encode()
