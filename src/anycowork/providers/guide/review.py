"""Reports what can be found in a file without understanding it: leftovers, long lines, mixed indentation, no final newline. Pure."""

import re
from collections.abc import Iterator

from anycowork.domain.messages import Json
from anycowork.domain.text_lines import bare_lines

LONG_LINE = 150
MAX_FINDINGS = 50
_LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def findings(path: str, text: str) -> list[Json]:
    """Returns at most fifty findings, in the order of the lines."""
    found = [*_by_line(path, text), *_of_the_whole(path, text)]
    return found[:MAX_FINDINGS]


def _by_line(path: str, text: str) -> Iterator[Json]:
    for number, line in enumerate(bare_lines(text), 1):
        if left := _LEFTOVER.search(line):
            yield _finding(path, number, f"{left[1]} left in the file.", "Do it, or note it where work is tracked.")
        if len(line) > LONG_LINE:
            yield _finding(path, number, f"A line of {len(line)} characters.", f"Break it below {LONG_LINE}.")
        if re.match(r" +\t|\t+ +\S", line):
            yield _finding(path, number, "Tabs and spaces mixed in one indentation.", "Use one of them.")
        if line != line.rstrip():
            yield _finding(path, number, "White space at the end of the line.", "Remove it.")


def _of_the_whole(path: str, text: str) -> Iterator[Json]:
    indents = {line[0] for line in bare_lines(text) if line[:1] in ("\t", " ") and line.strip()}
    if len(indents) > 1:
        yield _finding(path, None, "Some lines are indented with tabs, others with spaces.", "Use one of them.")
    if text and not text.endswith("\n"):
        yield _finding(path, None, "The last line does not end with a newline.", "Add one.")
    if not text:
        yield _finding(path, None, "The file is empty.", "Remove it if it is not needed.")


def _finding(path: str, line: int | None, problem: str, suggestion: str) -> Json:
    place: Json = {"path": path} if line is None else {"path": path, "line": line}
    return {**place, "severity": "minor", "problem": problem, "suggestion": suggestion}
