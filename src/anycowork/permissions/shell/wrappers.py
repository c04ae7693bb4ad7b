"""Unwraps commands that run other commands (`sudo`, `env`, `xargs`, `busybox`, `sh -c`, `find -exec`), so that the inner command is
analyzed as well. Pure."""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from anycowork.domain.values import value
from anycowork.permissions.shell.builtins import (
    SHELLS,
    is_interpreter,
    leads_to_device,
    program_name,
    require_plain_builtin,
    require_plain_script,
    uncovered_variables,
)
from anycowork.permissions.shell.options import UncoveredWord, may_run_input, uncovered_words
from anycowork.permissions.shell.parsed_command import CommandPart, InnerExecution, ParsedCommand
from anycowork.permissions.shell.shellwords import Unanalyzable, Word

Parse = Callable[[str], ParsedCommand]

_DEEPEST = 8
_TOKEN = re.compile(r"[\w.+-]+")
_READ_AS_BASH = frozenset({"sh", "bash", "dash", "ash"})
_WRITING_PROGRAMS = frozenset(
    {"tee", "cp", "mv", "ln", "link", "install", "dd", "mkfifo", "mknod", "rsync", "curl", "wget", "sed", "sort"}
)
_MOST_FOLDERS = 16
_SHELL_LETTERS = frozenset("ceuxvns")
_SHELL_WORDS = ("--norc", "--noprofile")
# Programs that run something named in their arguments, each in its own syntax, which is not parsed here.
# fmt: off
_LAUNCHERS = frozenset({
    "flock", "watch", "script", "parallel", "chrt", "taskset", "prlimit", "setarch", "linux32", "linux64",
    "strace", "ltrace", "gdb", "valgrind", "perf", "hyperfine", "unbuffer", "expect", "ssh", "su", "pkexec", "runuser", "chroot",
    "unshare", "nsenter", "setpriv", "capsh", "systemd-run", "entr", "fakeroot", "firejail", "bwrap", "proot", "docker", "podman",
    "nix-shell", "uv", "npx", "uvx", "poetry", "pipenv", "direnv", "mise", "fish", "pwsh", "awk", "gawk", "mawk",
    "start-stop-daemon", "toybox", "ld.so", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "tar", "vim", "vi", "nvim", "ex", "at", "batch",
})
# fmt: on
_RUNS_NEW_FILE = UncoveredWord(0, "it runs a file that the same command line makes or chooses", is_known=True)


@value
class _Options:
    """A wrapper's own arguments: flags, flags that take a value, and the number of words before the command."""

    flags: str
    valued: str = ""
    before: int = 0
    inner_execution: InnerExecution = InnerExecution.UNCHANGED


_WRAPPERS = {
    "nohup": _Options(""),
    "setsid": _Options("-c -f -w --ctty --fork --wait"),
    "nice": _Options("", "-n --adjustment"),
    "ionice": _Options("-t", "-c -n --class --classdata"),
    "timeout": _Options("-v --verbose --preserve-status --foreground", "-s -k --signal --kill-after", before=1),
    "time": _Options("-p"),
    "stdbuf": _Options("", "-i -o -e --input --output --error"),
    "command": _Options("-p"),
    "busybox": _Options("", inner_execution=InnerExecution.CHANGED),
    "env": _Options("", "-u --unset"),
    "xargs": _Options(
        "-0 -r -t -x --null --no-run-if-empty --verbose --exit",
        "-n -P -L -d -s -I --max-args --max-procs --max-lines --delimiter",
    ),
    "sudo": _Options(
        "-n -E -H -S -b -k", "-u -g -p -C --user --group --prompt", inner_execution=InnerExecution.CHANGED
    ),
    "doas": _Options("-n", "-u -C", inner_execution=InnerExecution.CHANGED),
}


def part_of(argv: Sequence[Word], assigned: int, parse: Parse, depth: int = 0, *, is_fed: bool) -> CommandPart:
    """Returns the command of these words with its inner commands. The first `assigned` words set variables for it."""
    command = CommandPart.plain(argv)
    try:
        uncovered = uncovered_variables(argv[:assigned])
        if assigned == len(argv):
            return replace(command, uncovered=uncovered)
        if assigned:
            inner = part_of(argv[assigned:], 0, parse, depth + 1, is_fed=is_fed)
            return CommandPart(
                command.argv, command.certain_count, (inner,), assigned, InnerExecution.CHANGED, uncovered=uncovered
            )
        return _unwrapped(command, argv, parse, depth, is_fed=is_fed)
    except Unanalyzable as fault:
        return CommandPart.plain(argv, unanalyzable=fault.reason)


def launched(part: CommandPart) -> Iterator[str]:
    """Yields every word with which a launcher may name another program."""
    if part.inside or program_name(part.name) not in _LAUNCHERS:
        return
    for word in part.argv[1:]:
        yield from _TOKEN.findall(word)


def takes_orders(part: CommandPart) -> bool:
    """Whether it may run what it reads: a shell without a script, or any program that is fed and not known only to read."""
    if part.whole_text_only is not None:
        return True
    return program_name(part.name) in SHELLS and not part.inside and all(word.startswith("-") for word in part.argv[1:])


def runs_what_is_made(parts: Sequence[CommandPart], writes: Sequence[str]) -> tuple[CommandPart, ...]:
    """Marks each part that runs a file which the same command line makes, or a device: what it runs is not what lies there now."""
    every = [part for top in parts for part in top.all()]
    folders = _possible_folders(every)
    made_paths = {path for written in writes for path in _from_any(folders, written)}
    for part in every:
        if program_name(part.name) in _WRITING_PROGRAMS:
            made_paths.update(path for word in part.argv[1:] for path in _from_any(folders, word.removeprefix("of=")))
    return tuple(
        replace(top, uncovered=(*top.uncovered, _RUNS_NEW_FILE))
        if any(_runs_any(part, made_paths, folders) for part in top.all())
        else top
        for top in parts
    )


def _possible_folders(every: Sequence[CommandPart]) -> frozenset[str]:
    """Returns the folders in which a part may run: each `cd` may fail, or stand behind an `&&`. Empty if nobody can tell: they
    are too many, or one is a link that was just made."""
    folders = {""}
    links = {posixpath.normpath(word) for part in every if program_name(part.name) == "ln" for word in part.argv[1:]}
    for part in every:
        if part.name == "cd":
            if not links.isdisjoint(map(posixpath.normpath, part.argv[1:])):
                return frozenset()
            folders |= {posixpath.join(folder, *part.argv[1:2]) for folder in folders}
            if len(folders) > _MOST_FOLDERS:
                return frozenset()
    return frozenset(folders)


def _from_any(folders: frozenset[str], path: str) -> Iterator[str]:
    return (posixpath.normpath(posixpath.join(folder, path)) for folder in folders)


def _runs_any(part: CommandPart, made_paths: set[str], folders: frozenset[str]) -> bool:
    scripts = part.argv[1:] if is_interpreter(part.name) else ()
    program = (part.name,) if "/" in part.name else ()
    for word in (*program, *scripts):
        if not folders or any(path in made_paths for path in _from_any(folders, word)):
            return True
        if not word.startswith("/") and any(map(leads_to_device, _from_any(folders - {""}, word))):
            return True
    return False


def without_folder(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Returns `/bin/rm x` and `./rm x` as `rm x`."""
    return (program_name(argv[0]), *argv[1:]) if argv else argv


def _unwrapped(command: CommandPart, argv: Sequence[Word], parse: Parse, depth: int, *, is_fed: bool) -> CommandPart:
    first = argv[0]
    if depth > _DEEPEST:
        raise Unanalyzable("commands run other commands too deeply")
    if not first.certain or not first.value:
        raise Unanalyzable("which program it runs is known only when it runs")
    if not first.value.isascii():
        raise Unanalyzable("the name of its program contains letters that can be confused with others")
    if any(sign in first.value for sign in "{}= \t\n"):
        raise Unanalyzable("the name of its program contains ambiguous characters")
    require_plain_builtin(first.value, argv)
    base = program_name(first.value)
    if base in SHELLS:
        return _shell(command, argv, parse, is_fed=is_fed)
    if base == "find":
        return _find(command, argv, parse, depth, is_fed=is_fed)
    if base in _WRAPPERS:
        return _wrapped(command, argv, _WRAPPERS[base], parse, depth, is_fed=is_fed)
    return _checked(command, argv, is_fed=is_fed)


def _checked(command: CommandPart, argv: Sequence[Word], *, is_fed: bool) -> CommandPart:
    """Returns a program that is not a wrapper, with the uncovered words among its arguments."""
    name = command.name
    if name == "export":
        return replace(command, uncovered=_shifted(uncovered_variables(argv[1:]), 1))
    if is_interpreter(name):
        require_plain_script(name, argv[1:])
    uncovered, base = uncovered_words(name, argv), program_name(name)
    if base != name:  # /usr/bin/git may be git, with git's options
        uncovered += tuple(uncovered_word for uncovered_word in uncovered_words(base, argv) if uncovered_word.is_known)
    only = None
    if is_fed and (may_run_input(name, argv) or any(uncovered_word.is_known for uncovered_word in uncovered)):
        only = f"'{name[:40]}' is given input, and it is not known whether it only reads it"
    if any(not word.certain and not word.single and "$" not in word.value for word in _words_around(argv, uncovered)):
        raise Unanalyzable(f"a file's name may become an option of '{name[:40]}' (a '*' or '?' at the start of a word)")
    return replace(command, uncovered=uncovered, whole_text_only=only)


def _words_around(argv: Sequence[Word], uncovered: Sequence[UncoveredWord]) -> list[Word]:
    return [
        word
        for uncovered_word in uncovered
        for word in argv[max(0, uncovered_word.until - 1) : uncovered_word.until + 1]
        if not word.is_operand
    ]


def _shifted(uncovered: Sequence[UncoveredWord], by: int) -> tuple[UncoveredWord, ...]:
    return tuple(replace(word, until=word.until + by) for word in uncovered)


def _wrapped(
    command: CommandPart, argv: Sequence[Word], options: _Options, parse: Parse, depth: int, *, is_fed: bool
) -> CommandPart:
    base = program_name(command.name)
    if base == "command" and len(argv) > 1 and argv[1].value in ("-v", "-V"):
        return command
    inner_start = _after_options(argv, options)
    is_known_program = command.name == base  # ./timeout may be any program
    inner_execution = options.inner_execution if is_known_program else InnerExecution.CHANGED
    uncovered: tuple[UncoveredWord, ...] = ()
    if base in ("env", "sudo"):
        inner_execution = InnerExecution.CHANGED if inner_start > 1 else inner_execution
        start = inner_start
        while inner_start < len(argv) and "=" in argv[inner_start].value:
            inner_start, inner_execution = inner_start + 1, InnerExecution.CHANGED
        uncovered = _shifted(uncovered_variables(argv[start:inner_start]), start)
    if not all(word.certain for word in argv[1:inner_start]):
        raise Unanalyzable(f"which program '{command.name}' runs is only known when it runs")
    if inner_start >= len(argv):
        return command
    inner = _with_input(argv, inner_start) if base == "xargs" else argv[inner_start:]
    part = part_of(inner, 0, parse, depth + 1, is_fed=is_fed and base != "xargs")
    only = None
    if base == "xargs" and any(word.until >= len(argv) - inner_start for word in part.uncovered):
        only = "what xargs reads may become an option of the program that it runs"
    return CommandPart(
        command.argv,
        command.certain_count,
        (part,),
        inner_start,
        inner_execution,
        uncovered=uncovered,
        whole_text_only=only,
    )


def _with_input(argv: Sequence[Word], start: int) -> list[Word]:
    """Returns the inner command of xargs: its input becomes further words, or with `-I` part of any word after the program's name."""
    values = [word.value for word in argv[:start]]
    replaced = [values[i + 1] for i, value in enumerate(values[:-1]) if value == "-I"]
    replaced += [value[2:] for value in values if value.startswith("-I") and len(value) > 2]
    if any(mark in argv[start].value for mark in replaced):
        raise Unanalyzable("which program xargs runs is only known when it runs")
    fixed = [Word(word.value, word.certain and not replaced) for word in argv[start + 1 :]]
    return [argv[start], *fixed, Word("…", certain=False)]


def _after_options(argv: Sequence[Word], options: _Options) -> int:
    """Returns where the wrapped command begins. Raises: Unanalyzable for an unknown option."""
    flags, valued = options.flags.split(), options.valued.split()
    index = 1
    while index < len(argv) and argv[index].value.startswith("-") and argv[index].value != "-":
        word = argv[index]
        if not word.certain:
            raise Unanalyzable(f"which program '{argv[0].value}' runs is only known when it runs")
        if word.value == "--":
            index += 1
            break
        if word.value in flags or _joined_value(word.value, valued):
            index += 1
        elif word.value in valued:
            index += 2
        else:
            raise Unanalyzable(f"what '{argv[0].value} {word.value[:20]}' runs cannot be determined")
    return index + options.before


def _joined_value(word: str, valued: Sequence[str]) -> bool:
    """`-n5`, `-oL`, `--signal=KILL`."""
    if any(word.startswith(f"{name}=") for name in valued if name.startswith("--")):
        return True
    return any(len(name) == 2 and word.startswith(name) and len(word) > 2 for name in valued)


def _shell(command: CommandPart, argv: Sequence[Word], parse: Parse, *, is_fed: bool) -> CommandPart:
    """Analyze `sh -c "…"`. A shell with a script file is an ordinary program; a shell that reads its input runs what it reads."""
    index, reads_input = 1, is_fed
    while index < len(argv) and argv[index].value.startswith(("-", "+")):
        option = argv[index]
        if not option.certain:
            raise Unanalyzable("what the shell runs is only known when it runs")
        letters = option.value[1:]
        if option.value not in _SHELL_WORDS and not (letters and set(letters) <= _SHELL_LETTERS):
            raise Unanalyzable(f"'{command.name} {option.value[:20]}' changes how the shell reads its text")
        if "c" in letters and option.value not in _SHELL_WORDS:
            return _shell_text(command, argv, index + 1, parse, is_fed=is_fed)
        reads_input = reads_input or letters == "s"
        index += 1
    if index < len(argv) and not argv[index].certain:  # it may be empty, and the next word an option
        raise Unanalyzable("what the shell runs is only known when it runs")
    require_plain_script(command.name, argv[index : index + 1])
    only = f"'{command.name}' runs what it is given to read" if reads_input or index >= len(argv) else None
    return replace(command, uncovered=uncovered_words(command.name, argv), whole_text_only=only)


def _shell_text(command: CommandPart, argv: Sequence[Word], index: int, parse: Parse, *, is_fed: bool) -> CommandPart:
    if program_name(command.name) not in _READ_AS_BASH:
        raise Unanalyzable(f"the text that '{command.name}' runs cannot be analyzed")
    if index >= len(argv) or not argv[index].certain or argv[index].value.startswith("-"):
        raise Unanalyzable("what the shell runs is only known when it runs")
    inner = parse(argv[index].value)
    if inner.unanalyzable:
        return CommandPart(command.argv, command.certain_count, inner.parts, unanalyzable=inner.unanalyzable)
    if inner.writes or inner.reads:
        raise Unanalyzable("the shell inside it redirects to or from files")
    inner_execution = (
        InnerExecution.UNCHANGED if command.name in SHELLS and len(argv) == index + 1 else InnerExecution.CHANGED
    )
    only = "the shell inside it is given input" if is_fed else None
    return CommandPart(
        command.argv, command.certain_count, inner.parts, inner_execution=inner_execution, whole_text_only=only
    )


def _find(command: CommandPart, argv: Sequence[Word], parse: Parse, depth: int, *, is_fed: bool) -> CommandPart:
    inside: list[CommandPart] = []
    index = 1
    while index < len(argv):
        if argv[index].value not in ("-exec", "-execdir", "-ok", "-okdir"):
            index += 1
            continue
        ends = [end for end in range(index + 1, len(argv)) if argv[end].value in (";", "+")]
        if not ends or ends[0] == index + 1:
            raise Unanalyzable("what find runs cannot be determined")
        run = [Word(word.value, word.certain and "{}" not in word.value) for word in argv[index + 1 : ends[0]]]
        inside.append(part_of(run, 0, parse, depth + 1, is_fed=is_fed))
        index = ends[0] + 1
    return CommandPart(command.argv, command.certain_count, tuple(inside), uncovered=uncovered_words("find", argv))
