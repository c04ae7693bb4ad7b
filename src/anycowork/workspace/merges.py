"""Merges two changes of one text, line by line. Pure."""

import patiencediff

from anycowork.domain.values import value
from anycowork.workspace.text import decode, lines_of

LARGEST_MERGED = 4_000_000  # bytes, all three together
DRAFT_START, DRAFT_MIDDLE, DRAFT_END = "<<<<<<< the task", "=======", ">>>>>>> there now"


@value
class _Hunk:
    """The lines from `start` to before `end` of the base are replaced by `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]


def merge_texts(base: bytes, mine: bytes, theirs: bytes) -> bytes | None:
    """Returns the base with both changes; None if they touch the same or neighbouring lines in different ways, or one is not text."""
    if len(base) + len(mine) + len(theirs) > LARGEST_MERGED or any(
        decode(side) is None for side in (base, mine, theirs)
    ):
        return None
    old = _lines(base)
    merged = _joined(_hunks(old, _lines(mine)), _hunks(old, _lines(theirs)))
    if merged is None:
        return None
    merged_lines: list[str] = []
    position = 0
    for hunk in merged:
        merged_lines += old[position : hunk.start]
        merged_lines += hunk.lines
        position = hunk.end
    return "".join([*merged_lines, *old[position:]]).encode()


def merge_draft(base: bytes, mine: bytes, theirs: bytes) -> str | None:
    """Returns the text with both changes, and where they meet both versions between marks; None if one of the three is not text."""
    if len(base) + len(mine) + len(theirs) > LARGEST_MERGED or any(
        decode(side) is None for side in (base, mine, theirs)
    ):
        return None
    old = _lines(base)
    my_hunks, their_hunks = _hunks(old, _lines(mine)), _hunks(old, _lines(theirs))
    lines: list[str] = []
    position = 0
    for start, end in _regions([*my_hunks, *their_hunks]):
        lines += old[position:start]
        my_version, their_version = _applied(old, my_hunks, start, end), _applied(old, their_hunks, start, end)
        present = old[start:end]
        if their_version in (my_version, present):
            lines += my_version
        elif my_version == present:
            lines += their_version
        else:
            lines += [
                f"{DRAFT_START}\n",
                *_closed(my_version),
                f"{DRAFT_MIDDLE}\n",
                *_closed(their_version),
                f"{DRAFT_END}\n",
            ]
        position = end
    return "".join([*lines, *old[position:]])


def _regions(hunks: list[_Hunk]) -> list[tuple[int, int]]:
    """Returns the parts of the base that are replaced, with those that meet joined."""
    regions: list[tuple[int, int]] = []
    for hunk in sorted(hunks, key=lambda side: (side.start, side.end)):
        if regions and hunk.start <= regions[-1][1]:
            regions[-1] = (regions[-1][0], max(regions[-1][1], hunk.end))
        else:
            regions.append((hunk.start, hunk.end))
    return regions


def _applied(old: list[str], hunks: list[_Hunk], start: int, end: int) -> list[str]:
    """Returns this part of the base with one side's hunks."""
    lines: list[str] = []
    position = start
    for hunk in hunks:
        if start <= hunk.start and hunk.end <= end:
            lines += old[position : hunk.start]
            lines += hunk.lines
            position = hunk.end
    return [*lines, *old[position:end]]


def _closed(lines: list[str]) -> list[str]:
    """Returns the lines with a line end after the last one, so that a mark begins its own line."""
    return lines if not lines or lines[-1].endswith("\n") else [*lines[:-1], f"{lines[-1]}\n"]


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
    hunks: list[_Hunk] = []
    for hunk in sorted([*mine, *theirs], key=lambda side: (side.start, side.end)):
        if hunks and hunk == hunks[-1]:
            continue  # both made the same change
        if hunks and hunk.start <= hunks[-1].end:
            return None
        hunks.append(hunk)
    return hunks
