"""Writes what a command changed on a worker into the layer of its transaction here, as if it had run here. The worker may lie in everything.

Every folder is opened without following links, every content has the hash that the manifest names, and what the layer then holds is scanned,
checked and committed like the changes of any command.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from anycowork.domain.path_class import is_key_file
from anycowork.sandbox.layers.stage import Stage
from anycowork.sandbox.remote.tree_manifest import (
    FILE,
    FOLDER,
    LINK,
    MOST_ENTRIES,
    REMOVED,
    STAYS_AT_HOME,
    WALK_SECONDS,
    BadManifest,
    TreeEntry,
    travel_walk,
)
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.walk import FolderWalk

CHANGE_KINDS = (FILE, FOLDER, LINK, REMOVED)
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_layer(
    changes: Sequence[TreeEntry],
    contents: Mapping[str, Path],
    jail: Jail,
    stage: Stage,
    *,
    travelled: Mapping[str, TreeEntry],
    leave_out: Sequence[str] = (),
) -> None:
    """Writes the changes into the stage's upper folder. `travelled` is what the worker was given: nothing else can be removed or replaced.

    Blocking. Raises: BadManifest, OSError.
    """
    for entry in changes:
        _require_returnable(entry, travelled)
    for path in travel_walk(jail, leave_out).ignored_among([entry.path for entry in changes]):
        raise BadManifest(f"'{shown(path)}' does not travel, so a worker cannot change it. Nothing was kept.")
    with _opened(str(stage.upper)) as upper:
        for entry in _without_what_stayed(changes, jail, travelled):
            with _folder_for(upper, entry.place.parent, jail, stage) as folder:
                _write(entry, folder, contents, jail, stage)


def _require_returnable(entry: TreeEntry, travelled: Mapping[str, TreeEntry]) -> None:
    parts = entry.path.split("/")
    if not STAYS_AT_HOME.isdisjoint(parts) or is_key_file(entry.path):
        raise BadManifest(f"'{shown(entry.path)}' does not travel, so a worker cannot change it. Nothing was kept.")
    if entry.kind == REMOVED and entry.path not in travelled:
        raise BadManifest(f"'{shown(entry.path)}' did not travel, so a worker cannot remove it. Nothing was kept.")


def _without_what_stayed(
    changes: Sequence[TreeEntry], jail: Jail, travelled: Mapping[str, TreeEntry]
) -> Iterator[TreeEntry]:
    """A folder that the worker removed keeps what stayed at home, such as ignored files. Raises: BadManifest for one that was replaced."""
    for entry in changes:
        below = jail.stat(entry.place)
        if entry.kind == FOLDER or below is None or not stat.S_ISDIR(below.st_mode):
            yield entry
            continue
        walk = FolderWalk(jail, most=MOST_ENTRIES, seconds=WALK_SECONDS, with_ignored=True)
        paths_below = [walked.place for walked in walk.entries(entry.place)]
        staying_paths: set[WorkspacePath] = set()
        for path in paths_below:
            if path.path not in travelled:
                staying_paths.update(WorkspacePath(path.parts[:depth]) for depth in range(1, len(path.parts) + 1))
        if not staying_paths and not walk.cut:
            yield entry
            continue
        if entry.kind != REMOVED or walk.cut:
            raise BadManifest(
                f"'{shown(entry.path)}' holds files that did not travel, so a worker cannot replace it. Nothing was kept."
            )
        for path in paths_below:
            if path not in staying_paths and path.parent in staying_paths:
                yield TreeEntry(path.path, REMOVED)


def _write(entry: TreeEntry, folder: int, contents: Mapping[str, Path], jail: Jail, stage: Stage) -> None:
    name = entry.place.name
    if entry.kind == FOLDER:
        _make_folder(folder, name, entry.mode, stage)
        return
    if entry.kind == REMOVED:
        os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=folder)
        return
    if entry.kind == LINK:
        os.symlink(entry.target, name, dir_fd=folder)
    else:
        _write_file(entry, folder, contents)
    if not stage.runner.is_us:
        os.chown(name, stage.runner.uid, stage.runner.gid, dir_fd=folder, follow_symlinks=False)


def _write_file(entry: TreeEntry, folder: int, contents: Mapping[str, Path]) -> None:
    content = contents.get(entry.hash)
    if content is None:
        raise BadManifest(f"The content of '{shown(entry.path)}' did not come with the manifest. Nothing was kept.")
    digest = sha256()
    fd = os.open(entry.place.name, _NEW_FILE, 0o600, dir_fd=folder)
    try:
        with content.open("rb") as source:
            while piece := source.read(1 << 20):
                digest.update(piece)
                os.write(fd, piece)
        if digest.hexdigest() != entry.hash:
            raise BadManifest(
                f"The content of '{shown(entry.path)}' is not the one that its hash names. Nothing was kept."
            )
        os.fchmod(fd, entry.mode)
    finally:
        os.close(fd)


@contextmanager
def _folder_for(upper: int, place: WorkspacePath, jail: Jail, stage: Stage) -> Iterator[int]:
    """Opens the folder of the layer, and makes it and those above it like the workspace's where they are missing."""
    fd = os.dup(upper)
    try:
        for depth, name in enumerate(place.parts, start=1):
            below = jail.stat(WorkspacePath(place.parts[:depth]))
            mode = stat.S_IMODE(below.st_mode) if below is not None and stat.S_ISDIR(below.st_mode) else 0o755
            _make_folder(fd, name, mode, stage)
            inner = os.open(name, _FOLDER_FLAGS, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


def _make_folder(folder: int, name: str, mode: int, stage: Stage) -> None:
    try:
        os.mkdir(name, 0o700, dir_fd=folder)
    except FileExistsError:
        return
    os.chmod(name, mode | stat.S_IRWXU, dir_fd=folder)
    if not stage.runner.is_us:
        os.chown(name, stage.runner.uid, stage.runner.gid, dir_fd=folder)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    fd = os.open(path, _FOLDER_FLAGS)
    try:
        yield fd
    finally:
        os.close(fd)
