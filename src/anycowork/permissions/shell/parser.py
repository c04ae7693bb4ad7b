"""Parses a command line: every simple command in it, and the files that it writes and reads.

Text in, `ParsedCommand` out, in one pass without backtracking. Only a small part of bash is supported. Any other text is `Unanalyzable`: no
command rule can allow it, so a person is always asked. `wrappers.py` finds what wrappers such as `sudo` or `sh -c` run, and `options.py` knows
which options are harmless. Pure. The supported part:

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

import unicodedata
from dataclasses import field
from functools import lru_cache

from anycowork.domain.values import mutable_value, value
from anycowork.permissions.shell.parsed_command import ParsedCommand
from anycowork.permissions.shell.shellwords import Unanalyzable, Word, WrittenWord, assigned_name, read_word
from anycowork.permissions.shell.wrappers import part_of, runs_what_is_made

# fmt: off
_KEYWORDS = frozenset({
    "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "until", "while",
})
# fmt: on
_ODD_DEVICES = ("/dev/tcp", "/dev/udp", "/dev/fd", "/proc/")
LONGEST = 10_000
_DEEPEST = 3
_HARMLESS_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
# Characters that may end a word, for text that cannot be analyzed.
_BETWEEN_RAW_WORDS = str.maketrans(dict.fromkeys(";&|()<>`$\"'{}\\", " "))


@value
class Redirection:
    """A file that is written or read."""

    writes: bool
    target: Word


@value
class SimpleCommand:
    """A simple command. Its first `assigned` words set variables for it. `is_fed`: this command line chooses its input."""

    argv: tuple[Word, ...]
    assigned: int
    redirections: tuple[Redirection, ...]
    is_fed: bool


def read_commands(text: str) -> list[SimpleCommand]:
    """Returns every simple command of the text. Raises: Unanalyzable."""
    return _Reader(text).read()


@mutable_value
class _Reader:
    text: str
    position: int = 0
    here_document: str | None = None  # the name that ends it, from its `<<` to the end of that line
    commands: list[SimpleCommand] = field(default_factory=list)

    def read(self) -> list[SimpleCommand]:
        self._skip_lines()
        while self.position < len(self.text):
            self._pipeline()
            self._blanks()
            if self._takes("&&") or self._takes("||"):
                self._skip_lines()
                if self.position >= len(self.text):
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
        while self._next() == "|" and not self.text.startswith(("||", "|&"), self.position):
            self.position += 1
            self._skip_lines()
            self._command(is_fed=True)
            self._blanks()

    def _command(self, *, is_fed: bool) -> None:
        argv: list[WrittenWord] = []
        redirections: list[Redirection] = []
        redirected = False
        while True:
            self._blanks()
            following = self._next()
            if following in ("", "\n", ";", "|") or (
                following == "&" and not self.text.startswith("&>", self.position)
            ):
                break
            if following in "<>&" or self._is_descriptor():
                is_fed = self._redirection(redirections) or is_fed
                redirected = True
                continue
            if following in "()":
                raise Unanalyzable(_NOT_READ[following])
            if redirected:
                raise Unanalyzable("words of the command come after a redirection")
            argv.append(self._word())
        self.commands.append(_simple_command(argv, tuple(redirections), is_fed=is_fed))

    def _word(self) -> WrittenWord:
        word = read_word(self.text, self.position)
        self.position = word.end
        if word.end == len(self.text) or self.text[word.end] not in "<>(":
            return word
        if self.text[word.end] == "(" or "{" in word.written or word.written.isdigit():
            raise Unanalyzable("it is unclear where one of its words ends")
        return word

    # --- redirections

    def _is_descriptor(self) -> bool:
        """Whether a digit is directly before `<` or `>`; several digits are never read as one."""
        digit, operator = self.text[self.position : self.position + 1], self.text[self.position + 1 : self.position + 2]
        return digit in "0123456789" and operator != "" and operator in "<>"

    def _redirection(self, redirections: list[Redirection]) -> bool:
        """Reads one redirection; returns whether it chooses the command's input."""
        redirects_both = self._takes("&>>") or self._takes("&>")
        descriptor = "" if redirects_both or self._next() in "<>" else self._next()
        self.position += len(descriptor)
        if not redirects_both and self._takes(">&"):
            self._duplicate()
            return False
        if not redirects_both and self._takes("<<<"):
            self._target()
            return True
        if not redirects_both and self._takes("<<"):
            self._begin_here_document()
            return True
        reads = not redirects_both and self._takes("<")
        if not reads and not redirects_both and not self._takes(">>"):
            self._takes(">")
        if self._next() in ("<", ">", "&", "|", "("):
            raise Unanalyzable("it redirects in a way that is not understood")
        target = self._target()
        if not target.certain or not target.value:
            raise Unanalyzable("the file that it redirects to or from is known only when it runs")
        if target.value.startswith(_ODD_DEVICES):
            raise Unanalyzable("it redirects to or from something that is not a plain file")
        redirections.append(Redirection(not reads, target))
        return reads

    def _duplicate(self) -> None:
        """`2>&1`."""
        if (
            self._next() not in ("0", "1", "2")
            or (self.text[self.position + 1 : self.position + 2] or " ") not in " \t\n;|"
        ):
            raise Unanalyzable("it redirects in a way that is not understood")
        self.position += 1

    def _target(self) -> Word:
        self._blanks()
        if self._next() in ("", "\n", ";", "&", "|", "<", ">", "(", ")", "#"):
            raise Unanalyzable("it redirects in a way that is not understood")
        return self._word().word

    def _begin_here_document(self) -> None:
        quote = self._next()
        close = self.text.find(quote, self.position + 1) if quote in ("'", '"') else -1
        name = self.text[self.position + 1 : close] if close >= 0 else ""
        if not (name.isascii() and name.isidentifier()):
            raise Unanalyzable(
                "its here-document is not marked with a quoted name, as in <<'EOF', so bash would compute its text"
            )
        if (self.text[close + 1 : close + 2] or " ") not in " \t\n;|&<>":
            raise Unanalyzable("its here-document is marked in an unusual way")
        if self.here_document is not None:
            raise Unanalyzable("two here-documents begin in one line")
        self.here_document, self.position = name, close + 1

    def _end_here_document(self) -> None:
        """Skips from the newline after its mark to the line that ends it."""
        position = self.position
        while position < len(self.text):
            end = self.text.find("\n", position)
            end = len(self.text) if end < 0 else end
            if self.text[position:end] == self.here_document:
                self.position, self.here_document = min(end + 1, len(self.text)), None
                return
            position = end + 1
        raise Unanalyzable("its here-document does not end")

    # --- blanks, lines, signs

    def _next(self) -> str:
        return self.text[self.position : self.position + 1]

    def _takes(self, sign: str) -> bool:
        if not self.text.startswith(sign, self.position):
            return False
        self.position += len(sign)
        return True

    def _blanks(self) -> None:
        """Skips blanks, joined lines and comments; stops before a newline."""
        start = self.position
        while (following := self._next()) in (" ", "\t") and following:
            self.position += 1
        if self._next() == "\\" and self.text.startswith("\\\n", self.position):
            if self.position == start:
                raise Unanalyzable("a backslash joins two lines without a blank before it")
            if self.here_document is not None:
                raise Unanalyzable("a line is joined to the next one after the mark of a here-document")
            self.position += 2
            if self._next() == "#":
                raise Unanalyzable("a comment follows a joined line")
            if self._next() in (" ", "\t", "\\"):
                self._blanks_after_joined_line()
            return
        if self._next() == "#":
            end = self.text.find("\n", self.position)
            self.position = len(self.text) if end < 0 else end

    def _blanks_after_joined_line(self) -> None:
        while (following := self._next()) in (" ", "\t") and following:
            self.position += 1
        if self._next() == "#" or (self._next() == "\\" and self.text.startswith("\\\n", self.position)):
            raise Unanalyzable("a line is joined to an empty one or to a comment")

    def _skip_lines(self) -> None:
        """Skips blanks, comments and newlines; at a newline, also the text of a here-document."""
        self._blanks()
        while self._takes("\n"):
            if self.here_document is not None:
                self._end_here_document()
            self._blanks()


def _simple_command(argv: list[WrittenWord], redirections: tuple[Redirection, ...], *, is_fed: bool) -> SimpleCommand:
    if not argv:
        raise Unanalyzable("a command is missing")
    assigned = 0
    while assigned < len(argv) and assigned_name(argv[assigned].written):
        assigned += 1
    _require_no_keyword(argv[assigned:])
    return SimpleCommand(tuple(word.word for word in argv), assigned, redirections, is_fed)


def _require_no_keyword(argv: list[WrittenWord]) -> None:
    if argv and argv[0].written == "time":
        argv = argv[2:] if len(argv) > 1 and argv[1].written == "-p" else argv[1:]
        if argv and (_is_option(argv[0]) or argv[0].written == "time" or assigned_name(argv[0].written)):
            raise Unanalyzable("'time' comes before something other than a simple command")
    if argv and argv[0].written in _KEYWORDS:
        raise Unanalyzable(f"it uses '{argv[0].written}', a bash construct that is not supported")


def _is_option(word: WrittenWord) -> bool:
    """Whether it is an option, or a program whose name is written like one: `time \\-p` runs the program `-p`."""
    return word.written.startswith("-") or word.word.value.startswith("-")


_NOT_READ = {
    "&": "it starts something in the background ('&')",
    "|": "it pipes errors as well ('|&')",
    "(": "it uses '(', a bash construct that is not supported",
    ")": "it uses ')', a bash construct that is not supported",
    ";": "it uses ';;' or a ';' without a command before it",
}


@lru_cache(maxsize=512)
def parse(text: str, depth: int = 0) -> ParsedCommand:
    commands: list[SimpleCommand] = []
    reason = _odd_text(text) or ("commands are nested too deeply" if depth > _DEEPEST else None)
    if reason is None:
        try:
            commands = read_commands(text)
        except Unanalyzable as fault:
            reason = fault.reason
    parts = [
        part_of(command.argv, command.assigned, lambda inner: parse(inner, depth + 1), is_fed=command.is_fed)
        for command in commands
    ]
    every = [part for top in parts for part in top.all()]
    writes = _files(commands, writes=True)
    moves = any(part.name == "cd" for part in every)
    return ParsedCommand(
        text=text.strip(),
        parts=runs_what_is_made(parts, writes),
        writes=writes,
        reads=_files(commands, writes=False),
        unanalyzable=reason or next((part.unanalyzable for part in every if part.unanalyzable), None),
        raw=tuple(text.translate(_BETWEEN_RAW_WORDS).split()),
        moves=moves,
    )


def _files(commands: list[SimpleCommand], *, writes: bool) -> tuple[str, ...]:
    paths = (
        redirection.target.value
        for command in commands
        for redirection in command.redirections
        if redirection.writes is writes
    )
    return tuple(path for path in paths if path not in _HARMLESS_FILES)


def _odd_text(text: str) -> str | None:
    if len(text) > LONGEST:
        return f"it is longer than {LONGEST:,} characters"
    for character in text:
        if character in "\n\t" or " " <= character <= "~":
            continue
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"):
            return f"it contains an invisible or unusual character (U+{ord(character):04X})"
    return None
