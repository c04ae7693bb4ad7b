"""Merges two changes of one text, line by line. Pure."""

import patiencediff

from anycowork.domain.values import value
from anycowork.workspace.text import decode, lines_of

LARGEST_MERGED = 4_000_000  # bytes, all three together


@value
class _Hunk:
    """The lines from `start` to before `end` of the base are replaced by `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]


def merge_texts(base: bytes, mine: bytes, theirs: bytes) -> bytes | None:
    """Returns the base with both changes; None if they touch the same or neighbouring lines in different ways, or one is no text."""
    if len(base) + len(mine) + len(theirs) > LARGEST_MERGED or any(
        decode(side) is None for side in (base, mine, theirs)
    ):
        return None
    old = _lines(base)
    merged = _joined(_hunks(old, _lines(mine)), _hunks(old, _lines(theirs)))
    if merged is None:
        return None
    found: list[str] = []
    at = 0
    for hunk in merged:
        found += old[at : hunk.start]
        found += hunk.lines
        at = hunk.end
    return "".join([*found, *old[at:]]).encode()


def _lines(data: bytes) -> list[str]:
    return lines_of(data.decode())


def _hunks(old: list[str], new: list[str]) -> list[_Hunk]:
    matcher = patiencediff.PatienceSequenceMatcher(None, old, new)
    return [
        _Hunk(start, end, tuple(new[first:last]))
        for kind, start, end, first, last in matcher.get_opcodes()
        if kind != "equal"
    ]


def _joined(mine: list[_Hunk], theirs: list[_Hunk]) -> list[_Hunk] | None:
    found: list[_Hunk] = []
    for hunk in sorted([*mine, *theirs], key=lambda one: (one.start, one.end)):
        if found and hunk == found[-1]:
            continue  # both made the same change
        if found and hunk.start <= found[-1].end:
            return None
        found.append(hunk)
    return found
