"""Reads one word of a command line as bash does, and decides whether its value is certain before the command runs. Pure.

A word is made of plain characters, `\\x`, `'…'`, `"…"`, `$NAME`, `${NAME}`, `$?`, a leading `~` and the globs `*`, `?`, `[`.
Everything else (substitutions, `$'…'`, brace expansion, arithmetic, other expansions) raises `Unanalyzable`. One pass, no backtracking.
"""

from dataclasses import dataclass, field

from anycowork.domain.values import value

_ENDS = frozenset(" \t\n;&|<>()")
_NAME_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_NAME = _NAME_START | frozenset("0123456789")
# Inside double quotes a `$` before one of these is a plain `$`, as in "end$" or "a$|b$".
_AFTER_PLAIN_DOLLAR = frozenset('" |/.,)')
_ESCAPED_IN_QUOTES = frozenset('$`"\\')


class Unanalyzable(Exception):
    """The text does not show what the command does; `reason` completes "No rule can allow this command by its words: …"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@value
class Word:
    """A word and its value. If it is not `certain`, `value` is its written form. If it is not `single`, it may expand to several
    words or none; each of them begins with `prefix`.
    """

    value: str
    certain: bool
    single: bool = True
    prefix: str = ""

    @property
    def is_operand(self) -> bool:
        """Whether no word that it expands to can be taken for an option."""
        start = self.value if self.certain else self.prefix
        return not start.startswith(("-", "+")) if start else self.certain


@value
class WrittenWord:
    """A word with its text as written, and where it ends."""

    word: Word
    written: str
    end: int


def read_word(text: str, start: int) -> WrittenWord:
    """Reads the word that begins here. Raises: Unanalyzable."""
    return _WordReader(text, start).read()


def assigned_name(written: str) -> str | None:
    """Returns the name if bash reads the word as an assignment. Raises: Unanalyzable for `a+=…` and `a[…]=…`."""
    end = _name_end(written, 0)
    if end == 0 or end == len(written):
        return None
    if written[end] == "=":
        return written[:end]
    if written[end] == "[" or written.startswith("+=", end):
        raise Unanalyzable("it sets part of an array or adds to a variable, which bash computes")
    return None


def _name_end(text: str, position: int) -> int:
    if position >= len(text) or text[position] not in _NAME_START:
        return position
    while position < len(text) and text[position] in _NAME:
        position += 1
    return position


@dataclass(slots=True)
class _WordReader:
    text: str
    position: int
    start: int = field(init=False)
    literal: list[str] = field(default_factory=list)
    prefix: str | None = None  # set at the first uncertain piece
    single: bool = True
    splits: bool = False
    braces: bool = False

    def __post_init__(self) -> None:
        self.start = self.position

    def read(self) -> WrittenWord:
        text, end = self.text, len(self.text)
        while self.position < end and (character := text[self.position]) not in _ENDS:
            if character == "'":
                self._single_quoted()
            elif character == '"':
                self._double_quoted()
            elif character == "\\":
                self._escaped()
            elif character == "$":
                self._variable(quoted=False)
            elif character == "`":
                raise Unanalyzable("it runs a command inside another one (backticks)")
            else:
                self._plain(character)
        written = text[self.start : self.position]
        if self.braces and ("," in written or ".." in written):
            raise Unanalyzable("it contains braces that bash may expand to several words")
        if self.prefix is None or written == "[":  # alone, it is not a pattern
            return WrittenWord(Word("".join(self.literal), certain=True), written, self.position)
        prefix = "" if self.splits else self.prefix
        return WrittenWord(Word(written, certain=False, single=self.single, prefix=prefix), written, self.position)

    def _plain(self, character: str) -> None:
        if character in "*?[":
            self._uncertain(single=False)
        elif character in "{}":
            self.braces = True
        elif character == "~" and (self.position == self.start or self.text[self.position - 1] in "=:"):
            self._uncertain(single=True)
            if self.position == self.start:
                self.prefix = "~"
        self.literal.append(character)
        self.position += 1

    def _uncertain(self, *, single: bool) -> None:
        if self.prefix is None:
            self.prefix = "".join(self.literal)
        self.single = self.single and single

    def _single_quoted(self) -> None:
        close = self.text.find("'", self.position + 1)
        if close < 0:
            raise Unanalyzable("a quote is not closed")
        self.literal.append(self.text[self.position + 1 : close])
        self.position = close + 1

    def _double_quoted(self) -> None:
        text, end = self.text, len(self.text)
        self.position += 1
        while self.position < end and (character := text[self.position]) != '"':
            if character == "`":
                raise Unanalyzable("it runs a command inside another one (backticks)")
            if character == "$":
                self._variable(quoted=True)
                continue
            if character == "\\":
                following = text[self.position + 1 : self.position + 2]
                if following in ("", "\n"):
                    raise Unanalyzable("a line inside quotes ends in a backslash")
                self.literal.append(following if following in _ESCAPED_IN_QUOTES else character + following)
                self.position += 2
                continue
            self.literal.append(character)
            self.position += 1
        if self.position >= end:
            raise Unanalyzable("a quote is not closed")
        self.position += 1

    def _escaped(self) -> None:
        following = self.text[self.position + 1 : self.position + 2]
        if following in ("", "\n"):
            raise Unanalyzable("a backslash at the end of a line is inside a word")
        self.literal.append(following)
        self.position += 2

    def _variable(self, *, quoted: bool) -> None:
        text, after = self.text, self.position + 1
        following = text[after : after + 1]
        if quoted and following in _AFTER_PLAIN_DOLLAR and following:
            self.literal.append("$")
            self.position = after
            return
        end = _name_end(text, after)
        if end > after:
            name = text[after:end]
        elif following == "?":
            name, end = "?", after + 1
        elif following == "{" and (close := _name_end(text, after + 1)) > after + 1 and text[close : close + 1] == "}":
            name, end = text[after + 1 : close], close + 1
        else:
            raise Unanalyzable(_NOT_A_VARIABLE.get(following, "it contains a '$' that is not a plain variable"))
        if name == "IFS":
            raise Unanalyzable("it uses $IFS, which hides where words end")
        self._uncertain(single=quoted)
        self.splits = self.splits or not quoted
        self.position = end


_NOT_A_VARIABLE = {
    "(": "it runs a command inside another one, or computes ('$(')",
    "{": "it computes a variable's value in a way that can run commands or hide words ('${')",
    "'": "it contains a $'…' word, whose escapes hide its letters",
    '"': 'it contains a $"…" word, which bash translates',
}
