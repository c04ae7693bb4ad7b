"""The changes of roles as lines of a file, each with the hash of the one before: added by the settings, verified with the audit chains."""

import json
import os
from hashlib import sha256
from pathlib import Path

from anycowork.config.secure_files import OWNER_ONLY_FOLDER
from anycowork.domain.audit import BrokenChain
from anycowork.domain.bounded_json import STORED_DEPTH, read_json
from anycowork.domain.errors import StorageFault
from anycowork.domain.messages import Json
from anycowork.domain.values import value

ROLE_CHANGES = "role-changes.jsonl"
_LONGEST_LINE = 1 << 20


@value
class RoleChangesCheck:
    """`end` is the hash of the last line."""

    broken: BrokenChain | None
    checked: int
    end: str


def add_role_change(file: Path, change: Json) -> None:
    """Blocking; durable on return. Raises: StorageFault."""
    try:
        file.parent.mkdir(mode=OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
        fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "r+b") as lines:
            size = lines.seek(0, os.SEEK_END)
            lines.seek(max(0, size - _LONGEST_LINE))
            tail = lines.read()
            last = tail.rstrip(b"\n").rpartition(b"\n")[2]
            previous = sha256(last).hexdigest() if last else None
            start = b"" if not tail or tail.endswith(b"\n") else b"\n"  # after a line that a crash cut off
            lines.write(start + json.dumps({**change, "previous": previous}).encode() + b"\n")
            lines.flush()
            os.fsync(lines.fileno())
    except OSError as error:
        raise StorageFault(f"The change of a role cannot be recorded in {file} ({error.strerror}).") from error


def check_role_changes(file: Path) -> RoleChangesCheck | None:
    """Returns at which line the chain is broken; None if no change was ever recorded. A changed last line is not noticed. Blocking."""
    previous: str | None = None
    count = 0
    try:
        with file.open("rb") as lines:
            for count, line in enumerate(lines, 1):
                if reason := _fault(line, previous):
                    return RoleChangesCheck(BrokenChain(count, reason), count, previous or "")
                previous = sha256(line.rstrip(b"\n")).hexdigest()
    except FileNotFoundError:
        return None
    except OSError as error:
        return RoleChangesCheck(BrokenChain(count, f"it cannot be read ({error.strerror})"), count, previous or "")
    return RoleChangesCheck(None, count, previous or "")


def _fault(line: bytes, previous: str | None) -> str | None:
    try:
        entry = read_json(line, strict=False, max_depth=STORED_DEPTH)
    except ValueError:
        return "this line was cut off or overwritten"
    if not isinstance(entry, dict) or entry.get("previous") != previous:
        return "the line before it was changed, or one is missing"
    return None
