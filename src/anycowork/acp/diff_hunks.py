"""A unified diff as pairs of old and new text, one for each hunk: the form that editors draw. Pure."""

from collections.abc import Sequence

from anycowork.domain.values import value
from anycowork.workspace.text import lines_of

_NOTHING = "/dev/null"


@value
class DiffHunk:
    """`old` is None in a file that is new. `line` is where the hunk begins in the new file."""

    path: str
    old: str | None
    new: str
    line: int


def diff_hunks(diff: str) -> list[DiffHunk] | None:
    """The hunks of all files; None if a line of it is no part of a unified diff, so that nothing is left out."""
    hunks: list[DiffHunk] = []
    before = after = ""
    old: list[str] = []
    new: list[str] = []
    line, remaining, last = 0, (0, 0), " "

    def close() -> None:
        if old or new:
            path = after if after != _NOTHING else before
            is_new = before == _NOTHING
            hunks.append(DiffHunk(path, None if is_new else "".join(old), "".join(new), line))
        old.clear()
        new.clear()

    for text in lines_of(diff):
        sign, content = text[:1], text[1:]
        if remaining != (0, 0) and sign in (" ", "-", "+"):
            if sign != "+":
                old.append(content)
            if sign != "-":
                new.append(content)
            remaining = (remaining[0] - (sign != "+"), remaining[1] - (sign != "-"))
            last = sign
        elif sign == "\\":
            _without_line_feed(*([] if last == "+" else [old]), *([] if last == "-" else [new]))
        elif text.startswith("--- "):
            close()
            before = _path(content[3:])
        elif text.startswith("+++ "):
            after = _path(content[3:])
        elif text.startswith("@@ ") and (counts := _counts(text)) is not None:
            close()
            line, remaining = counts[2], (counts[0], counts[1])
        else:
            return None
    close()
    return hunks if remaining == (0, 0) else None


def apply_hunks(text: str, hunks: Sequence[DiffHunk]) -> str | None:
    """The text of one file with its hunks applied; None if one does not fit at its line."""
    lines, done = lines_of(text), list[str]()
    position = 0  # in the lines: what comes before is done
    for hunk in hunks:
        unchanged = hunk.line - 1 - len(done) if hunk.new else hunk.line - len(done)
        old = lines_of(hunk.old or "")
        if unchanged < 0 or lines[position + unchanged : position + unchanged + len(old)] != old:
            return None
        done += [*lines[position : position + unchanged], *lines_of(hunk.new)]
        position += unchanged + len(old)
    return "".join([*done, *lines[position:]])


def _without_line_feed(*sides: list[str]) -> None:
    for lines in sides:
        lines[-1:] = [text.removesuffix("\n") for text in lines[-1:]]


def _path(text: str) -> str:
    """Without the line feed, a time after a tab, and the prefix `a/` or `b/`."""
    name = text.rstrip("\n").partition("\t")[0]
    return name if name == _NOTHING else name.removeprefix("a/") if name.startswith("a/") else name.removeprefix("b/")


def _counts(header: str) -> tuple[int, int, int] | None:
    """How many old and new lines follow, and the first new line, of `@@ -1,2 +3,4 @@`."""
    fields = header.split(" ")
    if len(fields) < 4 or not fields[1].startswith("-") or not fields[2].startswith("+"):
        return None
    old, new = fields[1][1:].split(","), fields[2][1:].split(",")
    if not all(part.isdecimal() for part in (*old, *new)) or max(len(old), len(new)) > 2:
        return None
    return int(old[1]) if len(old) == 2 else 1, int(new[1]) if len(new) == 2 else 1, int(new[0])
