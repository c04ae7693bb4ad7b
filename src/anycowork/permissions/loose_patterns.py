"""Matches path patterns in which `**` is only part of a name, as in `src/**.py`. Pure; one pass over the path.

Follows all ways to match at once: each bit of a number is one position in the pattern. A regular expression would go back over the lengths
of all wildcards.
"""

from functools import lru_cache

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
