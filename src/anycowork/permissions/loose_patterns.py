"""Matches path patterns in which `**` is only part of a name, as in `src/**.py`. Pure; one pass over the path.

Follows all ways to match at once: each bit of a number is one place in the pattern. A regular expression would go back over the lengths
of all wildcards.
"""

from functools import lru_cache

from anycowork.domain.values import value

_WILDCARDS = ("**/", "**", "*", "?")


@value
class LoosePattern:
    """The places of a pattern as bits. `literal` has the places of each character; `end` is the place behind the pattern.

    `**/` is two places: between folders, where it may be left, and inside a folder's name.
    """

    literal: dict[str, int]
    one: int  # ?
    in_name: int  # *
    anything: int  # **
    between: int  # **/
    inside: int
    end: int

    def matches(self, path: str) -> bool:
        reached = self._with_skipped(1)
        for character in path:
            moved = (reached & self.literal.get(character, 0)) << 1
            stays = reached & self.anything
            if character == "/":
                moved |= (reached & self.inside) >> 1
            else:
                moved |= (reached & (self.one | self.between)) << 1
                stays |= reached & (self.in_name | self.inside)
            reached = self._with_skipped(moved | stays)
            if not reached:
                return False
        return bool(reached & self.end)

    def _with_skipped(self, reached: int) -> int:
        """Adds the places behind every wildcard, because each may match nothing."""
        while True:
            more = reached | (reached & (self.in_name | self.anything)) << 1 | (reached & self.between) << 2
            if more == reached:
                return reached
            reached = more


@lru_cache(maxsize=1024)
def loose_pattern(pattern: str) -> LoosePattern:
    literal: dict[str, int] = {}
    bits = dict.fromkeys(("one", "in_name", "anything", "between", "inside"), 0)
    place = at = 0
    while at < len(pattern):
        sign = next((sign for sign in _WILDCARDS if pattern.startswith(sign, at)), "")
        at += len(sign) or 1
        match sign:
            case "**/":
                bits["between"] |= 1 << place
                bits["inside"] |= 1 << (place + 1)
                place += 1
            case "**":
                bits["anything"] |= 1 << place
            case "*":
                bits["in_name"] |= 1 << place
            case "?":
                bits["one"] |= 1 << place
            case _:
                literal[pattern[at - 1]] = literal.get(pattern[at - 1], 0) | 1 << place
        place += 1
    return LoosePattern(literal, **bits, end=1 << place)
