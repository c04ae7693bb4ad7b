"""Finds the repository of each path in a delta, and folders that a delta turns into one."""

import os
from functools import cache
from pathlib import Path

from anycowork.domain.control_files import fold_name
from anycowork.sandbox.delta import FOLDER, Delta
from anycowork.workspace.paths import folds_to_git
from anycowork.workspace.repositories import REPOSITORY_NAMES, Parts, is_repository


class RepositoryFinder:
    """Finds the repository of a delta's paths, and folders that a change turns into one."""

    def __init__(self, delta: Delta, root: str) -> None:
        self._delta = delta
        self._names_before = cache(lambda parts: _names_in(root, parts))
        self._was_repository = cache(lambda parts: is_repository(self._names_before(parts)))
        self._folder_of = cache(self._git_folder_above)  # the same for all files in one folder

    def git_folder(self, parts: Parts) -> int | None:
        """Returns how many parts lead to the git folder that holds this path: a `.git`, or a bare repository. None if there is none."""
        if not parts:
            return None
        above, in_repository = self._folder_of(parts[:-1])
        if above is not None:
            return above
        if folds_to_git(parts[-1]):
            return len(parts)
        return len(parts) - 1 if in_repository else None

    def _git_folder_above(self, folder: Parts) -> tuple[int | None, bool]:
        """Returns the git folder that holds this folder, and whether the folder is a bare repository."""
        for at, part in enumerate(folder):
            if folds_to_git(part):
                return at + 1, False
            if self._was_repository(folder[:at]):
                return at, False
        return None, self._was_repository(folder)

    def made(self) -> Parts | None:
        """Returns a folder that the delta turns into a repository."""
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
        return ()  # not a folder, or not there before
