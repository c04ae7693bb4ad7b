"""The audit chain: each record's hash covers the one before it, so a changed or missing record is found. Pure.

The heads of all chats' chains are chained once more in a second place, so that a chain that was cut or removed as a whole is found too.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256

from anycowork.domain.values import value

START = ""
_BEGUN = sha256()  # copied at every record: looking the algorithm up anew costs as much as the hash


@value
class Link:
    """One record as the chain holds it: the canonical bytes, and the hash over them and all before.

    `type` is what stands beside the bytes in the database; None where nothing does.
    """

    seq: int
    body: bytes
    hash: str
    type: str | None = None


@value
class ChainEnd:
    """The last hash, and the number of the last record at that moment."""

    hash: str
    seq: int


@value
class BrokenChain:
    """The first record at which the chain does not hold, and why."""

    seq: int
    reason: str


def link(previous: str, body: bytes) -> str:
    digest = _BEGUN.copy()
    digest.update(previous.encode())
    digest.update(body)
    return digest.hexdigest()


def verify(links: Iterable[Link], *, end: str) -> BrokenChain | None:
    """The links ascending; `end` is the last hash as it was written elsewhere."""
    previous, last_seq = START, 0
    for each in links:
        if link(previous, each.body) != each.hash:
            return BrokenChain(each.seq, "this record was changed, or one before it is missing")
        if (beside := _changed_beside(each)) is not None:
            return BrokenChain(each.seq, f"the record's {beside} was changed beside its text")
        previous, last_seq = each.hash, each.seq
    if previous != end:
        return BrokenChain(last_seq, "records after this one are missing")
    return None


def _changed_beside(each: Link) -> str | None:
    """What stands beside the bytes says otherwise than the bytes do."""
    try:
        body = json.loads(each.body)
    except ValueError:
        return "text"
    if not isinstance(body, dict) or body.get("seq") != each.seq:
        return "number"
    return "type" if each.type is not None and body.get("type") != each.type else None


# --- heads


class HeadEvent(StrEnum):
    ADVANCED = "advanced"
    REMOVED = "removed"
    RESTARTED = "restarted"
    """The file of heads had gone, and a new one was begun."""


@value
class ChainHead:
    """How far a chat's chain had come at one moment. `count` numbers the heads of all chats; `head` covers this one and all before it."""

    count: int
    at: str
    event: HeadEvent
    chat_id: str
    seq: int
    hash: str
    head: str = START


def next_head(previous: ChainHead | None, at: str, event: HeadEvent, chat_id: str, end: ChainEnd) -> ChainHead:
    count = previous.count + 1 if previous is not None else 1
    plain = ChainHead(count, at, event, chat_id, end.seq, end.hash)
    head = link(previous.head if previous is not None else START, _covered(plain))
    return ChainHead(count, at, event, chat_id, end.seq, end.hash, head)


def verify_heads(heads: Iterable[ChainHead]) -> BrokenChain | None:
    """None if no head was changed, removed or put in between; one that was removed at the end shows in the chats' own chains."""
    previous = START
    for count, each in enumerate(heads, 1):
        if each.count != count or link(previous, _covered(each)) != each.head:
            return BrokenChain(count, "this head was changed, or one before it is missing")
        if each.event is HeadEvent.RESTARTED:
            return BrokenChain(count, f"the file of heads was missing and was begun anew at {each.at}")
        previous = each.head
    return None


def _covered(head: ChainHead) -> bytes:
    return json.dumps([head.count, head.at, str(head.event), head.chat_id, head.seq, head.hash]).encode()
