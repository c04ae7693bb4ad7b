"""Implements the `Snapshots` port: images of the touched paths, in a pack with a quota. Cost grows with what changed."""

import asyncio
import os
import shutil
from collections.abc import Callable, Collection, Sequence
from typing import Protocol, assert_never

from anycowork.checkpoints.capture import (
    ContentWriter,
    ImageReader,
    behind_a_link,
    below_any,
    bytes_in,
    path_of,
    refuse_special,
    touched,
)
from anycowork.checkpoints.capture import image as image_at
from anycowork.checkpoints.commit_images import CommitImages, images_afterwards
from anycowork.checkpoints.compare import Comparison, comparable, compare
from anycowork.checkpoints.pack import Damaged, Pack, PackReader
from anycowork.checkpoints.restore import BATCH_BYTES, bring_back, clear_leftovers
from anycowork.domain.errors import NotEnoughSpace, NotKept, OutsideWorkspace, SnapshotDamaged, ToolFault
from anycowork.domain.ports import Clock, Workspace
from anycowork.domain.snapshots import (
    Kind,
    PathImage,
    PersonChange,
    RecordedChange,
    Restore,
    Restored,
    RestorePreview,
    Snapshot,
    SnapshotMoment,
    TaskCommit,
    Undo,
    absent,
)
from anycowork.domain.tools import Call, PathIntent
from anycowork.domain.values import replace
from anycowork.workspace.diffs import LARGEST_DIFFED, without_hunks
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import translate_os_errors
from anycowork.workspace.merges import merge_texts
from anycowork.workspace.paths import shown
from anycowork.workspace.reader_threads import ReaderThreads
from anycowork.workspace.uncancellable import run_uncancellable

_THREADS = 4
FEW_PATHS = 200  # of a commit: up to here its difference is recorded, beyond it is computed when somebody looks at it
# Pruning frees more than needed, so that not every call prunes.
_FILLED_AFTERWARDS = 0.8


class RetentionPort(Protocol):
    """The part of the store that knows which contents are still needed."""

    async def forget_oldest(self, *, bytes_left: int) -> None:
        """Prunes the oldest snapshots until the rest need at most this many bytes."""

    async def needed_hashes(self) -> set[str]: ...


class _QuotaExceeded(Exception):
    def __init__(self, needs: int) -> None:
        super().__init__(needs)
        self.needs = needs


class PackedSnapshots:
    """`quota_bytes` is the maximum size of the pack. A commit of more than `few_paths` is recorded from its manifest.

    A change that would not fit even in an empty pack is refused, never left unrecorded.
    """

    def __init__(
        self, pack: Pack, retention: RetentionPort, clock: Clock, *, quota_bytes: int, few_paths: int = FEW_PATHS
    ) -> None:
        self._pack = pack
        self._retention = retention
        self._clock = clock
        self._quota = quota_bytes
        self._few_paths = few_paths
        self._pruning = asyncio.Lock()
        self._readers: ReaderThreads | None = None

    # --- around a change

    async def before(
        self, cause: Call | Restore | TaskCommit | PersonChange, workspace: Workspace, paths: Sequence[str]
    ) -> Snapshot:
        folder = _folder(workspace)
        return await self._kept(cause, folder, lambda: self._keep(folder, paths))

    async def before_commit(self, cause: Call, workspace: Workspace, intents: Sequence[PathIntent]) -> Snapshot:
        if len(intents) <= self._few_paths:
            return await self.before(cause, workspace, [item.path for item in intents])
        folder = _folder(workspace)
        return await self._kept(cause, folder, lambda: self._keep_replaced(folder, intents))

    async def _kept(
        self, cause: Call | Restore | TaskCommit | PersonChange, folder: Folder, keep: Callable[[], list[PathImage]]
    ) -> Snapshot:
        """Runs `keep` in a thread, and once more with space made if there is not enough. Raises: NotKept."""
        try:
            try:
                images = await self._threads().run(keep)
            except _QuotaExceeded as full:
                await self._free_space(full.needs)
                images = await self._threads().run(keep)
        except _QuotaExceeded as full:
            raise NotKept(
                f"There is no space to keep the {full.needs:,} bytes that this would change: snapshots may take"
                f" {self._quota:,} in total, and without them the change could not be undone. Nothing was changed."
                " Raise 'snapshot_quota_bytes', or do it yourself."
            ) from None
        except OSError as error:
            raise NotKept(
                f"The files that this would change could not be saved for undo ({error.strerror}). Nothing was changed."
                " Free some space on the disk of the data folder, then try again."
            ) from error
        return self._snapshot(cause, folder.root, images)

    async def after(self, before: Snapshot, workspace: Workspace) -> Snapshot | None:
        folder = _folder(workspace)
        try:
            images, found, diff = await self._threads().run(lambda: self._capture_after(folder, before))
        except (ToolFault, OutsideWorkspace, OSError):
            return None
        if diff is None and found.text:
            diff = await self._keep_text_later(found.text, folder.root)
        return replace(
            before,
            id=self._clock.new_id(),
            moment=SnapshotMoment.AFTER,
            images=_with_counts(images, found),
            files=len(found.files),
            additions=found.additions,
            deletions=found.deletions,
            diff=diff,
            diff_size=len(found.text.encode("utf-8", "replace")) if diff else 0,
            created_at=self._clock.now(),
        )

    async def after_commit(
        self, before: Snapshot, workspace: Workspace, intents: Sequence[PathIntent], left_alone: Collection[str]
    ) -> Snapshot | None:
        if len(intents) <= self._few_paths:
            return await self.after(before, workspace)
        images = images_afterwards(before.images, intents, left_alone)
        changed = sum(
            Kind.FOLDER not in (was.kind, now.kind) and not was.same_as(now)
            for was, now in zip(before.images, images, strict=True)
        )
        return replace(
            before,
            id=self._clock.new_id(),
            moment=SnapshotMoment.AFTER,
            images=tuple(images),
            files=changed,
            created_at=self._clock.now(),
        )

    async def _keep_text_later(self, text: str, owner: str) -> str | None:
        """Makes space and stores the text. Returns None if that did not help; then the numbers are recorded without the text."""
        await self._free_space(len(text.encode("utf-8", "replace")))
        return await asyncio.to_thread(self._keep_text, text, owner)

    async def difference(self, snapshot: Snapshot) -> str | None:
        if snapshot.diff is None:
            return None
        try:
            return (await asyncio.to_thread(self._pack.read, snapshot.diff)).decode()
        except Damaged:
            return None

    async def compare(self, change: RecordedChange, paths: Collection[str], workspace: Workspace | None) -> str:
        folder = None if workspace is None else _folder(workspace)
        sides = [
            [image for image in side.images if image.path in paths] if side else []
            for side in (change.before, change.after)
        ]

        def new(now: PathImage) -> bytes | None:
            return self._kept_content(now) or _content_as_left(folder, now)

        return await asyncio.to_thread(lambda: compare(*sides, old=self._kept_content, new=new).text)

    # --- going back

    async def preview(self, workspace: Workspace, undos: Sequence[Undo]) -> RestorePreview:
        return await asyncio.to_thread(self._preview, _folder(workspace), undos)

    def meant(self, before: Snapshot, undos: Sequence[Undo]) -> Snapshot:
        targets = tuple(undo.target for undo in undos)
        return replace(before, id=self._clock.new_id(), moment=SnapshotMoment.MEANT, images=targets, files=len(targets))

    async def merge(self, base: PathImage, mine: PathImage, workspace: Workspace) -> PathImage | None:
        return await asyncio.to_thread(self._merge, base, mine, _folder(workspace))

    async def keep(self, path: str, data: bytes, *, mode: int, workspace: Workspace) -> PathImage:
        owner = f"{workspace.root} edited"
        if self._pack.size + len(data) > self._quota:
            await self._free_space(len(data))
        try:
            digest = await asyncio.to_thread(self._keep_bytes, data, owner)
        except OSError as error:
            raise NotKept(
                f"The new content could not be kept ({error.strerror}). Nothing was changed. Free some space on the disk of the data"
                " folder, then try again."
            ) from error
        return PathImage(path, Kind.FILE, digest, mode, len(data))

    async def without_hunks(
        self, base: PathImage, now: PathImage, hunks: Collection[int], workspace: Workspace
    ) -> bytes | None:
        folder = _folder(workspace)

        def work() -> bytes | None:
            before = self._kept_content(base) if base.has_content else b""
            after = _content_as_left(folder, now)
            return None if before is None or after is None else without_hunks(before, after, hunks)

        return await asyncio.to_thread(work)

    async def contents(self, image: PathImage, workspace: Workspace | None = None) -> bytes | None:
        if workspace is None:
            return await asyncio.to_thread(self._kept_content, image)
        folder = _folder(workspace)
        return await asyncio.to_thread(lambda: _live_content(folder, image_at(folder, path_of(image.path))))

    async def restore(self, workspace: Workspace, undos: Sequence[Undo]) -> Restored:
        folder = _folder(workspace)

        def work() -> Restored:
            clear_leftovers(folder, (undo.path for undo in undos))
            return bring_back(folder, self._pack, undos)

        return await run_uncancellable(work)

    def _threads(self) -> ReaderThreads:
        """Started on first use. They are not restricted: the pack is outside every workspace."""
        if self._readers is None:
            self._readers = ReaderThreads(_THREADS, None)
        return self._readers

    # --- in a thread

    def _keep(self, folder: Folder, paths: Sequence[str]) -> list[PathImage]:
        # One writer per workspace: if it writes again, what it kept last is recorded.
        self._pack.begin(folder.root)
        seen = touched(folder, paths)
        needs = bytes_in(seen)
        if needs and self._pack.size + needs > self._quota:
            raise _QuotaExceeded(needs)
        with ImageReader(folder, self._content_writer(folder)) as reader:
            images = [reader.image_of(each) for each in seen]
        refuse_special(images)
        self._pack.sync([each.hash for each in images])
        return images

    def _keep_replaced(self, folder: Folder, intents: Sequence[PathIntent]) -> list[PathImage]:
        self._pack.begin(folder.root)
        found = CommitImages(folder, intents)
        if found.needs and self._pack.size + found.needs > self._quota:
            raise _QuotaExceeded(found.needs)
        images = found.taken(self._content_writer(folder))
        refuse_special(images)
        self._pack.sync([each.hash for each in images])
        return images

    def _content_writer(self, folder: Folder) -> ContentWriter:
        return ContentWriter(self._pack, folder.root, max_bytes=self._quota)

    def _capture_after(self, folder: Folder, before: Snapshot) -> tuple[list[PathImage], Comparison, str | None]:
        with ImageReader(folder) as reader:
            images = [reader.image_of(each) for each in touched(folder, [found.path for found in before.images])]
        found = compare(before.images, images, old=self._kept_content, new=lambda now: _live_content(folder, now))
        return images, found, self._keep_text(found.text, folder.root)

    def _keep_text(self, text: str, owner: str) -> str | None:
        """Returns the hash of the text; None if there is none, or no space for it."""
        data = text.encode("utf-8", "replace")
        if not data or self._pack.size + len(data) > self._quota:
            return None
        try:
            return self._pack.put(data, owner=owner)
        except OSError:
            return None

    def _keep_bytes(self, data: bytes, owner: str) -> str:
        self._pack.begin(owner)
        digest = self._pack.put(data, owner=owner)
        self._pack.sync([digest])
        return digest

    def _preview(self, folder: Folder, undos: Sequence[Undo]) -> RestorePreview:
        conflicts: dict[str, str] = {}
        hopeless: set[str] = set()
        todo: list[Undo] = []
        seen: list[PathImage] = []
        ours = {undo.path for undo in undos}
        places = {path_of(path) for path in ours if ".." not in path.split("/")}
        with ImageReader(folder) as reader:
            for undo in undos:
                try:
                    place = path_of(undo.path)
                    # A link that this same restore removes hides what is below it.
                    hidden = below_any(place, places) and behind_a_link(folder, place)
                    now = absent(undo.path) if hidden else reader.image(place)
                except (ToolFault, OutsideWorkspace) as error:
                    conflicts[undo.path] = error.message
                    hopeless.add(undo.path)
                    continue
                if now.same_as(undo.target):
                    continue
                if _cannot_be_replaced(folder, undo, now, ours):
                    conflicts[undo.path] = "something is there that cannot be kept or replaced: move it away"
                    hopeless.add(undo.path)
                elif (reason := _conflict(undo, now)) is not None:
                    conflicts[undo.path] = reason
                seen.append(now)
                todo.append(replace(undo, expected=now))
        self._require_kept(todo)
        _require_disk_space(folder, todo)
        targets = [undo.target for undo in todo]
        found = compare(seen, targets, old=lambda now: _live_content(folder, now), new=self._kept_content)
        return RestorePreview(tuple(todo), conflicts, frozenset(hopeless), found.files, found.text)

    def _require_kept(self, undos: Sequence[Undo]) -> None:
        """Reads and verifies every content before anything is changed."""
        with self._pack.reader() as reader:
            self._require_all_kept(reader, undos)

    def _require_all_kept(self, reader: PackReader, undos: Sequence[Undo]) -> None:
        for undo in undos:
            if undo.target.hash is None:
                continue
            try:
                for _ in reader.chunks(undo.target.hash):
                    pass
            except Damaged:
                raise SnapshotDamaged(
                    f"The kept content of '{shown(undo.path)}' is damaged or missing, so it cannot be restored. Nothing was changed."
                    " Leave this path out with 'paths'."
                ) from None

    def _merge(self, base: PathImage, mine: PathImage, folder: Folder) -> PathImage | None:
        theirs = image_at(folder, path_of(mine.path))
        if not all(side.kind is Kind.FILE for side in (base, mine, theirs)):
            return None
        old, new, now = self._kept_content(base), self._kept_content(mine), _live_content(folder, theirs)
        merged = None if old is None or new is None or now is None else merge_texts(old, new, now)
        if merged is None:
            return None
        digest = self._pack.put(merged, owner=f"{folder.root} merged")
        self._pack.sync([digest])
        mode = mine.mode if mine.mode != base.mode else theirs.mode
        return replace(mine, hash=digest, size=len(merged), mode=mode)

    def _kept_content(self, kept: PathImage) -> bytes | None:
        if kept.hash is None or not comparable(kept):
            return None
        try:
            if self._pack.find(kept.hash).size > LARGEST_DIFFED:  # an image after a commit does not know its size
                return None
            return self._pack.read(kept.hash)
        except Damaged:
            return None

    # --- the quota

    async def _free_space(self, needs: int) -> None:
        """One at a time: two concurrent prunings would prune too much."""
        async with self._pruning:
            if self._pack.size + needs <= self._quota:
                return
            if needs > self._quota:
                return  # nothing is deleted for a content that cannot fit anyway
            left = min(int(self._quota * _FILLED_AFTERWARDS), self._quota - needs)
            await self._retention.forget_oldest(bytes_left=left)
            self._pack.mark()
            needed = await self._retention.needed_hashes()
            await asyncio.to_thread(self._pack.sweep, needed, most=left)

    async def forget_unneeded(self) -> None:
        """Brings records and contents under the quota, and removes contents that no snapshot names any more: those of deleted chats.

        Raises: StorageFault, OSError.
        """
        async with self._pruning:
            await self._retention.forget_oldest(bytes_left=self._quota)
            self._pack.mark()
            needed = await self._retention.needed_hashes()
            await asyncio.to_thread(self._pack.sweep, needed, most=self._quota)

    def _snapshot(
        self, cause: Call | Restore | TaskCommit | PersonChange, root: str, images: Sequence[PathImage]
    ) -> Snapshot:
        taken = Snapshot(
            id=self._clock.new_id(),
            chat_id=cause.chat_id,
            workspace=root,
            moment=SnapshotMoment.BEFORE,
            change_id=cause.id,
            images=tuple(images),
            files=sum(found.kind is not Kind.FOLDER for found in images),
            created_at=self._clock.now(),
        )
        match cause:
            case Call():
                return replace(taken, turn_id=cause.turn_id, call_id=cause.id)
            case Restore():
                return replace(taken, restores=cause.snapshot_id)
            case TaskCommit():
                return replace(taken, turn_id=cause.turn_id)
            case PersonChange():
                return taken
            case _:
                assert_never(cause)


def _require_disk_space(folder: Folder, undos: Sequence[Undo]) -> None:
    """A batch of files is written beside those that it replaces, so there must be space for both. Raises: NoRoom."""
    files = [undo for undo in undos if undo.target.kind is Kind.FILE]
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
    if not now.same_as(undo.expected):
        return "it is not as it was left: someone changed it since"
    return undo.reason


def _cannot_be_replaced(folder: Folder, undo: Undo, now: PathImage, ours: set[str]) -> bool:
    """A pipe or a device, or a folder with other content where a file must be."""
    if now.kind is Kind.SPECIAL:
        return True
    if now.kind is not Kind.FOLDER or not undo.target.has_content:
        return False
    place = path_of(undo.path)
    return any(place.child(name).path not in ours for name in folder.jail.names(place))


def _live_content(folder: Folder, now: PathImage) -> bytes | None:
    if not comparable(now):
        return None
    place = path_of(now.path)
    try:
        if now.kind is Kind.SYMLINK:
            with folder.jail.folder(place.parent) as parent, translate_os_errors(now.path):
                return os.fsencode(os.readlink(place.name, dir_fd=parent))
        return folder.read(place, most=max(now.size, 1)).data
    except (ToolFault, OutsideWorkspace):
        return None


def _content_as_left(folder: Folder | None, left: PathImage) -> bytes | None:
    """Returns the content that a change left, if it is still in the workspace."""
    if folder is None:
        return None
    try:
        with ImageReader(folder) as reader:
            now = reader.image(path_of(left.path))
    except (ToolFault, OutsideWorkspace):
        return None
    return _live_content(folder, now) if now.same_as(left) else None


def _with_counts(images: Sequence[PathImage], found: Comparison) -> tuple[PathImage, ...]:
    counts = {file.path: (file.additions, file.deletions) for file in found.files}
    return tuple(
        replace(taken, additions=counts[taken.path][0], deletions=counts[taken.path][1])
        if taken.path in counts
        else taken
        for taken in images
    )


def _folder(workspace: Workspace) -> Folder:
    if not isinstance(workspace, Folder):
        raise TypeError("snapshots are taken in a workspace that LocalWorkspaces opened")
    return workspace
