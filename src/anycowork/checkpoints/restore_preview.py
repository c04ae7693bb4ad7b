"""Looks at what a restore would do to the current files, and checks before it begins that it can be done. Changes nothing."""

import fcntl
import os
import shutil
import stat
import sys
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

from anycowork.checkpoints.capture import ImageReader, behind_a_link, below_any, path_of
from anycowork.checkpoints.compare import compare
from anycowork.checkpoints.other_packs import PackFolder, describe_folders
from anycowork.checkpoints.pack import Damaged, Pack
from anycowork.checkpoints.restore import BATCH_BYTES
from anycowork.checkpoints.snapshot_contents import kept_content, live_content, seen_entry
from anycowork.domain.errors import ContentElsewhere, NotEnoughSpace, OutsideWorkspace, SnapshotDamaged, ToolFault
from anycowork.domain.path_class import is_git_control
from anycowork.domain.snapshots import PathImage, PathKind, RestorePreview, Undo, absent
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import AccessRefused
from anycowork.workspace.paths import WorkspacePath, shown

_GET_FLAGS, _IMMUTABLE, _APPEND_ONLY = 0x80086601, 0x10, 0x20  # of Linux, on every 64-bit machine
MOST_REMEMBERED = 64 << 20  # bytes of small files that a restore keeps without a second read


def preview_restore(folder: Folder, pack: Pack, undos: Sequence[Undo], *, most_remembered: int = 0) -> RestorePreview:
    """Returns what restoring these would do now. Each of its undos expects the state that was seen, and may have its content.

    Raises: SnapshotDamaged, NotEnoughSpace, ToolFault if something cannot be read now; then nothing can be restored.
    """
    conflicts: dict[str, str] = {}
    hopeless: set[str] = set()
    todo: list[Undo] = []
    seen: list[PathImage] = []
    unkept: list[str] = []
    ours = {undo.path for undo in undos}
    paths = {path_of(path).parts for path in ours if ".." not in path.split("/")}
    in_ours = cache(lambda parts: parts in paths or below_any(WorkspacePath(parts), paths))
    with ImageReader(folder) as reader:
        for undo in undos:
            try:
                path_to_restore = path_of(undo.path)
                # A link that this same restore removes hides what is below it.
                hidden = in_ours(path_to_restore.parts[:-1]) and behind_a_link(folder, path_to_restore)
                was_file = undo.expected is not None and undo.expected.kind is PathKind.FILE
                now, status, content = (
                    (absent(undo.path), None, None)
                    if hidden
                    else _looked_at(reader, path_to_restore, was_file=was_file)
                )
            except (ToolFault, OutsideWorkspace) as error:
                conflicts[undo.path] = error.message
                hopeless.add(undo.path)
                continue
            if now.same_as(undo.target):
                continue
            if not undo.target.kept:
                unkept += [undo.path] if undo.target.has_content else []
                continue
            if _cannot_be_replaced(folder, undo, now, ours):
                conflicts[undo.path] = "something is there that cannot be kept or replaced: move it away"
                hopeless.add(undo.path)
            elif (reason := _conflict(undo, now)) is not None:
                conflicts[undo.path] = reason
            seen.append(now)
            content = content if content is not None and len(content) <= most_remembered else None
            most_remembered -= len(content or b"")
            todo.append(Undo(undo.target, now, undo.reason, seen_entry(status, now, content)))
    _require_kept(pack, todo)
    _require_disk_space(folder, todo)
    found_differences = compare(
        seen,
        [undo.target for undo in todo],
        old=lambda now: live_content(folder, now),
        new=lambda image: kept_content(pack, image),
    )
    return RestorePreview(
        tuple(todo),
        conflicts,
        frozenset(hopeless),
        found_differences.files,
        found_differences.text,
        tuple(unkept),
    )


def unwritable_paths(folder: Folder, undos: Sequence[Undo]) -> dict[str, str]:
    """Returns the paths that cannot be written as their undos say, with the reason; found without changing anything."""
    ours = {undo.path for undo in undos}
    faults: dict[str, str] = {}
    for undo in undos:
        try:
            path = path_of(undo.path)
            if path.is_root or is_git_control(path.parts):
                raise OutsideWorkspace(f"'{shown(undo.path)}' is never written.")
            if undo.target.kind is not PathKind.ABSENT:
                folder.require_no_repository(path)
            _require_writable(folder, path, ours)
        except (ToolFault, OutsideWorkspace) as error:
            faults[undo.path] = error.message
    return faults


def _require_writable(folder: Folder, path: WorkspacePath, ours: Collection[str]) -> None:
    """Looks at the nearest folder above that stays, and at what would be replaced. Raises: ToolFault, OutsideWorkspace."""
    above = path.parent
    while not above.is_root:
        status = folder.jail.stat(above)
        if status is not None and (stat.S_ISDIR(status.st_mode) or above.path not in ours):
            break
        above = above.parent
    with folder.jail.folder(above) as fd:
        if not _may_write(fd):
            raise AccessRefused(f"'{shown(above.path) or '/'}' is a folder that cannot be written to.")
        if above == path.parent and _is_protected(fd, path.name):
            raise AccessRefused(f"'{shown(path.path)}' is protected: nobody can replace it.")


def _may_write(fd: int) -> bool:
    """Tells whether entries can be made and replaced in the folder. A restore opens one of its own user to itself."""
    if os.access(f"/proc/self/fd/{fd}", os.W_OK | os.X_OK, effective_ids=True):
        return True
    is_read_only = bool(os.fstatvfs(fd).f_flag & os.ST_RDONLY)
    return os.fstat(fd).st_uid == os.geteuid() and not is_read_only and not _is_immutable(f"/proc/self/fd/{fd}", None)


def _is_protected(folder_fd: int, name: str) -> bool:
    """Tells whether the entry, if there is one, can be neither removed nor replaced."""
    try:
        status = os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except OSError:
        return False
    above, user = os.fstat(folder_fd), os.geteuid()
    if above.st_mode & stat.S_ISVTX and user not in (0, above.st_uid, status.st_uid):
        return True
    return (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)) and _is_immutable(name, folder_fd)


def _is_immutable(path: str, folder_fd: int | None) -> bool:
    no_follow = os.O_NOFOLLOW if folder_fd is not None else 0
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | no_follow, dir_fd=folder_fd)
    except OSError:
        return False
    try:
        flags = fcntl.ioctl(fd, _GET_FLAGS, bytes(8))
        return bool(int.from_bytes(flags[:4], sys.byteorder) & (_IMMUTABLE | _APPEND_ONLY))
    except OSError:  # the file system has no such flags
        return False
    finally:
        os.close(fd)


def _looked_at(
    reader: ImageReader, path: WorkspacePath, *, was_file: bool
) -> tuple[PathImage, os.stat_result | None, bytes | None]:
    """Returns image, stat and, of a small file, the content. Only what was a file is opened without a look. Raises: ToolFault, OutsideWorkspace."""
    small = reader.small_file(path) if was_file else None
    if small is not None:
        return small
    status = reader.stat(path)
    return reader.image_of((path, status)), status, None


def _require_kept(pack: Pack, undos: Sequence[Undo]) -> None:
    """Reads and verifies every content before anything is changed."""
    with pack.reader() as reader:
        for undo in undos:
            if undo.target.hash is None:
                continue
            try:
                reader.verify(undo.target.hash)
            except Damaged:
                if pack.others is not None and (elsewhere := pack.others.unreadable()):
                    raise _kept_elsewhere(undo.path, elsewhere) from None
                raise SnapshotDamaged(
                    f"The kept content of '{shown(undo.path)}' is damaged or missing, so it cannot be restored. Nothing was changed."
                    " Leave this path out with 'paths'."
                ) from None
            except OSError as error:
                raise ToolFault(
                    f"The kept content of '{shown(undo.path)}' cannot be read now ({error.strerror}). Nothing was changed. Try again."
                ) from None


def _kept_elsewhere(path: str, folders: Sequence[PackFolder]) -> ContentElsewhere:
    first = folders[0]
    return ContentElsewhere(
        f"The earlier content of '{shown(path)}' is kept by another process, in a folder that this one cannot read:"
        f" {', or '.join(describe_folders(folders))}. Nothing was changed. Make that folder readable here at the same path; or stop"
        f" that process, run 'anycowork serve --data-dir {Path(first.folder).parent}' on {first.host}, and restore there."
    )


def _require_disk_space(folder: Folder, undos: Sequence[Undo]) -> None:
    """A batch of files is written beside those that it replaces, so there must be space for both. Raises: NotEnoughSpace."""
    files = [undo for undo in undos if undo.target.kind is PathKind.FILE]
    grows = sum(max(0, undo.target.size - (undo.expected.size if undo.expected else 0)) for undo in files)
    largest = max((undo.target.size for undo in files), default=0)
    needs = grows + max(largest, min(BATCH_BYTES, sum(undo.target.size for undo in files)))
    if needs > shutil.disk_usage(folder.root).free:
        raise NotEnoughSpace(
            f"The workspace's disk has no space for the {needs:,} bytes that restoring these files needs. Nothing was changed."
            " Free some space, then try again."
        )


def _conflict(undo: Undo, now: PathImage) -> str | None:
    if undo.expected is None:
        return "its state after the change that would be undone is not known"
    if not now.same_as(undo.expected) and not _was_opened(now, undo.expected):
        return "it is not as it was left: someone changed it since"
    return undo.reason


def _was_opened(now: PathImage, expected: PathImage) -> bool:
    """A restore that was killed leaves a folder writable that it had to open."""
    both_folders = now.kind is expected.kind is PathKind.FOLDER
    return both_folders and now.mode == expected.mode | stat.S_IRWXU


def _cannot_be_replaced(folder: Folder, undo: Undo, now: PathImage, ours: set[str]) -> bool:
    """A pipe or a device, or a folder with other content where a file must be."""
    if now.kind is PathKind.SPECIAL:
        return True
    if now.kind is not PathKind.FOLDER or not undo.target.has_content:
        return False
    path = path_of(undo.path)
    return any(path.child(name).path not in ours for name in folder.jail.names(path))
