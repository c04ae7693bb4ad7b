"""What a command line would run, told from its text; and bash itself as the judge of whether that was all."""

import subprocess
from pathlib import Path
from shutil import which

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.permissions.commands import parse
from support.spec import proves

BASH = which("bash")
PIECES = [
    *(
        "a",
        "b",
        "c",
        "a b",
        "b c",
        " ",
        " ",
        ";",
        "&&",
        "||",
        "|",
        "&",
        "(",
        ")",
        "{ ",
        "; }",
        "$(",
        "`",
        '"',
        "'",
        "\\",
    ),
    *("<", ">", ">>", "#", "!", "*", "?", "~", "=", "\n", "[", "]", "-", "$", "${", "}", "<<a\n", "\na\n", "<<<", "<("),
    *("$((", "))", "$'", "&>", "|&", "1", "2>", "@", "()", "\t", "a=", "[[ ", " ]]", ",", "%", "+", "a()", "\\ ", "$b"),
]


@proves("APR-3")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("git status", ["git"]),
        ("a && b || c; d | e & f", ["a", "b", "c", "d", "e", "f"]),
        ("(a; b) | { c; }", ["a", "b", "c"]),
        ("a $(b `c`) <(d)", ["c", "b", "d", "a"]),
        ('echo "${#x} $(b)"', ["b", "echo"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("for i in $(a); do b $i; done", ["a", "b"]),
        ("while a; do b; done < f", ["a", "b"]),
        ("case $(a) in x) b;; y) c;; esac", ["a", "b", "c"]),
        ("f() { a; }; f", ["a", "f"]),
        ("a <<EOF | b\n$(c)\nEOF\nd", ["a", "b", "c", "d"]),
        ("a <<'EOF'\n$(c)\nEOF\nd", ["a", "d"]),
        ("! a # b; c", ["a"]),
        ("a\nb", ["a", "b"]),
    ],
)
def test_every_simple_command_is_found(text: str, names: list[str]) -> None:
    parsed = parse(text)
    assert parsed.unjudgeable is None
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
        ("stdbuf -oL setsid -w command exec rm x", None),
    ],
)
def test_what_a_wrapper_runs_is_a_part_too(text: str, inside: list[tuple[str, ...]] | None) -> None:
    parsed = parse(text)
    assert parsed.unjudgeable is None and len(parsed.parts) == 1
    found = [part.words for part in parsed.parts[0].all()][1:]
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
        "ls \\\n x",
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
        "git -c core.pager=x log",
        "git rebase -x a",
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
    assert parse(text).unjudgeable


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
            "a && " * 1_500 + "a",
            "a " * 20_000,
            "find " + "-exec env ls ; " * 100 + "-exec",
        ),
    ],
    ids=lambda text: text[:10],
)
def test_an_endless_command_is_not_judged_and_breaks_nothing(text: str) -> None:
    assert parse(text).unjudgeable


@proves("APR-3")
@pytest.mark.skipif(BASH is None, reason="this machine has no bash to compare with")
@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=2, max_size=12).map("".join))
def test_bash_runs_nothing_that_was_not_found(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    parsed = parse(text)
    if parsed.unjudgeable:
        return
    parts = [part for top in parsed.parts for part in top.all()]
    for ran in _run_by_bash(text, tmp_path_factory.mktemp("bash")):
        assert any(
            part.words[: part.known] == ran[: part.known]
            and (part.known < len(part.words) or len(part.words) == len(ran))
            for part in parts
        ), (text, ran, parts)


def _run_by_bash(text: str, folder: Path) -> list[tuple[str, ...]]:
    """Every command that bash tries to run, with its words; none of them exists."""
    log, work = folder / "log", folder / "work"
    work.mkdir()
    note = f'FUNCNEST=3\ncommand_not_found_handle() {{ printf "%s\\1" "$@" END >> "{log}"; return 1; }}\neval "$0"'
    command = [str(BASH), "--norc", "--noprofile", "-c", note, text]
    subprocess.run(command, cwd=work, env={"PATH": "/none"}, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
    written = log.read_text(errors="replace") if log.exists() else ""
    return [tuple(entry.split("\1")[:-1]) for entry in written.split("END\1") if entry]
