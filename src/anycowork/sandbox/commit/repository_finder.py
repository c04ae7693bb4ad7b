"""Finds the repository of each path in a delta, and folders that a delta turns into one."""

import os
from collections.abc import Iterator
from functools import cache

from anycowork.domain.path_class import fold_name, folds_to_git
from anycowork.sandbox.commit.delta import FOLDER, Delta, PathChange
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

    def in_repositories(self) -> Iterator[PathChange]:
        """Yields changes that may be in a git folder, or take one away. Changes in one folder stand together, and are looked up once."""
        last: list[str] | None = None
        outside = False
        for change in self._delta.changes:
            *above, name = change.place.parts
            if above != last:
                last, outside = above, self._folder_of(tuple(above)) == (None, False)
            if not outside or change.below or folds_to_git(name):
                yield change

    def _git_folder_above(self, folder: Parts) -> tuple[int | None, bool]:
        """Returns the git folder that holds this folder, and whether the folder is a bare repository."""
        if folder:
            above, in_repository = self._folder_of(folder[:-1])
            if above is not None:
                return above, False
            if folds_to_git(folder[-1]):
                return len(folder), False
            if in_repository:
                return len(folder) - 1, False
        return None, self._was_repository(folder)

    def made(self) -> Parts | None:
        """Returns a folder that the delta turns into a repository."""
        changed: dict[Parts, dict[str, bool]] = {}
        fresh: set[Parts] = set()
        for change in self._delta.changes:
            if change.before is not None and change.after is not None and change.before.kind == change.after.kind:
                continue  # the names in its folder stay the same
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
            remaining = (name for name in before if entries.get(name, True))
            if is_repository([*remaining, *new]) and not is_repository(before):
                return folder
        return None


def _names_in(root: str, parts: Parts) -> tuple[str, ...]:
    try:
        return tuple(os.listdir("/".join((root, *parts))))  # noqa: PTH208  # paths would cost more than the reading
    except OSError:
        return ()  # not a folder, or not there before
