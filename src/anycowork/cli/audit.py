"""`anycowork audit verify`: walks the hash chains, in the database or in downloaded logs, and reports the first broken record.

A second file beside the database holds the heads of the chains: it reveals a chain that was cut or removed as a whole.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from anycowork.cli.command_errors import print_error
from anycowork.cli.options import Invocation
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.config.settings import Settings
from anycowork.domain.audit import BrokenChain, ChainHead, HeadEvent, Link, verify_heads
from anycowork.domain.audit import verify as verify_links
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.values import value
from anycowork.server.database_setup import open_to_read
from anycowork.store.sql.audit import chat_ids, end_of, verify_chat
from anycowork.store.sql.audit_heads import heads_path, read_heads


@value
class AuditFinding:
    what: str
    broken: BrokenChain | None
    end: str = ""


def verify(invocation: Invocation, what: Sequence[str], *, every: bool) -> int:
    """Verifies the named chats, or all. Returns 0 if every chain is intact, 1 if one is broken or missing, 2 for wrong arguments."""
    every, cwd = every or not what, invocation.cwd
    try:
        files = [Path(cwd, name) for name in what if Path(cwd, name).is_file()]
        chats = [name for name in what if not Path(cwd, name).is_file()]
        settings = invocation.settings()
        heads = _Heads(heads_path(settings.database_path))  # before the database, which may grow meanwhile
        findings = [_in_file(path, heads) for path in files]
        if chats or every:
            findings += _in_database(settings, chats, heads, every=every)
    except AnyCoworkError as error:
        return print_error("audit verify", error)
    for finding in findings:
        _print_finding(finding)
    if not findings:
        stdout().line("There is no chat yet, so nothing to verify.")
    return 1 if any(finding.broken for finding in findings) else 0


def _in_database(settings: Settings, chats: Sequence[str], heads: "_Heads", *, every: bool) -> list[AuditFinding]:
    with open_to_read(settings) as (connection, expects_heads):
        wanted = [*chats, *([*chat_ids(connection), *heads.chats()] if every else [])]
        found = []
        for chat_id in dict.fromkeys(wanted):
            end = end_of(connection, chat_id)
            broken = verify_chat(connection, chat_id, heads.newest.get(chat_id))
            found.append(AuditFinding(f"chat {chat_id}", broken, end.hash if end else ""))
        if heads.all or expects_heads:
            missing = None if heads.all else BrokenChain(0, "the file is missing or empty")
            found.append(
                AuditFinding("heads of all chats", heads.broken or missing, heads.all[-1].head if heads.all else "")
            )
    return found


class _Heads:
    """The file of heads; without one there is nothing to compare with."""

    def __init__(self, path: Path) -> None:
        self.all: list[ChainHead] = []
        self.broken: BrokenChain | None = None
        try:
            self.all += read_heads(path)
            self.broken = verify_heads(self.all)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            self.broken = BrokenChain(len(self.all), f"it cannot be read ({error})")
        self.newest = {head.chat_id: head for head in self.all if head.chat_id}

    def chats(self) -> list[str]:
        """Returns the chats that must be in the database."""
        return [chat_id for chat_id, head in self.newest.items() if head.event is HeadEvent.ADVANCED]

    def contradict(self, log: "_ChainLog") -> BrokenChain | None:
        """A log of one of these chats names the newest head of its day, which must still be there."""
        if log.chat_id not in self.newest or log.heads is None:
            return None
        count, head = log.heads
        if 0 < count <= len(self.all) and self.all[count - 1].head == head:
            return None
        return BrokenChain(0, "the heads beside the database no longer hold the one that this log names")


def _in_file(path: Path, heads: _Heads) -> AuditFinding:
    try:
        with path.open("rb") as lines:
            log = _ChainLog(lines)
    except OSError as error:
        return AuditFinding(str(path), BrokenChain(0, f"it cannot be read ({error.strerror})"))
    if not log.readable or not (log.links or log.end is not None):
        return AuditFinding(str(path), BrokenChain(0, "it is not an audit log"))
    broken = verify_links(log.links, end="its last line is missing" if log.end is None else log.end)
    return AuditFinding(str(path), broken or heads.contradict(log), log.end or "")


class _ChainLog:
    """A downloaded log. Its last line holds the end; without it the log was cut."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self.end: str | None = None
        self.chat_id = ""
        self.heads: tuple[int, str] | None = None
        self.readable = True
        self.links: list[Link] = []
        for line in lines:
            self._read_line(line)

    def _read_line(self, line: bytes) -> None:
        try:
            found = json.loads(line)
            if "end" in found:
                self.end, self.chat_id = str(found["end"]), str(found.get("chat_id"))
                if heads := found.get("heads"):
                    self.heads = (int(heads["count"]), str(heads["head"]))
            else:
                self.links.append(Link(int(found["seq"]), str(found["record"]).encode(), str(found["hash"])))
        except (ValueError, KeyError, TypeError):
            self.readable = False


def _print_finding(finding: AuditFinding) -> None:
    if finding.broken is None:
        stdout().line(strip_controls(f"{finding.what}: holds, ends with {finding.end or 'nothing yet'}"))
        return
    place = f"broken at record {finding.broken.seq}" if finding.broken.seq else "does not hold"
    stderr().line(strip_controls(f"{finding.what}: {place}: {finding.broken.reason}"))
