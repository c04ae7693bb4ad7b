"""Implements the `Snapshots` port: images of the touched paths, in a pack with a quota. Cost grows with what changed."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import assert_never

from anycowork.checkpoints.capture import image as image_at
from anycowork.checkpoints.capture import path_of
from anycowork.checkpoints.commit_images import images_afterwards, images_of_restore
from anycowork.checkpoints.compare import Comparison, compare
from anycowork.checkpoints.contents import content_as_left, live_content
from anycowork.checkpoints.pack import Damaged, Pack
from anycowork.checkpoints.quota import PackQuota, QuotaExceeded, RetentionPort
from anycowork.checkpoints.restore import bring_back, clear_leftovers
from anycowork.checkpoints.restore_preview import MOST_REMEMBERED, preview_restore
from anycowork.checkpoints.snapshot_contents import SnapshotContents
from anycowork.checkpoints.workspace_images import KeptWorkspace, changed_images, images_now, measure
from anycowork.domain.errors import NotKept, OutsideWorkspace, ToolFault
from anycowork.domain.ports import Clock, LayerVersions, Workspace
from anycowork.domain.snapshot_ports import WorkspaceState
from anycowork.domain.snapshots import (
    NOTHING_REPLACED,
    PathImage,
    PathKind,
    PersonChange,
    RecordedChange,
    ReplacedFile,
    Restore,
    RestoreControl,
    Restored,
    RestorePreview,
    Snapshot,
    SnapshotMoment,
    TaskCommit,
    Undo,
    removed_paths,
)
from anycowork.domain.tools import Call, PathIntent
from anycowork.domain.values import replace
from anycowork.workspace.diffs import without_hunks
from anycowork.workspace.folder import Folder
from anycowork.workspace.opened_folders import OPENED_FOLDERS, close_left_open
from anycowork.workspace.reader_threads import ReaderThreads
from anycowork.workspace.uncancellable import run_uncancellable

_THREADS = 4
_FOLDER = PathKind.FOLDER.value
FEW_PATHS = 200  # of a change: up to here its difference is recorded, beyond it is computed when somebody looks at it


class PackedSnapshots:
    """`quota_bytes` is the maximum size of the pack. A commit of more than `few_paths` is recorded from its manifest.

    A commit keeps only hashes of what is in folders with one of the `unkept_folders` as name, if git ignores them.

    A change that would not fit even in an empty pack is refused, never left unrecorded.

    `layers` keeps what tasks of jobs see of a workspace. Everything that is about to change passes here, so nobody else has to tell it.
    """

    def __init__(
        self,
        pack: Pack,
        retention: RetentionPort,
        clock: Clock,
        *,
        quota_bytes: int,
        layers: LayerVersions,
        few_paths: int = FEW_PATHS,
        unkept_folders: Sequence[str] = (),
    ) -> None:
        self._pack = pack
        self._layers = layers
        self._clock = clock
        self._quota = PackQuota(pack, retention, quota_bytes)
        self._few_paths = few_paths
        self._unkept_folders = tuple(unkept_folders)
        self._contents = SnapshotContents(pack, self._quota, self._unkept_folders)
        self._readers: ReaderThreads | None = None

    # --- around a change

    async def before(
        self,
        cause: Call | Restore | TaskCommit | PersonChange,
        workspace: Workspace,
        paths: Sequence[str],
        *,
        removed: Sequence[str] | None = None,
    ) -> Snapshot:
        folder = _folder(workspace)
        snapshot = await self._kept(cause, folder, lambda: self._contents.keep(folder, paths))
        await self._layers.hold(folder.root, paths, paths if removed is None else removed)
        return snapshot

    async def saved(self, cause: TaskCommit, workspace: Workspace, paths: Sequence[str]) -> Snapshot:
        folder = _folder(workspace)
        return await self._kept(cause, folder, lambda: self._contents.keep(folder, paths))

    async def before_restore(self, cause: Restore, workspace: Workspace, undos: Sequence[Undo]) -> Snapshot:
        folder = _folder(workspace)
        snapshot = await self._kept(cause, folder, lambda: self._contents.keep_expected(folder, undos))
        await self._layers.hold(folder.root, [undo.path for undo in undos], removed_paths(undos))
        return snapshot

    async def before_commit(
        self,
        cause: Call,
        workspace: Workspace,
        intents: Sequence[PathIntent],
        replaced: Mapping[str, ReplacedFile] = NOTHING_REPLACED,
    ) -> Snapshot:
        folder = _folder(workspace)
        paths = [item.path for item in intents]

        def keep() -> list[PathImage]:
            if len(intents) <= self._few_paths:
                return self._contents.keep(folder, paths, self._unkept_folders)
            return self._contents.keep_replaced(folder, intents, replaced)

        snapshot = await self._kept(cause, folder, keep)
        removed = [item.path for item in intents if item.after is None or item.kind != _FOLDER]
        await self._layers.hold(folder.root, paths, removed)
        return snapshot

    async def _kept(
        self, cause: Call | Restore | TaskCommit | PersonChange, folder: Folder, keep: Callable[[], list[PathImage]]
    ) -> Snapshot:
        """Runs `keep` in a thread, and once more with space made if there is not enough. Raises: NotKept."""
        try:
            try:
                images = await self._threads().run(keep)
            except QuotaExceeded as full:
                await self._quota.free_space(full.needs)
                images = await self._threads().run(keep)
        except QuotaExceeded as full:
            raise NotKept(
                f"There is no space to keep the {full.needs:,} bytes that this would change: snapshots may take"
                f" {self._quota.max_bytes:,} in total, and without them the change could not be undone. Nothing was changed."
                " Raise 'snapshot_quota_bytes', or do it yourself."
            ) from None
        except OSError as error:
            raise NotKept(
                f"The files that this would change could not be saved for undo ({error.strerror}). Nothing was changed."
                " Free some space on the disk of the data folder, then try again."
            ) from error
        return self._snapshot(cause, folder.root, images)

    async def keep_workspace(self, workspace: Workspace) -> KeptWorkspace:
        folder = _folder(workspace)
        await self._layers.hold_all(folder.root)  # also if it is too large to be kept for undo
        found, unkept, size = await self._threads().run(lambda: measure(folder, self._unkept_folders))
        await self._quota.free_space(size)
        try:
            kept = await self._threads().run(lambda: self._contents.keep_workspace(folder, found, unkept, size))
        except (QuotaExceeded, ToolFault, OSError):
            raise NotKept("The workspace could not be kept before the command: there is no space for it.") from None
        return kept

    async def change_since(
        self, kept: WorkspaceState, cause: PersonChange, workspace: Workspace
    ) -> tuple[Snapshot, Snapshot | None] | None:
        if not isinstance(kept, KeptWorkspace):
            raise TypeError("only what keep_workspace returned can be compared")
        folder = _folder(workspace)
        was = await self._threads().run(lambda: changed_images(kept))
        await self._layers.hide(folder.root, [image.path for image in was if _is_new_at_the_top(image)])
        before = self._snapshot(cause, folder.root, was)
        after = await self._after(before, folder, lambda: images_now(folder, was)) if was else None
        if after is None or after.files == 0:
            return (before, None) if was and after is None else None
        return before, after

    async def after(self, before: Snapshot, workspace: Workspace) -> Snapshot | None:
        folder = _folder(workspace)
        return await self._after(before, folder, lambda: self._contents.images_after(folder, before))

    async def _after(
        self, before: Snapshot, folder: Folder, images_of: Callable[[], list[PathImage]]
    ) -> Snapshot | None:
        try:
            images, found, diff = await self._threads().run(
                lambda: self._contents.capture_after(folder, before, images_of())
            )
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
        return await self._threads().run(
            lambda: self._recorded_after(before, images_afterwards(before.images, intents, left_alone))
        )

    async def after_restore(
        self, before: Snapshot, workspace: Workspace, targets: Sequence[PathImage], done: Restored
    ) -> Snapshot | None:
        if len(before.images) <= self._few_paths:
            return await self.after(before, workspace)
        folder = _folder(workspace)
        return await self._threads().run(
            lambda: self._recorded_after(before, images_of_restore(folder, before.images, targets, done))
        )

    def _recorded_after(self, before: Snapshot, images: Sequence[PathImage]) -> Snapshot:
        """Its difference is computed when somebody looks at it."""
        earlier = {image.path: image for image in before.images}
        changed = 0
        for now in images:
            was = earlier[now.path]
            if (was.hash, was.mode, was.kind) != (now.hash, now.mode, now.kind):
                changed += was.kind is not PathKind.FOLDER and now.kind is not PathKind.FOLDER
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
        await self._quota.free_space(len(text.encode("utf-8", "replace")))
        return await asyncio.to_thread(self._contents.keep_text, text, owner)

    async def difference(self, snapshot: Snapshot) -> str | None:
        if snapshot.diff is None:
            return None
        try:
            return (await asyncio.to_thread(self._pack.read, snapshot.diff)).decode()
        except (Damaged, OSError):
            return None

    async def compare(self, change: RecordedChange, paths: Collection[str], workspace: Workspace | None) -> str:
        folder = None if workspace is None else _folder(workspace)
        sides = [
            [image for image in side.images if image.path in paths] if side else []
            for side in (change.before, change.after)
        ]

        def new(now: PathImage) -> bytes | None:
            return self._contents.kept_content(now) or content_as_left(folder, now)

        return await asyncio.to_thread(lambda: compare(*sides, old=self._contents.kept_content, new=new).text)

    # --- going back

    async def preview(self, workspace: Workspace, undos: Sequence[Undo], *, to_restore: bool = False) -> RestorePreview:
        most = MOST_REMEMBERED if to_restore else 0
        return await asyncio.to_thread(preview_restore, _folder(workspace), self._pack, undos, most_remembered=most)

    def meant(self, before: Snapshot, undos: Sequence[Undo]) -> Snapshot:
        targets = tuple(undo.target for undo in undos)
        return replace(before, id=self._clock.new_id(), moment=SnapshotMoment.MEANT, images=targets, files=len(targets))

    async def merge(self, base: PathImage, mine: PathImage, workspace: Workspace) -> PathImage | None:
        return await asyncio.to_thread(self._contents.merge, base, mine, _folder(workspace))

    async def keep(self, path: str, data: bytes, *, mode: int, workspace: Workspace) -> PathImage:
        owner = f"{workspace.root} edited"
        await self._quota.free_space(len(data))
        try:
            digest = await asyncio.to_thread(self._contents.keep_bytes, data, owner)
        except OSError as error:
            raise NotKept(
                f"The new content could not be kept ({error.strerror}). Nothing was changed. Free some space on the disk of the data"
                " folder, then try again."
            ) from error
        return PathImage(path, PathKind.FILE, digest, mode, len(data))

    async def without_hunks(
        self, base: PathImage, now: PathImage, hunks: Collection[int], workspace: Workspace
    ) -> bytes | None:
        folder = _folder(workspace)

        def work() -> bytes | None:
            before = self._contents.kept_content(base) if base.has_content else b""
            after = content_as_left(folder, now)
            return None if before is None or after is None else without_hunks(before, after, hunks)

        return await asyncio.to_thread(work)

    async def contents(self, image: PathImage, workspace: Workspace | None = None) -> bytes | None:
        if workspace is None:
            return await asyncio.to_thread(self._contents.kept_content, image)
        folder = _folder(workspace)
        return await asyncio.to_thread(lambda: live_content(folder, image_at(folder, path_of(image.path))))

    async def restore(
        self, workspace: Workspace, undos: Sequence[Undo], control: RestoreControl | None = None
    ) -> Restored:
        folder = _folder(workspace)

        def work() -> Restored:
            clear_leftovers(folder, (undo.path for undo in undos))
            return bring_back(folder, self._pack, undos, control)

        return await run_uncancellable(work)

    async def close_left_open(self) -> None:
        def work() -> None:
            for left in self._pack.folder.glob(f"{OPENED_FOLDERS}-*"):
                close_left_open(left)

        await asyncio.to_thread(work)

    def _threads(self) -> ReaderThreads:
        """Started on first use. They are not restricted: the pack is outside every workspace."""
        if self._readers is None:
            self._readers = ReaderThreads(_THREADS, None)
        return self._readers

    async def forget_unneeded(self) -> None:
        """Raises: StorageFault, OSError."""
        await self._quota.forget_unneeded()

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
            files=sum(found.kind is not PathKind.FOLDER for found in images),
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


def _is_new_at_the_top(image: PathImage) -> bool:
    """What comes into a folder does not show in the layers, which have their own one by then; only their topmost folder is no own one."""
    return image.kind is PathKind.ABSENT and "/" not in image.path
