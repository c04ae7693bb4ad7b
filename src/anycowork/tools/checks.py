"""What a machine can say about an edited file at once: does it still parse? Nothing is executed."""

import ast
import json
import tomllib
from collections.abc import Callable
from pathlib import PurePosixPath

from pydantic import JsonValue

from anycowork.domain.values import value
from anycowork.workspace.text import decode

LARGEST_CHECKED = 500_000
_MAY_HAVE_COMMENTS = {"tsconfig", "jsconfig", ".vscode", ".devcontainer"}  # JSON by name, with comments by custom


@value
class Check:
    ok: bool
    says: str

    def as_fact(self) -> JsonValue:
        return {"ok": self.ok, "says": self.says}


def check(path: str, data: bytes) -> Check | None:
    """None where there is nothing to check or it would take too long."""
    if not is_checked(path) or len(data) > LARGEST_CHECKED:
        return None
    text = decode(data)
    if text is None:
        return None
    language, parse = _PARSERS[PurePosixPath(path).suffix.lower()]
    try:
        parse(text.body)
    except SyntaxError as error:
        return Check(ok=False, says=f"It does not parse as {language}: line {error.lineno}: {error.msg}.")
    except ValueError as error:  # JSONDecodeError and TOMLDecodeError are ValueErrors
        return Check(ok=False, says=f"It does not load as {language}: {error}.")
    except (RecursionError, MemoryError):
        return None  # nested too deeply for our parser, which says nothing about the file
    return Check(ok=True, says=f"It parses as {language}.")


def is_checked(path: str) -> bool:
    """By its name alone: whether there is a parser for it."""
    pure = PurePosixPath(path)
    by_custom = _MAY_HAVE_COMMENTS & {pure.stem.split(".")[0], *pure.parts[:-1]}
    return pure.suffix.lower() in _PARSERS and not by_custom


_PARSERS: dict[str, tuple[str, Callable[[str], object]]] = {
    ".py": ("Python", ast.parse),
    ".pyi": ("Python", ast.parse),
    ".json": ("JSON", json.loads),
    ".toml": ("TOML", tomllib.loads),
}
