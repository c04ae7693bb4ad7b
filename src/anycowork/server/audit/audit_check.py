"""Verifies the audit chains in the database against their heads, the people against their recorded changes, and the recorded changes of
roles: for `anycowork audit verify` and the page. Changes no record.

A check of all chats reads every record, as long as there are few. Of many it goes on where the last check ended, and says so: what an earlier
check has read is not read again, unless it is asked to, or the last full check is older than `FULL_DAYS`.
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from anycowork.config.settings import Settings
from anycowork.domain.audit import BrokenChain, ChainHead, HeadEvent, verify_heads
from anycowork.domain.errors import Conflict
from anycowork.domain.messages import Json
from anycowork.domain.people import PEOPLE_CHAIN
from anycowork.domain.ports import Clock
from anycowork.domain.times import later
from anycowork.domain.values import value
from anycowork.domain.visible_text import os_reason
from anycowork.server.audit.audit_export import export_audit
from anycowork.server.audit.audit_marks import (
    AuditMarks,
    VerifiedChain,
    VerifiedHead,
    marks_path,
    read_marks,
    write_marks,
)
from anycowork.server.setup.database_setup import open_to_read
from anycowork.store.role_changes import ROLE_CHANGES, check_role_changes
from anycowork.store.sql.audit import ChainCheck, chain_ids, check_chain, heads_path, read_heads
from anycowork.store.sql.connection import SqlConnection
from anycowork.store.sql.limits import check_limits
from anycowork.store.sql.people import check_people

FULL_DAYS = 7
READ_ANYWAY = 100_000  # records that are always read again: about two seconds
_HEADS = "heads of all chats"
_ROLES = "changes of roles"
_PEOPLE_CHANGES = "changes of people"
_PEOPLE = "people"
_LIMITS = "limits"

log = logging.getLogger(__name__)


@value
class AuditFinding:
    """`checked` records were read by this check; the `earlier` ones before them were read by an earlier check only."""

    what: str
    broken: BrokenChain | None
    end: str = ""
    checked: int = 0
    earlier: int = 0

    def as_json(self) -> Json:
        return {
            "what": self.what,
            "holds": self.broken is None,
            "seq": self.broken.seq if self.broken else None,
            "reason": self.broken.reason if self.broken else None,
        }


@value
class AuditReport:
    """What a check of all chats found. `full_at` is when every record was last read; None if a stopped check was to be the first."""

    findings: tuple[AuditFinding, ...]
    full: bool
    full_at: str | None
    stopped: bool = False

    @property
    def checked(self) -> int:
        return sum(finding.checked for finding in self.findings)

    @property
    def earlier(self) -> int:
        return sum(finding.earlier for finding in self.findings)

    def as_json(self) -> Json:
        return {
            "chains": len(self.findings),
            "broken": [finding.as_json() for finding in self.findings if finding.broken],
            "full": self.full,
            "checked": self.checked,
            "earlier": self.earlier,
            "full_at": self.full_at,
            "stopped": self.stopped,
        }


class AuditProgress:
    """How far a running check is. Any thread may read it, or stop the check. It pauses for `pause` seconds after each page."""

    def __init__(self, *, pause: float = 0.0) -> None:
        self.chats = 0
        self.all_chats = 0
        self.records = 0
        self._pause = pause
        self._stop = threading.Event()

    def stop(self) -> None:
        self._stop.set()

    def add(self, records: int) -> None:
        """Raises: AuditStopped."""
        self.records += records
        if self._stop.is_set():
            raise AuditStopped
        if self._pause:
            time.sleep(self._pause)


class AuditStopped(Exception):
    """Someone stopped the check."""


def check_audit(
    settings: Settings,
    now: str,
    *,
    full: bool = False,
    read_anyway: int = READ_ANYWAY,
    progress: AuditProgress | None = None,
) -> AuditReport:
    """Verifies every chat and the heads; without `full`, and of more than `read_anyway` records, from where the last check ended.

    Blocking. Raises: StorageFault.
    """
    progress = progress or AuditProgress()
    path = marks_path(settings.database_path)
    stored_marks = read_marks(path)
    marks = (
        None
        if full or stored_marks is None or stored_marks.records <= read_anyway or _is_old(stored_marks, now)
        else stored_marks
    )
    heads = AuditHeadsFile(heads_path(settings.database_path), after=marks.heads if marks else None)
    check = _AuditCheck(heads, marks, progress)
    try:
        with open_to_read(settings) as (connection, expects_heads):  # after the heads: it may grow meanwhile
            check.run(connection, expects_heads=expects_heads)
        check.findings += _role_changes(settings)
    except AuditStopped:
        return AuditReport(
            tuple(check.findings), marks is None, stored_marks.full_at if stored_marks else None, stopped=True
        )
    full_at = marks.full_at if marks else now
    _remember(path, check, full_at)
    return AuditReport(tuple(check.findings), marks is None, full_at)


def check_chats(settings: Settings, chats: Sequence[str], heads: "AuditHeadsFile") -> list[AuditFinding]:
    """Verifies every record of these chats, and the heads. Blocking. Raises: StorageFault."""
    with open_to_read(settings) as (connection, expects_heads):
        findings = [
            _finding(chat_id, check_chain(connection, chat_id, head=heads.newest.get(chat_id)))
            for chat_id in dict.fromkeys(chats)
        ]
        return [*findings, *heads.finding(is_expected=expects_heads)]


class _AuditCheck:
    """One check of all chats: from the marks on, or from the beginning without them."""

    def __init__(self, heads: "AuditHeadsFile", marks: AuditMarks | None, progress: AuditProgress) -> None:
        self.findings: list[AuditFinding] = []
        self.verified: dict[str, VerifiedChain] = {}
        self.heads = heads
        self._had_heads = marks is not None and marks.heads is not None
        self._marks = {} if marks is None else {k: chain for k, chain in marks.chains.items() if k not in heads.removed}
        self._progress = progress

    def run(self, connection: SqlConnection, *, expects_heads: bool) -> None:
        """Raises: AuditStopped."""
        chat_ids = dict.fromkeys([*chain_ids(connection), *self.heads.chats(), *self._marks])
        self._progress.all_chats = len(chat_ids)
        for chat_id in chat_ids:
            self._check_chat(connection, chat_id)
            self._progress.chats += 1
        if connection.dialect.has_table(connection, "people_changes") and (broken := check_people(connection)):
            self.findings.append(AuditFinding(_PEOPLE, broken))
        has_limits = all(connection.dialect.has_table(connection, name) for name in ("people_changes", "limits"))
        if has_limits and (broken_limits := check_limits(connection)):
            self.findings.append(AuditFinding(_LIMITS, broken_limits))
        self.findings += self.heads.finding(is_expected=expects_heads or self._had_heads)

    def _check_chat(self, connection: SqlConnection, chat_id: str) -> None:
        mark = self._marks.get(chat_id)
        chain_check = check_chain(
            connection,
            chat_id,
            head=self.heads.newest.get(chat_id),
            after=mark.end if mark else None,
            on_page=self._progress.add,
        )
        earlier = mark.records if mark else 0
        self.findings.append(_finding(chat_id, chain_check, earlier))
        if chain_check.end is not None:
            self.verified[chat_id] = VerifiedChain(chain_check.end, earlier + chain_check.checked)


def _role_changes(settings: Settings) -> list[AuditFinding]:
    check = check_role_changes(settings.data_dir / ROLE_CHANGES)
    return [AuditFinding(_ROLES, check.broken, check.end)] if check is not None else []


def _is_old(marks: AuditMarks, now: str) -> bool:
    return later(marks.full_at, FULL_DAYS * 86_400) < now


def _finding(chat_id: str, check: ChainCheck, earlier: int = 0) -> AuditFinding:
    subject = _PEOPLE_CHANGES if chat_id == PEOPLE_CHAIN else f"chat {chat_id}"
    return AuditFinding(subject, check.broken, check.end.hash if check.end else "", check.checked, earlier)


def _remember(path: Path, check: _AuditCheck, full_at: str) -> None:
    """Keeps what was verified. After a broken chain nothing counts as verified, so that the next check reads everything."""
    try:
        if any(finding.broken for finding in check.findings):
            path.unlink(missing_ok=True)
        else:
            write_marks(path, AuditMarks(full_at, check.heads.mark, check.verified))
    except OSError as error:
        log.warning("how far the audit chains were verified could not be written to %s: %s", path, error)


class AuditHeadsFile:
    """The file of heads; without one there is nothing to compare with. `after` is the head to go on from.

    Only the newest head of each chat is kept in memory. `removed` are the chats that were deleted.
    """

    def __init__(self, path: Path, *, after: VerifiedHead | None = None) -> None:
        self.newest: dict[str, ChainHead] = {}
        self.removed: set[str] = set()
        self.count = 0
        self.last: ChainHead | None = None
        self.mark: VerifiedHead | None = None
        self.broken: BrokenChain | None = None
        self._path = path
        try:
            self.broken = self._read(after)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            self.broken = BrokenChain(self.count, f"it cannot be read ({os_reason(error)})")

    def chats(self) -> list[str]:
        """Returns the chats that must be in the database."""
        return [chat_id for chat_id, head in self.newest.items() if head.event is HeadEvent.ADVANCED]

    def finding(self, *, is_expected: bool) -> list[AuditFinding]:
        """Returns what was found of the file; nothing if there is none and none must be."""
        if not (self.count or self.broken or is_expected):
            return []
        missing = None if self.count else BrokenChain(0, "the file is missing or empty")
        return [AuditFinding(_HEADS, self.broken or missing, self.last.head if self.last else "")]

    def has_head(self, count: int, head: str) -> bool:
        """Tells whether the file holds this head at this place."""
        try:
            return any(heads.count == count and heads.head == head for _, heads in read_heads(self._path))
        except (OSError, ValueError):
            return False

    def _read(self, after: VerifiedHead | None) -> BrokenChain | None:
        """Raises: OSError, ValueError."""
        heads, before = read_heads(self._path, after.offset if after else 0), None
        if after is not None:
            before = next((head for _, head in heads), None)
            if before is None or (before.count, before.head) != (after.count, after.head):
                return BrokenChain(after.count, "this head is no longer where an earlier check found it")
            self.count, self.last, self.mark = before.count, before, after
        seen = self._noted(heads)
        broken = verify_heads(seen, after=before)
        deque(seen, maxlen=0)  # the chats of the heads after a broken one are still wanted
        return broken

    def _noted(self, heads: Iterator[tuple[int, ChainHead]]) -> Iterator[ChainHead]:
        for offset, head in heads:
            self.count, self.last = self.count + 1, head
            self.mark = VerifiedHead(offset, head.count, head.head)
            if head.chat_id:
                self.newest[head.chat_id] = head
            if head.event is HeadEvent.REMOVED:
                self.removed.add(head.chat_id)
            yield head


_PAUSE = 0.001  # seconds after each page of records, in which the event loop gets its turn


class AuditService:
    """Checks of all audit chains, one at a time."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._running: AuditProgress | None = None

    async def verify(self, *, full: bool) -> Json:
        """Returns the report. Raises: Conflict if a check runs already; StorageFault."""
        if self._running is not None:
            raise Conflict("The audit chain is being checked already. Wait for its end, or stop it.")
        progress = self._running = AuditProgress(pause=_PAUSE)
        try:
            report = await asyncio.to_thread(
                check_audit, self._settings, self._clock.now(), full=full, progress=progress
            )
        finally:
            progress.stop()  # if the server stops, so does the thread
            self._running = None
        return report.as_json()

    def export(self) -> Iterator[bytes]:
        """Yields the export of all chats. Blocking. Raises: StorageFault, OSError."""
        return export_audit(self._settings, self._clock.now())

    def progress(self) -> Json:
        now = self._running or AuditProgress()
        return {
            "running": self._running is not None,
            "chats": now.chats,
            "all_chats": now.all_chats,
            "records": now.records,
        }

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
