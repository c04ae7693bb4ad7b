"""Checks the variables that a command sets for a program: which are harmless, and which decide what runs. Pure."""

from collections.abc import Sequence

from anycowork.permissions.shell.options import UncoveredWord
from anycowork.permissions.shell.shellwords import Unanalyzable, Word

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
# fmt: on


def uncovered_variables(assignments: Sequence[Word]) -> tuple[UncoveredWord, ...]:
    """Return the assignments that a rule with ` *` does not cover. Raises: Unanalyzable for a variable that decides which programs run."""
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
