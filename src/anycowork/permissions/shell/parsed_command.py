"""A parsed command line: its simple commands, the commands inside them, and the files that it writes and reads. `parser.py` makes one."""

from collections.abc import Iterator, Sequence
from enum import Enum

from anycowork.domain.values import value
from anycowork.permissions.shell.options import UncoveredWord
from anycowork.permissions.shell.shellwords import Word


class InnerExecution(Enum):
    """How a wrapper runs its inner command. If UNCHANGED, a rule that allows the inner command allows the wrapper too."""

    UNCHANGED = "it runs the same command, only at another time or priority"
    CHANGED = "it runs it with other rights, variables or input"


@value
class CommandPart:
    """One simple command. The first `certain_count` words are certain; `inner_start` is where the words of the inner command begin.

    A rule with ` *` must name every word in `uncovered`. `whole_text_only` is the reason why only a rule with the whole text allows it.
    """

    argv: tuple[str, ...]
    certain_count: int
    inside: tuple["CommandPart", ...] = ()
    inner_start: int = 10**6
    inner_execution: InnerExecution = InnerExecution.CHANGED
    unanalyzable: str | None = None
    uncovered: tuple[UncoveredWord, ...] = ()
    whole_text_only: str | None = None

    @property
    def name(self) -> str:
        return self.argv[0] if self.argv else ""

    @classmethod
    def plain(cls, argv: Sequence[Word], unanalyzable: str | None = None) -> "CommandPart":
        certain_count = next((index for index, word in enumerate(argv) if not word.certain), len(argv))
        return cls(tuple(word.value for word in argv), certain_count, unanalyzable=unanalyzable)

    def all(self) -> "Iterator[CommandPart]":
        yield self
        for part in self.inside:
            yield from part.all()


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
