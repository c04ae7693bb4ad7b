"""Runs command lines in bash, which decides whether the analyser saw everything that they run.

Only texts that the analyser understands are run, in a temporary folder, with a PATH that holds nothing. Every usual program is a function
that logs its words; any other is "not found", which is logged too. Builtins log their words first. `sh -c`, `env`, `nice` and `nohup` are
played. One bash runs all texts of a chunk, and one subshell as many of them as survive it: what changes the shell is done in a subshell.
"""

import os
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

from anycowork.permissions.shell.builtins import BUILTINS
from anycowork.permissions.shell.parsed_command import ParsedCommand
from anycowork.permissions.shell.parser import parse
from support.shell_texts import random_text

BASH = which("bash")
CHUNK = 10_000
SECONDS_A_CHUNK = 300
# `builtin` would call itself; the others touch other processes, and no generated text is to do that.
_LOGGED = sorted(BUILTINS - {"builtin", "kill", "suspend", "exit"})
_CHANGES_THE_SHELL = frozenset({"cd", "export", "set", "trap", "umask", "ulimit", "wait"})
_PROGRAMS = ("a", "b", "c", "ls", "git", "rm", "xargs", "x")
_PLAYED = r"""
# Without line breaks, at which bash would write twice: the two sides of a pipe note at the same time.
note() { noted=("$@"); builtin printf '%s\1' "${noted[@]//$'\n'/$'\4'}" $'\2' >&201; }
command_not_found_handle() { note "$@"; builtin return 1; }
sh() { note sh "$@"; if [[ "$1" == -c ]]; then builtin eval "$2"; fi; builtin return 0; }
bash() { note bash "$@"; if [[ "$1" == -c ]]; then builtin eval "$2"; fi; builtin return 1; }
nohup() { note nohup "$@"; [[ "$1" == -* || -z "$1" ]] || "$@"; builtin return 0; }
nice() { note nice "$@"; [[ "$1" == -* || -z "$1" ]] || "$@"; builtin return 1; }
env() {
  note env "$@"
  while [[ "$1" == *=* ]]; do builtin shift; done
  [[ "$1" == -* || -z "$1" ]] || "$@"
  builtin return 1
}
exit() { note exit "$@"; }
"""
_LOOP = r"""
builtin read -r -d '' -u 202 count
done=0
while (( done < count )); do
  (
    while IFS= builtin read -r -d '' -u 202 text; do
      X='a b' Y=-v Z='a[$(rm z)]'
      builtin eval "$text" 202<&- </dev/null >/dev/null 2>&1
      builtin wait  # what runs beside the shell notes its words before the next text begins
      builtin printf '\3' >&201
      builtin printf . >&203
    done
  )
  builtin printf '\3' >&201  # a text ended the subshell; its number follows from how many ended without doing so
  builtin printf . >&203
  builtin read -r -d '' done < "$DONE"
  done=${#done}
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
    return compare_texts([random_text(chosen) for _ in range(texts)], folder)


def compare_texts(made: list[str], folder: Path) -> Compared:
    parsed = {text: parse(text) for text in made}
    understood = [text for text in made if not parsed[text].unanalyzable]
    found = Compared(len(made), len(understood))
    for text, commands in zip(understood, run_in_bash(understood, folder), strict=True):
        found.missed += [(text, ran) for ran in commands if not was_seen(parsed[text], ran)]
    return found


def run_in_bash(texts: list[str], folder: Path) -> list[list[tuple[str, ...]]]:
    """For each text, the words of everything that bash ran."""
    log, given, work, done = folder / "log", folder / "texts", folder / "work", folder / "done"
    given.write_bytes("".join(f"{text}\0" for text in [str(len(texts)), *texts]).encode(errors="surrogateescape"))
    work.mkdir(exist_ok=True)
    environment = {"PATH": "/none", "HOME": str(work), "DONE": str(done)}
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    descriptors = [os.open(log, flags), os.open(given, os.O_RDONLY), os.open(done, flags)]
    exec_line = "exec " + " ".join(f"{200 + at}{'<' if at == 2 else '>'}&{fd}" for at, fd in enumerate(descriptors, 1))
    try:
        subprocess.run(
            [str(BASH), "--norc", "--noprofile", "-c", f"{exec_line}\n{_PLAYED}{_functions()}\n{_LOOP}"],
            cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True,
            pass_fds=descriptors, timeout=SECONDS_A_CHUNK,
        )  # fmt: skip
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    blocks = log.read_text(errors="surrogateescape").split("\3")[: len(texts)]
    return [[_words(entry) for entry in block.split("\2\1") if entry] for block in blocks]


def _words(entry: str) -> tuple[str, ...]:
    return tuple(word.replace("\4", "\n") for word in entry.split("\1")[:-1])


def _functions() -> str:
    logged = [
        f'function {name} {{ note {name} "$@"; {"( " if name in _CHANGES_THE_SHELL else ""}builtin {name} "$@"'
        f"{' )' if name in _CHANGES_THE_SHELL else ''}; }}"
        for name in _LOGGED
    ]
    return "\n".join(
        [
            *logged,
            *(f'function {name} {{ note {name} "$@"; builtin return {at % 2}; }}' for at, name in enumerate(_PROGRAMS)),
        ]
    )


def was_seen(parsed: ParsedCommand, ran: tuple[str, ...]) -> bool:
    """Whether one of the commands that the analyser saw is the one that ran."""
    every = (part for top in parsed.parts for part in top.all())
    return any(
        part.argv[: part.certain_count] == ran[: part.certain_count]
        and (part.certain_count < len(part.argv) or len(part.argv) == len(ran))
        for part in every
    )
