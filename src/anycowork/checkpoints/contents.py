"""Reads contents to be compared or shown: kept ones from the pack, current ones from the workspace."""

import os

from anycowork.checkpoints.capture import ImageReader, path_of
from anycowork.checkpoints.compare import comparable
from anycowork.checkpoints.pack import Damaged, Pack
from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.snapshots import PathImage, PathKind
from anycowork.workspace.diffs import LARGEST_DIFFED
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import translate_os_errors


def kept_content(pack: Pack, image: PathImage) -> bytes | None:
    """Returns the kept content; None if it is gone, too large to be compared, or cannot be read now."""
    if image.hash is None or not comparable(image):
        return None
    try:
        if pack.find(image.hash).size > LARGEST_DIFFED:  # an image after a commit does not know its size
            return None
        return pack.read(image.hash)
    except (Damaged, OSError):
        return None


def live_content(folder: Folder, now: PathImage) -> bytes | None:
    """Returns the content in the workspace; None if it is gone or too large to be compared."""
    if not comparable(now):
        return None
    path = path_of(now.path)
    try:
        if now.kind is PathKind.SYMLINK:
            with folder.jail.folder(path.parent) as parent, translate_os_errors(now.path):
                return os.fsencode(os.readlink(path.name, dir_fd=parent))
        return folder.read(path, most=max(now.size, 1)).data
    except (ToolFault, OutsideWorkspace):
        return None


def content_as_left(folder: Folder | None, image: PathImage) -> bytes | None:
    """Returns the content that a change left, if it is still in the workspace."""
    if folder is None:
        return None
    try:
        with ImageReader(folder) as reader:
            now = reader.image(path_of(image.path))
    except (ToolFault, OutsideWorkspace):
        return None
    return live_content(folder, now) if now.same_as(image) else None
