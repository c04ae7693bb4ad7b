"""Images around a commit or a restore whose paths are known: only contents that will be lost are read, and the state afterwards is the
recorded one.

For changes of many paths: a path that was not there before costs no system call.
"""

import stat
from collections.abc import Collection, Iterable, Mapping, Sequence

from anycowork.checkpoints.capture import ImageReader, PackTarget, Seen, bytes_in, path_of, touched
from anycowork.checkpoints.unkept_folders import UnkeptFolders
from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.path_class import folds_to_git, is_git_control
from anycowork.domain.snapshots import PathImage, PathKind, ReplacedFile, Restored, absent
from anycowork.domain.tools import PathIntent
from anycowork.domain.values import replace
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath

_FILE, _FOLDER, _LINK, _TREE = "file", "folder", "link:", "tree:"


class CommitImages:
    """The images before one commit. `needs` is how many bytes storing them takes, at most.

    What is in `unkept` folders is only hashed. `replaced` are files that were read already, by path: a commit checks right before it
    replaces one that it is still the same.
    """

    def __init__(
        self,
        folder: Folder,
        intents: Sequence[PathIntent],
        unkept: UnkeptFolders,
        replaced: Mapping[str, ReplacedFile],
    ) -> None:
        """Raises: NotKept if there are too many paths; ToolFault if a folder cannot be read."""
        self._folder = folder
        self._new: list[str] = []
        self._known: list[tuple[str, ReplacedFile, bool]] = []
        trees: list[str] = []
        unknown: list[WorkspacePath] = []
        folder_path, in_git, in_unkept = None, False, False
        for item in intents:
            above, _, name = item.path.rpartition("/")
            if above != folder_path:  # the same for all files in one folder, which stand together
                folder_path, workspace_path = above, path_of(above)
                in_git, in_unkept = is_git_control(workspace_path.parts), unkept.covers(workspace_path, is_folder=True)
            if in_git or folds_to_git(name):
                continue
            if item.before is None:
                self._new.append(item.path)
            elif item.before.startswith(_TREE):
                trees.append(item.path)
            elif (file := replaced.get(item.path)) is not None and file.hash == item.before:
                self._known.append((item.path, file, in_unkept))
            else:
                unknown.append(path_of(item.path))
        below = touched(folder, trees) if trees else []
        unknown.sort(key=lambda workspace_path: workspace_path.parts[:-1])
        with ImageReader(folder) as reader:
            single = [(workspace_path, reader.stat(workspace_path)) for workspace_path in unknown]
        self._kept, self._hashed = split_unkept([*below, *single], unkept)
        self.needs = bytes_in(self._kept) + sum(
            len(file.content) for _, file, is_unkept in self._known if not is_unkept
        )

    def taken(self, content: PackTarget) -> list[PathImage]:
        """Stores what the commit will replace or remove. Raises: ToolFault if it cannot be read; OSError if the pack cannot store it."""
        images = [absent(path) for path in self._new]
        content.pack.put_all(
            ((file.hash, file.content) for _, file, is_unkept in self._known if not is_unkept), owner=content.owner
        )
        images += [
            PathImage(path, PathKind.FILE, file.hash, file.mode, len(file.content), file.mtime, kept=not is_unkept)
            for path, file, is_unkept in self._known
        ]
        with ImageReader(self._folder, content) as reader:
            images += [reader.image_of(seen) for seen in self._kept]
        images += hashed_images(self._folder, self._hashed)
        if len(images) == len(self._known):
            return images  # in the order of the intents
        return sorted(images, key=_order)


def split_unkept(seen: Iterable[Seen], unkept: UnkeptFolders) -> tuple[list[Seen], list[Seen]]:
    """Returns the entries whose content is kept, and those in unkept folders."""
    kept_entries: list[Seen] = []
    hashed: list[Seen] = []
    for path, status in seen:
        is_folder = status is not None and stat.S_ISDIR(status.st_mode)
        (hashed if unkept.covers(path, is_folder=is_folder) else kept_entries).append((path, status))
    return kept_entries, hashed


def hashed_images(folder: Folder, seen: Iterable[Seen]) -> list[PathImage]:
    """Returns images without keeping their content. What is absent needs none: undoing it is removing. Raises: ToolFault."""
    with ImageReader(folder) as reader:
        images = [reader.image_of(entry) for entry in seen]
    return [image if image.kind is PathKind.ABSENT else replace(image, kept=False) for image in images]


def images_afterwards(
    before: Iterable[PathImage], intents: Iterable[PathIntent], left_alone: Collection[str]
) -> list[PathImage]:
    """Returns the state that the commit left. A path that it left alone has its state from before: the commit did not change it."""
    intended = {item.path: item for item in intents}
    alone = set(left_alone)
    images = []
    for image in before:
        path, item = image.path, intended.get(image.path)
        if item is not None and item.kind == _FILE and item.after is not None and path not in alone:  # most are these
            images.append(PathImage(path, PathKind.FILE, item.after, image.mode if item.mode is None else item.mode))
        else:
            images.append(_afterwards(image, intended, alone))
    return images


def images_of_restore(
    folder: Folder, before: Iterable[PathImage], targets: Iterable[PathImage], done: Restored
) -> list[PathImage]:
    """Returns the state that a restore left: what it wrote is as it was meant, and only the other paths are looked at again.

    A path that cannot be read is left out: nobody knows its state, so that undoing this restore finds a conflict there.
    """
    targets_by_path = {image.path: image for image in targets}
    written = {*done.restored, *done.deleted}
    images = []
    with ImageReader(folder) as reader:
        for image in before:
            target = targets_by_path.get(image.path) if image.path in written else None
            try:
                images.append(_without_counts(target) if target else reader.image(path_of(image.path)))
            except (ToolFault, OutsideWorkspace):
                continue
    return images


def _without_counts(image: PathImage) -> PathImage:
    mode = image.mode & 0o777 if image.kind is PathKind.FILE else image.mode
    return PathImage(image.path, image.kind, image.hash, mode, image.size)


def _afterwards(image: PathImage, intended: dict[str, PathIntent], alone: set[str]) -> PathImage:
    item = intended.get(image.path)
    if item is None:  # it was in a folder that was removed or replaced
        return image if _is_below(image.path, alone) else absent(image.path)
    if image.path in alone:
        return image
    if item.after is None:
        return absent(image.path)
    if item.after == _FOLDER:
        return PathImage(image.path, PathKind.FOLDER, mode=item.mode if item.mode is not None else image.mode)
    return PathImage(image.path, PathKind.SYMLINK, item.after.removeprefix(_LINK))


def _is_below(path: str, folders: set[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:depth]) in folders for depth in range(1, len(parts)))


def _order(image: PathImage) -> str:
    """Sorts by the parts of the paths: the content of a folder stands together."""
    return image.path.replace("/", "\0")
