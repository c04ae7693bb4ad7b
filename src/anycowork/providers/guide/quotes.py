"""Takes quoted text out of a request before it is parsed, so that no word inside quotes is read as an instruction. Pure."""

import re

# One private-use character replaces one quotation; a request cannot contain it.
_FIRST, _LAST = 0xE000, 0xF8FF
MARK = "[\ue000-\uf8ff]"
_QUOTED = re.compile(
    r"(?<!`)(?P<fence>`{3,}+)[^\n`]*\n(?P<block>.*?)\n?(?P=fence)(?!`)"
    r"|`(?P<tick>[^`\n]+)`"
    r'|"(?P<double>[^"\n]*)"'
    r"|“(?P<curly>[^“”\n]*)”"
    r"|(?<!\w)'(?P<single>[^'\n]*)'(?!\w)",
    re.DOTALL,
)
# "create notes.txt with:" and then lines: everything below is the content, not further requests.
_REST_IS_CONTENT = re.compile(
    r"\b(?:with|containing|contains|content|contents|says|saying|text)\s*:[ \t]*\n(?P<rest>.+)", re.S | re.I
)


class Quotes:
    """`masked` is the text with a mark for each quotation; `open` puts the text back."""

    def __init__(self, text: str) -> None:
        self._kept: list[str] = []
        clean = re.sub(MARK, "\ufffd", text.replace("\r\n", "\n"))
        masked = _QUOTED.sub(lambda found: self._keep(_inside(found)), clean)
        if rest := _REST_IS_CONTENT.search(masked):
            start = rest.start("rest")
            masked = masked[:start].rstrip() + " " + self._keep(self.open(masked[start:]).strip("\n"))
        self.masked = masked

    def open(self, part: str) -> str:
        """Returns the text with its quotations put back, without the quotation marks."""
        return re.sub(MARK, lambda found: self._kept[ord(found[0]) - _FIRST], part)

    def is_quoted(self, part: str) -> bool:
        return re.fullmatch(MARK, part.strip()) is not None

    def _keep(self, words: str) -> str:
        if len(self._kept) > _LAST - _FIRST:
            return "\ufffd"
        self._kept.append(words)
        return chr(_FIRST + len(self._kept) - 1)


def _inside(found: re.Match[str]) -> str:
    return next((words for name, words in found.groupdict().items() if name != "fence" and words is not None), "")
