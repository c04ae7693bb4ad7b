"""`anycowork audit …`: checks the hash chains of chats and of downloaded logs."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from anycowork.cli.chats import opened_output
from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import DataDir, Invocation, invoked, require_readable_file
from anycowork.cli.run_outcome import print_error
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.domain.audit import BrokenChain, ChainLink
from anycowork.domain.audit import verify as verify_links
from anycowork.domain.bounded_json import STORED_DEPTH, read_json
from anycowork.domain.errors import AnyCoworkError
from anycowork.server.audit.audit_check import (
    FULL_DAYS,
    AuditFinding,
    AuditHeadsFile,
    AuditProgress,
    AuditReport,
    check_audit,
    check_chats,
)
from anycowork.server.audit.audit_export import export_audit
from anycowork.server.audit.export_verifier import main as verify_export
from anycowork.server.clock import SystemClock
from anycowork.store.sql.audit import heads_path

EXPORT_HELP = """Write one file for auditors: chains, people, decisions, checks.

A zip file of JSON lines, with the heads of the chains, with and without a running server. Values that look like secrets are hidden
in it. Verify it with `anycowork audit verify FILE`, or offline, without AnyCowork, with the script
server/audit/export_verifier.py of the release.
Keep the printed digest elsewhere: it proves later that nothing in the export was changed.

Exit codes: 0 written, 1 it could not be written or read, 2 usage.

Example:

\b
    anycowork audit export audit.zip
"""

VERIFY_HELP = """Check that no record of a chat was changed or removed.

Works with and without a running server. To check a log downloaded from /context/{id}/audit/log, or an audit export, name its file.
Keep the printed end elsewhere: it proves later that the chat's history up to it is unchanged.

Every record is read. Only a check of all chats with more than 100,000 records goes on where the last one ended, and says so: it
reads the older ones with --full, and by itself every 7 days.

Exit codes: 0 every chain is intact, 1 one is broken or missing, 2 usage.

Examples:

\b
    anycowork audit verify
    anycowork audit verify --full
    anycowork audit verify 0197f3f0-… log.jsonl
"""

app = CommandGroup(help="The log of every decision and effect, chained by hashes.", no_args_is_help=True)


@app.command("verify", help=VERIFY_HELP)
def verify_audit(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(help="Chats, or files with a log.", metavar="CHAT|FILE")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every chat; the default without a name.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Read every record of all chats, also those that an earlier check has read.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    raise typer.Exit(verify(invoked(context, data_dir=data_dir), names or [], every=every or full, full=full))


@app.command("export", help=EXPORT_HELP)
def export_command(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The zip file to write.", metavar="FILE")],
    data_dir: DataDir = None,
) -> None:
    raise typer.Exit(export(invoked(context, data_dir=data_dir), file))


def export(invocation: Invocation, file: Path) -> int:
    """Writes the export of all chats, readable by its owner only. Returns 0, or 1 if that failed; then there is no file."""
    target = Path(invocation.cwd, file)
    try:
        settings = invocation.settings()
        with opened_output(target, private=True) as output:
            for piece in export_audit(settings, SystemClock().now()):
                output.write(piece)
    except AnyCoworkError as error:
        return print_error("audit export", error)
    except OSError as error:
        stderr().line(f"anycowork audit export: '{file}' cannot be written ({error.strerror}).")
        return 1
    return verify_export([str(target)])


_PROGRESS_SECONDS = 5.0


def verify(invocation: Invocation, names: Sequence[str], *, every: bool, full: bool = False) -> int:
    """Verifies the named chats, or all. Returns 0 if every chain is intact, 1 if one is broken or missing, 2 for wrong arguments.

    Of named chats and files every record is read; of all chats with `full`, else those that no earlier check has read.
    """
    every, cwd = every or not names, invocation.cwd
    if len(names) == 1 and names[0].endswith(".zip"):
        return verify_export([str(Path(cwd, names[0]))])
    report: AuditReport | None = None
    try:
        files = [Path(cwd, name) for name in names if Path(cwd, name).is_file()]
        chats = [name for name in names if not Path(cwd, name).is_file()]
        for name in chats:
            if _names_a_file(name):
                require_readable_file(Path(cwd, name))
        settings = invocation.settings()
        heads = AuditHeadsFile(heads_path(settings.database_path))  # before the database, which may grow meanwhile
        findings = [_in_file(path, heads) for path in files]
        if chats:
            findings += check_chats(settings, chats, heads)  # with the heads of all chats
        if every:
            report = check_audit(settings, SystemClock().now(), full=full, progress=_PrintedProgress())
            findings += report.findings
    except AnyCoworkError as error:
        return print_error("audit verify", error)
    for finding in findings:
        _print_finding(finding)
    if not findings:
        stdout().line("There is no chat yet, so nothing to verify.")
    elif report is not None:
        stdout().line(_summary(report))
    return 1 if any(finding.broken for finding in findings) else 0


class _PrintedProgress(AuditProgress):
    """Says every few seconds how far a long check is."""

    def __init__(self) -> None:
        super().__init__()
        self._next = time.monotonic() + _PROGRESS_SECONDS

    def add(self, records: int) -> None:
        super().add(records)
        if time.monotonic() >= self._next:
            self._next += _PROGRESS_SECONDS
            stderr().line(f"… {self.records:,} records, {self.chats:,} of {self.all_chats:,} chats")


def _summary(report: AuditReport) -> str:
    if report.full:
        return f"Read all {report.checked:,} records."
    return (
        f"Read {report.checked:,} new records. {report.earlier:,} older ones were read by earlier checks and not again;"
        f" all of them were last read at {report.full_at}. Read everything with --full (happens by itself every {FULL_DAYS} days)."
    )


def _names_a_file(name: str) -> bool:
    """The id of a chat has no slash, and a downloaded log ends in .jsonl."""
    return "/" in name or name.endswith(".jsonl")


def _in_file(path: Path, heads: AuditHeadsFile) -> AuditFinding:
    try:
        with path.open("rb") as lines:
            log = _ChainLog(lines)
    except OSError as error:
        return AuditFinding(str(path), BrokenChain(0, f"it cannot be read ({error.strerror})"))
    if not log.readable or not (log.links or log.end is not None):
        return AuditFinding(str(path), BrokenChain(0, "it is not an audit log"))
    broken = verify_links(log.links, end="its last line is missing" if log.end is None else log.end)
    return AuditFinding(str(path), broken or _contradicted(heads, log), log.end or "")


def _contradicted(heads: AuditHeadsFile, log: "_ChainLog") -> BrokenChain | None:
    """A log of one of these chats names the newest head of its day, which must still be there."""
    if log.chat_id not in heads.newest or log.heads is None:
        return None
    count, head = log.heads
    if heads.has_head(count, head):
        return None
    return BrokenChain(0, "the heads beside the database no longer hold the one that this log names")


class _ChainLog:
    """A downloaded log. Its last line holds the end; without it the log was cut."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self.end: str | None = None
        self.chat_id = ""
        self.heads: tuple[int, str] | None = None
        self.readable = True
        self.links: list[ChainLink] = []
        for line in lines:
            self._read_line(line)

    def _read_line(self, line: bytes) -> None:
        try:
            entry: Any = read_json(line, strict=False, max_depth=STORED_DEPTH, max_values=len(line))
            if not isinstance(entry, dict):
                raise TypeError("not a line of a log")
            if "end" in entry:
                self.end, self.chat_id = str(entry["end"]), str(entry.get("chat_id"))
                if heads := entry.get("heads"):
                    self.heads = (int(heads["count"]), str(heads["head"]))
            else:
                self.links.append(ChainLink(int(entry["seq"]), str(entry["record"]).encode(), str(entry["hash"])))
        except (ValueError, KeyError, TypeError):
            self.readable = False


def _print_finding(finding: AuditFinding) -> None:
    if finding.broken is None:
        since = f" ({finding.earlier:,} records read earlier, {finding.checked:,} now)" if finding.earlier else ""
        stdout().line(strip_controls(f"{finding.what}: holds{since}, ends with {finding.end or 'nothing yet'}"))
        return
    state = f"broken at record {finding.broken.seq}" if finding.broken.seq else "does not hold"
    stderr().line(strip_controls(f"{finding.what}: {state}: {finding.broken.reason}"))
