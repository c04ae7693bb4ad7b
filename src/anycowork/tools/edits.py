"""Changing a text by its own words or by line numbers. Pure; every refusal shows what is really there."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from anycowork.domain.errors import NoMatch
from anycowork.workspace.text import Text, lines_of, with_line_ends

_MOST_TOLD = 20
_AROUND = 2


@dataclass(frozen=True, slots=True)
class Edit:
    find: str
    replace: str


def apply_edits(text: Text, edits: Sequence[Edit], path: str) -> Text:
    """One after the other, each `find` in exactly one place. Bytes outside the places stay as they are. Raises: NoMatch."""
    body = text.body
    for number, edit in enumerate(edits, start=1):
        what = f"Nothing was changed: 'find' of edit {number}" if len(edits) > 1 else "'find'"
        start, end, new = _loose_place(body, edit) or (
            *_only_place(body, edit.find, what, path, text.body),
            edit.replace,
        )
        body = body[:start] + with_line_ends(new, _newline_for(body[start:end], text)) + body[end:]
    return text.with_body(body)


def replace_lines(text: Text, start: int, end: int, content: str, path: str) -> Text:
    """Lines `start` to `end`, both included and counted from 1. Empty content removes them. Raises: NoMatch."""
    lines = lines_of(text.body)
    if end > len(lines):
        raise NoMatch(f"'{path}' has {len(lines)} lines; lines {start} to {end} are not all there. Read it again.")
    new = with_line_ends(content, text.newline)
    if new and not new.endswith("\n") and lines[end - 1].endswith("\n"):
        new += text.newline  # or the next line would be glued to it
    return text.with_body("".join([*lines[: start - 1], new, *lines[end:]]))


def first_lines(body: str, count: int) -> str:
    return numbered(lines_of(body)[:count], first=1)


def numbered(lines: Sequence[str], *, first: int) -> str:
    return "\n".join(f"{number}: {line.rstrip()[:200]}" for number, line in enumerate(lines, start=first))


def _loose_place(body: str, edit: Edit) -> tuple[int, int, str] | None:
    """Where whole lines stand that differ from `find` by their indentation alone, all by the same, and the replacement indented
    as they are. None if `find` stands somewhere as it is, or if there is not exactly one such place."""
    lines = edit.find.strip("\r\n").splitlines()
    if not edit.find.strip() or _first_places(body, edit.find):
        return None
    between = r"[ \t]*\r?\n"
    pattern = between.join(rf"([ \t]*){re.escape(line.strip())}" for line in lines)
    found = list(islice(re.finditer(rf"^{pattern}(?=[ \t]*\r?$)", body, re.MULTILINE), 2))
    if len(found) != 1:
        return None
    given, there = [_indent(line) for line in lines if line.strip()], found[0].groups()
    there = tuple(indent for indent, line in zip(there, lines, strict=True) if line.strip())
    if len({len(is_) - len(was) for is_, was in zip(there, given, strict=True)}) != 1:
        return None  # what stands in between is then indented by guesswork
    return *found[0].span(), "\n".join(
        _moved(line, given[0], there[0]) for line in edit.replace.strip("\r\n").splitlines()
    )


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _moved(line: str, given: str, there: str) -> str:
    return there + line.removeprefix(given) if line.strip() and line.startswith(given) else line


def _only_place(body: str, find: str, what: str, path: str, before: str) -> tuple[int, int]:
    """`before` is the file as it is, which is what a refusal shows."""
    places = _first_places(body, find)
    if len(places) == 1:
        return places[0]
    if not places:
        raise NoMatch(f"{what} does not occur in '{path}'. {_nearest(before, find)}")
    rows = ", ".join(str(body.count("\n", 0, start) + 1) for start, _ in places[:_MOST_TOLD])
    more = " and more" if len(places) > _MOST_TOLD else ""
    raise NoMatch(
        f"{what} occurs several times in '{path}', on lines {rows}{more}. Give more of the text around it, so that it fits one place."
    )


def _first_places(body: str, find: str) -> list[tuple[int, int]]:
    """Overlapping places count: they are ambiguous too. A line feed in `find` also fits a Windows line end."""
    wanted = find.replace("\r\n", "\n").split("\n")
    pattern = re.compile(r"\r?\n".join(re.escape(line) for line in wanted))
    places: list[tuple[int, int]] = []
    found = pattern.search(body)
    while found and len(places) <= _MOST_TOLD:
        places.append(found.span())
        found = pattern.search(body, found.start() + 1)
    return places


def _newline_for(replaced: str, text: Text) -> str:
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
    """The line that shares most words with the first telling line of `find`; linear in the file's size."""
    for wanted in (set(words) for words in _word_lists(find)):
        scores = (
            (len(wanted & set(_words(line))) / len(wanted | set(_words(line))), -row) for row, line in enumerate(lines)
        )
        score, row = max(scores, default=(0.0, 0))
        if score >= 0.3:
            return -row
    return None


def _word_lists(find: str) -> Iterator[list[str]]:
    candidates = sorted(find.split("\n")[:10], key=lambda line: -len(_words(line)))[:3]
    yield from (words for words in map(_words, candidates) if words)


def _words(line: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", line)
