"""Finds the key files of a workspace before each command, without walking the whole tree each time.

Blocking; follows no link, except one with a key file's name, to cover its target.
"""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Lock

from anycowork.domain.errors import AnyCoworkError, DeniedByRule
from anycowork.domain.path_class import KEY_FOLDERS, name_is_key_file
from anycowork.sandbox.secrets.cover_watch import (
    NOT_ENTERED,
    CoverWatch,
    Entries,
    SeenFolder,
    Selection,
    read_folder,
    unchanged,
)
from anycowork.sandbox.secrets.masks import MOST_MASKS, Mask
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

_MOST_WORKSPACES = 16
_PEM, _MARK, _LARGEST_PEM = ".pem", b"PRIVATE KEY", 262_144


class KeyFileIndex:
    """What is known of the folders of some workspaces. For several threads."""

    def __init__(self) -> None:
        self._workspaces: dict[str, dict[str, SeenFolder]] = {}
        self._lock = Lock()

    def masks(self, jail: Jail, withholds: Callable[[str], bool], watch: CoverWatch | None = None) -> tuple[Mask, ...]:
        """Returns what covers every key file that is withheld, key folders as one; `watch` learns of every folder.

        Raises: DeniedByRule if there are too many.
        """
        masks: dict[WorkspacePath, Mask] = {}
        for mask in self._withheld(jail, withholds, watch):
            masks[mask.place] = mask
            if len(masks) > MOST_MASKS:
                raise DeniedByRule(
                    f"The workspace has more than {MOST_MASKS} files that may hold keys or passwords, too many to keep from a command one "
                    "by one, so it did not run. A person can allow reading them by a rule, such as read_file on '**/*.pem'."
                )
        return tuple(masks.values())

    def _withheld(self, jail: Jail, withholds: Callable[[str], bool], watch: CoverWatch | None) -> Iterator[Mask]:
        for path, is_folder in self._in_any_layer(jail, watch):
            inside = list(_files_inside(jail.process_path, path)) if is_folder else [path]
            withheld = [key_file for key_file in inside if withholds(key_file)]
            if is_folder and len(withheld) == len(inside):
                yield Mask(_workspace_path(path), is_folder=True)
                continue
            if watch is not None:
                _watch_certificates(jail, withheld, watch)
            masks = (_mask(jail, key_file) for key_file in withheld)
            yield from (mask for mask in masks if mask is not None)

    def _in_any_layer(self, jail: Jail, watch: CoverWatch | None) -> Iterator[tuple[str, bool]]:
        """Yields them from each layer of the tree: all tasks of a job share what is known of their workspace."""
        if len(jail.layers) == 1:
            yield from self._key_files(*jail.layers, watch)
            return
        for path, is_folder in dict.fromkeys(
            key_file for layer in jail.layers for key_file in self._key_files(layer, watch)
        ):
            status = jail.stat(_workspace_path(path))  # a layer above may have removed it
            if status is not None and stat.S_ISDIR(status.st_mode) == is_folder:
                yield path, is_folder

    def _key_files(self, root: str, watch: CoverWatch | None) -> Iterator[tuple[str, bool]]:
        """Yields the path of each key file and key folder, and whether it is a folder."""
        with self._lock:
            known_folders = self._workspaces.pop(root, {})
        seen: dict[str, SeenFolder] = {}
        waiting = deque([""])
        while waiting:
            folder_path = waiting.popleft()
            if watch is not None:
                watch.add_folder(root, folder_path)
            folder = _look(f"{root}/{folder_path}", known_folders.get(folder_path))
            if folder is None:
                continue
            seen[folder_path] = folder
            above = f"{folder_path}/" if folder_path else ""
            for name in folder.names:
                yield above + name, False
            for name in folder.folders:
                if name.casefold() in KEY_FOLDERS:
                    yield above + name, True
                else:
                    waiting.append(above + name)
        with self._lock:
            self._workspaces[root] = seen
            while len(self._workspaces) > _MOST_WORKSPACES:
                del self._workspaces[next(iter(self._workspaces))]


def _look(path: str, known_folder: SeenFolder | None) -> SeenFolder | None:
    """Reads the folder unless it is known and unchanged; None if it is no folder any more or cannot be read."""
    try:
        return unchanged([path], known_folder) or read_folder(path, _select)
    except OSError:
        return None  # gone, or closed to the server, which runs commands as the same user or a weaker one


def _select(entries: Entries) -> Selection:
    """Returns the folders to enter, and the names of key files and of links that are called like one."""
    folders, names = [], []
    for entry in entries:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            if name not in NOT_ENTERED:
                folders.append(name)
        elif name_is_key_file(name) or (entry.is_symlink() and name.casefold() in KEY_FOLDERS):
            names.append(name)
    return folders, names


def _files_inside(root: str, folder: str) -> Iterator[str]:
    for above, _, names in os.walk(Path(root, folder)):
        yield from (Path(above, name).relative_to(root).as_posix() for name in names)


def _watch_certificates(jail: Jail, paths: Iterable[str], watch: CoverWatch) -> None:
    """A file with certificates alone is not covered, and may become one with a private key."""
    for path in paths:
        if path.casefold().endswith(_PEM):
            for layer in jail.layers:
                watch.add_file(layer, path)


def _workspace_path(path: str) -> WorkspacePath:
    return WorkspacePath(tuple(path.split("/")))


def _mask(jail: Jail, path: str) -> Mask | None:
    """Returns what covers this file, or the target of this link; None if there is nothing that holds a key."""
    workspace_path = _workspace_path(path)
    try:
        status = jail.stat(workspace_path)
        if status is not None and stat.S_ISLNK(status.st_mode):
            workspace_path, status = jail.find(path)
    except AnyCoworkError:
        return None  # a link that leads out of the workspace leads to nothing in the sandbox
    if status is None or workspace_path.is_root:
        return None
    if stat.S_ISDIR(status.st_mode):
        return Mask(workspace_path, is_folder=True)
    if not stat.S_ISREG(status.st_mode):
        return None
    if workspace_path.name.casefold().endswith(_PEM) and not _holds_private_key(jail, workspace_path, status):
        return None
    return Mask(workspace_path, is_folder=False)


def _holds_private_key(jail: Jail, path: WorkspacePath, status: os.stat_result) -> bool:
    """Whether a `.pem` file has more than public certificates; one that is too large or unreadable counts."""
    if status.st_size > _LARGEST_PEM:
        return True
    try:
        with jail.regular_file(path) as (fd, _):
            return _MARK in os.read(fd, _LARGEST_PEM)
    except AnyCoworkError:
        return True
