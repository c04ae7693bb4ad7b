"""Commands that run other commands (`sudo`, `env`, `xargs`, `sh -c`, `find -exec`): what stands inside is judged as well. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import PurePosixPath
from typing import Protocol

from anycowork.domain.values import value
from anycowork.permissions.shellwords import Unjudgeable, Word, require_no_rebinding


class Through(Enum):
    """Whether allowing what stands inside allows the whole."""

    YES = "it runs the same command, only at another time or priority"
    NO = "it runs it with other rights, variables or input"


@value
class Part:
    """One simple command. The first `known` words are certain; `at` is where the words of what it runs begin."""

    words: tuple[str, ...]
    known: int
    inside: tuple["Part", ...] = ()
    at: int = 10**6
    through: Through = Through.NO
    unjudgeable: str | None = None

    @property
    def name(self) -> str:
        return self.words[0] if self.words else ""

    @classmethod
    def plain(cls, words: Sequence[Word], unjudgeable: str | None = None) -> "Part":
        known = next((at for at, word in enumerate(words) if not word.certain), len(words))
        return cls(tuple(word.value for word in words), known, unjudgeable=unjudgeable)

    def all(self) -> "Iterator[Part]":
        yield self
        for part in self.inside:
            yield from part.all()


class Parsed(Protocol):
    @property
    def parts(self) -> tuple[Part, ...]: ...
    @property
    def writes(self) -> tuple[str, ...]: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def unjudgeable(self) -> str | None: ...


Parse = Callable[[str], Parsed]

_DEEPEST = 8
_TOKEN = re.compile(r"[\w.+-]+")
# These change what later words mean, or run text that is put together while it runs.
# fmt: off
_MEANING = frozenset({
    "eval", "source", ".", "alias", "unalias", "trap", "enable", "builtin", "hash", "bind", "shopt", "coproc", "!",
    "{", "}", "[[", "if", "then", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "function",
    "select", "mapfile", "readarray", "fc", "complete", "compgen",
})
# fmt: on
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash"})
# They run what stands somewhere in their words, each in a way of its own that is not read here.
# fmt: off
_LAUNCHERS = frozenset({
    "busybox", "toybox", "flock", "watch", "script", "parallel", "chrt", "taskset", "prlimit", "setarch", "linux32", "linux64",
    "strace", "ltrace", "gdb", "valgrind", "perf", "hyperfine", "unbuffer", "expect", "ssh", "su", "pkexec", "runuser", "chroot",
    "unshare", "nsenter", "setpriv", "capsh", "systemd-run", "entr", "fakeroot", "firejail", "bwrap", "proot", "docker", "podman",
    "nix-shell", "uv", "npx", "uvx", "poetry", "pipenv", "direnv", "mise", "rbash", "mksh", "fish", "pwsh", "awk", "gawk", "mawk",
    "start-stop-daemon", "ld.so", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "tar", "vim", "vi", "nvim", "ex", "at", "batch",
})
# fmt: on
_SAFE_GIT_SETTING = re.compile(
    r"(user\.(name|email)|color\.[a-z.]+|core\.quotepath|init\.defaultbranch|advice\.\w+)=[^!]*", re.I
)
_GIT_RUNS = frozenset({"filter-branch", "difftool", "mergetool"})


@value
class _Options:
    """How far a wrapper's own words go: flags alone, flags that take a value, and how many words before the command."""

    flags: str
    valued: str = ""
    before: int = 0
    through: Through = Through.YES


_WRAPPERS = {
    "nohup": _Options(""),
    "setsid": _Options("-c -f -w --ctty --fork --wait"),
    "nice": _Options("", "-n --adjustment"),
    "ionice": _Options("-t", "-c -n --class --classdata"),
    "timeout": _Options("-v --verbose --preserve-status --foreground", "-s -k --signal --kill-after", before=1),
    "time": _Options("-p"),
    "stdbuf": _Options("", "-i -o -e --input --output --error"),
    "command": _Options("-p"),
    "exec": _Options("-c -l"),
    "env": _Options("", "-u --unset"),
    "xargs": _Options(
        "-0 -r -t -x --null --no-run-if-empty --verbose --exit",
        "-n -P -L -d -s -a -I --max-args --max-procs --max-lines --delimiter",
    ),
    "sudo": _Options("-n -E -H -S -b -k", "-u -g -p -C --user --group --prompt", through=Through.NO),
    "doas": _Options("-n", "-u -C", through=Through.NO),
}


def part_of(words: Sequence[Word], assigned: int, parse: Parse, depth: int = 0) -> Part:
    """The part that these words are, with what it runs inside it. `assigned` of them are variables set for it alone."""
    whole = Part.plain(words)
    if assigned == len(words):
        return whole
    if assigned:
        inner = part_of(words[assigned:], 0, parse, depth + 1)
        return Part(whole.words, whole.known, (inner,), assigned, Through.NO)
    try:
        return _unwrapped(whole, words, parse, depth)
    except Unjudgeable as fault:
        return Part.plain(words, unjudgeable=fault.why)


def launched(part: Part) -> Iterator[str]:
    """Every word by which a program that is not read here may name another one."""
    if part.inside or _base(part.name) not in _LAUNCHERS:
        return
    for word in part.words[1:]:
        yield from _TOKEN.findall(word)


def takes_orders(part: Part) -> bool:
    """A shell without a script: it runs what it is given to read."""
    return _base(part.name) in _SHELLS and not part.inside and all(word.startswith("-") for word in part.words[1:])


def without_folder(words: tuple[str, ...]) -> tuple[str, ...]:
    """`/bin/rm x` and `./rm x` as `rm x`."""
    return (_base(words[0]), *words[1:]) if words else words


def _base(name: str) -> str:
    return PurePosixPath(name).name or name if "/" in name else name


def _unwrapped(whole: Part, words: Sequence[Word], parse: Parse, depth: int) -> Part:
    first = words[0]
    if depth > _DEEPEST:
        raise Unjudgeable("commands run other commands too deeply")
    if not first.certain or not first.value:
        raise Unjudgeable("which program it runs is only known when it runs")
    if not first.value.isascii():
        raise Unjudgeable("the name of its program holds letters that can be taken for others")
    if first.value in _MEANING:
        raise Unjudgeable(f"'{first.value}' changes what other words mean")
    base = _base(first.value)
    if base in _SHELLS:
        return _shell(whole, words, parse)
    if base == "find":
        return _find(whole, words, parse, depth)
    if base == "git":
        _require_plain_git(words)
    if base in _WRAPPERS:
        return _wrapped(whole, words, _WRAPPERS[base], parse, depth)
    return whole


def _wrapped(whole: Part, words: Sequence[Word], options: _Options, parse: Parse, depth: int) -> Part:
    base = _base(whole.name)
    if base == "command" and len(words) > 1 and words[1].value in ("-v", "-V"):
        return whole
    at = _after_options(words, options)
    through = options.through if whole.name == base else Through.NO  # ./timeout is whatever it is
    if base in ("env", "sudo"):
        through = Through.NO if at > 1 else through
        while at < len(words) and "=" in words[at].value:
            require_no_rebinding(words[at].value.partition("=")[0])
            at, through = at + 1, Through.NO
    if not all(word.certain for word in words[1:at]):
        raise Unjudgeable(f"which program '{whole.name}' runs is only known when it runs")
    if at >= len(words):
        return whole
    inner = _with_input(words, at) if base == "xargs" else words[at:]
    return Part(whole.words, whole.known, (part_of(inner, 0, parse, depth + 1),), at, through)


def _with_input(words: Sequence[Word], at: int) -> list[Word]:
    """What xargs reads becomes further words; with a replacement, it may stand in any word after the program's name."""
    values = [word.value for word in words[:at]]
    replaced = [values[i + 1] for i, value in enumerate(values[:-1]) if value == "-I"]
    replaced += [value[2:] for value in values if value.startswith("-I") and len(value) > 2]
    if any(mark in words[at].value for mark in replaced):
        raise Unjudgeable("which program xargs runs is only known when it runs")
    fixed = [Word(word.value, word.certain and not replaced) for word in words[at + 1 :]]
    return [words[at], *fixed, Word("…", certain=False)]


def _after_options(words: Sequence[Word], options: _Options) -> int:
    """Where the wrapped command begins. Raises: Unjudgeable for an option that is not known here."""
    flags, valued = options.flags.split(), options.valued.split()
    at = 1
    while at < len(words) and words[at].value.startswith("-") and words[at].value != "-":
        word = words[at]
        if not word.certain:
            raise Unjudgeable(f"which program '{words[0].value}' runs is only known when it runs")
        if word.value == "--":
            at += 1
            break
        if word.value in flags or _joined_value(word.value, valued):
            at += 1
        elif word.value in valued:
            at += 2
        else:
            raise Unjudgeable(f"what '{words[0].value} {word.value[:20]}' runs cannot be told")
    return at + options.before


def _joined_value(word: str, valued: Sequence[str]) -> bool:
    """`-n5`, `-oL`, `--signal=KILL`."""
    if any(word.startswith(f"{name}=") for name in valued if name.startswith("--")):
        return True
    return any(len(name) == 2 and word.startswith(name) and len(word) > 2 for name in valued)


def _shell(whole: Part, words: Sequence[Word], parse: Parse) -> Part:
    """`sh -c "…"`; a shell that reads a file or its input is a program like any other."""
    at = 1
    while at < len(words) and words[at].value.startswith(("-", "+")):
        word = words[at]
        if not word.certain:
            raise Unjudgeable("what the shell runs is only known when it runs")
        if word.value in ("-o", "+o", "-O", "+O"):
            at += 2
            continue
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word.value):
            return _shell_text(whole, words, at + 1, parse)
        if word.value.startswith("--") and word.value not in ("--norc", "--noprofile", "--login", "--posix"):
            raise Unjudgeable(f"what '{whole.name} {word.value[:20]}' runs cannot be told")
        at += 1
    return whole


def _shell_text(whole: Part, words: Sequence[Word], at: int, parse: Parse) -> Part:
    if at >= len(words) or not words[at].certain or words[at].value.startswith("-"):
        raise Unjudgeable("what the shell runs is only known when it runs")
    inner = parse(words[at].value)
    if inner.unjudgeable:
        return Part(whole.words, whole.known, inner.parts, unjudgeable=inner.unjudgeable)
    if inner.writes or inner.reads:
        raise Unjudgeable("the shell inside it redirects to or from files")
    through = Through.YES if whole.name in _SHELLS and len(words) == at + 1 else Through.NO
    return Part(whole.words, whole.known, inner.parts, through=through)


def _find(whole: Part, words: Sequence[Word], parse: Parse, depth: int) -> Part:
    inside: list[Part] = []
    at = 1
    while at < len(words):
        if words[at].value not in ("-exec", "-execdir", "-ok", "-okdir"):
            at += 1
            continue
        ends = [end for end in range(at + 1, len(words)) if words[end].value in (";", "+")]
        if not ends or ends[0] == at + 1:
            raise Unjudgeable("what find runs cannot be told")
        run = [Word(word.value, word.certain and "{}" not in word.value) for word in words[at + 1 : ends[0]]]
        inside.append(part_of(run, 0, parse, depth + 1))
        at = ends[0] + 1
    return Part(whole.words, whole.known, tuple(inside))


def _require_plain_git(words: Sequence[Word]) -> None:
    """Git runs programs that its settings name. Raises: Unjudgeable."""
    values = [word.value for word in words]
    for at, text in enumerate(values[1:], 1):
        setting = values[at + 1] if text == "-c" and at + 1 < len(values) else None
        before_verb = all(word.startswith("-") or values[i] in ("-c", "-C") for i, word in enumerate(values[1:at]))
        if setting is not None and before_verb and not _SAFE_GIT_SETTING.fullmatch(setting):
            raise Unjudgeable("'git -c' can set what git runs")
        if text.startswith(
            ("--config-env", "--exec-path=", "--upload-pack", "--receive-pack", "--extcmd", "--open-files")
        ):
            raise Unjudgeable(f"'{text[:20]}' names a program that git runs")
    verbs = set(values[1:])
    runs = verbs & _GIT_RUNS or ({"bisect", "run"} <= verbs) or ({"submodule", "foreach"} <= verbs)
    if runs or (
        "rebase" in verbs and any(value in ("-x", "--exec") or value.startswith("--exec=") for value in values)
    ):
        raise Unjudgeable("git runs other programs with these words")
