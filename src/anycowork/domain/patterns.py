"""Regular expressions that only some work needs: a start compiles none of them."""

import re
from typing import cast

_METHODS = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn")


def late_pattern(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Returns a pattern that is compiled when it is first used. To compile those of checks took a twentieth of a start."""
    return cast(re.Pattern[str], _LatePattern(text, flags))


class _LatePattern:
    def __init__(self, text: str, flags: re.RegexFlag) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        pattern = re.compile(self._text, self._flags)
        self.__dict__.update({method: getattr(pattern, method) for method in _METHODS})  # found there from now on
        return getattr(pattern, name)
