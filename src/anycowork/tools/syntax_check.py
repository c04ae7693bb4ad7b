"""Checks at once whether an edited file still parses. Executes nothing."""

import subprocess
import sys
from pathlib import PurePosixPath

from pydantic import JsonValue

from anycowork.domain.values import value
from anycowork.tools import check_worker
from anycowork.tools.check_worker import SECONDS, fault
from anycowork.workspace.text import decode

LARGEST_CHECKED = 500_000
_QUICK = 32_000  # characters that are parsed in this process; longer texts go to a separate one
_MOST_DOTS = 500  # the TOML parser scans a dotted key once for each of its dots
_MAY_HAVE_COMMENTS = {"tsconfig", "jsconfig", ".vscode", ".devcontainer"}  # JSON by name, but usually with comments


@value
class SyntaxCheck:
    ok: bool
    message: str

    def as_fact(self) -> JsonValue:
        return {"ok": self.ok, "says": self.message}


def check_syntax(path: str, data: bytes) -> SyntaxCheck | None:
    """Returns None if there is nothing to check or it would take too long. Blocking."""
    if not is_checked(path) or len(data) > LARGEST_CHECKED:
        return None
    text = decode(data)
    if text is None:
        return None
    language = _LANGUAGES[PurePosixPath(path).suffix.lower()]
    try:
        problem = fault(language, text.body) if _is_quick(text.body) else _fault_by_worker(language, text.body)
    except (RecursionError, MemoryError, _Unknown):
        return None  # too deep or too long for our parser, which says nothing about the file
    return SyntaxCheck(ok=problem is None, message=problem or f"It parses as {language}.")


class _Unknown(Exception):
    """The worker could not decide."""


def _is_quick(text: str) -> bool:
    return len(text) <= _QUICK and text.count(".") <= _MOST_DOTS


def _fault_by_worker(language: str, text: str) -> str | None:
    """Raises: _Unknown."""
    command = [sys.executable, "-I", "-S", check_worker.__file__, language]
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=5 * SECONDS, check=True)
    except (subprocess.SubprocessError, OSError):
        raise _Unknown from None
    return done.stdout.decode() or None


def is_checked(path: str) -> bool:
    """Tells by its name whether there is a parser for it."""
    pure = PurePosixPath(path)
    by_custom = _MAY_HAVE_COMMENTS & {pure.stem.split(".")[0], *pure.parts[:-1]}
    return pure.suffix.lower() in _LANGUAGES and not by_custom


_LANGUAGES = {".py": "Python", ".pyi": "Python", ".json": "JSON", ".toml": "TOML"}
