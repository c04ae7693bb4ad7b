"""The texts that tell what belongs to a check: each is read once, and only so much of all together as a project written by hand holds."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import value

TextOf = Callable[[str], str]
"""Returns the text of a file of the workspace; empty if there is none."""

MOST_TEXT = 20_000_000  # characters
_WORD = late_pattern(r"\w{1,200}")
_NAME = late_pattern(r"[^\s'\"`/\\=,;:()\[\]{}<>|&]{1,300}")
_DEFINED = late_pattern(r"\bdef (\w{1,200})")
_AFTER_DOT = late_pattern(r"\.(\w{1,200})")
_IMPORT_LINE = late_pattern(r"^.{0,200}\b(?:import|from|require|use|include)\b.{0,400}", re.M)
_ANY_NAME = late_pattern(
    r"\bgetattr\([^,()]{1,200},\s{0,20}[^\"'\s]|\b(?:globals|locals|vars|dir)\(|\b__dict__\b|\bgetmembers\b|\bimport_module\(\s{0,20}[^\"']"
)


class CheckTexts:
    """`is_spent`: there was more to look at than is looked at; what is not read counts as empty."""

    def __init__(self, text_of: TextOf, text_before: TextOf) -> None:
        """`text_before` reads a content by its hash."""
        self._text_of = text_of
        self._text_before = text_before
        self._texts: dict[str, str] = {}
        self._contents: dict[str, str] = {}
        self._names: dict[str, _TextNames] = {}
        self._left = MOST_TEXT

    @property
    def is_spent(self) -> bool:
        return self._left <= 0

    def __call__(self, path: str) -> str:
        return self._read(self._texts, path, self._text_of)

    def before(self, digest: str) -> str:
        return self._read(self._contents, digest, self._text_before)

    def _read(self, texts: dict[str, str], name: str, read: TextOf) -> str:
        text = texts.get(name)
        if text is None:
            text = texts[name] = "" if self.is_spent else read(name)
            self._left -= len(text)
        return text

    def uses(self, text: str, module: str, name: str) -> bool:
        """Whether the text names this function of the module, not only one of its own with the same name, or may name any."""
        names = self._names.get(text)
        if names is None:
            names = self._names[text] = _TextNames.of(text)
        if names.any or name not in names.all_words:
            return names.any
        if name not in names.defined or name in names.after_dot:
            return True
        self._left -= sum(map(len, names.import_lines))
        return any(module in line and name in line for line in names.import_lines) or self.is_spent


@value
class _TextNames:
    """`any`: it may name anything."""

    all_words: frozenset[str]
    defined: frozenset[str]
    after_dot: frozenset[str]
    import_lines: tuple[str, ...]
    any: bool

    @classmethod
    def of(cls, text: str) -> "_TextNames":
        all_words, defined, after_dot = (frozenset(pattern.findall(text)) for pattern in (_WORD, _DEFINED, _AFTER_DOT))
        import_lines = tuple(_IMPORT_LINE.findall(text))
        return cls(all_words, defined, after_dot, import_lines, _ANY_NAME.search(text) is not None)


def imported(text: str) -> frozenset[str]:
    """Returns the words of the lines that import something."""
    return frozenset(_WORD.findall("\n".join(_IMPORT_LINE.findall(text))))


def file_names(text: str) -> frozenset[str]:
    """Returns the words of a text that may be names of files."""
    return frozenset(name.rstrip(".") for name in _NAME.findall(text))


def word_counts(texts: Iterable[str]) -> Counter[str]:
    return Counter(word for text in texts for word in _WORD.findall(text))
