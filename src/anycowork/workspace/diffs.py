"""The one engine for differences: what people approve, what is stored and what is counted come from here. Pure."""

from dataclasses import dataclass

import patiencediff

from anycowork.workspace.text import decode, lines_of

LARGEST_DIFFED = 4_000_000  # bytes, both sides together
LONGEST_DIFF = 1_000_000  # characters of diff text
_NO_NEWLINE = "\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Diff:
    """`text` is a unified diff, or a sentence where there can be none; the counts are lines."""

    text: str
    additions: int = 0
    deletions: int = 0


def diff(before: bytes | None, after: bytes | None, path: str, *, new_path: str | None = None) -> Diff:
    """From one content to another; None means that there is no file."""
    old_name = "/dev/null" if before is None else f"a/{path}"
    new_name = "/dev/null" if after is None else f"b/{new_path or path}"
    header = f"--- {old_name}\n+++ {new_name}\n"
    old, new = decode(before or b""), decode(after or b"")
    sizes = f"{len(before or b'')} → {len(after or b'')} bytes"
    if old is None or new is None:
        return Diff(f"{header}Binary content differs ({sizes}).\n")
    old_lines, new_lines = _marked_lines(old.body, bom=old.bom), _marked_lines(new.body, bom=new.bom)
    if len(before or b"") + len(after or b"") > LARGEST_DIFFED:
        return Diff(f"{header}Too large to be compared line by line ({sizes}).\n", len(new_lines), len(old_lines))
    return _compared(old_lines, new_lines, header)


def moved(path: str, new_path: str) -> Diff:
    return Diff(f"rename from {path}\nrename to {new_path}\n")


def _compared(old: list[str], new: list[str], header: str) -> Diff:
    # The engine writes its own two header lines; ours say /dev/null where there is no file.
    hunks = [_standard(line) for line in patiencediff.unified_diff(old, new)][2:]
    additions = sum(line.startswith("+") for line in hunks)
    deletions = sum(line.startswith("-") for line in hunks)
    text = header + "".join(hunks)
    if len(text) > LONGEST_DIFF:
        text = text[:LONGEST_DIFF] + f"\n… the diff goes on: {additions} additions and {deletions} deletions in all.\n"
    return Diff(text, additions, deletions)


def _standard(line: str) -> str:
    """An empty side begins at line 0 in everyone else's unified diffs; the engine says 1."""
    if not line.startswith("@@ "):
        return line
    return line.replace(" -1,0 ", " -0,0 ").replace(" +1,0 ", " +0,0 ")


def _marked_lines(body: str, *, bom: bool) -> list[str]:
    lines = lines_of(("\ufeff" if bom else "") + body)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += _NO_NEWLINE
    return lines
