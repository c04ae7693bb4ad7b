"""Unwraps commands that run other commands (`sudo`, `env`, `xargs`, `busybox`, `sh -c`, `find -exec`), so that the inner command is
analyzed as well. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import PurePosixPath
from typing import Protocol

from anycowork.domain.values import value
from anycowork.permissions.shell.builtins import require_plain_builtin
from anycowork.permissions.shell.options import UncoveredWord, may_run_input, uncovered_words, verbs
from anycowork.permissions.shell.shellwords import Unanalyzable, Word
from anycowork.permissions.shell.variables import uncovered_variables


class InnerExecution(Enum):
    """How a wrapper runs its inner command. If UNCHANGED, a rule that allows the inner command allows the wrapper too."""

    UNCHANGED = "it runs the same command, only at another time or priority"
    CHANGED = "it runs it with other rights, variables or input"


@value
class CommandPart:
    """One simple command. The first `known` words are certain; `at` is where the words of the inner command begin.

    A rule with ` *` must name every word in `uncovered`. `whole_text_only` is the reason why only a rule with the whole text allows it.
    """

    words: tuple[str, ...]
    known: int
    inside: tuple["CommandPart", ...] = ()
    at: int = 10**6
    inner_execution: InnerExecution = InnerExecution.CHANGED
    unanalyzable: str | None = None
    uncovered: tuple[UncoveredWord, ...] = ()
    whole_text_only: str | None = None

    @property
    def name(self) -> str:
        return self.words[0] if self.words else ""

    @classmethod
    def plain(cls, words: Sequence[Word], unanalyzable: str | None = None) -> "CommandPart":
        known = next((at for at, word in enumerate(words) if not word.certain), len(words))
        return cls(tuple(word.value for word in words), known, unanalyzable=unanalyzable)

    def all(self) -> "Iterator[CommandPart]":
        yield self
        for part in self.inside:
            yield from part.all()


class ParsedParts(Protocol):
    @property
    def parts(self) -> tuple[CommandPart, ...]: ...
    @property
    def writes(self) -> tuple[str, ...]: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def unanalyzable(self) -> str | None: ...


Parse = Callable[[str], ParsedParts]

_DEEPEST = 8
_TOKEN = re.compile(r"[\w.+-]+")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "rbash", "mksh"})
_READ_AS_BASH = frozenset({"sh", "bash", "dash", "ash"})
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


def part_of(words: Sequence[Word], assigned: int, parse: Parse, depth: int = 0, *, is_fed: bool = False) -> CommandPart:
    """Return the command of these words with its inner commands. The first `assigned` words set variables for it."""
    whole = CommandPart.plain(words)
    try:
        uncovered = uncovered_variables(words[:assigned])
        if assigned == len(words):
            return replace(whole, uncovered=uncovered)
        if assigned:
            inner = part_of(words[assigned:], 0, parse, depth + 1, is_fed=is_fed)
            return CommandPart(
                whole.words, whole.known, (inner,), assigned, InnerExecution.CHANGED, uncovered=uncovered
            )
        return _unwrapped(whole, words, parse, depth, is_fed=is_fed)
    except Unanalyzable as fault:
        return CommandPart.plain(words, unanalyzable=fault.why)


def launched(part: CommandPart) -> Iterator[str]:
    """Yield every word with which a launcher may name another program."""
    if part.inside or _base(part.name) not in _LAUNCHERS:
        return
    for word in part.words[1:]:
        yield from _TOKEN.findall(word)


def takes_orders(part: CommandPart) -> bool:
    """Whether it is a shell without a script, or an interpreter with piped input: both run what they read."""
    verb = verbs().get(_base(part.name)) if part.whole_text_only else None
    if verb is not None and verb.takes_orders:
        return True
    return _base(part.name) in _SHELLS and not part.inside and all(word.startswith("-") for word in part.words[1:])


def without_folder(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return `/bin/rm x` and `./rm x` as `rm x`."""
    return (_base(words[0]), *words[1:]) if words else words


def _base(name: str) -> str:
    return PurePosixPath(name).name or name if "/" in name else name


def _unwrapped(whole: CommandPart, words: Sequence[Word], parse: Parse, depth: int, *, is_fed: bool) -> CommandPart:
    first = words[0]
    if depth > _DEEPEST:
        raise Unanalyzable("commands run other commands too deeply")
    if not first.certain or not first.value:
        raise Unanalyzable("which program it runs is known only when it runs")
    if not first.value.isascii():
        raise Unanalyzable("the name of its program contains letters that can be confused with others")
    if any(sign in first.value for sign in "{}= \t\n"):
        raise Unanalyzable("the name of its program contains ambiguous characters")
    require_plain_builtin(first.value, words)
    base = _base(first.value)
    if base in _SHELLS:
        return _shell(whole, words, parse, is_fed=is_fed)
    if base == "find":
        return _find(whole, words, parse, depth)
    if base in _WRAPPERS:
        return _wrapped(whole, words, _WRAPPERS[base], parse, depth, is_fed=is_fed)
    return _checked(whole, words, is_fed=is_fed)


def _checked(whole: CommandPart, words: Sequence[Word], *, is_fed: bool) -> CommandPart:
    """Return a program that is not a wrapper, with the uncovered words among its arguments."""
    name = whole.name
    if name == "export":
        return replace(whole, uncovered=_shifted(uncovered_variables(words[1:]), 1))
    uncovered, base = uncovered_words(name, words), _base(name)
    if base != name:  # /usr/bin/git may be git, with git's options
        uncovered += tuple(one for one in uncovered_words(base, words) if one.is_known)
    only = None
    if is_fed and (may_run_input(name, words) or any(one.is_known for one in uncovered)):
        only = f"'{name[:40]}' is given input, and it is not known whether it only reads it"
    if any(not word.certain and not word.single and "$" not in word.value for word in _words_around(words, uncovered)):
        raise Unanalyzable(f"a file's name may become an option of '{name[:40]}' (a '*' or '?' at the start of a word)")
    return replace(whole, uncovered=uncovered, whole_text_only=only)


def _words_around(words: Sequence[Word], uncovered: Sequence[UncoveredWord]) -> list[Word]:
    return [word for one in uncovered for word in words[max(0, one.until - 1) : one.until + 1] if not word.is_operand]


def _shifted(uncovered: Sequence[UncoveredWord], by: int) -> tuple[UncoveredWord, ...]:
    return tuple(replace(one, until=one.until + by) for one in uncovered)


def _wrapped(
    whole: CommandPart, words: Sequence[Word], options: _Options, parse: Parse, depth: int, *, is_fed: bool
) -> CommandPart:
    base = _base(whole.name)
    if base == "command" and len(words) > 1 and words[1].value in ("-v", "-V"):
        return whole
    at = _after_options(words, options)
    inner_execution = (
        options.inner_execution if whole.name == base else InnerExecution.CHANGED
    )  # ./timeout may be any program
    uncovered: tuple[UncoveredWord, ...] = ()
    if base in ("env", "sudo"):
        inner_execution = InnerExecution.CHANGED if at > 1 else inner_execution
        start = at
        while at < len(words) and "=" in words[at].value:
            at, inner_execution = at + 1, InnerExecution.CHANGED
        uncovered = _shifted(uncovered_variables(words[start:at]), start)
    if not all(word.certain for word in words[1:at]):
        raise Unanalyzable(f"which program '{whole.name}' runs is only known when it runs")
    if at >= len(words):
        return whole
    inner = _with_input(words, at) if base == "xargs" else words[at:]
    part = part_of(inner, 0, parse, depth + 1, is_fed=is_fed and base != "xargs")
    only = None
    if base == "xargs" and any(one.until >= len(words) - at for one in part.uncovered):
        only = "what xargs reads may become an option of the program that it runs"
    return CommandPart(
        whole.words, whole.known, (part,), at, inner_execution, uncovered=uncovered, whole_text_only=only
    )


def _with_input(words: Sequence[Word], at: int) -> list[Word]:
    """Return the inner command of xargs: its input becomes further words, or with `-I` part of any word after the program's name."""
    values = [word.value for word in words[:at]]
    replaced = [values[i + 1] for i, value in enumerate(values[:-1]) if value == "-I"]
    replaced += [value[2:] for value in values if value.startswith("-I") and len(value) > 2]
    if any(mark in words[at].value for mark in replaced):
        raise Unanalyzable("which program xargs runs is only known when it runs")
    fixed = [Word(word.value, word.certain and not replaced) for word in words[at + 1 :]]
    return [words[at], *fixed, Word("…", certain=False)]


def _after_options(words: Sequence[Word], options: _Options) -> int:
    """Return where the wrapped command begins. Raises: Unanalyzable for an unknown option."""
    flags, valued = options.flags.split(), options.valued.split()
    at = 1
    while at < len(words) and words[at].value.startswith("-") and words[at].value != "-":
        word = words[at]
        if not word.certain:
            raise Unanalyzable(f"which program '{words[0].value}' runs is only known when it runs")
        if word.value == "--":
            at += 1
            break
        if word.value in flags or _joined_value(word.value, valued):
            at += 1
        elif word.value in valued:
            at += 2
        else:
            raise Unanalyzable(f"what '{words[0].value} {word.value[:20]}' runs cannot be determined")
    return at + options.before


def _joined_value(word: str, valued: Sequence[str]) -> bool:
    """`-n5`, `-oL`, `--signal=KILL`."""
    if any(word.startswith(f"{name}=") for name in valued if name.startswith("--")):
        return True
    return any(len(name) == 2 and word.startswith(name) and len(word) > 2 for name in valued)


def _shell(whole: CommandPart, words: Sequence[Word], parse: Parse, *, is_fed: bool) -> CommandPart:
    """Analyze `sh -c "…"`. A shell with a script file is an ordinary program; a shell that reads its input runs what it reads."""
    at, reads_input = 1, is_fed
    while at < len(words) and words[at].value.startswith(("-", "+")):
        option = words[at]
        if not option.certain:
            raise Unanalyzable("what the shell runs is only known when it runs")
        letters = option.value[1:]
        if option.value not in _SHELL_WORDS and not (letters and set(letters) <= _SHELL_LETTERS):
            raise Unanalyzable(f"'{whole.name} {option.value[:20]}' changes how the shell reads its text")
        if "c" in letters and option.value not in _SHELL_WORDS:
            return _shell_text(whole, words, at + 1, parse, is_fed=is_fed)
        reads_input = reads_input or letters == "s"
        at += 1
    if at < len(words) and not words[at].certain:  # it may be empty, and the next word an option
        raise Unanalyzable("what the shell runs is only known when it runs")
    only = f"'{whole.name}' runs what it is given to read" if reads_input or at >= len(words) else None
    return replace(whole, uncovered=uncovered_words(whole.name, words), whole_text_only=only)


def _shell_text(whole: CommandPart, words: Sequence[Word], at: int, parse: Parse, *, is_fed: bool) -> CommandPart:
    if _base(whole.name) not in _READ_AS_BASH:
        raise Unanalyzable(f"the text that '{whole.name}' runs cannot be analyzed")
    if at >= len(words) or not words[at].certain or words[at].value.startswith("-"):
        raise Unanalyzable("what the shell runs is only known when it runs")
    inner = parse(words[at].value)
    if inner.unanalyzable:
        return CommandPart(whole.words, whole.known, inner.parts, unanalyzable=inner.unanalyzable)
    if inner.writes or inner.reads:
        raise Unanalyzable("the shell inside it redirects to or from files")
    inner_execution = (
        InnerExecution.UNCHANGED if whole.name in _SHELLS and len(words) == at + 1 else InnerExecution.CHANGED
    )
    only = "the shell inside it is given input" if is_fed else None
    return CommandPart(whole.words, whole.known, inner.parts, inner_execution=inner_execution, whole_text_only=only)


def _find(whole: CommandPart, words: Sequence[Word], parse: Parse, depth: int) -> CommandPart:
    inside: list[CommandPart] = []
    at = 1
    while at < len(words):
        if words[at].value not in ("-exec", "-execdir", "-ok", "-okdir"):
            at += 1
            continue
        ends = [end for end in range(at + 1, len(words)) if words[end].value in (";", "+")]
        if not ends or ends[0] == at + 1:
            raise Unanalyzable("what find runs cannot be determined")
        run = [Word(word.value, word.certain and "{}" not in word.value) for word in words[at + 1 : ends[0]]]
        inside.append(part_of(run, 0, parse, depth + 1))
        at = ends[0] + 1
    return CommandPart(whole.words, whole.known, tuple(inside), uncovered=uncovered_words("find", words))
