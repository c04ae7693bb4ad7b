"""Checks bash builtins, interpreters, and the variables that a command sets for a program. Pure.

Only builtins whose arguments are data are accepted: many others evaluate a word as code or as an array subscript (`read`, `let`, `declare`, `unset`,
`printf -v`, `test -v`), or change what later words mean. An interpreter must run a plain file that is named literally.
"""

import posixpath
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from anycowork.permissions.shell.options import UncoveredWord, verbs
from anycowork.permissions.shell.shellwords import Unanalyzable, Word, assigned_name

# fmt: off
BUILTINS = frozenset({
    ".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command", "compgen", "complete", "compopt", "continue",
    "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit", "export", "false", "fc", "fg", "getopts", "hash", "help",
    "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray", "readonly",
    "return", "set", "shift", "shopt", "source", "suspend", "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask",
    "unalias", "unset", "wait",
})
_UNARY = frozenset({"-d", "-e", "-f", "-h", "-L", "-n", "-r", "-s", "-w", "-x", "-z"})
_BINARY = frozenset({"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot"})
_SET = frozenset({"-e", "-u", "-x", "-eu", "-ex", "-eux", "+e", "+u", "+x"})
_SET_PIPEFAIL = frozenset({"-o", "-eo", "-uo", "-euo", "-exo", "-euxo", "+o"})
# fmt: on
_CONVERSION_PARTS = frozenset("0123456789.*#+- 'hlLjzt")
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "rbash", "mksh"})
# fmt: off
# Besides shells and the programs with `orders` in `verbs.toml`, each runs the file that is its first operand.
_INTERPRETERS = frozenset({
    "fish", "csh", "tcsh", "nu", "elvish", "xonsh", "pwsh", "tclsh", "wish", "expect", "julia", "guile", "racket", "pypy", "ipython",
    "luajit", "deno", "bun", "tsx", "ts-node", "groovy", "scala", "swift", "elixir", "escript", "osascript", "octave", "irb", "jshell",
    "sqlite3", "psql", "m4", "ed", "gdb", "R", "runghc", "raku",
})
# fmt: on
_DEVICES = ("dev/", "proc/", "sys/", "run/")
# fmt: off
_REBINDS = frozenset({
    "PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "GLOBIGNORE", "CDPATH", "POSIXLY_CORRECT",
    "EXECIGNORE", "FUNCNEST", "TMPDIR", "BASH_COMPAT", "BASH_LOADABLES_PATH", "BASH_XTRACEFD", "HOME", "OLDPWD", "PWD", "OPTIND",
})
# fmt: on
# Variables that only change what programs print or how they count. Any other may name a program, a library or a setting.
# fmt: off
_HARMLESS_VARIABLES = frozenset({
    "CI", "NODE_ENV", "DEBUG", "RUST_BACKTRACE", "RUST_LOG", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED",
    "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "COLUMNS", "LINES", "GOOS", "GOARCH", "CGO_ENABLED",
    "CARGO_TERM_COLOR", "VERBOSE", "PORT",
})


def require_plain_builtin(name: str, argv: Sequence[Word]) -> None:
    """Checks the arguments of a builtin. Raises: Unanalyzable unless all of them are data."""
    if name not in BUILTINS or name == "command":
        return
    check = _CHECKS.get(name)
    if check is None:
        raise Unanalyzable(f"'{name}' changes what other words mean, or can run what its words say")
    if not check(argv[1:]):
        raise Unanalyzable(f"'{name}' is used in a way in which it can run what its words say")


def _any_words(_args: Sequence[Word]) -> bool:
    return True


def _no_words(args: Sequence[Word]) -> bool:
    return not args


def _is_test(args: Sequence[Word]) -> bool:
    """Accept `test OPERATOR word` and `test word OPERATOR word`, each also after `!`: the forms that evaluate no word."""
    if args and args[0].certain and args[0].value == "!":
        args = args[1:]
    if not all(word.single for word in args):
        return False
    if len(args) == 2:
        return args[0].certain and args[0].value in _UNARY
    return len(args) == 3 and args[1].certain and args[1].value in _BINARY


def _is_bracket(args: Sequence[Word]) -> bool:
    return bool(args) and args[-1].certain and args[-1].value == "]" and _is_test(args[:-1])


def _is_printf(args: Sequence[Word]) -> bool:
    """Accept printf without `-v` and `%n`, which set a variable."""
    if args and args[0].certain and args[0].value == "--":
        args = args[1:]
    if not args or not args[0].certain or args[0].value.startswith("-"):
        return False
    return not _sets_variable(args[0].value)


def _sets_variable(form: str) -> bool:
    position = form.find("%")
    while position >= 0:
        position += 1
        while position < len(form) and form[position] in _CONVERSION_PARTS:
            position += 1
        if form[position : position + 1] == "n":
            return True
        position = form.find("%", position + (form[position : position + 1] == "%"))
    return False


def _is_export(args: Sequence[Word]) -> bool:
    return bool(args) and all(_is_assignment(word) for word in args)


def _is_assignment(word: Word) -> bool:
    try:
        return assigned_name(word.value) is not None
    except Unanalyzable:
        return False


def _is_set(args: Sequence[Word]) -> bool:
    values = [word.value if word.certain else "" for word in args]
    if len(values) == 2:
        return values[0] in _SET_PIPEFAIL and values[1] == "pipefail"
    return len(values) == 1 and values[0] in _SET


def _is_number(args: Sequence[Word]) -> bool:
    return not args or (len(args) == 1 and args[0].certain and args[0].value.isascii() and args[0].value.isdigit())


def _is_kill(args: Sequence[Word]) -> bool:
    return all(word.certain and word.value.lstrip("-%").isalnum() for word in args)
_CHECKS: dict[str, Callable[[Sequence[Word]], bool]] = {
    ":": _any_words,
    "[": _is_bracket,
    "cd": lambda args: len(args) <= 1 and all(word.single for word in args),
    "echo": _any_words,
    "exit": _is_number,
    "export": _is_export,
    "false": _any_words,
    "kill": _is_kill,
    "printf": _is_printf,
    "pwd": _any_words,
    "set": _is_set,
    "test": _is_test,
    "true": _any_words,
    "type": _any_words,
    "wait": _no_words,
}


def program_name(name: str) -> str:
    """Returns the name of a program without its folder."""
    return PurePosixPath(name).name or name if "/" in name else name


def is_interpreter(name: str) -> bool:
    """Whether the program runs a file that it is given: `bash`, `/usr/bin/python3.12`, `node`."""
    base = program_name(name)
    plain = base.rstrip("0123456789.-") or base
    verb = verbs().get(base) or verbs().get(plain)
    return plain in SHELLS or plain in _INTERPRETERS or (verb is not None and verb.takes_orders)


def require_plain_script(name: str, arguments: Sequence[Word]) -> None:
    """Checks what an interpreter runs. Raises: Unanalyzable unless it is a file that is named literally."""
    verb = verbs().get(program_name(name))
    for word in arguments:
        if word.certain and verb is not None and word.value == verb.module:
            return  # the rest belongs to the module
        if word.certain and not word.is_operand:
            _require_no_device(name, word.value.rpartition("=")[2])
            continue
        if not word.certain:
            raise Unanalyzable(f"what '{name[:40]}' runs is only known when it runs")
        _require_no_device(name, word.value)
        return


def _require_no_device(name: str, path: str) -> None:
    if leads_to_device(path):
        raise Unanalyzable(f"'{name[:40]}' runs '{path[:40]}', which is not a plain file")


def leads_to_device(path: str) -> bool:
    """Whether an absolute path leads to a device; a path that climbs may do so as well."""
    plain = posixpath.normpath(path)
    if not plain.startswith(("/", "../")):
        return False
    while plain.startswith(("/", "../")):
        plain = plain.removeprefix("../").lstrip("/")
    return plain.startswith(_DEVICES)


# fmt: on


def uncovered_variables(assignments: Sequence[Word]) -> tuple[UncoveredWord, ...]:
    """Returns the assignments that a rule with ` *` does not cover. Raises: Unanalyzable for a variable that decides which programs run."""
    uncovered = []
    for index, word in enumerate(assignments):
        name = word.value.partition("=")[0]
        _require_no_rebinding(name)
        if name not in _HARMLESS_VARIABLES:
            uncovered.append(
                UncoveredWord(index, f"it sets {name[:40]}, which may change what a program runs", is_known=True)
            )
    return tuple(uncovered)


def _require_no_rebinding(name: str) -> None:
    """Raises: Unanalyzable for a variable that decides which programs run, or how words are read."""
    if name in _REBINDS or name.startswith(("LD_", "DYLD_", "BASH_FUNC_")):
        raise Unanalyzable(f"it sets {name}, which changes what every command means")
