"""What language servers say about a file: read leniently and bounded, compared with what they said before, and told. Pure.

A server may be code of the workspace, so its words are data: one line each, without hidden characters, and few of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from anycowork.domain.tools import ToolResult
from anycowork.domain.values import replace, value
from anycowork.domain.visible_text import UntrustedText, visible
from anycowork.workspace.paths import shown

MOST_READ = 1_000  # errors of one file
MOST_TOLD = 10
LONGEST_MESSAGE = 300
_LONGEST_CODE = 40
_ERROR = 1  # the protocol's number for the severity
ERRORS_FACT, PENDING_FACT = "diagnostics", "diagnostics_pending"
DiagnosticKey = tuple[str, str]


@value
class Diagnostic:
    """An error on a line, counted from 1. `source_line` is the text there, which tells it from the same error elsewhere."""

    line: int
    message: str
    source_line: str

    @property
    def key(self) -> DiagnosticKey:
        return self.message, self.source_line


def read_errors(items: JsonValue, lines: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Returns the errors in a server's list of diagnostics for a text of these lines; everything else in it is passed over."""
    errors: list[Diagnostic] = []
    for item in items if isinstance(items, list) else ():
        if len(errors) == MOST_READ:
            break
        if isinstance(item, dict) and item.get("severity", _ERROR) == _ERROR:
            row = _row_of(item)
            errors.append(Diagnostic(row + 1, _message_of(item), lines[row].strip() if 0 <= row < len(lines) else ""))
    return tuple(errors)


def counted_keys(errors: Iterable[Diagnostic]) -> Counter[DiagnosticKey]:
    return Counter(error.key for error in errors)


def new_errors(errors: Iterable[Diagnostic], known: Counter[DiagnosticKey]) -> list[Diagnostic]:
    """Returns the errors that are not among the known ones; lines may have moved."""
    remaining = known.copy()
    fresh: list[Diagnostic] = []
    for error in errors:
        if remaining[error.key] > 0:
            remaining[error.key] -= 1
        else:
            fresh.append(error)
    return fresh


@value
class NewErrors:
    """The errors that edits brought, by the file's path from the root. `server` is the program's name."""

    server: str
    by_path: Mapping[str, Sequence[Diagnostic]]

    @property
    def count(self) -> int:
        return sum(map(len, self.by_path.values()))

    def as_text(self, edited: str) -> str:
        """Returns the errors as text for the model. Files other than the `edited` one are named."""
        lines = [
            f"- {'' if path == edited else f'{shown(path)}, '}line {error.line}: {error.message}"
            for path, error in self._told()
        ]
        more = [f"- and {self.count - len(lines)} more"] if self.count > len(lines) else []
        noun = "a new error" if self.count == 1 else f"{self.count} new errors"
        return "\n".join([f"The language server {self.server} reports {noun} (its words, as data):", *lines, *more])

    def as_fact(self) -> JsonValue:
        errors: list[JsonValue] = [
            {"path": path, "line": error.line, "message": error.message} for path, error in self._told()
        ]
        return {"server": self.server, "count": self.count, "errors": errors}

    def _told(self) -> list[tuple[str, Diagnostic]]:
        return [(path, error) for path, errors in self.by_path.items() for error in errors][:MOST_TOLD]


@value
class PendingCheck:
    """A server that has not reported on an edit yet. Its name is ours, so this is not untrusted text."""

    server: str
    is_starting: bool

    def as_text(self) -> str:
        state = "is still starting" if self.is_starting else "has not looked at this edit yet"
        return f"The language server {self.server} {state}; errors that it finds come with a later result."

    def as_fact(self) -> JsonValue:
        return {"server": self.server, "is_starting": self.is_starting}


@value
class EditCheck:
    """What is known about an edit when its result is shown."""

    errors: NewErrors | None = None
    pending: PendingCheck | None = None


def with_errors(result: ToolResult, errors: NewErrors, *, edited: str = "") -> ToolResult:
    content = f"{result.content}\n{errors.as_text(edited)}"
    return replace(result, content=content, facts={**result.facts, ERRORS_FACT: errors.as_fact()})


def _row_of(item: Mapping[str, JsonValue]) -> int:
    extent = item.get("range")
    start = extent.get("start") if isinstance(extent, dict) else None
    row = start.get("line") if isinstance(start, dict) else None
    return row if type(row) is int and 0 <= row < 10_000_000 else 0


def _message_of(item: Mapping[str, JsonValue]) -> str:
    raw_message, code = item.get("message"), item.get("code")
    message = _one_line(raw_message if isinstance(raw_message, str) else "", LONGEST_MESSAGE)
    suffix = _one_line(str(code), _LONGEST_CODE) if isinstance(code, str | int) else ""
    return (message or "an error without a message") + (f" ({suffix})" if suffix else "")


def _one_line(text: str, most: int) -> str:
    line = visible(UntrustedText(" ".join(text[: 4 * most].split())))
    return line if len(line) <= most else f"{line[:most]}…"
