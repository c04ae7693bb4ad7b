"""Finds what a new whole text would lose of a file without being asked to. Pure."""

import re
from collections import Counter

# A line that stands for others, as models write it to avoid repeating them. A bare `...` is Python, and allowed.
_LONGEST_LINE = 300  # characters: longer lines are not such remarks
_ELISION = re.compile(
    r"\[\s*(?:\.\.\.|…)\s*\]"
    r"|(?:#|//|/\*|<!--|--|;|%)?\s*(?:\.\.\.|…)\s*\(?(?:the )?(?:rest|existing|remaining|other|previous|unchanged|same)\b.*"
    r"|(?:#|//|/\*|<!--|--|;|%)\s*(?:the )?(?:rest|existing|remaining|other|previous) .*(?:unchanged|as (?:is|before)|(?:the )?same|here)\b.*",
    re.I,
)
_ELISION_BEGINS = tuple("[#/<-;%.…")
_REMOVES = re.compile(
    r"\b(remove|delete|drop|clear|empty|cut|shorten|strip|replace|rewrite|rework|clean|simplify|convert|overwrite|trim|take [^\n]{1,80} out)\b",
    re.I,
)
_WORD = re.compile(r"\w+")
_FEW = 6  # words: a text this short may be replaced completely
_MOST_LOST = 0.4


def elision_in(new: str, old: str) -> int | None:
    """Returns the line, from 1, on which `new` says that something is left out, unless `old` says so, too."""
    for row, line in enumerate(new.split("\n"), start=1):
        bare = line.strip()
        if bare.startswith(_ELISION_BEGINS) and len(bare) <= _LONGEST_LINE and _ELISION.fullmatch(bare):
            return None if bare in old else row
    return None


def lost_content(new: str, old: str, *, asked: str) -> list[str]:
    """Returns the words of `old` that `new` lacks, if they are too many for the request; counts words, so order and layout may change."""
    words = Counter(_WORD.findall(old))
    gone = words - Counter(_WORD.findall(new))
    many = words.total() > _FEW and gone.total() > _MOST_LOST * words.total()
    return list(gone) if many and not _REMOVES.search(asked) else []
