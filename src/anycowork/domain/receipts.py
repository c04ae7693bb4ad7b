"""Receipts: a passed check bound to the state of the files that it could read. Pure.

The id of a receipt is the hash of its content. The event that ends the turn names the id, so the audit chain covers the content.
"""

from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256

import msgspec

from anycowork.domain.messages import Json
from anycowork.domain.values import value

FORMAT = 1


@value
class Receipt:
    id: str
    body: Json = field(hash=False)


def receipt_of(
    *,
    chat_id: str,
    turn_id: str,
    snapshot_id: str | None,
    command: str,
    exit_code: int,
    files: Mapping[str, str],
    sandbox: str,
    checked_at: str,
) -> Receipt:
    """Return the receipt of a check that ended with this exit code on these files (path → sha256)."""
    body: Json = {
        "format": FORMAT,
        "context_id": chat_id,
        "turn_id": turn_id,
        "snapshot_id": snapshot_id,
        "command": command,
        "exit_code": exit_code,
        "files": dict(sorted(files.items())),
        "sandbox": sandbox,
        "at": checked_at,
    }
    return Receipt(receipt_id(body), body)


def receipt_id(body: Json) -> str:
    """Return the hash of the content, without an id that stands in it."""
    content = {name: part for name, part in body.items() if name != "id"}
    return sha256(msgspec.json.encode(content, order="sorted")).hexdigest()
