"""Reading a command takes time in proportion to its length, whatever it is made of, and beyond a bound it is not read at all."""

import time
from collections.abc import Callable

import pytest

from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.permissions.resources import AccessedResources
from anycowork.permissions.rules import RuleDecision, RuleIndex, decide
from anycowork.permissions.shell.options import is_plain_awk, is_plain_sed
from anycowork.permissions.shell.parser import LONGEST, parse, read_commands
from anycowork.permissions.shell.shellwords import Unanalyzable

TIMES = 10
MOST = TIMES * 3  # linear, with room for a busy machine; the square would be 100

# Each is repeated until the text is long enough.
PIECES = {
    "words": "a ",
    "one word": "a",
    "quotes": "'a'",
    "double quotes": '"a\\"b" ',
    "escapes": "\\a",
    "variables": "$X",
    "commands": "a;",
    "pipes": "a|",
    "lines": "a\n",
    "empty lines": "\n",
    "comments": "#a\n",
    "blanks": " ",
    "joined lines": "a \\\n",
    "redirections": "a >f\n",
    "here-documents": "a <<'E'\nE\n",
    "here-documents without an end": "<<'E'\n",
    "substitutions": "$(",
    "brackets": "(",
    "backticks": "`",
    "wrappers": "env ",
    "options": "-x ",
    "globs": "*",
    "assignments": "a=1 ",
    "braces": "{",
}


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES.keys())
def test_reading_grows_with_the_length_alone(piece: str) -> None:
    small, large = (piece * (length // len(piece)) + "b" for length in (10_000, 10_000 * TIMES))
    assert _ratio(lambda: _read(small), lambda: _read(large)) < MOST


@pytest.mark.parametrize("script", ["s/[a]/b/;", "/a", "s/[", "1,2p;", "[", "\\", "s/a\\"])
def test_scripts_of_sed_and_awk_too(script: str) -> None:
    small, large = (script * (length // len(script)) for length in (10_000, 10_000 * TIMES))
    assert _ratio(lambda: is_plain_sed(small), lambda: is_plain_sed(large)) < MOST
    assert _ratio(lambda: is_plain_awk(small), lambda: is_plain_awk(large)) < MOST


@pytest.mark.parametrize("text", ["ls " + "a " * 4_990, "git log " + "-x " * 3_300, "a;" * 5_000, "$(rm x " * 1_400])
def test_many_rules_do_not_make_a_long_command_slow(text: str) -> None:
    rules = [Rule(f"{n}", "execute_command", f"ls a a {n} *", Effect.DENY, RuleScope.GLOBAL) for n in range(300)]
    rules.append(Rule("all", "execute_command", "ls *", Effect.ALLOW, RuleScope.GLOBAL))
    index, short = RuleIndex(rules), text[: len(text) // TIMES]
    assert _ratio(lambda: _decide(short, index), lambda: _decide(text, index)) < MOST


def test_beyond_the_bound_nothing_is_read() -> None:
    assert parse("a" * LONGEST).unanalyzable is None
    assert "longer than 10,000 characters" in (parse("a" * (LONGEST + 1)).unanalyzable or "")


def _read(text: str) -> None:
    try:
        read_commands(text)
    except Unanalyzable:
        return


def _decide(text: str, index: RuleIndex) -> None:
    parse.cache_clear()
    decide(AccessedResources("execute_command", command=parse(text)), index, default=RuleDecision(Effect.ASK, None, ""))


def _ratio(small: Callable[[], object], large: Callable[[], object]) -> float:
    return _seconds(large) / max(_seconds(small), 1e-4)


def _seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best
