"""Interprets a path that a model wrote, without touching the disk. The jail opens it."""

import unicodedata
from pathlib import PurePosixPath

from anycowork.domain.errors import OutsideWorkspace
from anycowork.domain.values import leaf_value

LONGEST_PATH = 4096
LONGEST_NAME = 255
DEEPEST = 200  # nested folders that tools create, and that are scanned as a whole


@leaf_value
class WorkspacePath:
    """A path inside the workspace with every symbolic link resolved: the same name for rules, records and the kernel."""

    parts: tuple[str, ...]

    @property
    def path(self) -> str:
        return "/".join(self.parts) or "."

    @property
    def resource(self) -> str:
        return "/" + "/".join(self.parts)

    @property
    def is_root(self) -> bool:
        return not self.parts

    @property
    def name(self) -> str:
        return self.parts[-1] if self.parts else "."

    @property
    def parent(self) -> "WorkspacePath":
        return WorkspacePath(self.parts[:-1])

    def child(self, name: str) -> "WorkspacePath":
        return WorkspacePath((*self.parts, name))

    def holds(self, other: "WorkspacePath") -> bool:
        return other.parts[: len(self.parts)] == self.parts


def lexical_parts(path: str, root: str) -> tuple[str, ...]:
    """Returns the components of `path` from the workspace's root, with `.` and `..` resolved.

    Raises: OutsideWorkspace if it is not a usable path or its text alone already leads out.
    """
    _require_usable(path)
    pure = PurePosixPath(path)
    if pure.is_absolute():
        if not pure.is_relative_to(root):
            raise OutsideWorkspace(
                f"'{shown(path)}' lies outside the workspace. Give a path relative to the workspace, such as 'src/app.py'."
            )
        pure = pure.relative_to(root)
    parts: list[str] = []
    for part in pure.parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            raise OutsideWorkspace(f"'{shown(path)}' leaves the workspace with '..'. Only paths inside it can be used.")
    return tuple(parts)


def shown(path: str, longest: int = 200) -> str:
    """Returns the path as a message may show it: no control characters, no lone surrogates, bounded length."""
    if len(path) <= longest and path.isprintable():
        return path
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in path)
    return safe if len(safe) <= longest else safe[:longest] + "…"


def _require_usable(path: str) -> None:
    if not path.strip():
        raise OutsideWorkspace("The path is empty. Give a path relative to the workspace, such as 'src/app.py'.")
    try:
        size = len(path.encode())
        longest = max(len(part.encode()) for part in path.split("/"))
    except UnicodeEncodeError:
        raise OutsideWorkspace(f"'{shown(path)}' is not valid Unicode text and cannot be a file name here.") from None
    if size > LONGEST_PATH or longest > LONGEST_NAME:
        raise OutsideWorkspace(
            f"'{shown(path, 60)}' is too long: a path has at most {LONGEST_PATH} bytes and a name in it {LONGEST_NAME}."
        )
    if any(unicodedata.category(c) == "Cc" for c in path):
        raise OutsideWorkspace(f"'{shown(path)}' contains control characters, which are not allowed in paths.")
