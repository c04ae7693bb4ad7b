"""Ports of checkpoints: the snapshots that are kept on disk, and their rows in the database."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from anycowork.domain.ports import Workspace
from anycowork.domain.snapshots import (
    NOTHING_REPLACED,
    PathImage,
    PersonChange,
    RecordedChange,
    ReplacedFile,
    Restore,
    RestoreControl,
    Restored,
    RestorePreview,
    Snapshot,
    TaskCommit,
    Undo,
)
from anycowork.domain.tools import Call, PathIntent


class SnapshotRows(Protocol):
    """Reads the database rows of snapshots."""

    async def snapshot(self, chat_id: str, snapshot_id: str) -> Snapshot | None:
        """Return the snapshot with its images. Snapshots of the moment `meant` are internal and never returned."""

    async def snapshots_page(
        self, chat_id: str, *, before: int | None = None, limit: int
    ) -> tuple[list[Snapshot], int | None]:
        """Return the newest snapshots before this position, ascending, without images; and the position of the next older page."""

    async def changes_since(self, snapshot: Snapshot) -> list[RecordedChange]:
        """Return every later change in the snapshot's workspace, of any chat, oldest first. A `before` snapshot includes its own change."""

    async def changes_in(self, workspace: str) -> list[RecordedChange]:
        """Return every recorded change in this workspace, oldest first."""

    async def changes_of_turns(self, turn_ids: Sequence[str], workspace: str) -> list[RecordedChange]:
        """Return the changes that these turns made in the workspace, oldest first."""

    async def change_of(self, snapshot: Snapshot) -> RecordedChange | None: ...
    async def before_of_call(self, call_id: str) -> Snapshot | None: ...
    async def unfinished_restores(self) -> list[tuple[Snapshot, Snapshot]]:
        """Return the `before` and `meant` snapshots of each restore that was started and never finished."""


class WorkspaceState(Protocol):
    """A workspace as it was when it was kept."""

    @property
    def images(self) -> Mapping[str, PathImage]: ...


class Snapshots(Protocol):
    """Saves the paths that a change affects, and restores them. Only used by the holder of the workspace's lease.

    What is saved before a change also stays visible to the tasks of jobs whose layers lie on the workspace (`LayerVersions`). So each
    `before…` and `keep_workspace` is called before anything changes.
    """

    async def before(
        self,
        cause: Call | Restore | TaskCommit | PersonChange,
        workspace: Workspace,
        paths: Sequence[str],
        *,
        removed: Sequence[str] | None = None,
    ) -> Snapshot:
        """Save the current state of these paths, with whole folders, without .git. Durable on return, but not yet recorded.

        `removed` are those whose entry will be removed or replaced by another kind; None if that is not known. Raises: NotKept,
        OutsideWorkspace.
        """

    async def saved(self, cause: TaskCommit, workspace: Workspace, paths: Sequence[str]) -> Snapshot:
        """Save the current state of these paths like `before`, of a workspace that is only read. Raises: as `before`."""

    async def keep_workspace(self, workspace: Workspace) -> WorkspaceState:
        """Keep everything in the workspace before a command of a person; the lease must be held until `change_since`.

        Raises: NotKept if it is too large; Conflict if the tasks of a job cannot keep what they see of it, so that nothing may be changed.
        """

    async def change_since(
        self, kept: WorkspaceState, cause: PersonChange, workspace: Workspace
    ) -> tuple[Snapshot, Snapshot | None] | None:
        """Return the snapshots before and after, of exactly what changed since; None if nothing did. The second is None if it is not known."""

    async def after(self, before: Snapshot, workspace: Workspace) -> Snapshot | None:
        """Save the same paths again, with the difference. None if they can no longer be read."""

    async def before_restore(self, cause: Restore, workspace: Workspace, undos: Sequence[Undo]) -> Snapshot:
        """Save what a restore with these previewed undos will replace or remove. Raises: as `before`."""

    async def before_commit(
        self,
        cause: Call,
        workspace: Workspace,
        intents: Sequence[PathIntent],
        replaced: Mapping[str, ReplacedFile] = NOTHING_REPLACED,
    ) -> Snapshot:
        """Save what a commit with this manifest will replace or remove. What it creates is recorded as absent. Raises: as `before`.

        `replaced` are files that are known, by path: they are not read again.
        """

    async def after_commit(
        self, before: Snapshot, workspace: Workspace, intents: Sequence[PathIntent], left_alone: Collection[str]
    ) -> Snapshot | None:
        """Return the state that a finished commit has left, without `left_alone`, where it changed nothing."""

    async def after_restore(
        self, before: Snapshot, workspace: Workspace, targets: Sequence[PathImage], done: Restored
    ) -> Snapshot | None:
        """Return the state after a restore of the `targets`. None if paths that it did not write can no longer be read."""

    async def difference(self, snapshot: Snapshot) -> str | None:
        """Return the text of the difference that an `after` snapshot recorded; None if it is gone."""

    async def compare(self, change: RecordedChange, paths: Collection[str], workspace: Workspace | None) -> str:
        """Compute the difference that a change made to these paths, from what is kept and what is still in the workspace."""

    async def preview(self, workspace: Workspace, undos: Sequence[Undo], *, to_restore: bool = False) -> RestorePreview:
        """Return what this restore would do to the current files. Raises: SnapshotDamaged.

        `to_restore`: it is restored at once, so contents of small files are remembered and `before_restore` does not read them again.
        """

    async def merge(self, base: PathImage, mine: PathImage, workspace: Workspace) -> PathImage | None:
        """Merge the changes of a text file, from the kept `base` to the kept `mine`, into what the workspace has there now.

        Return the merged file, with its content kept; None if both changed the same lines, or it is no text.
        """

    async def keep(self, path: str, data: bytes, *, mode: int, workspace: Workspace) -> PathImage:
        """Keep a content that a person wants to write; return the file as it will be. Raises: NotKept."""

    async def without_hunks(
        self, base: PathImage, now: PathImage, hunks: Collection[int], workspace: Workspace
    ) -> bytes | None:
        """Return the file's current content with these hunks of its difference from the kept `base`, counted from 0, taken back.

        None if it is not as in `now` any more, has no such hunks, or is no text.
        """

    async def contents(self, image: PathImage, workspace: Workspace | None = None) -> bytes | None:
        """Return the kept content of a file, or its content in the workspace; None if it is gone or too large to be shown."""

    def meant(self, before: Snapshot, undos: Sequence[Undo]) -> Snapshot:
        """Return a snapshot of what a restore is about to write, to be recorded with its `before`."""

    async def restore(
        self, workspace: Workspace, undos: Sequence[Undo], control: RestoreControl | None = None
    ) -> Restored:
        """Restore each file atomically; files in an unexpected state are left unchanged and reported. Finishes even if cancelled.

        Once the `control` is stopped, the files not yet restored are left as they are.
        """

    async def close_left_open(self) -> None:
        """Close read-only folders that the restore of a killed server had opened. Call it before any restore."""
