"""Checks bash builtins. Only builtins whose arguments are data are accepted: many others evaluate a word as code or as an array
subscript (`read`, `let`, `declare`, `unset`, `printf -v`, `test -v`), or change what later words mean. Pure."""

from collections.abc import Callable, Sequence

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


def require_plain_builtin(name: str, argv: Sequence[Word]) -> None:
    """Check the arguments of a builtin. Raises: Unanalyzable unless all of them are data."""
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
