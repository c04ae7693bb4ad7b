"""Reads and writes the contents of snapshots: images of paths, kept in the pack. All of it blocks: `Snapshots` calls it in threads."""

import asyncio
import os
import stat
import time
from collections.abc import Mapping, Sequence

from anycowork.checkpoints.capture import ImageReader, PackTarget, Seen, bytes_in, path_of, refuse_special, touched
from anycowork.checkpoints.capture import image as image_at
from anycowork.checkpoints.commit_images import CommitImages, hashed_images, split_unkept
from anycowork.checkpoints.compare import Comparison, comparable, compare
from anycowork.checkpoints.pack import Damaged, Pack
from anycowork.checkpoints.unkept_folders import UnkeptFolders
from anycowork.checkpoints.workspace_images import KeptWorkspace
from anycowork.checkpoints.workspace_images import keep as keep_images
from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.snapshots import PathImage, PathKind, ReplacedFile, SeenEntry, Snapshot, Undo
from anycowork.domain.tools import PathIntent
from anycowork.domain.values import replace
from anycowork.store.sql.snapshots import Retention
from anycowork.workspace.diffs import LARGEST_DIFFED
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import translate_os_errors
from anycowork.workspace.merges import merge_texts

# ns, more than the step of a file system's clock: a file this young may change without a new time.
_CLOCK_STEP = 50_000_000
# Pruning frees more than needed, so that not every call prunes.
_FILLED_AFTERWARDS = 0.8


def seen_entry(status: os.stat_result | None, image: PathImage, content: bytes | None) -> SeenEntry | None:
    """Returns how to recognise the file again whose content was read after `status`; None if its times cannot tell a later change."""
    if status is None or image.kind is not PathKind.FILE or image.hash is None or is_young(status):
        return None
    return SeenEntry(status.st_ino, status.st_ctime_ns, image.hash, content)


def is_as_seen(undo: Undo, now: os.stat_result | None) -> bool:
    """Tells whether the expected file is still there, without reading it again."""
    seen, expected = undo.seen, undo.expected
    if seen is None or expected is None or now is None or not stat.S_ISREG(now.st_mode):
        return False
    same_file = (seen.inode, seen.ctime) == (now.st_ino, now.st_ctime_ns)
    return same_file and (expected.kind, expected.hash, expected.mode) == (
        PathKind.FILE,
        seen.hash,
        stat.S_IMODE(now.st_mode),
    )


def was_seen_as_expected(undo: Undo) -> bool:
    """Tells whether the file that was seen is the one that is expected; then inode and ctime alone tell whether it still is."""
    seen, expected = undo.seen, undo.expected
    return seen is not None and expected is not None and (expected.kind, expected.hash) == (PathKind.FILE, seen.hash)


def is_young(status: os.stat_result) -> bool:
    return time.time_ns() - status.st_ctime_ns < _CLOCK_STEP


def stat_entry(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def identity_of(status: os.stat_result | None) -> tuple[int, int] | None:
    return None if status is None else (status.st_ino, status.st_ctime_ns)


class QuotaExceeded(Exception):
    """The pack has no space for this many bytes."""

    def __init__(self, needs: int) -> None:
        super().__init__(needs)
        self.needs = needs


class PackQuota:
    """`max_bytes` is the maximum size of the pack."""

    def __init__(self, pack: Pack, retention: Retention, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._pack = pack
        self._retention = retention
        self._pruning = asyncio.Lock()

    def has_space(self, needs: int) -> bool:
        return needs == 0 or self._pack.size + needs <= self.max_bytes

    def require_space(self, needs: int) -> None:
        """Raises: QuotaExceeded."""
        if not self.has_space(needs):
            raise QuotaExceeded(needs)

    async def free_space(self, needs: int) -> None:
        """Makes space, if that many bytes can fit at all. One at a time: two concurrent prunings would prune too much."""
        async with self._pruning:
            if self._pack.size + needs <= self.max_bytes:
                return
            if needs > self.max_bytes:
                return  # nothing is deleted for a content that cannot fit anyway
            await self._prune(min(int(self.max_bytes * _FILLED_AFTERWARDS), self.max_bytes - needs))

    async def forget_unneeded(self) -> None:
        """Brings records and contents under the quota, and removes contents that no snapshot names any more: those of deleted chats.

        Raises: StorageFault, OSError.
        """
        async with self._pruning:
            await self._prune(self.max_bytes)

    async def _prune(self, bytes_left: int) -> None:
        await self._retention.forget_oldest(bytes_left=bytes_left)
        self._pack.mark()
        needed = await self._retention.needed_hashes()
        await asyncio.to_thread(self._pack.sweep, needed, most=bytes_left)


class SnapshotContents:
    """The pack with its quota. Of folders with one of the `unkept_folders` as name only hashes are kept, if git ignores them."""

    def __init__(self, pack: Pack, quota: PackQuota, unkept_folders: Sequence[str]) -> None:
        self._pack = pack
        self._quota = quota
        self._unkept_folders = unkept_folders

    def keep(self, folder: Folder, paths: Sequence[str], unkept_names: Sequence[str] = ()) -> list[PathImage]:
        # One writer per workspace: if it writes again, what it kept last is recorded.
        self._pack.begin(folder.root)
        kept_entries, hashed = split_unkept(touched(folder, paths), UnkeptFolders(folder, unkept_names))
        self._quota.require_space(bytes_in(kept_entries))
        with ImageReader(folder, self._pack_target(folder)) as reader:
            images = [reader.image_of(seen) for seen in kept_entries]
        images += hashed_images(folder, hashed)
        refuse_special(images)
        self._pack.sync([seen.hash for seen in images if seen.kept])
        return sorted(images, key=lambda image: image.path.split("/")) if hashed else images

    def keep_expected(self, folder: Folder, undos: Sequence[Undo]) -> list[PathImage]:
        """Like `keep`, but files that a preview has just seen are only read."""
        self._pack.begin(folder.root)
        files = [undo for undo in undos if undo.seen is not None and undo.expected is not None]
        others = touched(folder, [undo.path for undo in undos if undo.seen is None])
        self._quota.require_space(bytes_in(others) + sum(undo.expected.size for undo in files if undo.expected))
        with ImageReader(folder, self._pack_target(folder)) as reader:
            images_by_path = {seen[0].path: reader.image_of(seen) for seen in others}
            images_by_path |= self._keep_remembered(reader, folder.root, files)
            for undo in files:
                if undo.path not in images_by_path:  # it may be in one of the other folders
                    images_by_path[undo.path] = reader.image_of_file(path_of(undo.path))
        images = [images_by_path[path] for path in sorted(images_by_path)]
        refuse_special(images)
        self._pack.sync([image.hash for image in images])
        return images

    def _keep_remembered(self, reader: ImageReader, owner: str, undos: Sequence[Undo]) -> dict[str, PathImage]:
        """Stores what a preview has remembered, of files that have not changed since. Returns their images."""
        same = {
            undo.path: undo
            for undo in undos
            if undo.seen and undo.seen.content is not None and is_as_seen(undo, reader.stat(path_of(undo.path)))
        }
        contents = ((seen.hash, seen.content or b"") for undo in same.values() if (seen := undo.seen))
        self._pack.put_all(contents, owner=owner)
        return {path: undo.expected for path, undo in same.items() if undo.expected}

    def keep_replaced(
        self, folder: Folder, intents: Sequence[PathIntent], replaced: Mapping[str, ReplacedFile]
    ) -> list[PathImage]:
        self._pack.begin(folder.root)
        commit_images = CommitImages(folder, intents, UnkeptFolders(folder, self._unkept_folders), replaced)
        self._quota.require_space(commit_images.needs)
        images = commit_images.taken(self._pack_target(folder))
        refuse_special(images)
        self._pack.sync([image.hash for image in images if image.kept])
        return images

    def _pack_target(self, folder: Folder) -> PackTarget:
        return PackTarget(self._pack, folder.root, max_bytes=self._quota.max_bytes)

    def keep_workspace(
        self, folder: Folder, entries: Sequence[Seen], unkept: UnkeptFolders, size: int
    ) -> KeptWorkspace:
        self._pack.begin(folder.root)
        self._quota.require_space(size)
        kept_workspace = keep_images(folder, entries, unkept, self._pack_target(folder))
        self._pack.sync([image.hash for image in kept_workspace.images.values()])
        return kept_workspace

    def images_after(self, folder: Folder, before: Snapshot) -> list[PathImage]:
        with ImageReader(folder) as reader:
            return [reader.image_of(seen) for seen in touched(folder, [image.path for image in before.images])]

    def capture_after(
        self, folder: Folder, before: Snapshot, images: list[PathImage]
    ) -> tuple[list[PathImage], Comparison, str | None]:
        comparison = compare(before.images, images, old=self.kept_content, new=lambda now: live_content(folder, now))
        return images, comparison, self.keep_text(comparison.text, folder.root)

    def keep_text(self, text: str, owner: str) -> str | None:
        """Returns the hash of the text; None if there is none, or no space for it."""
        data = text.encode("utf-8", "replace")
        if not data or not self._quota.has_space(len(data)):
            return None
        try:
            return self._pack.put(data, owner=owner)
        except OSError:
            return None

    def keep_bytes(self, data: bytes, owner: str) -> str:
        self._pack.begin(owner)
        digest = self._pack.put(data, owner=owner)
        self._pack.sync([digest])
        return digest

    def merge(self, base: PathImage, mine: PathImage, folder: Folder) -> PathImage | None:
        theirs = image_at(folder, path_of(mine.path))
        if not all(side.kind is PathKind.FILE for side in (base, mine, theirs)):
            return None
        old, new, now = self.kept_content(base), self.kept_content(mine), live_content(folder, theirs)
        merged = None if old is None or new is None or now is None else merge_texts(old, new, now)
        if merged is None:
            return None
        digest = self._pack.put(merged, owner=f"{folder.root} merged")
        self._pack.sync([digest])
        mode = mine.mode if mine.mode != base.mode else theirs.mode
        return replace(mine, hash=digest, size=len(merged), mode=mode)

    def kept_content(self, image: PathImage) -> bytes | None:
        return kept_content(self._pack, image)


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
