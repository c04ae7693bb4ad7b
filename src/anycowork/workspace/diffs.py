"""Computes all diffs: what people approve, what is stored and what is counted.

The same diff is needed when a call is approved, done and recorded, so the last few are cached.
"""

from collections import deque
from collections.abc import Collection
from hashlib import sha256

import patiencediff

from anycowork.domain.path_class import is_control_file
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible
from anycowork.workspace.text import TextFile, decode, decode_wide, lines_of

LARGEST_DIFFED = 4_000_000  # bytes, both sides together
LONGEST_DIFF = 1_000_000  # characters of diff text
LARGEST_HEX = 65_536  # bytes of a control file that is not text
REMEMBERED = 8
_NO_NEWLINE = "\n\\ No newline at end of file\n"


@value
class Diff:
    """`text` is a unified diff, or a sentence where there can be none; the counts are lines. `is_whole`: it shows all that changes."""

    text: str
    additions: int = 0
    deletions: int = 0
    is_whole: bool = True


@value
class _Side:
    """One side of a comparison: its lines, and a note if they are not the bytes of the file."""

    lines: list[str]
    note: str = ""


_recent: deque[tuple[tuple[str | None, str | None, str], Diff]] = deque(maxlen=REMEMBERED)


def cached_diff(before: str | None, after: str | None, path: str) -> Diff | None:
    """Returns the cached diff between two contents, given by SHA-256, if there is one."""
    key = (before, after, path)
    return next((recent_diff for recent_key, recent_diff in tuple(_recent) if recent_key == key), None)


def diff(before: bytes | None, after: bytes | None, path: str) -> Diff:
    """Compares two contents; None means that the file does not exist."""
    old_name = "/dev/null" if before is None else f"a/{path}"
    new_name = "/dev/null" if after is None else f"b/{path}"
    header = f"--- {old_name}\n+++ {new_name}\n"
    old, new = _side(before or b"", path), _side(after or b"", path)
    sizes = f"{len(before or b'')} → {len(after or b'')} bytes"
    if old is None or new is None:
        return Diff(
            f"{header}Binary content differs ({sizes}).\n{_both(before, after, edges=False)}", is_whole=after is None
        )
    if len(before or b"") + len(after or b"") > LARGEST_DIFFED:
        notice = f"{header}Too large to compare line by line ({sizes}).\n{_both(before, after)}"
        return Diff(notice, len(new.lines), len(old.lines), is_whole=after is None)
    notes = f"before: {old.note}\n" if old.note else ""
    notes += f"after: {new.note}\n" if new.note else ""
    result = _compared(old.lines, new.lines, header + notes)
    if len(result.text) > LONGEST_DIFF:
        continued = f"… the diff continues: {result.additions} additions and {result.deletions} deletions in total."
        cut = f"{result.text[:LONGEST_DIFF]}\n{continued}\n{_both(before, after)}"
        result = Diff(cut, result.additions, result.deletions, is_whole=after is None)
    _recent.append(((_hash(before), _hash(after), path), result))
    return result


def without_hunks(before: bytes, after: bytes, hunks: Collection[int]) -> bytes | None:
    """Returns `after` with these hunks of the diff, counted from 0, taken back; None if there is no such hunk or no line diff."""
    old, new = decode(before), decode(after)
    if old is None or new is None or len(before) + len(after) > LARGEST_DIFFED:
        return None
    old_lines, new_lines = (lines_of(("\ufeff" if side.bom else "") + side.body) for side in (old, new))
    matcher = patiencediff.PatienceSequenceMatcher(
        None, _marked_lines(old.body, bom=old.bom), _marked_lines(new.body, bom=new.bom)
    )
    groups = list(matcher.get_grouped_opcodes(3))
    if not hunks or not all(0 <= number < len(groups) for number in hunks):
        return None
    merged_lines: list[str] = []
    position = 0
    for number in sorted(set(hunks)):
        for kind, start, end, first, last in groups[number]:
            if kind != "equal":
                merged_lines += [*new_lines[position:first], *old_lines[start:end]]
                position = last
    merged_lines += new_lines[position:]
    # The last line of a side may have no line end; where another line follows it now, it needs one.
    return (
        "".join(line if line.endswith("\n") else f"{line}\n" for line in merged_lines[:-1]).encode()
        + "".join(merged_lines[-1:]).encode()
    )


def _side(data: bytes, path: str) -> _Side | None:
    """Returns the lines to compare. A control file that is not text is shown as numbers: nobody can allow what is not shown."""
    # First: a mark of UTF-16 before plain commands must not turn them into other letters.
    if (text := _readable(data)) is not None:
        return _Side(_marked_lines(text.body, bom=text.bom))
    if (wide := decode_wide(data)) is not None:
        return _Side(_marked_lines(wide[0], bom=False), f"its text is {wide[1]}")
    if len(data) > LARGEST_HEX or not is_control_file(path):
        return None
    return _Side(_hex_lines(data), "it is not text; each byte is shown as a number")


def _hex_lines(data: bytes) -> list[str]:
    rows = ((offset, data[offset : offset + 16]) for offset in range(0, len(data), 16))
    return [f"{offset:06x}  {row.hex(' '):<47}  {''.join(map(_letter, row))}\n" for offset, row in rows]


def _letter(byte: int) -> str:
    return chr(byte) if 0x20 <= byte <= 0x7E else "."


def _readable(data: bytes) -> TextFile | None:
    """Decodes leniently: an invalid byte in a script must not hide the rest of it. Returns None if most of it is not text."""
    text_file = decode(data)
    if text_file is not None:
        return text_file
    body = text_with_odd_bytes(data)
    return None if body is None else TextFile(body=body.removeprefix("\ufeff"), bom=body.startswith("\ufeff"))


def _both(before: bytes | None, after: bytes | None, *, edges: bool = True) -> str:
    sides = (("before", before), ("after", after))
    return "".join(
        f"{name}: nothing\n" if data is None else f"{name}:\n{summary_of(data, edges=edges)}" for name, data in sides
    )


def _hash(content: bytes | None) -> str | None:
    return None if content is None else sha256(content).hexdigest()


def moved(path: str, new_path: str) -> Diff:
    return Diff(f"rename from {path}\nrename to {new_path}\n")


def _compared(old: list[str], new: list[str], header: str) -> Diff:
    # The engine writes two header lines; ours use /dev/null for a missing file.
    # Its default matcher would be difflib's, which takes seconds on a repetitive file.
    matcher = patiencediff.PatienceSequenceMatcher
    hunks = [_standard(line) for line in patiencediff.unified_diff(old, new, sequencematcher=matcher)][2:]
    additions = sum(line.startswith("+") for line in hunks)
    deletions = sum(line.startswith("-") for line in hunks)
    return Diff(header + "".join(hunks), additions, deletions)


def _standard(line: str) -> str:
    """Starts an empty side at line 0, as in standard unified diffs; the engine writes 1."""
    if not line.startswith("@@ "):
        return line
    return line.replace(" -1,0 ", " -0,0 ").replace(" +1,0 ", " +0,0 ")


def _marked_lines(body: str, *, bom: bool) -> list[str]:
    lines = lines_of(("\ufeff" if bom else "") + body)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += _NO_NEWLINE
    return lines


EDGE_LINES = 20
EDGE_BYTES = 8_000
_ODD_SHARE = 0.1
_ODD_BYTES = bytes(set(range(32)) - set(b"\t\n\r\f\x1b")) + b"\x7f"


def text_with_odd_bytes(data: bytes) -> str | None:
    """Returns the text of a file that is almost UTF-8, with each invalid byte as its number; None if most of it is not text.

    Content that begins like a script is always text: an interpreter would run its lines whatever is between them.
    """
    text = data.decode(errors="surrogateescape")
    if not data.startswith(b"#!"):
        odd = len(data) - len(data.translate(None, _ODD_BYTES)) + sum(map(_is_odd, text))
        if odd > len(data) * _ODD_SHARE:
            return None
    return text.translate(_BYTE_NUMBERS)


def summary(size: int, digest: str, head: bytes, tail: bytes) -> str:
    """Indents the lines, so that no line of the content looks like a part of the surrounding diff."""
    if not size:
        return _identity(size, digest)
    first, last = _edge(head)[:EDGE_LINES], _edge(tail)[-EDGE_LINES:]
    return _identity(size, digest) + "\n".join(["  first lines:", *first, "  last lines:", *last]) + "\n"


def summary_of(data: bytes, *, edges: bool) -> str:
    """Without `edges`, returns size and hash only: the bytes of an image mean nothing to a reader."""
    digest = sha256(data).hexdigest()
    return summary(len(data), digest, data[:EDGE_BYTES], data[-EDGE_BYTES:]) if edges else _identity(len(data), digest)


def _identity(size: int, digest: str) -> str:
    return f"  {size:,} bytes, sha256 {digest}\n"


def _edge(data: bytes) -> list[str]:
    text = data.decode(errors="surrogateescape").translate(_BYTE_NUMBERS)
    lines = text.split("\n")
    return [f"  | {visible(UntrustedText(line))}" for line in (lines[:-1] if lines[-1] == "" else lines)]


def _is_odd(character: str) -> bool:
    return "\udc80" <= character <= "\udcff"


_BYTE_NUMBERS = {0xDC00 + byte: f"⟨byte {byte:02X}⟩" for byte in range(0x80, 0x100)} | {0: "⟨byte 00⟩"}
