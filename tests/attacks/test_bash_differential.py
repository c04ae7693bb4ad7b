"""Random command lines, run by bash where nothing can happen: nothing that bash runs is missing from what the analyser saw.

`make fuzz-shell` does the same a million times. A text that was ever missed is kept in `KEPT`.
"""

from pathlib import Path

import pytest

from anycowork.permissions.shell.parser import parse
from support.attempts import Attempts
from support.bash_differential import BASH, compare, compare_texts, run_in_bash, was_seen
from support.spec import proves

pytestmark = pytest.mark.skipif(BASH is None, reason="this machine has no bash to compare with")

# Each runs `rm x` in bash although its words seem to say something else.
HIDES_RM = [
    "ls <<E\n`rm x`\nE",
    "ls <<E\n$(rm x)\nE",
    "ls <<<$\n rm x",
    "printf -v 'a[$(rm x)]' 1",
    "test -v 'a[$(rm x)]'",
    "[ -v 'a[$(rm x)]' ]",
    "read 'a[$(rm x)]' <<< 1",
    "let 'a[$(rm x)]=1'",
    "declare 'a[$(rm x)]=1'",
    "ls {a,$(rm x)}",
    "eval 'rm x'",
    "trap 'rm x' EXIT",
    "a[$(rm x)]=1",
    "echo ${W:=`rm x`}",
    "echo ${Z@P}$(rm x)",
    "time A=1 rm x",
    "time -- A=1 rm x",
    "a & rm x",
    "$'rm' x",
    'coproc rm x; read -u "${COPROC[0]}"',  # until it has ended: `wait` is played in a subshell, which has no children
]
# Understood, and read by bash in the same way; each form was once in doubt.
KEPT = [
    "a <<'E' && b\n$(rm x)\nE\nc",
    "a \\\n b",
    "a # b; rm x\nc",
    'echo "a$" \'b\' "$X"',
    "a x@{1} {} a{b",
    "a 2>&1 >f",
    "sh -c 'a && b' ; env A=1 nice b",
    "[ a = b ] && test ! -f c",
    "printf '%s' 'a[$(rm x)]'",
    "export A='$(rm x)'; a",
]
# Each ran something unseen once.
MISSED = [
    "time \\-p <<< a",
    "time '-p' a",
    "bash $IFSe -c 'nohup rm x'",
    "sh $X -c 'rm x'",
]


@proves("APR-3")
@pytest.mark.parametrize("seed", [1, 2])
def test_bash_runs_nothing_that_the_analyser_has_not_seen(tmp_path: Path, seed: int) -> None:
    found = compare(seed, tmp_path, texts=2_000)
    assert found.missed == []
    assert found.ran > found.made / 10, "hardly any text was understood, so that little was compared"


def test_what_hides_a_command_is_not_understood(tmp_path: Path, attempts: Attempts) -> None:
    ran = dict(zip(HIDES_RM, run_in_bash(HIDES_RM, tmp_path), strict=True))

    def attempt(text: str) -> None:
        assert ("rm", "x") in ran[text], "bash does not run it, so that this proves nothing"
        assert parse(text).unanalyzable

    attempts.every(HIDES_RM, attempt)


def test_what_was_once_in_doubt_is_understood_as_bash_does(tmp_path: Path, attempts: Attempts) -> None:
    ran = dict(zip(KEPT, run_in_bash(KEPT, tmp_path), strict=True))

    def attempt(text: str) -> None:
        assert ran[text] and not parse(text).unanalyzable
        assert [words for words in ran[text] if not was_seen(parse(text), words)] == []

    attempts.every(KEPT, attempt)


def test_what_ran_unseen_once_does_so_no_more(tmp_path: Path) -> None:
    assert compare_texts(MISSED, tmp_path).missed == []
