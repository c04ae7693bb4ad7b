"""Edits a text by search and replace or by line numbers. Pure; every error shows what is really there."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from anycowork.domain.errors import NoMatch
from anycowork.domain.visible_text import bare_lines
from anycowork.workspace.text import TextFile, lines_of, with_line_ends

_MAX_SHOWN = 20
_AROUND = 2
_MOST_LOOSE = 20_000_000  # characters searched for lines that only resemble `find`, by all edits of a call
_MOST_COMPARED = 1_000_000  # characters of a file whose lines are compared with `find`
_LONGEST_LINE = 1_000  # characters of one line that are compared


@dataclass(frozen=True, slots=True)
class TextEdit:
    find: str
    replace: str


def apply_edits(text: TextFile, edits: Sequence[TextEdit], path: str) -> TextFile:
    """Applies edits in order; each `find` must match exactly one place. Bytes outside these places stay. Raises: NoMatch."""
    body = text.body
    for number, edit in enumerate(edits, start=1):
        subject = f"Nothing was changed: 'find' of edit {number}" if len(edits) > 1 else "'find'"
        loose = _loose_place(body, edit) if number * len(body) <= _MOST_LOOSE else None
        start, end, new = loose or (*_only_place(body, edit.find, subject, path, text.body), edit.replace)
        body = body[:start] + with_line_ends(new, _newline_for(body[start:end], text)) + body[end:]
    return text.with_body(body)


def replace_lines(text: TextFile, start: int, end: int, content: str, path: str) -> TextFile:
    """Replaces lines `start` to `end`, both included and counted from 1. Empty content removes them. Raises: NoMatch."""
    lines = lines_of(text.body)
    if end > len(lines):
        raise NoMatch(f"'{path}' has {len(lines)} lines; lines {start} to {end} are not all there. Read it again.")
    new = with_line_ends(content, text.newline)
    if new and not new.endswith("\n") and lines[end - 1].endswith("\n"):
        new += text.newline  # or the next line would be joined to it
    return text.with_body("".join([*lines[: start - 1], new, *lines[end:]]))


def first_lines(body: str, count: int) -> str:
    return numbered(lines_of(body)[:count], first=1)


def numbered(lines: Sequence[str], *, first: int) -> str:
    return "\n".join(f"{number}: {line.rstrip()[:200]}" for number, line in enumerate(lines, start=first))


def _loose_place(body: str, edit: TextEdit) -> tuple[int, int, str] | None:
    """Finds whole lines that differ from `find` only by their indentation, all by the same, and indents the replacement
    likewise. Returns None if `find` occurs exactly, or if there is not exactly one such place."""
    lines = bare_lines(edit.find.strip("\r\n"))
    if not edit.find.strip() or _first_places(body, edit.find):
        return None
    matching_rows = _only_lines(body.split("\n"), [line.strip() for line in lines])
    if matching_rows is None:
        return None
    start, rows = matching_rows
    given_indents = [_indent(line) for line in lines if line.strip()]
    actual_indents = [_indent(row) for row, line in zip(rows, lines, strict=True) if line.strip()]
    if len({len(is_) - len(was) for is_, was in zip(actual_indents, given_indents, strict=True)}) != 1:
        return None  # otherwise the lines in between would be indented by guesswork
    end = start + sum(len(row) + 1 for row in rows[:-1]) + len(_indent(rows[-1])) + len(lines[-1].strip())
    return (
        start,
        end,
        "\n".join(_moved(line, given_indents[0], actual_indents[0]) for line in bare_lines(edit.replace.strip("\r\n"))),
    )


def _only_lines(rows: Sequence[str], expected: Sequence[str]) -> tuple[int, Sequence[str]] | None:
    """Returns the only rows that equal the wanted lines except for blanks around each, and where the first of them begins.

    It is one text search: its time grows with the file, whatever blanks it contains.
    """
    bare = [row.removesuffix("\r").strip(" \t") for row in rows]
    text, passage = "\n".join(["", *bare, ""]), "\n".join(["", *expected, ""])
    position = text.find(passage)
    if position < 0 or text.find(passage, position + 1) >= 0:
        return None
    first = text.count("\n", 0, position)
    return sum(len(row) + 1 for row in rows[:first]), rows[first : first + len(expected)]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _moved(line: str, given_indent: str, actual_indent: str) -> str:
    return actual_indent + line.removeprefix(given_indent) if line.strip() and line.startswith(given_indent) else line


def _only_place(body: str, find: str, subject: str, path: str, before: str) -> tuple[int, int]:
    """`before` is the file as it is, which an error shows."""
    positions = _first_places(body, find)
    if len(positions) == 1:
        return positions[0]
    if not positions:
        raise NoMatch(f"{subject} does not occur in '{path}'. {_nearest(before, find)}")
    rows = ", ".join(str(body.count("\n", 0, start) + 1) for start, _ in positions[:_MAX_SHOWN])
    more = " and more" if len(positions) > _MAX_SHOWN else ""
    raise NoMatch(
        f"{subject} occurs several times in '{path}', on lines {rows}{more}. Give more of the text around it, so that it fits one place."
    )


def _first_places(body: str, find: str) -> list[tuple[int, int]]:
    """Overlapping places count: they are ambiguous, too. A line feed in `find` also matches a Windows line end."""
    searched = find.replace("\r\n", "\n")
    ends = _windows_ends(body) if "\n" in searched else []
    text = body.replace("\r\n", "\n") if ends else body
    positions: list[tuple[int, int]] = []
    start = text.find(searched)
    while start >= 0 and len(positions) <= _MAX_SHOWN:
        end = start + len(searched)
        positions.append((start + bisect_left(ends, start), end + bisect_left(ends, end)))
        start = text.find(searched, start + 1)
    return positions


def _windows_ends(body: str) -> list[int]:
    """Returns where the two-character line ends are, counted as if each had only one."""
    lengths = (len(line) for line in body.split("\r\n")[:-1])
    return [end + before for before, end in enumerate(accumulate(lengths))]


def _newline_for(replaced: str, text: TextFile) -> str:
    if "\n" not in replaced:
        return text.newline
    return "\r\n" if "\r\n" in replaced else "\n"


def _nearest(body: str, find: str) -> str:
    lines = lines_of(body)
    best = _best_line(lines, find)
    if best is None:
        return f"Nothing like it is there. The file begins:\n{first_lines(body, 5)}" if lines else "The file is empty."
    start = max(0, best - _AROUND)
    length = min(find.count("\n") + 1, 20)
    return f"The nearest lines are:\n{numbered(lines[start : best + length + _AROUND], first=start + 1)}\nCopy the text exactly."


def _best_line(lines: Sequence[str], find: str) -> int | None:
    """Returns the line that shares most words with the first distinctive line of `find`; only searches the start of a long file."""
    near = sum(1 for _ in takewhile(lambda length: length < _MOST_COMPARED, accumulate(map(len, lines))))
    rows = [set(_words(line)) for line in lines[: near + 1]]
    for expected_words in (set(line_words) for line_words in _word_lists(find)):
        scores = (
            (len(expected_words & line_words) / len(expected_words | line_words), -row)
            for row, line_words in enumerate(rows)
        )
        score, row = max(scores, default=(0.0, 0))
        if score >= 0.3:
            return -row
    return None


def _word_lists(find: str) -> Iterator[list[str]]:
    candidates = sorted(find.split("\n", 10)[:10], key=lambda line: -len(_words(line)))[:3]
    yield from (line_words for line_words in map(_words, candidates) if line_words)


def _words(line: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", line[:_LONGEST_LINE])
