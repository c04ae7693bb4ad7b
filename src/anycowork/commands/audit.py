"""`anycowork audit verify`: walks the hash chains, in the database or in fetched logs, and names the first record that does not hold."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from anycowork.commands.console import harmless, stderr, stdout
from anycowork.config import load_settings
from anycowork.domain.audit import Broken, Link
from anycowork.domain.audit import verify as verify_links
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.values import value
from anycowork.settings import BadSettings
from anycowork.store.audit import chat_ids, end_of, opened_to_read, verify_chat


@value
class Finding:
    what: str
    broken: Broken | None
    end: str = ""


def verify(
    flags: Mapping[str, object], environ: Mapping[str, str], what: Sequence[str], *, every: bool, cwd: Path
) -> int:
    """Of what is named, or of every chat: 0 if every chain holds, 1 if one is broken or missing, 2 for unfitting words."""
    every = every or not what
    try:
        files = [Path(cwd, name) for name in what if Path(cwd, name).is_file()]
        chats = [name for name in what if not Path(cwd, name).is_file()]
        findings = [_in_file(path) for path in files]
        if chats or every:
            database = load_settings(flags, environ, cwd=cwd).database_path
            findings += _in_database(database, chats, every=every)
    except AnyCoworkError as error:
        stderr().line(f"anycowork audit verify: {error.message}")
        return 2 if isinstance(error, BadSettings) else 1
    for finding in findings:
        _tell(finding)
    if not findings:
        stdout().line("There is no chat yet, so nothing to verify.")
    return 1 if any(finding.broken for finding in findings) else 0


def _in_database(path: Path, chats: Sequence[str], *, every: bool) -> list[Finding]:
    with opened_to_read(path) as connection:
        wanted = [*chats, *(chat_ids(connection) if every else [])]
        found = []
        for chat_id in dict.fromkeys(wanted):
            end = end_of(connection, chat_id)
            found.append(Finding(f"chat {chat_id}", verify_chat(connection, chat_id), end.hash if end else ""))
    return found


def _in_file(path: Path) -> Finding:
    try:
        with path.open("rb") as lines:
            log = _Log(lines)
    except OSError as error:
        return Finding(str(path), Broken(0, f"it cannot be read ({error.strerror})"))
    if not log.readable or not (log.links or log.end is not None):
        return Finding(str(path), Broken(0, "it is no audit log"))
    broken = verify_links(log.links, end="its last line is missing" if log.end is None else log.end)
    return Finding(str(path), broken, log.end or "")


class _Log:
    """A fetched log. Its last line holds the end; without it the log was cut."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self.end: str | None = None
        self.readable = True
        self.links: list[Link] = []
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            found = json.loads(line)
            if "end" in found:
                self.end = str(found["end"])
            else:
                self.links.append(Link(int(found["seq"]), str(found["record"]).encode(), str(found["hash"])))
        except (ValueError, KeyError, TypeError):
            self.readable = False


def _tell(finding: Finding) -> None:
    if finding.broken is None:
        stdout().line(harmless(f"{finding.what}: holds, ends with {finding.end or 'nothing yet'}"))
        return
    place = f"broken at record {finding.broken.seq}" if finding.broken.seq else "does not hold"
    stderr().line(harmless(f"{finding.what}: {place}: {finding.broken.reason}"))
