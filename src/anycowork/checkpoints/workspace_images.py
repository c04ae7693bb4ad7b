"""Keeps a whole workspace before a command that nobody can foresee, and finds afterwards what it changed. Blocking.

Left out: `.git`, generated folders that git ignores, pipes, sockets and devices. A workspace that is too large is not kept at all.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence

from anycowork.checkpoints.capture import ImageReader, PackTarget, Seen, path_of
from anycowork.checkpoints.unkept_folders import UnkeptFolders
from anycowork.domain.errors import NotKept
from anycowork.domain.path_class import is_git_control
from anycowork.domain.snapshots import PathImage, PathKind, absent
from anycowork.domain.values import mutable_value
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath

MOST_PATHS = 20_000
MOST_BYTES = 256 << 20
_Signature = tuple[int, int, int, int]


@mutable_value
class KeptWorkspace:
    """What was there: `images` by path, and how to recognise a path that was not touched since."""

    folder: Folder
    images: Mapping[str, PathImage]
    signatures: Mapping[str, _Signature]
    unkept: UnkeptFolders


def measure(folder: Folder, unkept_names: Sequence[str]) -> tuple[list[Seen], UnkeptFolders, int]:
    """Returns every place of the workspace, and how many bytes their contents have. Raises: NotKept if that is too much."""
    unkept = UnkeptFolders(folder, unkept_names)
    entries: list[Seen] = []
    size = 0
    for path, seen in _places(folder, unkept):
        entries.append((path, seen))
        size += seen.st_size if not stat.S_ISDIR(seen.st_mode) else 0
        if len(entries) > MOST_PATHS or size > MOST_BYTES:
            raise NotKept(
                f"This workspace has more than {MOST_PATHS:,} files or {MOST_BYTES >> 20} MB, too much to keep before each command."
            )
    return entries, unkept, size


def keep(folder: Folder, entries: Sequence[Seen], unkept: UnkeptFolders, content: PackTarget) -> KeptWorkspace:
    """Stores the contents in the pack. Raises: ToolFault, OSError."""
    images: dict[str, PathImage] = {}
    signatures: dict[str, _Signature] = {}
    with ImageReader(folder, content) as reader:
        for path, seen in entries:
            image = reader.image_of((path, seen))
            if image.kind is not PathKind.SPECIAL and seen is not None:
                images[path.path] = image
                signatures[path.path] = _signature(seen)
    return KeptWorkspace(folder, images, signatures, unkept)


def changed_images(kept_workspace: KeptWorkspace) -> list[PathImage]:
    """Returns what was at the paths that look different now. A folder that is still one is left out: it holds what did not change."""
    now = {
        workspace_path.path: seen
        for workspace_path, seen in _places(kept_workspace.folder, kept_workspace.unkept)
        if not _is_special(seen)
    }
    paths = sorted(
        path
        for path in {*kept_workspace.images, *now}
        if path not in now or path not in kept_workspace.images or _differs(kept_workspace, path, now[path])
    )
    return [kept_workspace.images.get(path, absent(path)) for path in paths]


def images_now(folder: Folder, before: Sequence[PathImage]) -> list[PathImage]:
    """Returns what is at exactly these paths now. Raises: ToolFault."""
    with ImageReader(folder) as reader:
        return [reader.image(path_of(image.path)) for image in before]


def _differs(kept_workspace: KeptWorkspace, path: str, seen: os.stat_result) -> bool:
    was_folder, is_folder = kept_workspace.images[path].kind is PathKind.FOLDER, stat.S_ISDIR(seen.st_mode)
    return was_folder != is_folder or (not is_folder and _signature(seen) != kept_workspace.signatures[path])


def _places(folder: Folder, unkept: UnkeptFolders) -> Iterator[tuple[WorkspacePath, os.stat_result]]:
    waiting = [WorkspacePath(())]
    with ImageReader(folder) as reader:
        while waiting:
            folder_path = waiting.pop()
            for name in folder.jail.names(folder_path):
                path = folder_path.child(name)
                if is_git_control((name,)) or (seen := reader.stat(path)) is None:
                    continue
                is_folder = stat.S_ISDIR(seen.st_mode)
                if is_folder and unkept.covers(path, is_folder=True):
                    continue
                yield path, seen
                if is_folder:
                    waiting.append(path)


def _is_special(seen: os.stat_result) -> bool:
    return not (stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode) or stat.S_ISDIR(seen.st_mode))


def _signature(seen: os.stat_result) -> _Signature:
    return seen.st_ino, seen.st_size, seen.st_mode, seen.st_ctime_ns
