"""Finds the other names of a file in a workspace: a key file that has a second name (a hard link) stays a key file under it. Blocking."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from anycowork.domain.errors import AnyCoworkError, DeniedByRule
from anycowork.domain.path_class import is_key_file
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown

_Identity = tuple[int, int]


@contextmanager
def told_file(jail: Jail, path: WorkspacePath) -> Iterator[tuple[int, os.stat_result]]:
    """Opens a regular file whose content the agent will see. Raises: as `Jail.regular_file`; DeniedByRule for another name of a key
    file."""
    with jail.regular_file(path) as (fd, status):
        if (key_file := _key_file_behind(jail, path, status)) is not None:
            raise DeniedByRule(
                f"'{shown(path.path)}' is the same file as '{shown(key_file)}' (a hard link), which may hold keys or passwords. Name "
                f"'{shown(key_file)}' instead; a person is asked then."
            )
        yield fd, status


def _key_file_behind(jail: Jail, path: WorkspacePath, status: os.stat_result) -> str | None:
    """Returns the path of a key file that is this very file under another name; None for almost every file."""
    if status.st_nlink < 2 or is_key_file(path.path):
        return None
    names = _names_of(jail, frozenset({_identity(status)}))
    return next((name for name in names if is_key_file(name)), None)


def other_names(jail: Jail, paths: Iterable[WorkspacePath]) -> list[WorkspacePath]:
    """Returns where else in the workspace these files are, and the files in these folders. The tree is walked only if one has two names."""
    linked = frozenset(_identity(status) for path in paths for status in _files_at(jail, path) if status.st_nlink > 1)
    return [WorkspacePath(tuple(name.split("/"))) for name in _names_of(jail, linked)] if linked else []


def _files_at(jail: Jail, path: WorkspacePath) -> Iterator[os.stat_result]:
    """Yields the status of the regular file, or of each one below the folder."""
    try:
        status = jail.stat(path)
    except AnyCoworkError:
        return
    if status is not None and stat.S_ISREG(status.st_mode):
        yield status
    elif status is not None and stat.S_ISDIR(status.st_mode):
        for entry, _ in _entries(f"{jail.process_path}/{path.path}", ""):
            if entry.is_file(follow_symlinks=False):
                yield entry.stat(follow_symlinks=False)


def _names_of(jail: Jail, identities: frozenset[_Identity]) -> Iterator[str]:
    """Yields each path with one of these identities. The number of a file comes with its name; only a match is looked at."""
    numbers = {number for _, number in identities}
    for entry, path in _entries(jail.process_path, ""):
        if entry.inode() in numbers and entry.is_file(follow_symlinks=False):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # gone meanwhile
            if _identity(status) in identities:
                yield path


def _entries(root: str, folder: str) -> Iterator[tuple["os.DirEntry[str]", str]]:
    """Yields every entry below the folder with its path from the root, and follows no link."""
    waiting = [folder]
    while waiting:
        above = waiting.pop()
        try:
            with os.scandir(f"{root}/{above}") as entries:
                listed = list(entries)
        except OSError:
            continue  # gone meanwhile, or closed to us
        for entry in listed:
            path = f"{above}/{entry.name}" if above else entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            yield entry, path


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino
