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
from dataclasses import dataclass, field
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.text_lines import bare_lines
from anycowork.domain.values import value
from anycowork.sandbox.delta import FOLDER, Delta, UnusableDelta
from anycowork.sandbox.delta_scan import MOST_PATHS, FolderPair, Scanner
from anycowork.sandbox.entries import copy_bytes
from anycowork.sandbox.entry_marks import look, names_in
from anycowork.sandbox.stage import Stage, next_tick
from anycowork.sandbox.staging_folders import remove_tree
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
    """`why` is the rest of a sentence: the reason, and what a person can do."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@value
class KnownFile:
    """One copied path as it was when the command started."""

    inode: int
    ctime: int
    mode: int


@dataclass(slots=True)
class CopyManifest:
    """`mounts` are places of the workspace where another file system is mounted: their content can be changed, but they cannot be removed."""

    known: dict[tuple[str, ...], KnownFile] = field(default_factory=dict)
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
            f"{fault.why}, or use the file tools. `anycowork doctor` says what overlays need. The command did not run."
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
        gone = change.after is None or (change.before is not None and change.before.kind != change.after.kind)
        if gone and (mount := next((mount for mount in copied.mounts if change.place.holds(mount)), None)):
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
    made: dict[Path, int] = {}
    for change in delta.changes:
        staged, target = upper / change.place.path, layer / change.place.path
        for above in reversed(target.relative_to(layer).parents[:-1]):
            if not (layer / above).is_dir():
                _make_folder_like(upper / above, layer / above)
                made[layer / above] = stat.S_IMODE((upper / above).stat().st_mode)
        if change.after is None:
            os.mknod(target, stat.S_IFCHR, os.makedev(0, 0))
        elif change.after.kind == FOLDER:
            _make_folder_like(staged, target)
            made[target] = _open_to_us(change.after.mode)
        else:
            staged.rename(target)
    for place, mode in reversed(made.items()):
        place.chmod(mode)
    remove_tree(upper)
    layer.rename(upper)


def _open_to_us(mode: int) -> int:
    """Returns the mode that scanning gives a folder that its maker closed; the delta keeps its intended mode."""
    closed = mode & (stat.S_IRUSR | stat.S_IXUSR) != stat.S_IRUSR | stat.S_IXUSR
    return stat.S_IRWXU if closed and os.geteuid() != 0 else mode


def _make_folder_like(original: Path, made: Path) -> None:
    """Keeps it writable for us until it is filled."""
    made.mkdir(mode=0o700)
    if os.geteuid() == 0:
        found = original.stat()
        os.chown(made, found.st_uid, found.st_gid)


class _CopyScanner(Scanner):
    def __init__(self, copied: CopyManifest) -> None:
        super().__init__()
        self._copied = copied

    def vanished(self, place: WorkspacePath, names: list[str], below: int, *, opaque: bool) -> list[str]:
        gone = sorted(set(self._copied.inside.get(place.parts, ())) - set(names))
        return [name for name in gone if look(name, below) is not None]

    def entry(self, name: str, pair: FolderPair) -> None:
        place = pair.child(name)
        known = self._copied.known.get(place.parts)
        found = os.stat(name, dir_fd=pair.above, follow_symlinks=False)
        if known is None or stat.S_IFMT(known.mode) != stat.S_IFMT(found.st_mode):
            super().entry(name, pair)
        elif stat.S_ISDIR(found.st_mode):
            self._known_folder(name, pair.above, pair.below, place, found, known)
        elif (known.inode, known.ctime) != (found.st_ino, found.st_ctime_ns):
            super().entry(name, pair)

    def _known_folder(
        self, name: str, above: int, below: int | None, place: WorkspacePath, found: os.stat_result, known: KnownFile
    ) -> None:
        """Handles a folder that is unchanged here but differs: then a person changed or removed the workspace's one meanwhile.

        That matters only for what the command changed in it; then it is a conflict, as the time of the current entry shows.
        """
        first = len(self.delta.changes)
        lower = None if below is None else look(name, below)
        self.folder_entry(name, above, below, place, found, lower, opaque=False)
        own = next(iter(self.delta.changes[first : first + 1]), None)
        if own is None or own.place != place or known.mode != found.st_mode:
            return
        only_its_mode = own.before is not None and own.before.kind == FOLDER
        if only_its_mode or len(self.delta.changes) == first + 1:
            del self.delta.changes[first]


# --- copying, always from open folders, never through a link


def _size_of(folder: int, most: int) -> int:
    """Measures first: nothing is written for a copy that cannot be made."""
    size = 0
    for paths, found in enumerate(_everything_in(folder), start=1):
        size += found.st_size if stat.S_ISREG(found.st_mode) else 0
        if size > most or paths > MOST_PATHS:
            raise _too_large(most)
    return size


def _everything_in(folder: int, depth: int = 0) -> Iterator[os.stat_result]:
    if depth > DEEPEST:
        raise TreeNotCopied(f"it has folders more than {DEEPEST} deep. Remove the deepest of them")
    for name in names_in(folder):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        yield found
        if stat.S_ISDIR(found.st_mode):
            with _opened(name, folder) as inner:
                yield from _everything_in(inner, depth + 1)


def _copy_folder(source: int, target: int, place: WorkspacePath, copied: CopyManifest) -> None:
    if len(place.parts) > DEEPEST:
        raise TreeNotCopied(f"'{shown(place.path, 60)}' was made too deep meanwhile. Remove it")
    names = []
    for name in names_in(source):
        inner = place.child(name)
        found = os.stat(name, dir_fd=source, follow_symlinks=False)
        if not _copy_entry(name, source, target, inner, found, copied):
            continue
        names.append(name)
        made = os.stat(name, dir_fd=target, follow_symlinks=False)
        copied.known[inner.parts] = KnownFile(made.st_ino, made.st_ctime_ns, made.st_mode)
    copied.inside[place.parts] = names


def _copy_entry(
    name: str, source: int, target: int, place: WorkspacePath, found: os.stat_result, copied: CopyManifest
) -> bool:
    """Returns False for pipes, sockets and devices, which are not copied."""
    if stat.S_ISDIR(found.st_mode):
        os.mkdir(name, 0o700, dir_fd=target)
        with _opened(name, source) as inner, _opened(name, target) as made:
            _copy_folder(inner, made, place, copied)
            _make_alike(made, inner, os.fstat(inner))
    elif stat.S_ISREG(found.st_mode):
        with _file(name, _READ, source) as original, _file(name, _WRITE, target) as made:
            opened = os.fstat(original)
            copy_bytes(original, made, opened.st_size)
            _make_alike(made, original, opened)
    elif stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        os.utime(name, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=target, follow_symlinks=False)
        if os.geteuid() == 0:
            os.chown(name, found.st_uid, found.st_gid, dir_fd=target, follow_symlinks=False)
    else:
        return False
    return True


def _make_alike(made: int, original: int, found: os.stat_result) -> None:
    """Copies owner, attributes, mode and times: builds depend on times, and committed files keep the rest."""
    if os.geteuid() == 0:
        os.fchown(made, found.st_uid, found.st_gid)
    for name in os.listxattr(original):
        if name.startswith(("user.", "system.posix_acl_")) and not name.startswith("user.overlay."):
            try:
                os.setxattr(made, name, os.getxattr(original, name))
            except OSError:
                continue  # the stage's file system has none
    os.fchmod(made, stat.S_IMODE(found.st_mode))
    os.utime(made, ns=(found.st_atime_ns, found.st_mtime_ns))


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
