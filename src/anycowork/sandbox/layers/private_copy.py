"""Makes a private copy of a workspace for a command where no overlay can be mounted, and finds what the command changed in it.

Each copied path is recorded by inode and ctime, which no command can forge: a path with both unchanged was not touched, whatever a person
did to the workspace meanwhile. Changes are relative to the workspace, as with an overlay.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.values import mutable_value, value
from anycowork.domain.visible_text import bare_lines
from anycowork.sandbox.commit.delta import FOLDER, Delta, UnusableDelta
from anycowork.sandbox.commit.delta_scan import MOST_PATHS, FolderPair, Scanner
from anycowork.sandbox.commit.entries import copy_bytes
from anycowork.sandbox.commit.entry_marks import look, names_in
from anycowork.sandbox.layers.stage import Stage, next_tick
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.workspace.paths import DEEPEST, WorkspacePath, shown

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


class CannotCopy(ToolFault):
    """The workspace cannot be copied, so the command did not run."""

    code = "workspace_not_copied"


class TreeNotCopied(Exception):
    """`reason` is the rest of a sentence: the reason, and what a person can do."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@value
class KnownFile:
    """One copied path as it was when the command started."""

    inode: int
    ctime: int
    mode: int


@mutable_value
class CopyManifest:
    """`mounts` are places of the workspace where another file system is mounted: their content can be changed, but they cannot be removed."""

    files: dict[tuple[str, ...], KnownFile] = field(default_factory=dict)
    inside: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    mounts: tuple[WorkspacePath, ...] = ()


def copy_workspace(root: str, stage: Stage, *, most_bytes: int, spare: int) -> CopyManifest:
    """Fills the stage's upper folder. `spare` must stay free on its disk. Blocking.

    Raises: CannotCopy if it is too large, or contains something unreadable.
    """
    try:
        copied = copy_tree(root, str(stage.upper), most_bytes=most_bytes, spare=spare)
    except TreeNotCopied as fault:
        raise CannotCopy(
            "No overlay can be mounted over this workspace, so a command would work on a private copy of it; but "
            f"{fault.reason}, or use the file tools. `anycowork doctor` says what overlays need. The command did not run."
        ) from None
    next_tick()  # so that everything the command does has a later time
    return copied


def copy_tree(root: str, target_folder: str, *, most_bytes: int, spare: int) -> CopyManifest:
    """Copies everything in `root` into an empty folder; `spare` bytes must stay free on its disk. Blocking. Raises: TreeNotCopied."""
    copied = CopyManifest(mounts=tuple(mounts_in(root)))
    try:
        with _opened(root) as source, _opened(target_folder) as target:
            size = _size_of(source, most_bytes)
            if shutil.disk_usage(target_folder).free < size + spare:
                raise TreeNotCopied(f"the disk has no room for another {size:,} bytes. Free some")
            _copy_folder(source, target, WorkspacePath(()), copied)
    except OSError as error:
        name = shown(str(error.filename)) if error.filename else "something in it"
        raise TreeNotCopied(f"{name} could not be copied ({error.strerror}). Fix that") from None
    return copied


def scan_copy(upper: str, root: str, copied: CopyManifest) -> Delta:
    """Raises: UnusableDelta."""
    delta = _CopyScanner(copied).scanned(upper, root)
    for change in delta.changes:
        is_removed = change.after is None or (change.before is not None and change.before.kind != change.after.kind)
        if is_removed and (mount := next((mount for mount in copied.mounts if change.place.holds(mount)), None)):
            raise UnusableDelta(
                f"The command took away '{shown(mount.path)}', where another file system is mounted; none of its changes was kept."
            )
    return delta


def as_layer(folder: Path, delta: Delta) -> None:
    """Reduces the copy in this stage to what an overlay's layer would hold: written files, and a whiteout for each removed path.

    So it takes no space for the rest, and can be scanned again when the record of the copy is gone. Raises: OSError.
    """
    upper, layer = folder / "upper", folder / "layer"
    layer.mkdir(mode=0o755)
    modes_by_folder: dict[Path, int] = {}
    for change in delta.changes:
        staged, target = upper / change.place.path, layer / change.place.path
        for above in reversed(target.relative_to(layer).parents[:-1]):
            if not (layer / above).is_dir():
                _make_folder_like(upper / above, layer / above)
                modes_by_folder[layer / above] = stat.S_IMODE((upper / above).stat().st_mode)
        if change.after is None:
            os.mknod(target, stat.S_IFCHR, os.makedev(0, 0))
        elif change.after.kind == FOLDER:
            _make_folder_like(staged, target)
            modes_by_folder[target] = _open_to_us(change.after.mode)
        else:
            staged.rename(target)
    for folder_made, mode in reversed(modes_by_folder.items()):
        folder_made.chmod(mode)
    remove_tree(upper)
    layer.rename(upper)


def _open_to_us(mode: int) -> int:
    """Returns the mode that scanning gives a folder that its maker closed; the delta keeps its intended mode."""
    closed = mode & (stat.S_IRUSR | stat.S_IXUSR) != stat.S_IRUSR | stat.S_IXUSR
    return stat.S_IRWXU if closed and os.geteuid() != 0 else mode


def _make_folder_like(original: Path, target: Path) -> None:
    """Keeps it writable for us until it is filled."""
    target.mkdir(mode=0o700)
    if os.geteuid() == 0:
        status = original.stat()
        os.chown(target, status.st_uid, status.st_gid)


class _CopyScanner(Scanner):
    def __init__(self, copied: CopyManifest) -> None:
        super().__init__()
        self._copied = copied

    def vanished(self, path: WorkspacePath, names: list[str], below: int, *, opaque: bool) -> list[str]:
        missing = sorted(set(self._copied.inside.get(path.parts, ())) - set(names))
        return [name for name in missing if look(name, below) is not None]

    def entry(self, name: str, pair: FolderPair) -> None:
        path = pair.child(name)
        known_file = self._copied.files.get(path.parts)
        status = os.stat(name, dir_fd=pair.above, follow_symlinks=False)
        if known_file is None or stat.S_IFMT(known_file.mode) != stat.S_IFMT(status.st_mode):
            super().entry(name, pair)
        elif stat.S_ISDIR(status.st_mode):
            self._known_folder(name, pair.above, pair.below, path, status, known_file)
        elif (known_file.inode, known_file.ctime) != (status.st_ino, status.st_ctime_ns):
            super().entry(name, pair)

    def _known_folder(
        self,
        name: str,
        above: int,
        below: int | None,
        path: WorkspacePath,
        status: os.stat_result,
        known_file: KnownFile,
    ) -> None:
        """Handles a folder that is unchanged here but differs: then a person changed or removed the workspace's one meanwhile.

        That matters only for what the command changed in it; then it is a conflict, as the time of the current entry shows.
        """
        first = len(self.delta.changes)
        lower = None if below is None else look(name, below)
        self.folder_entry(name, above, below, path, status, lower, opaque=False)
        own_change = next(iter(self.delta.changes[first : first + 1]), None)
        if own_change is None or own_change.place != path or known_file.mode != status.st_mode:
            return
        only_its_mode = own_change.before is not None and own_change.before.kind == FOLDER
        if only_its_mode or len(self.delta.changes) == first + 1:
            del self.delta.changes[first]


# --- copying, always from open folders, never through a link


def _size_of(folder: int, most: int) -> int:
    """Measures first: nothing is written for a copy that cannot be made."""
    size = 0
    for paths, status in enumerate(_everything_in(folder), start=1):
        size += status.st_size if stat.S_ISREG(status.st_mode) else 0
        if size > most or paths > MOST_PATHS:
            raise _too_large(most)
    return size


def _everything_in(folder: int, depth: int = 0) -> Iterator[os.stat_result]:
    if depth > DEEPEST:
        raise TreeNotCopied(f"it has folders more than {DEEPEST} deep. Remove the deepest of them")
    for name in names_in(folder):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        yield status
        if stat.S_ISDIR(status.st_mode):
            with _opened(name, folder) as inner:
                yield from _everything_in(inner, depth + 1)


def _copy_folder(source: int, target: int, path: WorkspacePath, copied: CopyManifest) -> None:
    if len(path.parts) > DEEPEST:
        raise TreeNotCopied(f"'{shown(path.path, 60)}' was made too deep meanwhile. Remove it")
    names = []
    for name in names_in(source):
        inner = path.child(name)
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        if not _copy_entry(name, source, target, inner, status, copied):
            continue
        names.append(name)
        copy_status = os.stat(name, dir_fd=target, follow_symlinks=False)
        copied.files[inner.parts] = KnownFile(copy_status.st_ino, copy_status.st_ctime_ns, copy_status.st_mode)
    copied.inside[path.parts] = names


def _copy_entry(
    name: str, source: int, target: int, path: WorkspacePath, status: os.stat_result, copied: CopyManifest
) -> bool:
    """Returns False for pipes, sockets and devices, which are not copied."""
    if stat.S_ISDIR(status.st_mode):
        os.mkdir(name, 0o700, dir_fd=target)
        with _opened(name, source) as inner, _opened(name, target) as copy:
            _copy_folder(inner, copy, path, copied)
            _make_alike(copy, inner, os.fstat(inner))
    elif stat.S_ISREG(status.st_mode):
        with _file(name, _READ, source) as original, _file(name, _WRITE, target) as copy:
            opened = os.fstat(original)
            copy_bytes(original, copy, opened.st_size)
            _make_alike(copy, original, opened)
    elif stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        os.utime(name, ns=(status.st_atime_ns, status.st_mtime_ns), dir_fd=target, follow_symlinks=False)
        if os.geteuid() == 0:
            os.chown(name, status.st_uid, status.st_gid, dir_fd=target, follow_symlinks=False)
    else:
        return False
    return True


def _make_alike(copy: int, original: int, status: os.stat_result) -> None:
    """Copies owner, attributes, mode and times: builds depend on times, and committed files keep the rest."""
    if os.geteuid() == 0:
        os.fchown(copy, status.st_uid, status.st_gid)
    for name in os.listxattr(original):
        if name.startswith(("user.", "system.posix_acl_")) and not name.startswith("user.overlay."):
            try:
                os.setxattr(copy, name, os.getxattr(original, name))
            except OSError:
                continue  # the stage's file system has none
    os.fchmod(copy, stat.S_IMODE(status.st_mode))
    os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))


@contextmanager
def _opened(name: str, folder: int | None = None) -> Iterator[int]:
    with _file(name, _FOLDER, folder) as fd:
        yield fd


@contextmanager
def _file(name: str, flags: int, folder: int | None) -> Iterator[int]:
    fd = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)


def mounts_in(root: str) -> Iterator[WorkspacePath]:
    """Yields mount points inside, including bind mounts, which the device number does not reveal."""
    try:
        lines = bare_lines(os.fsdecode(_MOUNTS.read_bytes()))
    except OSError:
        return
    for line in lines:
        point = Path(_OCTAL.sub(lambda octal: chr(int(octal[1], 8)), line.split(" ")[4]))
        if point != Path(root) and point.is_relative_to(root):
            yield WorkspacePath(point.relative_to(root).parts)


def _too_large(most: int) -> TreeNotCopied:
    return TreeNotCopied(
        f"it holds more than {most:,} bytes or {MOST_PATHS:,} paths. Raise 'command_copy_bytes', make a smaller folder the workspace"
    )
