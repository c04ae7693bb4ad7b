"""Restores images into a workspace: each path in one step, through the jail, and only where the state is as expected.

Paths are sorted by folder. Contents are written in batches: all of a batch under temporary names, one sync, then one rename each. Whatever
a crash leaves, every file is either old or new, and the next start finishes the restore.
"""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

from anycowork.checkpoints.capture import ImageReader, path_of
from anycowork.checkpoints.pack import Damaged, Pack
from anycowork.checkpoints.snapshot_contents import identity_of, is_as_seen, is_young, stat_entry, was_seen_as_expected
from anycowork.domain.errors import FileMissing, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.domain.path_class import fold_name, is_git_control
from anycowork.domain.snapshots import PathImage, PathKind, RestoreControl, Restored, Undo
from anycowork.domain.values import leaf_value, replace
from anycowork.workspace.folder import Folder
from anycowork.workspace.git_index_file import REPOSITORY_NAMES
from anycowork.workspace.jail import give_to_owner_of, translate_os_errors
from anycowork.workspace.opened_folders import OPENED_FOLDERS, WritableFolders
from anycowork.workspace.packfile import write_all, write_chunks
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.syscalls import keep_attributes, rename_to_new, sync_file_system

BATCH_PATHS = 2_000
BATCH_BYTES = 64 << 20
_FEW = 32  # up to this number each file and folder is synced; beyond it, the whole file system once
_SPECIAL_NAMES = REPOSITORY_NAMES | {".git", "git~1"}  # a path with one of these is checked at every step
_TEMPORARY = (".anycowork-", ".tmp")
_EXCLUSIVE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Step = Callable[[WorkspacePath, Undo], None]


class _Uncontrolled:
    """Of a restore that nobody watches or stops."""

    def is_stopped(self) -> bool:
        return False

    def report(self, done: int, total: int) -> None:
        pass


def bring_back(folder: Folder, pack: Pack, undos: Sequence[Undo], control: RestoreControl | None = None) -> Restored:
    """Restores paths. `expected` of each undo is the state seen just before: a path in any other state is left alone and reported.

    Order: removes what is in the way, deepest first; then creates folders, then files and links; sets folder modes last. A stop is obeyed
    before the first change and between batches of contents, once everything that had something in its way is there.
    """
    control = control or _Uncontrolled()
    ordered = sorted(undos, key=lambda undo: undo.path.split("/"))
    control.report(0, len(ordered))
    if control.is_stopped():
        return Restored(left=len(ordered))
    with _RestoreRun(folder, pack) as run:
        for undo in reversed(ordered):
            if undo.target.kind is PathKind.ABSENT or _in_the_way(undo):
                run.attempt(undo, run.remove)
        for undo in ordered:
            if undo.target.kind is PathKind.FOLDER:
                run.attempt(undo, run.make_folder)
        remaining = _put_contents(run, [undo for undo in ordered if undo.target.has_content], len(ordered), control)
        run.close_folders_again()
        for undo in reversed(ordered):
            if undo.target.kind is PathKind.FOLDER:
                run.attempt(undo, run.set_folder_mode)
        run.sync()
        control.report(len(ordered) - remaining, len(ordered))
        return replace(run.result(), left=remaining)


def _put_contents(run: "_RestoreRun", undos: Sequence[Undo], total: int, control: RestoreControl) -> int:
    """Returns how many were left because of a stop. Contents whose old entry was removed come first: they must not be left."""
    required = [undo for undo in undos if _in_the_way(undo)]
    others = sorted((undo for undo in undos if not _in_the_way(undo)), key=_folder_of)
    remaining = len(undos)
    for batch in chain(_batches(sorted(required, key=_folder_of)), _batches(others)):
        if control.is_stopped() and remaining <= len(others):
            return remaining
        run.put_all(batch)
        remaining -= len(batch)
        control.report(total - remaining, total)
    return 0


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


@leaf_value
class _Staged:
    """A content under its temporary name; `identity` is the inode and ctime of the file that it replaces, None if there is none."""

    undo: Undo
    folder: str
    name: str
    temporary: str
    identity: tuple[int, int] | None


class _RestoreRun:
    """The progress of a restore. A path that failed is not tried again."""

    def __init__(self, folder: Folder, pack: Pack) -> None:
        self._folder = folder
        self._contents = pack.reader()
        self._images = ImageReader(folder)
        self._token = secrets.token_hex(8)
        self._last = WritableFolders(folder.jail, pack.folder / f"{OPENED_FOLDERS}-{self._token}")
        self._restored: list[str] = []
        self._deleted: list[str] = []
        self._kept: dict[str, None] = {}
        self._faults: dict[str, str] = {}
        self._unsynced: dict[str, list[str]] = {}
        self._allowed: dict[str, WorkspacePath] = {}
        self._no_repository: set[tuple[str, ...]] = set()
        # Without `self`: in a cycle with this run, its descriptors would stay open until a garbage collection.
        self._repository_names = cache(
            lambda folder_path: [n for n in folder.names_at(folder_path) if fold_name(n) in REPOSITORY_NAMES]
        )
        self._links: list[WorkspacePath] = []
        self._written = 0

    def __enter__(self) -> "_RestoreRun":
        return self

    def __exit__(self, *_: object) -> None:
        self._contents.__exit__()
        self.close_folders_again()
        self._images.moved()

    def attempt(self, undo: Undo, step: Step) -> bool:
        """Returns whether the step was done."""
        path = undo.path
        if path in self._faults or path in self._kept:
            return False
        try:
            workspace_path = self._allowed.get(path) or self._require_allowed(undo)
            try:
                step(workspace_path, undo)
            except OSError:
                with translate_os_errors(path):
                    raise
        except (ToolFault, OutsideWorkspace) as error:
            self._faults[path] = error.message
        except Damaged:
            self._faults[path] = "its kept content is damaged"
        return path not in self._faults

    def _require_allowed(self, undo: Undo) -> WorkspacePath:
        """Returns the place. Remembers it unless its name could make a repository: then every step checks again."""
        path = path_of(undo.path)
        parts = path.parts
        if parts[:-1] in self._no_repository and fold_name(parts[-1]) not in _SPECIAL_NAMES:
            self._allowed[undo.path] = path
            return path
        if path.is_root or is_git_control(path.parts):
            raise OutsideWorkspace(f"'{shown(undo.path)}' is never touched by a restore.")
        if undo.target.kind is PathKind.ABSENT:
            self._allowed[undo.path] = path
        elif not REPOSITORY_NAMES.isdisjoint(map(fold_name, parts)):
            self._folder.require_no_repository(path)
        else:  # only such a name can make one of the folders above
            self._folder.require_no_repository(path, self._repository_names)
            self._no_repository.add(parts[:-1])
            self._allowed[undo.path] = path
        return path

    def remove(self, path: WorkspacePath, undo: Undo) -> None:
        now, status = undo.expected, self._images.stat(path)
        if status is None and undo.target.kind is PathKind.ABSENT:
            return  # whoever removed it, it is as it should be
        if now is None or not is_as_seen(undo, status):
            now = self._require_expected(path, undo)
        if now.kind is PathKind.ABSENT:
            return
        parent = self._last.at(_folder_of(undo))
        if now.kind is not PathKind.FOLDER:
            os.unlink(path.name, dir_fd=parent)
        elif self._folder.jail.names(path):
            self._kept[undo.path] = None
            return
        else:
            os.rmdir(path.name, dir_fd=parent)
            self._images.moved()
        self._unsynced.setdefault(_folder_of(undo), []).append(undo.path)
        if undo.target.kind is PathKind.ABSENT:
            self._deleted.append(undo.path)

    def make_folder(self, path: WorkspacePath, undo: Undo) -> None:
        image = self._image(path)
        if image.kind is PathKind.ABSENT:
            self._make_folders(path)
            self._restored.append(undo.path)
        elif image.kind is not PathKind.FOLDER:
            raise StateChanged(f"'{shown(undo.path)}' is not a folder.")
        elif image.mode != undo.target.mode:
            self._restored.append(undo.path)

    def put_all(self, undos: Sequence[Undo]) -> None:
        """Writes these contents beside their places, makes them durable, and renames them into place."""
        staged: dict[str, _Staged] = {}
        few = len(undos) <= _FEW

        def stage(path: WorkspacePath, undo: Undo) -> None:
            staged[undo.path] = self._stage(path, undo, synced=few)

        def move_in(path: WorkspacePath, undo: Undo) -> None:
            self._move_in(path, staged[undo.path])
            del staged[undo.path]

        try:
            for undo in undos:
                self.attempt(undo, stage)
            if not few and staged:
                self._sync_all(list(staged))
            for staged_content in list(staged.values()):
                self.attempt(staged_content.undo, move_in)
        finally:
            for staged_content in staged.values():
                self._remove_temporary(staged_content)

    def close_folders_again(self) -> None:
        """Gives folders that had to be opened their modes back. Nothing is written to them afterwards."""
        self._last.close_again()
        self._last.close()

    def set_folder_mode(self, path: WorkspacePath, undo: Undo) -> None:
        with self._folder.jail.folder(path, flags=os.O_RDONLY) as fd:
            os.fchmod(fd, undo.target.mode)

    def sync(self) -> None:
        """Syncs each folder once, at the end: until then a crash leaves the restore unfinished, and it is repeated."""
        if len(self._unsynced) > _FEW:
            self._sync_all([path for paths in self._unsynced.values() for path in paths])
            return
        for folder, paths in self._unsynced.items():
            try:
                with self._folder.jail.folder(path_of(folder), flags=os.O_RDONLY) as fd, translate_os_errors(folder):
                    os.fsync(fd)
            except (FileMissing, WrongKind):
                continue  # it was deleted or replaced: the folder above records that
            except (ToolFault, OutsideWorkspace) as error:
                if not any(link.holds(path_of(folder)) for link in self._links):
                    self._faults.update(dict.fromkeys(paths, error.message))

    def result(self) -> Restored:
        return Restored(
            tuple(path for path in self._restored if path not in self._faults),
            tuple(sorted(path for path in self._deleted if path not in self._faults)),
            tuple(self._kept),
            self._faults,
        )

    def _make_folders(self, path: WorkspacePath) -> None:
        above = path.parent
        while not above.is_root and self._folder.jail.stat(above) is None:
            above = above.parent
        self._last.at("/".join(above.parts))  # from here on it is writable
        self._folder.jail.make_folders(path)

    # --- one content

    def _stage(self, path: WorkspacePath, undo: Undo, *, synced: bool) -> _Staged:
        """Writes the complete, verified content under a temporary name."""
        folder = _folder_of(undo)
        identity = None
        try:
            parent = self._last.at(folder)
        except FileMissing:
            self._make_folders(path.parent)
            parent = self._last.at(folder)
        if was_seen_as_expected(undo) and undo.seen is not None:
            identity = undo.seen.inode, undo.seen.ctime  # looked at right before the rename
        elif not _in_the_way(undo):
            status = stat_entry(path.name, parent)
            self._require_expected(path, undo)
            identity = identity_of(status)
        self._written += 1
        temporary = f"{self._token}-{self._written}".join(_TEMPORARY)
        staged = _Staged(undo, folder, path.name, temporary, identity)
        try:
            self._write(parent, temporary, undo.target, synced=synced, replaces=path.name if identity else None)
        except BaseException:
            self._remove_temporary(staged)
            raise
        return staged

    def _write(self, parent: int, name: str, target: PathImage, *, synced: bool, replaces: str | None) -> None:
        assert target.hash is not None  # a file or a link has one
        if target.kind is PathKind.SYMLINK:
            os.symlink(os.fsdecode(b"".join(self._contents.chunks(target.hash))), name, dir_fd=parent)
        else:
            fd = os.open(name, _EXCLUSIVE, 0o600, dir_fd=parent)
            try:
                if (small := self._contents.small(target.hash)) is not None:
                    write_all(fd, small, 0)
                else:
                    write_chunks(fd, self._contents.chunks(target.hash))
                if replaces is not None:
                    keep_attributes(replaces, parent, fd)
                # Not the setuid bits: a restore gives nobody privileges back.
                os.fchmod(fd, target.mode & 0o777)
                if synced:
                    os.fsync(fd)
            finally:
                os.close(fd)
        give_to_owner_of(parent, name)

    def _move_in(self, path: WorkspacePath, staged: _Staged) -> None:
        parent = self._last.at(staged.folder)
        if not _in_the_way(staged.undo):
            now = stat_entry(staged.name, parent)
            if identity_of(now) != staged.identity or (now is not None and is_young(now)):
                self._require_expected(path, staged.undo)
        self._rename(staged, parent)
        if staged.undo.target.kind is PathKind.SYMLINK:
            self._links.append(path)
        self._unsynced.setdefault(staged.folder, []).append(staged.undo.path)
        self._restored.append(staged.undo.path)

    def _rename(self, staged: _Staged, parent: int) -> None:
        """Replaces only what was there when it was looked at: a person may make something at this path meanwhile."""
        if staged.identity is not None:
            os.rename(staged.temporary, staged.name, src_dir_fd=parent, dst_dir_fd=parent)
            return
        try:
            rename_to_new(staged.temporary, parent, staged.name, parent)
        except FileExistsError:
            raise _changed_by_others(staged.undo.path) from None

    def _remove_temporary(self, staged: _Staged) -> None:
        try:
            os.unlink(staged.temporary, dir_fd=self._last.at(staged.folder))
        except (OSError, ToolFault, OutsideWorkspace):
            pass  # renamed, as intended, gone with its folder, or kept by the disk: the next restore removes it

    # --- checks

    def _require_expected(self, path: WorkspacePath, undo: Undo) -> PathImage:
        now = self._image(path)
        if undo.expected is None or not now.same_as(undo.expected):
            raise _changed_by_others(undo.path)
        return now

    def _image(self, path: WorkspacePath) -> PathImage:
        """Returns what is there, with the mode that a folder had before this restore opened it."""
        image = self._images.image(path)
        mode = self._last.closed.get(path.path)
        return image if mode is None or image.kind is not PathKind.FOLDER else replace(image, mode=mode)

    def _sync_all(self, paths: Sequence[str]) -> None:
        try:
            with translate_os_errors("."):
                sync_file_system(self._last.at(""))
        except (ToolFault, OutsideWorkspace) as error:
            self._faults.update(dict.fromkeys(paths, error.message))


def _changed_by_others(path: str) -> StateChanged:
    return StateChanged(f"'{shown(path)}' was changed by someone else while this was restored.")


def _batches(undos: Sequence[Undo]) -> Iterator[list[Undo]]:
    """Splits contents so that the temporary files of one batch take little space."""
    batch, size = list[Undo](), 0
    for undo in undos:
        if batch and (len(batch) == BATCH_PATHS or size + undo.target.size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(undo)
        size += undo.target.size
    if batch:
        yield batch


def _folder_of(undo: Undo) -> str:
    return undo.target.path.rpartition("/")[0]


def _in_the_way(undo: Undo) -> bool:
    """Tells whether a folder and a file would swap places, which cannot be done in one step."""
    if undo.expected is None or undo.expected.kind in (PathKind.ABSENT, undo.target.kind):
        return False
    return PathKind.FOLDER in (undo.expected.kind, undo.target.kind)
