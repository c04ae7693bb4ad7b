"""Command lines made at random, and bash as the judge of whether the analyser saw everything that they run.

Only texts that the analyser understands are run, in a temporary folder, with a PATH that holds nothing. Every program is "not found",
which is logged with its words; every builtin is a function that logs its words first. `sh -c`, `env`, `nice` and `nohup` are played.
"""

import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

from anycowork.permissions.shell.builtins import BUILTINS
from anycowork.permissions.shell.parser import parse

BASH = which("bash")
CHUNK = 1_000
SECONDS_A_CHUNK = 60
# `builtin` would call itself; the others touch other processes, and no generated text is to do that.
_LOGGED = sorted(BUILTINS - {"builtin", "kill", "suspend"})
# fmt: off
_PIECES = (
    "a", "b", "c", "rm x", "a b", "b c", " ", " ", " ", ";", "&&", "||", "|", "&", "(", ")", "{ ", "; }", "$(", "`", '"', "'", "\\", "<", ">",
    ">>", "#", "!", "*", "?", "~", "=", "\n", "[", "]", "-", "$", "${", "}", "<<a\n", "<<'a'\n", '<<"a"', "\na\n", "<<<", "<(", ">(", "$((",
    "))", "$'", '$"', "&>", "|&", "1", "2>", "12>", "2>&1", "@", "()", "\t", "a=", "[[ ", " ]]", ",", "%", "+", "a()", "\\ ", "$X", "\\\n",
    " \\\n", "<<-a\n", "{a,rm x}", "a[", "$?", "$IFS", "time ", "! ", "-v ", "--", "<&", ">|", "{}", "..", "}", "{", "^", "!!", ":-", "$X[", "E",
)
_NAMES = (
    "a", "b", "ls", "git", "echo", "printf", "test", "[", "read", "let", "declare", "typeset", "export", "readonly", "local", "unset", "mapfile",
    "readarray", "wait", "eval", "source", ".", "trap", "exec", "coproc", "command", "builtin", "alias", "set", "shopt", "cd", "true", ":",
    "getopts", "hash", "env", "nohup", "nice", "sh", "bash", "time", "xargs", "pushd", "type", "exit", "return", "shift", "[[", "((", "if", "for",
    "while", "case", "function", "!", "{", "select", "until", "enable", "ulimit", "dirs", "jobs", "help", "complete", "compgen", "history", "fc",
)
_HOSTILE = (
    "a[$(rm x)]", "$(rm x)", "`rm x`", "${X:-$(rm x)}", "${X@P}", "$((a[$(rm x)]))", "<(rm x)", "{rm,x}", "$'rm'", "x;rm x", "rm x", "!rm",
    "a[$(rm x)]=1", "PATH=.", "$X", "$Y", "${Z}", "*", "?", "~", "[a-z]*", "@(rm)", "+(a)", "!(a)", "-v", "-p", "-n", "-a", "-R", "-c", "-x", "%n",
    "=rm", "-o", "-e", "a", "b", "1", "]", "=", "-eq", "-f", "-z", "!", "(", ")", "-d", "-t", "$", "\\$(rm x)", "a\\", "#", "a#b", "{}", "x{1..3}",
    "\"$(rm x)\"", "'$(rm x)'", "\"$X\"", "'a b'", "\"a'b\"", "a\\ b", "''", '""', "--", "-", "$?", "$#", "$@", "$!", "$0", "$_", "x=1", "A=1",
)
_USUAL_NAMES = (
    "a", "b", "ls", "git", "echo", "printf", "test", "[", "cd", "true", "export", "command", "env", "nohup", "sh", "time", "set", "wait", "xargs",
)
_USUAL_WORDS = (
    "a", "b", "-x", "'a b'", '"$X"', "$X", "*", "a\\ b", '"a$"', "''", "x=1", "\"a'b\"", "--", "{}", "a{b", "~", "-f", "=", "]", "2",
    "'$(rm x)'", "é", "a?", "a*$X",
)
_USUAL_ENDS = ("", "", "", " > f", " 2>&1", " < f", " <<'E'\n$(rm x)\nE", " <<< a", " &> f", " 2>/dev/null", " # rm x", ">f")
_USUAL_JOINS = (" ; ", ";", " && ", "||", "|", " | ", "\n", " \\\n", " # c\n", ";\n\n", " &&\n")
_JOINS = (" ; ", ";", " && ", " || ", " | ", "\n", " & ", " |& ", "&&", "|", " ;\n", " && \n", " # c\n", " \\\n", "\\\n", " ; # rm x\n", ")", "(")
_ENDS = (
    "", "", "", "", " > f", " >> f", " < f", " 2>&1", " 2>/dev/null", " &> f", " >&2", " 2> f", " <<< a", " <<<$\n rm x", " <<< $X", " <<< $(rm x)",
    " <<'E'\n$(rm x)\nE", " <<E\n$(rm x)\nE", " <<E\n`rm x`\nE", ' <<"E"\nrm x\nE\n', " <<-'E'\n\trm x\n\tE\n", " <<'E'\nE\nrm x\nE", " <<\\E\nE\n",
    " <<'E' <<'F'\nE\nrm x\nF\n", " >f rm", " 12>f", " {v}>f", " >|f", " <>f", " 3<&0", " >&-", " > 'a b'", " >f<f", " <<'E' | b\nx\nE\n",
    " <<'E' && b\nx\nE\nc", " <<'E'\nx\nE ", " <<'E'\nx", " <<''\nrm x\n\n", "<f", ">f", " 2>f 1>f", " <<<'a b'", " <<'E'#\nE\n", " < <(rm x)",
)
# fmt: on
_PLAYED = r"""
note() { builtin printf '%s\1' "$@" $'\2' >> "$LOG"; }
command_not_found_handle() {
  note "$@"
  case "$1" in
    sh|bash) [[ "$2" == -c ]] && builtin eval "$3" ;;
    nohup|nice) builtin shift; [[ "$1" == -* ]] || "$@" ;;
    env) builtin shift; while [[ "$1" == *=* ]]; do builtin shift; done; [[ "$1" == -* || -z "$1" ]] || "$@" ;;
  esac
  builtin return 1
}
"""
_LOOP = r"""
while IFS= builtin read -r -d '' text <&9; do
  ( builtin eval "$text" ) 9<&- </dev/null >/dev/null 2>&1
  builtin printf '\3' >> "$LOG"
done
"""


@dataclass
class Compared:
    """How many texts were made, how many of them were understood and run, and what bash ran unseen."""

    made: int = 0
    ran: int = 0
    missed: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)


def compare(seed: int, folder: Path, texts: int = CHUNK) -> Compared:
    """Make that many texts from the seed, and compare the analyser with bash on each."""
    chosen = random.Random(seed)
    made = [random_text(chosen) for _ in range(texts)]
    return compare_texts(made, folder)


def compare_texts(made: list[str], folder: Path) -> Compared:
    understood = [text for text in made if not parse(text).unanalyzable]
    found = Compared(len(made), len(understood))
    for text, commands in zip(understood, run_in_bash(understood, folder), strict=True):
        found.missed += [(text, ran) for ran in commands if not _was_seen(text, ran)]
    return found


def random_text(chosen: random.Random) -> str:
    if chosen.random() < 0.3:
        return "".join(chosen.choice(_PIECES) for _ in range(chosen.randint(2, 12)))
    text = _command(chosen)
    while chosen.random() < 0.4:
        text += _one_of(chosen, _USUAL_JOINS, _JOINS) + _command(chosen)
    if chosen.random() < 0.15:
        at = chosen.randint(0, len(text))
        text = text[:at] + chosen.choice(_PIECES) + text[at + chosen.randint(0, 1) :]
    return text


def run_in_bash(texts: list[str], folder: Path) -> list[list[tuple[str, ...]]]:
    """For each text, the words of everything that bash ran."""
    log, given, work = folder / "log", folder / "texts", folder / "work"
    log.write_bytes(b"")
    given.write_text("".join(f"{text}\0" for text in texts))
    work.mkdir(exist_ok=True)
    logged = "\n".join(f'function {name} {{ note {name} "$@"; builtin {name} "$@"; }}' for name in _LOGGED)
    environment = {"PATH": "/none", "HOME": str(work), "LOG": str(log), "X": "a b", "Y": "-v", "Z": "a[$(rm z)]"}
    with given.open("rb") as source:
        descriptor = os.dup(source.fileno())
        try:
            subprocess.run(
                [str(BASH), "--norc", "--noprofile", "-c", f"exec 9<&{descriptor}\n{_PLAYED}{logged}\n{_LOOP}"],
                cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True,
                pass_fds=[descriptor], timeout=SECONDS_A_CHUNK,
            )  # fmt: skip
        finally:
            os.close(descriptor)
    blocks = log.read_text(errors="replace").split("\3")[:-1]
    return [[tuple(entry.split("\1")[:-1]) for entry in block.split("\2\1") if entry] for block in blocks]


def _command(chosen: random.Random) -> str:
    words = [_one_of(chosen, _USUAL_NAMES, _NAMES)]
    for _ in range(chosen.choice((0, 1, 1, 2, 2, 3, 4))):
        words.append(_one_of(chosen, _USUAL_WORDS, _HOSTILE))
    if chosen.random() < 0.1:
        words.insert(
            0,
            chosen.choice(("A=1", "CI=1", "a[$(rm x)]=1", "A+=1", "X=$(rm x)", "A=~", "A=$X", "time", "time -p", "!")),
        )
    if chosen.random() < 0.1:
        words.insert(0, chosen.choice(("env", "nohup", "nice", "command", "sh -c", "bash -c")))
    return " ".join(words) + _one_of(chosen, _USUAL_ENDS, _ENDS)


def _one_of(chosen: random.Random, usual: tuple[str, ...], hostile: tuple[str, ...]) -> str:
    """Mostly what is understood: a text is run only if all of it is."""
    return chosen.choice(hostile if chosen.random() < 0.2 else usual)


def _was_seen(text: str, ran: tuple[str, ...]) -> bool:
    every = (part for top in parse(text).parts for part in top.all())
    return any(
        part.words[: part.known] == ran[: part.known] and (part.known < len(part.words) or len(part.words) == len(ran))
        for part in every
    )
