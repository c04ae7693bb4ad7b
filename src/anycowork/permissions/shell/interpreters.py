"""Recognizes interpreters, and requires that what they run is a plain file which is named literally. Pure."""

import posixpath
from collections.abc import Sequence
from pathlib import PurePosixPath

from anycowork.permissions.shell.options import verbs
from anycowork.permissions.shell.shellwords import Unanalyzable, Word

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


def program_name(name: str) -> str:
    """Return the name of a program without its folder."""
    return PurePosixPath(name).name or name if "/" in name else name


def is_interpreter(name: str) -> bool:
    """Whether the program runs a file that it is given: `bash`, `/usr/bin/python3.12`, `node`."""
    base = program_name(name)
    plain = base.rstrip("0123456789.-") or base
    verb = verbs().get(base) or verbs().get(plain)
    return plain in SHELLS or plain in _INTERPRETERS or (verb is not None and verb.takes_orders)


def require_plain_script(name: str, arguments: Sequence[Word]) -> None:
    """Check what an interpreter runs. Raises: Unanalyzable unless it is a file that is named literally."""
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
