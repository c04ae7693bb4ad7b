"""Parses a command line: every simple command in it, and the files that it writes and reads.

Pure: text in, `ParsedCommand` out, in linear time. Only a small part of bash is supported; `grammar.py` defines it.
Any other text is `unanalyzable`: no command rule can allow it, so a person is always asked. `wrappers.py` finds what wrappers such
as `sudo` or `sh -c` run, and `options.py` knows which options are harmless.
"""

import unicodedata
from functools import lru_cache

from anycowork.domain.values import value
from anycowork.permissions.shell.grammar import SimpleCommand, read_commands
from anycowork.permissions.shell.shellwords import Unanalyzable
from anycowork.permissions.shell.wrappers import CommandPart, part_of, runs_what_is_made

LONGEST = 10_000
_DEEPEST = 3
_HARMLESS_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
# Characters that may end a word, for text that cannot be analyzed.
_BETWEEN_RAW_WORDS = str.maketrans(dict.fromkeys(";&|()<>`$\"'{}\\", " "))


@value
class ParsedCommand:
    """A parsed command line. `raw` are its words without any meaning, to compare when the command cannot be analyzed."""

    text: str
    parts: tuple[CommandPart, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    unanalyzable: str | None = None
    raw: tuple[str, ...] = ()
    moves: bool = False  # it changes folders, so that relative paths mean something else

    @property
    def uncovered_reason(self) -> str | None:
        """The first reason why a rule with ` *` may not cover the command."""
        every = [part for top in self.parts for part in top.all()]
        only = next((part.whole_text_only for part in every if part.whole_text_only), None)
        return only or next((word.reason for part in every for word in part.uncovered), None)


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
