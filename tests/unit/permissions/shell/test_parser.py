"""What a command line would run, told from its text. Bash itself is asked in `tests/attacks/test_bash_differential.py`."""

import pytest

from anycowork.permissions.shell.parser import parse
from support.spec import proves


@proves("APR-3")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("git status", ["git"]),
        ("a && b || c; d | e", ["a", "b", "c", "d", "e"]),
        ("a <<'EOF' | b\n$(c)\nEOF\nd", ["a", "b", "d"]),
        ("a <<'EOF'\n$(c)\nEOF\nd", ["a", "d"]),
        ("a # b; c", ["a"]),
        ("# a\n\nb;", ["b"]),
        ("a\nb", ["a", "b"]),
        ("a \\\n  b && \\\n c", ["a", "c"]),
        ("a &&\nb |\nc", ["a", "b", "c"]),
        ("time -p a $X \"$X\" ~ ./*.py x@{1} 'b c' d\\ e", ["time"]),
        ("a <<< 'b' 2>&1", ["a"]),
    ],
)
def test_every_simple_command_is_found(text: str, names: list[str]) -> None:
    parsed = parse(text)
    assert parsed.unanalyzable is None
    assert sorted(part.name for part in parsed.parts) == sorted(names)


@proves("APR-3")
@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("timeout -k 5 10 rm x", [("rm", "x")]),
        ("nohup nice -n 5 rm x", [("nice", "-n", "5", "rm", "x"), ("rm", "x")]),
        ("env rm x", [("rm", "x")]),
        ("env A=b rm x", [("rm", "x")]),
        ("A=b rm x", [("rm", "x")]),
        ("sudo -u root rm x", [("rm", "x")]),
        ("xargs -0 -n1 rm", [("rm", "…")]),
        ("sh -c 'rm x && ls'", [("rm", "x"), ("ls",)]),
        ('bash -ec "timeout 5 rm x"', [("timeout", "5", "rm", "x"), ("rm", "x")]),
        (r"find . -name x -exec rm {} \; -exec ls {} +", [("rm", "{}"), ("ls", "{}")]),
        ("stdbuf -oL setsid -w command nice rm x", None),
        ("busybox rm x", [("rm", "x")]),
    ],
)
def test_what_a_wrapper_runs_is_a_part_too(text: str, inside: list[tuple[str, ...]] | None) -> None:
    parsed = parse(text)
    assert parsed.unanalyzable is None and len(parsed.parts) == 1
    found = [part.argv for part in parsed.parts[0].all()][1:]
    assert found == inside if inside is not None else found[-1] == ("rm", "x")


def test_redirections_are_files_that_are_written_or_read() -> None:
    parsed = parse("a > out 2>> 'err log' < in 2>&1 > /dev/null && b &> both")
    assert (parsed.writes, parsed.reads) == (("out", "err log", "both"), ("in",))


@pytest.mark.parametrize(
    "text",
    [
        "eval ls",
        "source x",
        ". x",
        "$X",
        "${X}",
        "`a`",
        "g*t status",
        "a${IFS}b",
        "a=$IFS",
        "PATH=. ls",
        "LD_PRELOAD=x ls",
        "env PATH=. ls",
        "~/x y",
        "ls\\\n x",
        *(
            "a & b",
            "(a)",
            "{ a; }",
            "! a",
            "a |& b",
            "if a; then b; fi",
            "for i in a; do b; done",
            "while a; do b; done",
        ),
        *(
            "case a in a) b;; esac",
            "f() { a; }",
            "a $(b)",
            'a "$(b)"',
            "a `b`",
            "a <(b)",
            "a <<E\nb\nE",
            "a <<-'E'\nE\n",
            "exec a",
        ),
        *(
            "a ${#x}",
            "a $'b'",
            'a $"b"',
            "a <<<$\n b",
            "a x{1,2}",
            "a x{1..2}",
            "a 12>f",
            "a {v}>f",
            "a >|f",
            "a <>f",
            "> f",
            "; a",
            "a ;; b",
        ),
        *(
            "printf -v x a",
            "printf %n PATH",
            "printf %5.3ln x",
            'printf "$X"',
            "test -v x",
            "[ -v x ]",
            "[ $X ]",
            '[ "$X" "$X" ]',
            "read x",
        ),
        *(
            "let x",
            "declare x",
            "typeset x",
            "local x",
            "readonly x",
            "unset x",
            "mapfile x",
            "readarray x",
            "wait -p x",
            "getopts x y",
        ),
        *(
            "shopt -s x",
            "set -o posix",
            "set -a",
            "hash -p a b",
            "enable -f a b",
            "compgen -C a",
            "bind -x a",
            "pushd a",
            "a+=1",
            "HOME=.",
        ),
        *(
            "sh -ic a",
            "bash -lc a",
            "bash --rcfile a",
            "zsh -c a",
            "time A=1 b",
            "time -- A=1 b",
            "time if",
            "a > /dev/tcp/b/1",
            "a < /proc/self/environ",
            "pytest *",
        ),
        "ls\u200b x",
        "ls\u00a0x",
        "l\u0007s",
        "ls\rx",
        "g\u0456t status",
        "{a,b}",
        "coproc a",
        "((x++))",
        "[[ -f x ]]",
        "a[0]=1",
        "echo ${x:-y}",
        "echo ${!x}",
        "echo $((x))",
        "env -S 'a b'",
        "xargs -I a a",
        "ls &&",
        "(",
        "a > $x",
        "a >f b",
        "timeout $X ls",
        'sh -c "$X"',
        "alias a=b",
        "trap a EXIT",
        "echo $'a'\\''",
        "a <<$X\nX\n",
        "$'a' b",
        "! ! a",
        "[ a > b ]",
        "[a]",
        "a=1 [b",
    ],
)
def test_what_cannot_be_told_from_the_text_is_not_judged(text: str) -> None:
    assert parse(text).unanalyzable


@pytest.mark.parametrize(
    "text",
    [
        *(
            "(" * 9_000,
            "$(" * 4_000,
            "a=(" * 3_000,
            '"${' * 3_000,
            "env " * 2_000,
            "timeout 5 " * 900,
            "x=1 sudo " * 900,
            "nohup " * 1_500,
        ),
        *(
            "! " * 4_000,
            "if a; then " * 800,
            "a && " * 2_500 + "a",
            "a " * 20_000,
            "find " + "-exec env ls ; " * 100 + "-exec",
        ),
    ],
    ids=lambda text: text[:10],
)
def test_an_endless_command_is_not_judged_and_breaks_nothing(text: str) -> None:
    assert parse(text).unanalyzable
