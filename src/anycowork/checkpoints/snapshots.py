"""Saves images of the touched paths in a pack with a quota, and restores them. Cost grows with what changed."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import assert_never

from anycowork.checkpoints.capture import image as image_at
from anycowork.checkpoints.capture import path_of
from anycowork.checkpoints.commit_images import images_afterwards, images_of_restore
from anycowork.checkpoints.compare import Comparison, compare
from anycowork.checkpoints.pack import Damaged, Pack
from anycowork.checkpoints.restore import bring_back, clear_leftovers
from anycowork.checkpoints.restore_preview import MOST_REMEMBERED, preview_restore, unwritable_paths
from anycowork.checkpoints.snapshot_contents import (
    PackQuota,
    QuotaExceeded,
    SnapshotContents,
    content_as_left,
    live_content,
)
from anycowork.checkpoints.workspace_images import KeptWorkspace, changed_images, images_now, measure
from anycowork.domain.errors import NotKept, OutsideWorkspace, ToolFault
from anycowork.domain.ports import Clock
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
from anycowork.sandbox.layers.workspace_layers import WorkspaceLayers
from anycowork.store.sql.snapshots import Retention
from anycowork.workspace.diffs import without_hunks
from anycowork.workspace.folder import Folder
from anycowork.workspace.opened_folders import OPENED_FOLDERS, close_left_open
from anycowork.workspace.reader_threads import ReaderThreads, run_uncancellable

_THREADS = 4
_FOLDER = PathKind.FOLDER.value
FEW_PATHS = 200  # of a change: up to here its difference is recorded, beyond it is computed when somebody looks at it


class Snapshots:
    """`quota_bytes` is the maximum size of the pack. A commit of more than `few_paths` is recorded from its manifest.

    A commit keeps only hashes of what is in folders with one of the `unkept_folders` as name, if git ignores them.

    A change that would not fit even in an empty pack is refused, never left unrecorded.

    `layers` keeps what tasks of jobs see of a workspace. Everything that is about to change passes here, so nobody else has to tell it.
    """

    def __init__(
        self,
        pack: Pack,
        retention: Retention,
        clock: Clock,
        *,
        quota_bytes: int,
        layers: WorkspaceLayers,
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
        workspace: Folder,
        paths: Sequence[str],
        *,
        removed: Sequence[str] | None = None,
    ) -> Snapshot:
        """Saves the current state of these paths, with whole folders, without .git. Durable on return, but not yet recorded.

        `removed` are those whose entry is removed or gets another kind; None: not known. Raises: NotKept, OutsideWorkspace.
        """
        snapshot = await self._kept(cause, workspace, lambda: self._contents.keep(workspace, paths))
        await self._layers.hold(workspace.root, paths, paths if removed is None else removed)
        return snapshot

    async def saved(self, cause: TaskCommit, workspace: Folder, paths: Sequence[str]) -> Snapshot:
        """Saves the current state of these paths like `before`, of a workspace that is only read. Raises: as `before`."""
        return await self._kept(cause, workspace, lambda: self._contents.keep(workspace, paths))

    async def before_restore(self, cause: Restore, workspace: Folder, undos: Sequence[Undo]) -> Snapshot:
        """Saves what a restore with these previewed undos will replace or remove. Raises: as `before`."""
        snapshot = await self._kept(cause, workspace, lambda: self._contents.keep_expected(workspace, undos))
        await self._layers.hold(workspace.root, [undo.path for undo in undos], removed_paths(undos))
        return snapshot

    async def before_commit(
        self,
        cause: Call,
        workspace: Folder,
        intents: Sequence[PathIntent],
        replaced: Mapping[str, ReplacedFile] = NOTHING_REPLACED,
    ) -> Snapshot:
        """Saves what a commit with this manifest will replace or remove. What it creates is recorded as absent.

        `replaced` are known files, which are not read again. Raises: as `before`.
        """
        paths = [item.path for item in intents]

        def keep() -> list[PathImage]:
            if len(intents) <= self._few_paths:
                return self._contents.keep(workspace, paths, self._unkept_folders)
            return self._contents.keep_replaced(workspace, intents, replaced)

        snapshot = await self._kept(cause, workspace, keep)
        removed = [item.path for item in intents if item.after is None or item.kind != _FOLDER]
        await self._layers.hold(workspace.root, paths, removed)
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

    async def keep_workspace(self, workspace: Folder) -> KeptWorkspace:
        """Keeps everything in the workspace before a command of a person; the lease must be held until `change_since`.

        Raises: NotKept if it is too large; Conflict if the tasks of a job cannot keep what they see of it, so that nothing may be changed.
        """
        await self._layers.hold_all(workspace.root)  # also if it is too large to be kept for undo
        entries, unkept, size = await self._threads().run(lambda: measure(workspace, self._unkept_folders))
        await self._quota.free_space(size)
        try:
            kept_workspace = await self._threads().run(
                lambda: self._contents.keep_workspace(workspace, entries, unkept, size)
            )
        except (QuotaExceeded, ToolFault, OSError):
            raise NotKept("The workspace could not be kept before the command: there is no space for it.") from None
        return kept_workspace

    async def change_since(
        self, kept_workspace: KeptWorkspace, cause: PersonChange, workspace: Folder
    ) -> tuple[Snapshot, Snapshot | None] | None:
        """Returns the snapshots before and after, of exactly what changed since; None if nothing did. The second is None if it is not
        known."""
        was = await self._threads().run(lambda: changed_images(kept_workspace))
        await self._layers.hide(workspace.root, [image.path for image in was if _is_new_at_the_top(image)])
        before = self._snapshot(cause, workspace.root, was)
        after = await self._after(before, workspace, lambda: images_now(workspace, was)) if was else None
        if after is None or after.files == 0:
            return (before, None) if was and after is None else None
        return before, after

    async def after(self, before: Snapshot, workspace: Folder) -> Snapshot | None:
        """Saves the same paths again, with the difference. None if they can no longer be read."""
        return await self._after(before, workspace, lambda: self._contents.images_after(workspace, before))

    async def _after(
        self, before: Snapshot, folder: Folder, images_of: Callable[[], list[PathImage]]
    ) -> Snapshot | None:
        try:
            images, comparison, diff = await self._threads().run(
                lambda: self._contents.capture_after(folder, before, images_of())
            )
        except (ToolFault, OutsideWorkspace, OSError):
            return None
        if diff is None and comparison.text:
            diff = await self._keep_text_later(comparison.text, folder.root)
        return replace(
            before,
            id=self._clock.new_id(),
            moment=SnapshotMoment.AFTER,
            images=_with_counts(images, comparison),
            files=len(comparison.files),
            additions=comparison.additions,
            deletions=comparison.deletions,
            diff=diff,
            diff_size=len(comparison.text.encode("utf-8", "replace")) if diff else 0,
            created_at=self._clock.now(),
        )

    async def after_commit(
        self, before: Snapshot, workspace: Folder, intents: Sequence[PathIntent], left_alone: Collection[str]
    ) -> Snapshot | None:
        """Returns the state that a finished commit has left, without `left_alone`, where it changed nothing."""
        if len(intents) <= self._few_paths:
            return await self.after(before, workspace)
        return await self._threads().run(
            lambda: self._recorded_after(before, images_afterwards(before.images, intents, left_alone))
        )

    async def after_restore(
        self, before: Snapshot, workspace: Folder, targets: Sequence[PathImage], done: Restored
    ) -> Snapshot | None:
        """Returns the state after a restore of the `targets`. None if paths that it did not write can no longer be read."""
        if len(before.images) <= self._few_paths:
            return await self.after(before, workspace)
        return await self._threads().run(
            lambda: self._recorded_after(before, images_of_restore(workspace, before.images, targets, done))
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
        """Returns the text of the difference that an `after` snapshot recorded; None if it is gone."""
        if snapshot.diff is None:
            return None
        try:
            return (await asyncio.to_thread(self._pack.read, snapshot.diff)).decode()
        except (Damaged, OSError):
            return None

    async def compare(self, change: RecordedChange, paths: Collection[str], workspace: Folder | None) -> str:
        """Computes the difference that a change made to these paths, from what is kept and what is still in the workspace."""
        sides = [
            [image for image in side.images if image.path in paths] if side else []
            for side in (change.before, change.after)
        ]

        def new(now: PathImage) -> bytes | None:
            return self._contents.kept_content(now) or content_as_left(workspace, now)

        return await asyncio.to_thread(lambda: compare(*sides, old=self._contents.kept_content, new=new).text)

    # --- going back

    async def preview(self, workspace: Folder, undos: Sequence[Undo], *, to_restore: bool = False) -> RestorePreview:
        """Returns what this restore would do to the current files. Raises: SnapshotDamaged.

        `to_restore`: it is restored at once, so contents of small files are remembered and `before_restore` does not read them again.
        """
        most = MOST_REMEMBERED if to_restore else 0
        return await asyncio.to_thread(preview_restore, workspace, self._pack, undos, most_remembered=most)

    async def unwritable(self, workspace: Folder, undos: Sequence[Undo]) -> dict[str, str]:
        """Returns the paths that cannot be written as these say, with the reason; changes nothing."""
        return await asyncio.to_thread(unwritable_paths, workspace, undos)

    def meant(self, before: Snapshot, undos: Sequence[Undo]) -> Snapshot:
        """Returns a snapshot of what a restore is about to write, to be recorded with its `before`."""
        targets = tuple(undo.target for undo in undos)
        return replace(before, id=self._clock.new_id(), moment=SnapshotMoment.MEANT, images=targets, files=len(targets))

    async def merge(self, base: PathImage, mine: PathImage, workspace: Folder) -> PathImage | None:
        """Merges the changes of a text file, from the kept `base` to the kept `mine`, into what the workspace has there now.

        Return the merged file, with its content kept; None if both changed the same lines, or it is no text.
        """
        return await asyncio.to_thread(self._contents.merge, base, mine, workspace)

    async def keep(self, path: str, data: bytes, *, mode: int, workspace: Folder) -> PathImage:
        """Keeps a content that a person wants to write; returns the file as it will be. Raises: NotKept."""
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
        self, base: PathImage, now: PathImage, hunks: Collection[int], workspace: Folder
    ) -> bytes | None:
        """Returns the file's current content with these hunks of its difference from the kept `base`, counted from 0, taken back.

        None if it is not as in `now` any more, has no such hunks, or is no text.
        """

        def work() -> bytes | None:
            before = self._contents.kept_content(base) if base.has_content else b""
            after = content_as_left(workspace, now)
            return None if before is None or after is None else without_hunks(before, after, hunks)

        return await asyncio.to_thread(work)

    async def contents(self, image: PathImage, workspace: Folder | None = None) -> bytes | None:
        """Returns the kept content of a file, or its content in the workspace; None if it is gone or too large to be shown."""
        if workspace is None:
            return await asyncio.to_thread(self._contents.kept_content, image)
        return await asyncio.to_thread(lambda: live_content(workspace, image_at(workspace, path_of(image.path))))

    def small_text(self, digest: str) -> str:
        """Returns the kept text of a file by its hash; empty if it is gone or large. Blocking."""
        data = self._contents.kept_content(PathImage("", PathKind.FILE, digest))
        return "" if data is None else data.decode(errors="replace")

    async def restore(
        self, workspace: Folder, undos: Sequence[Undo], control: RestoreControl | None = None
    ) -> Restored:
        """Restores each file atomically; files in an unexpected state are left unchanged and reported. Finishes even if cancelled.

        Once the `control` is stopped, the files not yet restored are left as they are.
        """

        def work() -> Restored:
            clear_leftovers(workspace, (undo.path for undo in undos))
            return bring_back(workspace, self._pack, undos, control)

        return await run_uncancellable(work)

    async def close_left_open(self) -> None:
        """Closes read-only folders that the restore of a killed server had opened. Call it before any restore."""

        def work() -> None:
            for opened_folders in self._pack.folder.glob(f"{OPENED_FOLDERS}-*"):
                close_left_open(opened_folders)

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
        snapshot = Snapshot(
            id=self._clock.new_id(),
            chat_id=cause.chat_id,
            workspace=root,
            moment=SnapshotMoment.BEFORE,
            change_id=cause.id,
            images=tuple(images),
            files=sum(image.kind is not PathKind.FOLDER for image in images),
            created_at=self._clock.now(),
        )
        match cause:
            case Call():
                return replace(snapshot, turn_id=cause.turn_id, call_id=cause.id)
            case Restore():
                return replace(snapshot, restores=cause.snapshot_id)
            case TaskCommit():
                return replace(snapshot, turn_id=cause.turn_id)
            case PersonChange():
                return snapshot
            case _:
                assert_never(cause)


def _with_counts(images: Sequence[PathImage], comparison: Comparison) -> tuple[PathImage, ...]:
    counts = {file.path: (file.additions, file.deletions) for file in comparison.files}
    return tuple(
        replace(image, additions=counts[image.path][0], deletions=counts[image.path][1])
        if image.path in counts
        else image
        for image in images
    )


def _is_new_at_the_top(image: PathImage) -> bool:
    """Tells whether a path appears at the root. Running layers share only the root: they have their own copy of every folder below it, so
    that a new path in there does not show in them."""
    return image.kind is PathKind.ABSENT and "/" not in image.path
