"""Which folders git takes for a repository, whatever they are called: it reads orders from the `config` of such a folder.

Git looks for `HEAD`, `objects` and `refs` in a folder, or for `HEAD` and a `commondir` that says where the others are. Here a folder
counts by these names alone, whatever stands behind them: what git would refuse today may be what it accepts after one more change.
"""

import os
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from anycowork.domain.control_files import fold_name
from anycowork.workspace.delta import FOLDER, Delta
from anycowork.workspace.paths import folds_to_git

REPOSITORY_NAMES = frozenset({"head", "objects", "refs", "commondir"})
WHY_NO_REPOSITORY = "the folder would become a repository, and git runs programs that its 'config' names"

Parts = tuple[str, ...]


def is_repository(names: Iterable[str]) -> bool:
    """Whether git may take a folder with these entries for a repository."""
    found = REPOSITORY_NAMES.intersection(map(fold_name, names))
    return "head" in found and ("commondir" in found or {"objects", "refs"} <= found)


def repository_around(parts: Parts, names_in: Callable[[Parts], Iterable[str]]) -> Parts | None:
    """The outermost folder on the way to `parts` that is a repository, or becomes one once `parts` exists. `.git` is not looked at."""
    for at in range(len(parts)):
        if folds_to_git(parts[at]):
            return None
        folder = parts[:at]
        if is_repository([*names_in(folder), parts[at]]):
            return folder
    return None


class RepositoryFinder:
    """Tells of a delta's paths in which repository they lie, and which folder a change makes one."""

    def __init__(self, delta: Delta, root: str) -> None:
        self._delta = delta
        self._names_before = cache(lambda parts: _names_in(root, parts))
        self._was_repository = cache(lambda parts: is_repository(self._names_before(parts)))

    def git_folder(self, parts: Parts) -> int | None:
        """How many parts lead to the git folder that holds this path: a `.git`, or a repository without one. None outside of any."""
        for at, part in enumerate(parts):
            if folds_to_git(part):
                return at + 1
            if self._was_repository(parts[:at]):
                return at
        return None

    def made(self) -> Parts | None:
        """A folder that the delta makes a repository."""
        changed: dict[Parts, dict[str, bool]] = {}
        fresh: set[Parts] = set()
        for change in self._delta.changes:
            parts = change.place.parts
            changed.setdefault(parts[:-1], {})[parts[-1]] = change.after is not None
            if (
                change.after is not None
                and change.after.kind == FOLDER
                and (change.before is None or change.before.kind != FOLDER)
            ):
                fresh.add(parts)
        for folder, entries in changed.items():
            new = [name for name, stays in entries.items() if stays]
            if not REPOSITORY_NAMES.intersection(map(fold_name, new)) or (folder and folds_to_git(folder[-1])):
                continue
            before = [] if folder in fresh else self._names_before(folder)
            kept = (name for name in before if entries.get(name, True))
            if is_repository([*kept, *new]) and not is_repository(before):
                return folder
        return None


def _names_in(root: str, parts: Parts) -> tuple[str, ...]:
    try:
        with os.scandir(Path(root, *parts)) as entries:
            return tuple(entry.name for entry in entries)
    except OSError:
        return ()  # no folder, or not there before
