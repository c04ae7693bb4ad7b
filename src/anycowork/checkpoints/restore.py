"""Restores images into a workspace: each path in one step, through the jail, and only where the state is as expected."""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from anycowork.checkpoints.capture import image, path_of
from anycowork.checkpoints.pack import Damaged, Pack
from anycowork.domain.errors import FileMissing, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.domain.snapshots import Kind, PathImage, Restored, Undo
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import give_to_owner_of, translate_os_errors
from anycowork.workspace.paths import WorkspacePath, is_git_control, shown

_TEMPORARY = (".anycowork-", ".tmp")
_EXCLUSIVE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Step = Callable[[WorkspacePath, Undo], None]


def bring_back(folder: Folder, pack: Pack, undos: Sequence[Undo]) -> Restored:
    """Restores paths. `expected` of each undo is the state seen just before: a path in any other state is left alone and reported.

    Order: removes what is in the way, deepest first; then creates folders, then files and links; sets folder modes last.
    """
    doing = _RestoreProgress(folder, pack)
    ordered = sorted(undos, key=lambda undo: path_of(undo.path).parts)
    for undo in reversed(ordered):
        if undo.target.kind is Kind.ABSENT or _in_the_way(undo):
            doing.attempt(undo, doing.remove)
    for undo in ordered:
        if undo.target.kind is Kind.FOLDER:
            doing.attempt(undo, doing.make_folder)
    for undo in ordered:
        if undo.target.has_content:
            doing.attempt(undo, doing.put)
    for undo in reversed(ordered):
        if undo.target.kind is Kind.FOLDER:
            doing.attempt(undo, doing.set_folder_mode)
    doing.sync()
    return doing.result()


def clear_leftovers(folder: Folder, paths: Iterable[str]) -> None:
    """Removes temporary files that a killed restore left beside these paths."""
    for parent in {path_of(path).parent for path in paths}:
        try:
            with folder.jail.folder(parent, flags=os.O_RDONLY) as fd, translate_os_errors(parent.path):
                for name in folder.jail.names(parent):
                    if name.startswith(_TEMPORARY[0]) and name.endswith(_TEMPORARY[1]):
                        os.unlink(name, dir_fd=fd)
        except (ToolFault, OutsideWorkspace):
            continue  # the folder was deleted or replaced


class _RestoreProgress:
    """The progress of a restore. A path that failed is not tried again."""

    def __init__(self, folder: Folder, pack: Pack) -> None:
        self._folder = folder
        self._pack = pack
        self._restored: list[str] = []
        self._deleted: list[str] = []
        self._kept: list[str] = []
        self._faults: dict[str, str] = {}
        self._unsynced: dict[WorkspacePath, list[str]] = {}
        self._links: list[WorkspacePath] = []

    def attempt(self, undo: Undo, step: Step) -> None:
        if undo.path in self._faults or undo.path in self._kept:
            return
        place = path_of(undo.path)
        try:
            if place.is_root or is_git_control(place.parts):
                raise OutsideWorkspace(f"'{shown(undo.path)}' is never touched by a restore.")
            if undo.target.kind is not Kind.ABSENT:
                self._folder.require_no_repository(place)
            with translate_os_errors(undo.path):
                step(place, undo)
        except (ToolFault, OutsideWorkspace) as error:
            self._faults[undo.path] = error.message
        except Damaged:
            self._faults[undo.path] = "its kept content is damaged"

    def remove(self, place: WorkspacePath, undo: Undo) -> None:
        now = self._require_expected(place, undo)
        if now.kind is Kind.ABSENT:
            return
        with self._folder.jail.folder(place.parent, flags=os.O_RDONLY) as parent:
            if now.kind is not Kind.FOLDER:
                os.unlink(place.name, dir_fd=parent)
            elif self._folder.jail.names(place):
                self._kept.append(undo.path)
                return
            else:
                os.rmdir(place.name, dir_fd=parent)
        self._unsynced.setdefault(place.parent, []).append(undo.path)
        if undo.target.kind is Kind.ABSENT:
            self._deleted.append(undo.path)

    def make_folder(self, place: WorkspacePath, undo: Undo) -> None:
        found = image(self._folder, place)
        if found.kind is Kind.ABSENT:
            self._folder.jail.make_folders(place)
            self._restored.append(undo.path)
        elif found.kind is not Kind.FOLDER:
            raise StateChanged(f"'{shown(undo.path)}' is not a folder.")
        elif found.mode != undo.target.mode:
            self._restored.append(undo.path)

    def put(self, place: WorkspacePath, undo: Undo) -> None:
        self._folder.jail.make_folders(place.parent)
        if not _in_the_way(undo):
            self._require_expected(place, undo)
        with (
            self._folder.jail.folder(place.parent, flags=os.O_RDONLY) as parent,
            self._staged(parent, undo.target) as temporary,
        ):
            if not _in_the_way(undo):
                self._require_expected(place, undo)
            os.rename(temporary, place.name, src_dir_fd=parent, dst_dir_fd=parent)
        if undo.target.kind is Kind.SYMLINK:
            self._links.append(place)
        self._unsynced.setdefault(place.parent, []).append(undo.path)
        self._restored.append(undo.path)

    def set_folder_mode(self, place: WorkspacePath, undo: Undo) -> None:
        with self._folder.jail.folder(place, flags=os.O_RDONLY) as fd:
            os.fchmod(fd, undo.target.mode)

    def sync(self) -> None:
        """Syncs each folder once, at the end: until then a crash leaves the restore unfinished, and it is repeated."""
        for folder, paths in self._unsynced.items():
            try:
                with self._folder.jail.folder(folder, flags=os.O_RDONLY) as fd, translate_os_errors(folder.path):
                    os.fsync(fd)
            except (FileMissing, WrongKind):
                continue  # it was deleted or replaced: the folder above records that
            except (ToolFault, OutsideWorkspace) as error:
                if not any(link.holds(folder) for link in self._links):
                    self._faults.update(dict.fromkeys(paths, error.message))

    def result(self) -> Restored:
        return Restored(
            tuple(path for path in self._restored if path not in self._faults),
            tuple(sorted(path for path in self._deleted if path not in self._faults)),
            tuple(self._kept),
            self._faults,
        )

    def _require_expected(self, place: WorkspacePath, undo: Undo) -> PathImage:
        now = image(self._folder, place)
        if undo.expected is None or not now.same_as(undo.expected):
            raise StateChanged(f"'{shown(undo.path)}' was changed by someone else while this was restored.")
        return now

    @contextmanager
    def _staged(self, parent: int, target: PathImage) -> Iterator[str]:
        """Writes the complete, verified content under a temporary name; removes it at the end unless it was renamed."""
        assert target.hash is not None  # a file or a link has one
        name = secrets.token_hex(8).join(_TEMPORARY)
        try:
            if target.kind is Kind.SYMLINK:
                os.symlink(os.fsdecode(self._pack.read(target.hash)), name, dir_fd=parent)
            else:
                self._write(parent, name, target.hash, target.mode)
            give_to_owner_of(parent, name)
            yield name
        finally:
            try:
                os.unlink(name, dir_fd=parent)
            except FileNotFoundError:
                pass  # renamed, as intended

    def _write(self, parent: int, name: str, digest: str, mode: int) -> None:
        fd = os.open(name, _EXCLUSIVE, 0o600, dir_fd=parent)
        with os.fdopen(fd, "wb") as file:
            for chunk in self._pack.chunks(digest):
                file.write(chunk)
            file.flush()
            # Not the setuid bits: a restore gives nobody privileges back.
            os.fchmod(fd, mode & 0o777)
            os.fsync(fd)


def _in_the_way(undo: Undo) -> bool:
    """Tells whether a folder and a file would swap places, which cannot be done in one step."""
    if undo.expected is None or undo.expected.kind in (Kind.ABSENT, undo.target.kind):
        return False
    return Kind.FOLDER in (undo.expected.kind, undo.target.kind)
