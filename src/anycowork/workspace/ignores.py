"""Decides what git would ignore, from the workspace's `.gitignore` files only. Pure: the walk reads the files.

It does not run git, whose configuration can name programs to run. It builds no regular expression from a whole pattern, so a hostile ignore
file cannot make matching slow.
"""

import re
from fnmatch import fnmatchcase

from anycowork.domain.values import value

MOST_PATTERNS = 2000


@value
class IgnorePattern:
    segments: tuple[str, ...]  # glob per path component; "**" spans any number of them
    negated: bool = False
    folders_only: bool = False

    def matches(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        return (is_folder or not self.folders_only) and _match(self.segments, parts)


@value
class Ignores:
    """The patterns in force in one folder: its own and, with lower priority, those of the folders above it."""

    base: tuple[str, ...] = ()
    patterns: tuple[IgnorePattern, ...] = ()
    above: "Ignores | None" = None

    @property
    def has_patterns(self) -> bool:
        return bool(self.patterns) or self.above is not None

    def deeper(self, base: tuple[str, ...], text: str) -> "Ignores":
        patterns = read_patterns(text)
        return Ignores(base, patterns, self) if patterns else self

    def ignored(self, parts: tuple[str, ...], *, is_folder: bool) -> bool:
        """Tells whether this entry is ignored, given that the folders above it are not."""
        return self.verdict(parts, is_folder=is_folder) is True

    def verdict(self, parts: tuple[str, ...], *, is_folder: bool) -> bool | None:
        """Returns what the last pattern that matches says: True to ignore, False to keep; None if no pattern matches."""
        level: Ignores | None = self
        while level is not None:
            relative = parts[len(level.base) :]
            for pattern in reversed(level.patterns):
                if pattern.matches(relative, is_folder=is_folder):
                    return not pattern.negated
            level = level.above
        return None


def read_patterns(text: str) -> tuple[IgnorePattern, ...]:
    patterns = (
        _read_pattern(line.removesuffix("\r")) for line in text.removeprefix("\ufeff").split("\n")[:MOST_PATTERNS]
    )
    return tuple(pattern for pattern in patterns if pattern is not None)


def _read_pattern(line: str) -> IgnorePattern | None:
    line = _strip_trailing_blanks(line[:1000])
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line[1:] if negated else line
    folders_only = line.endswith("/")
    body = line.removesuffix("/")  # only one: "a//" matches nothing, in git as here
    if not body:
        return None
    anchored = "/" in body
    segments = tuple(_glob(segment) for segment in body.removeprefix("/").split("/"))
    if not anchored:
        segments = ("**", *segments)
    return IgnorePattern(segments, negated=negated, folders_only=folders_only)


def _strip_trailing_blanks(line: str) -> str:
    """Removes trailing blanks, except escaped ones."""
    bare = line.rstrip(" ")
    return f"{bare} " if bare.endswith("\\") and bare != line else bare


def _glob(segment: str) -> str:
    """Converts git's wildcards to fnmatch: `\\*` is `[*]`, `[^a]` is `[!a]`, and only a lone `**` spans folders."""
    if len(segment) > 1 and not segment.strip("*"):
        return "**"
    segment = re.sub(r"\\(.)", lambda match: f"[{match[1]}]" if match[1] in "*?[" else match[1], segment)
    return re.sub(r"\*{2,}", "*", segment).replace("[^", "[!")


def _match(segments: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Dynamic programming over the components: reachable[i] = the first i segments have matched the parts read so far."""
    reachable = _skip_spans({0}, segments)
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        following: set[int] = set()
        for i in reachable:
            if i == len(segments):
                continue
            if segments[i] == "**":
                # A final "/**" matches what is inside, not the folder itself.
                following.add(i + 1 if last and i == len(segments) - 1 else i)
            elif fnmatchcase(part, segments[i]):
                following.add(i + 1)
        reachable = _skip_spans(following, segments)
    return len(segments) in reachable


def _skip_spans(reachable: set[int], segments: tuple[str, ...]) -> set[int]:
    """Lets a "**" that is not the last segment span nothing."""
    grown = set(reachable)
    for i in sorted(reachable):
        while i < len(segments) - 1 and segments[i] == "**":
            i += 1
            grown.add(i)
    return grown
