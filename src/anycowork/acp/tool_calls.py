"""How an editor shows one tool call: its title, its kind, the files it is about, and its diff as pairs of old and new text. Pure."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from acp.helpers import text_block
from acp.schema import ContentToolCallContent, FileEditToolCallContent, ToolCallLocation, ToolKind
from pydantic import JsonValue

from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible, visible_line
from anycowork.workspace.text import lines_of

_NOTHING = "/dev/null"
_KINDS: dict[str, ToolKind] = {
    "read_file": "read",
    "list_directory": "read",
    "get_file_info": "read",
    "grep": "search",
    "search_code": "search",
    "search_symbol": "search",
    "create_file": "edit",
    "update_file": "edit",
    "move_file": "move",
    "delete_file": "delete",
    "execute_command": "execute",
}
_SUBJECTS = ("command", "path", "pattern", "query", "name")


def fenced(text: str, language: str = "") -> str:
    """The text in a code block whose fence is longer than every run of backticks in it."""
    longest = run = 0
    for sign in text:
        run = run + 1 if sign == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.removesuffix(chr(10))}\n{fence}"


def one_line(text: object, limit: int = 120) -> str:
    """One line for a title: hidden characters are written out, and a long text is cut."""
    line = visible_line(UntrustedText(str(text)))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def shown_text(text: object) -> str:
    """The whole text, hidden and misleading characters written out."""
    return visible(UntrustedText(str(text)))


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


def call_kind(tool: str) -> ToolKind:
    return _KINDS.get(tool, "other")


def call_title(tool: str, parameters: Mapping[str, JsonValue]) -> str:
    subject = next((parameters[name] for name in _SUBJECTS if isinstance(parameters.get(name), str)), "")
    target = f" → {parameters['to']}" if isinstance(parameters.get("to"), str) else ""
    return one_line(f"{tool} {subject}{target}".strip())


def call_locations(parameters: Mapping[str, JsonValue], workspace: str) -> list[ToolCallLocation]:
    """Of files inside the workspace only: an editor may open them at once."""
    line = parameters.get("start_line")
    paths = [parameters[name] for name in ("path", "to") if isinstance(parameters.get(name), str)]
    full_paths = [absolute_path(str(path), workspace) for path in paths]
    first = line if isinstance(line, int) and line > 0 else None
    return [ToolCallLocation(path=path, line=first) for path in full_paths if path is not None]


def diff_content(diff: str, workspace: str) -> list[FileEditToolCallContent | ContentToolCallContent]:
    """One piece for each hunk; the whole diff as text where a part of it cannot be drawn so."""
    hunks = diff_hunks(diff)
    located = [(hunk, absolute_path(hunk.path, workspace)) for hunk in hunks or ()]
    if hunks is None or any(path is None for _, path in located):
        return [ContentToolCallContent(type="content", content=text_block(fenced(shown_text(diff), "diff")))]
    return [
        FileEditToolCallContent(type="diff", path=path, old_text=hunk.old, new_text=hunk.new)
        for hunk, path in located
        if path is not None
    ]


def absolute_path(path: str, workspace: str) -> str | None:
    """The path in the workspace; None if it does not lie there."""
    full_path = PurePosixPath(workspace) / path
    inside = ".." not in full_path.parts and full_path.is_relative_to(workspace) and "\0" not in path
    return str(full_path) if inside else None
