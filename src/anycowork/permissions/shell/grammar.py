"""Reads the supported part of bash. Anything else raises `Unanalyzable`. Pure; one pass, no backtracking.

    program     = [list]
    list        = pipeline {("&&" | "||" | ";" | newline) pipeline} [";" | newline]
    pipeline    = command {"|" command}
    command     = ["time" ["-p"]] {NAME=word} word {word} {redirection}
    redirection = [digit] (">" | ">>" | "<") word  |  ("&>" | "&>>") word  |  [digit] ">&" digit
                | "<<<" word  |  "<<" quoted-name, at most one in a line, its text ends at a line that is the name
    word        = see `shellwords.py`

`# …` is a comment where a word could begin; a backslash at the end of a line joins it to the next one if a blank precedes it.
Not supported, among others: subshells, groups, functions, loops, conditions, `&`, `|&`, `!`, substitutions, `[[ ]]`, `(( ))`,
arrays, unquoted here-documents, words after a redirection.
"""

from dataclasses import dataclass, field

from anycowork.domain.values import value
from anycowork.permissions.shell.shellwords import Unanalyzable, Word, WrittenWord, assigned_name, read_word

# fmt: off
_KEYWORDS = frozenset({
    "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "until", "while",
})
# fmt: on
_ODD_DEVICES = ("/dev/tcp", "/dev/udp", "/dev/fd", "/proc/")


@value
class Redirection:
    """A file that is written or read."""

    writes: bool
    target: Word


@value
class SimpleCommand:
    """A simple command. Its first `assigned` words set variables for it. `is_fed`: this command line chooses its input."""

    words: tuple[Word, ...]
    assigned: int
    redirections: tuple[Redirection, ...]
    is_fed: bool


def read_commands(text: str) -> list[SimpleCommand]:
    """Return every simple command of the text. Raises: Unanalyzable."""
    return _Reader(text).read()


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    here_document: str | None = None  # the name that ends it, from its `<<` to the end of that line
    commands: list[SimpleCommand] = field(default_factory=list)

    def read(self) -> list[SimpleCommand]:
        self._skip_lines()
        while self.at < len(self.text):
            self._pipeline()
            self._blanks()
            if self._takes("&&") or self._takes("||"):
                self._skip_lines()
                if self.at >= len(self.text):
                    raise Unanalyzable("it ends where another command must follow")
                continue
            if self._takes(";") or self._next() in ("\n", ""):
                self._skip_lines()
                continue
            raise Unanalyzable(_NOT_READ.get(self._next(), "it is not a command line that can be read"))
        if self.here_document is not None:
            raise Unanalyzable("its here-document does not end")
        return self.commands

    def _pipeline(self) -> None:
        self._command(is_fed=False)
        self._blanks()
        while self._next() == "|" and not self.text.startswith(("||", "|&"), self.at):
            self.at += 1
            self._skip_lines()
            self._command(is_fed=True)
            self._blanks()

    def _command(self, *, is_fed: bool) -> None:
        words: list[WrittenWord] = []
        redirections: list[Redirection] = []
        redirected = False
        while True:
            self._blanks()
            following = self._next()
            if following in ("", "\n", ";", "|") or (following == "&" and not self.text.startswith("&>", self.at)):
                break
            if following in "<>&" or self._is_descriptor():
                is_fed = self._redirection(redirections) or is_fed
                redirected = True
                continue
            if following in "()":
                raise Unanalyzable(_NOT_READ[following])
            if redirected:
                raise Unanalyzable("words of the command come after a redirection")
            words.append(self._word())
        self.commands.append(_simple_command(words, tuple(redirections), is_fed=is_fed))

    def _word(self) -> WrittenWord:
        found = read_word(self.text, self.at)
        self.at = found.end
        if found.end == len(self.text) or self.text[found.end] not in "<>(":
            return found
        if self.text[found.end] == "(" or "{" in found.written or found.written.isdigit():
            raise Unanalyzable("it is unclear where one of its words ends")
        return found

    # --- redirections

    def _is_descriptor(self) -> bool:
        """Whether a digit is directly before `<` or `>`; several digits are never read as one."""
        digit, operator = self.text[self.at : self.at + 1], self.text[self.at + 1 : self.at + 2]
        return digit in "0123456789" and operator != "" and operator in "<>"

    def _redirection(self, found: list[Redirection]) -> bool:
        """Read one redirection; return whether it chooses the command's input."""
        both = self._takes("&>>") or self._takes("&>")
        descriptor = "" if both or self._next() in "<>" else self._next()
        self.at += len(descriptor)
        if not both and self._takes(">&"):
            self._duplicate()
            return False
        if not both and self._takes("<<<"):
            self._target()
            return True
        if not both and self._takes("<<"):
            self._begin_here_document()
            return True
        reads = not both and self._takes("<")
        if not reads and not both and not self._takes(">>"):
            self._takes(">")
        if self._next() in ("<", ">", "&", "|", "("):
            raise Unanalyzable("it redirects in a way that is not understood")
        target = self._target()
        if not target.certain or not target.value:
            raise Unanalyzable("the file that it redirects to or from is known only when it runs")
        if target.value.startswith(_ODD_DEVICES):
            raise Unanalyzable("it redirects to or from something that is not a plain file")
        found.append(Redirection(not reads, target))
        return reads

    def _duplicate(self) -> None:
        """`2>&1`."""
        if self._next() not in ("0", "1", "2") or (self.text[self.at + 1 : self.at + 2] or " ") not in " \t\n;|":
            raise Unanalyzable("it redirects in a way that is not understood")
        self.at += 1

    def _target(self) -> Word:
        self._blanks()
        if self._next() in ("", "\n", ";", "&", "|", "<", ">", "(", ")", "#"):
            raise Unanalyzable("it redirects in a way that is not understood")
        return self._word().word

    def _begin_here_document(self) -> None:
        quote = self._next()
        close = self.text.find(quote, self.at + 1) if quote in ("'", '"') else -1
        name = self.text[self.at + 1 : close] if close >= 0 else ""
        if not (name.isascii() and name.isidentifier()):
            raise Unanalyzable(
                "its here-document is not marked with a quoted name, as in <<'EOF', so bash would compute its text"
            )
        if (self.text[close + 1 : close + 2] or " ") not in " \t\n;|&<>":
            raise Unanalyzable("its here-document is marked in an unusual way")
        if self.here_document is not None:
            raise Unanalyzable("two here-documents begin in one line")
        self.here_document, self.at = name, close + 1

    def _end_here_document(self) -> None:
        """Skip from the newline after its mark to the line that ends it."""
        at = self.at
        while at < len(self.text):
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            if self.text[at:end] == self.here_document:
                self.at, self.here_document = min(end + 1, len(self.text)), None
                return
            at = end + 1
        raise Unanalyzable("its here-document does not end")

    # --- blanks, lines, signs

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _takes(self, sign: str) -> bool:
        if not self.text.startswith(sign, self.at):
            return False
        self.at += len(sign)
        return True

    def _blanks(self) -> None:
        """Skip blanks, joined lines and comments; stop before a newline."""
        start = self.at
        while (following := self._next()) in (" ", "\t") and following:
            self.at += 1
        if self._next() == "\\" and self.text.startswith("\\\n", self.at):
            if self.at == start:
                raise Unanalyzable("a backslash joins two lines without a blank before it")
            if self.here_document is not None:
                raise Unanalyzable("a line is joined to the next one after the mark of a here-document")
            self.at += 2
            if self._next() == "#":
                raise Unanalyzable("a comment follows a joined line")
            if self._next() in (" ", "\t", "\\"):
                self._blanks_after_joined_line()
            return
        if self._next() == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def _blanks_after_joined_line(self) -> None:
        while (following := self._next()) in (" ", "\t") and following:
            self.at += 1
        if self._next() == "#" or (self._next() == "\\" and self.text.startswith("\\\n", self.at)):
            raise Unanalyzable("a line is joined to an empty one or to a comment")

    def _skip_lines(self) -> None:
        """Skip blanks, comments and newlines; at a newline, also the text of a here-document."""
        self._blanks()
        while self._takes("\n"):
            if self.here_document is not None:
                self._end_here_document()
            self._blanks()


def _simple_command(words: list[WrittenWord], redirections: tuple[Redirection, ...], *, is_fed: bool) -> SimpleCommand:
    if not words:
        raise Unanalyzable("a command is missing")
    assigned = 0
    while assigned < len(words) and assigned_name(words[assigned].written):
        assigned += 1
    _require_no_keyword(words[assigned:])
    return SimpleCommand(tuple(found.word for found in words), assigned, redirections, is_fed)


def _require_no_keyword(words: list[WrittenWord]) -> None:
    if words and words[0].written == "time":
        words = words[2:] if len(words) > 1 and words[1].written == "-p" else words[1:]
        if words and (_is_option(words[0]) or words[0].written == "time" or assigned_name(words[0].written)):
            raise Unanalyzable("'time' comes before something other than a simple command")
    if words and words[0].written in _KEYWORDS:
        raise Unanalyzable(f"it uses '{words[0].written}', a bash construct that is not supported")


def _is_option(found: WrittenWord) -> bool:
    """Whether it is an option, or a program whose name is written like one: `time \\-p` runs the program `-p`."""
    return found.written.startswith("-") or found.word.value.startswith("-")


_NOT_READ = {
    "&": "it starts something in the background ('&')",
    "|": "it pipes errors as well ('|&')",
    "(": "it uses '(', a bash construct that is not supported",
    ")": "it uses ')', a bash construct that is not supported",
    ";": "it uses ';;' or a ';' without a command before it",
}
