"""Matches git-style path patterns from the workspace root, exactly or loosely, for rules and the grants of an approved plan. Pure."""

import re
from functools import lru_cache

from anycowork.domain.errors import Invalid
from anycowork.domain.values import value

_WILDCARDS = ("**/", "**", "*", "?")


@value
class LoosePattern:
    """The positions of a pattern as bits. `literal` has the positions of each character; `end` is the position after the pattern.

    `**/` takes two positions: between folders, where it may end, and inside a folder's name.
    """

    literal: dict[str, int]
    any_character: int  # ?
    in_name: int  # *
    anything: int  # **
    between: int  # **/
    inside: int
    end: int

    def matches(self, path: str) -> bool:
        positions = self._with_skipped(1)
        for character in path:
            moved = (positions & self.literal.get(character, 0)) << 1
            stays = positions & self.anything
            if character == "/":
                moved |= (positions & self.inside) >> 1
            else:
                moved |= (positions & (self.any_character | self.between)) << 1
                stays |= positions & (self.in_name | self.inside)
            positions = self._with_skipped(moved | stays)
            if not positions:
                return False
        return bool(positions & self.end)

    def _with_skipped(self, positions: int) -> int:
        """Adds the positions after every wildcard, because each may match nothing."""
        while True:
            more = positions | (positions & (self.in_name | self.anything)) << 1 | (positions & self.between) << 2
            if more == positions:
                return positions
            positions = more


@lru_cache(maxsize=1024)
def loose_pattern(pattern: str) -> LoosePattern:
    literal: dict[str, int] = {}
    bits = dict.fromkeys(("any_character", "in_name", "anything", "between", "inside"), 0)
    position = offset = 0
    while offset < len(pattern):
        sign = next((sign for sign in _WILDCARDS if pattern.startswith(sign, offset)), "")
        offset += len(sign) or 1
        match sign:
            case "**/":
                bits["between"] |= 1 << position
                bits["inside"] |= 1 << (position + 1)
                position += 1
            case "**":
                bits["anything"] |= 1 << position
            case "*":
                bits["in_name"] |= 1 << position
            case "?":
                bits["any_character"] |= 1 << position
            case _:
                literal[pattern[offset - 1]] = literal.get(pattern[offset - 1], 0) | 1 << position
        position += 1
    return LoosePattern(literal, **bits, end=1 << position)


_WILD = re.compile(r"[*?]")
_MOST_LOOSE = 2


def path_matches(pattern: str, path: str) -> bool:
    """Whether the pattern matches. `src/` and `src/**` match everything below; `*` stays in its folder. `.`, `..` and patterns that
    are slow to match never match."""
    if _is_slow(pattern):
        return False
    if loose := loose_matcher(pattern):
        return loose.matches(plain(path))
    regex = path_regex(pattern)
    return regex is not None and re.fullmatch(regex, plain(path), re.DOTALL) is not None


@lru_cache(maxsize=4096)
def path_regex(pattern: str) -> str | None:
    """Returns the regex that a whole path must match, without capturing groups; None if the pattern names nothing or is loose."""
    normalized = _normalized(pattern)
    return None if normalized is None or _is_loose(normalized) else _as_regex(normalized)


def loose_matcher(pattern: str) -> LoosePattern | None:
    """Returns what matches a pattern with `**` inside a name; None for every other pattern."""
    normalized = _normalized(pattern)
    return loose_pattern(normalized) if normalized is not None and _is_loose(normalized) else None


def names_something(pattern: str) -> bool:
    return _normalized(pattern) is not None


def _normalized(pattern: str) -> str | None:
    normalized = plain(pattern.strip())
    if normalized in ("", ".", ".."):
        return None
    return f"{normalized}**" if normalized.endswith("/") else normalized


def plain(path: str) -> str:
    return path.removeprefix("./").lstrip("/")


def is_literal(pattern: str) -> bool:
    return not pattern.endswith("/") and _WILD.search(pattern) is None


def may_lie_below(pattern: str, folder: str) -> bool:
    """Whether something inside this folder could match. May return True too often, never False wrongly."""
    fixed = _WILD.split(plain(pattern.strip()), maxsplit=1)[0]
    inside = plain(folder).rstrip("/")
    return not inside or fixed.startswith(f"{inside}/") or (f"{inside}/".startswith(fixed) and not is_literal(pattern))


def require_path_pattern(pattern: str) -> None:
    """Raises: Invalid."""
    parts = pattern.removeprefix("/").split("/")
    if pattern.startswith("!"):
        raise Invalid(
            "A pattern cannot be negated with '!'; write a second rule with another effect.", param="resource"
        )
    if ".." in parts or "." in parts:
        raise Invalid(
            f"'{pattern[:80]}' contains '.' or '..' as a folder; paths are compared from the workspace's root, as in '/src/*'.",
            param="resource",
        )
    require_quick(pattern)
    if "" in parts[:-1] or "\n" in pattern or not names_something(pattern):
        raise Invalid(f"'{pattern[:80]}' is not a path pattern; write it like '/src/*' or '/src/**'.", param="resource")


def require_quick(pattern: str) -> None:
    """Raises: Invalid for a pattern that is slow to compare with a path."""
    if _is_slow(pattern):
        raise Invalid(
            f"'{pattern[:80]}' has '**' within a name and more than {_MOST_LOOSE} wildcards, which is too slow to compare. "
            "Use '**' only for whole folders, as in '/src/**/*.py'.",
            param="resource",
        )


def _as_regex(pattern: str) -> str:
    """Translates a pattern to a regex without backtracking, so that no chosen file name makes matching slow.

    Between two `**` there is a fixed number of whole names, so the first match is as good as any later one. The same is true
    within a name for the text between two `*`.
    """
    *names, last = re.sub(r"(?:\*\*/)+", "**/", pattern).split("/")
    first, *others = _between_spans(names)
    if last == "**":
        return first + "".join(f"(?>(?:[^/]+/)*?{stretch})" for stretch in others) + ".*"
    if not others:
        return first + _name_regex(last)
    *middle, ending = others
    spans = "".join(f"(?>(?:[^/]+/)*?{stretch})" for stretch in middle)
    return f"{first}{spans}(?:[^/]+/)*{ending}{_name_regex(last)}"


def _between_spans(names: list[str]) -> list[str]:
    stretches = [""]
    for name in names:
        if name == "**":
            stretches.append("")
        else:
            stretches[-1] += _name_regex(name) + "/"
    return stretches


def _name_regex(name: str) -> str:
    first, *others = (re.escape(part).replace(r"\?", "[^/]") for part in name.split("*"))
    if not others:
        return first
    *middle, last = others
    return f"(?>{first}{''.join(f'(?>[^/]*?{part})' for part in middle)}[^/]*{last}(?![^/]))"


def _is_loose(pattern: str) -> bool:
    """Whether a `**` is only part of a name, as in `src/**.py`: then it matches across names and parts of names."""
    return any("**" in name and name != "**" for name in pattern.split("/"))


@lru_cache(maxsize=4096)
def _is_slow(pattern: str) -> bool:
    """Whether the pattern is refused: nobody needs that many loose wildcards, and earlier releases were slow to match them."""
    return _is_loose(plain(pattern.strip())) and len(re.findall(r"\*+", pattern)) > _MOST_LOOSE
