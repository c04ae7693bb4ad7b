"""Writes what a task changed in its own workspace into the chat's, or into the one that collects a job's changes.

What the task changed is known from its recorded changes. A file that somebody else changed too is merged line by line; where that is not
possible, nothing is written and a person decides. The write is a recorded change: it is finished after a crash, and can be undone.
"""

from collections.abc import Mapping, Sequence

from anycowork.domain import event_factory
from anycowork.domain.journal import Change, RequireLease
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock, Journal, Workspace, Workspaces
from anycowork.domain.snapshot_ports import SnapshotRows, Snapshots
from anycowork.domain.snapshots import (
    FileDifference,
    PathImage,
    RestorePreview,
    Snapshot,
    SnapshotMoment,
    TaskCommit,
    Undo,
    absent,
    in_paths,
    removed_paths,
    shown_path,
    undoing,
)
from anycowork.domain.values import replace, value

KEEP_TASK, KEEP_WORKSPACE = "task", "workspace"
MOST_OF_A_SIDE = 20_000  # characters of one version of a file in a question


@value
class MergeConflict:
    """A path that the task and somebody else changed in ways that cannot be merged. `state` names both versions as they are now."""

    path: str
    reason: str
    state: str
    task: str | None = None
    workspace: str | None = None

    def to_json(self) -> Json:
        return {
            "path": shown_path(self.path),
            "reason": self.reason,
            "state": self.state,
            "task": self.task,
            "workspace": self.workspace,
        }


@value
class TaskMerge:
    """What would be written into the target: `writes`, unless there are `conflicts`. `files` and `diff` describe it."""

    writes: tuple[Undo, ...]
    conflicts: tuple[MergeConflict, ...] = ()
    files: tuple[FileDifference, ...] = ()
    diff: str = ""
    merged: tuple[str, ...] = ()


Choices = Mapping[str, str]
"""By path and state: which version a person keeps."""


def choice_key(path: str, state: str) -> str:
    return f"{state} {path}"


class TaskCommitter:
    def __init__(
        self,
        *,
        journal: Journal,
        rows: SnapshotRows,
        workspaces: Workspaces,
        snapshots: Snapshots,
        clock: Clock,
    ) -> None:
        self._journal = journal
        self._rows = rows
        self._workspaces = workspaces
        self._snapshots = snapshots
        self._clock = clock

    async def look(
        self,
        chat_id: str,
        copy: str,
        target: str,
        *,
        choices: Choices | None = None,
        paths: Sequence[str] | None = None,
        overwrite: Sequence[str] = (),
    ) -> TaskMerge:
        """Return what committing the copy would do to the target now. `paths` narrows it; of paths in `overwrite` the task's version is
        kept. Raises: BadWorkspace, NotKept, SnapshotDamaged, NotEnoughSpace."""
        wanted = await self._changes(chat_id, copy)
        if paths is not None:
            wanted = in_paths(wanted, paths)
        folder = self._workspaces.open(target)
        preview = await self._snapshots.preview(folder, wanted)
        return await self._merge(preview, {undo.path: undo for undo in wanted}, folder, choices or {}, overwrite)

    async def commit(
        self,
        chat_id: str,
        turn_id: str | None,
        copy: str,
        target: str,
        *,
        choices: Choices | None = None,
        paths: Sequence[str] | None = None,
        overwrite: Sequence[str] = (),
    ) -> TaskMerge:
        """Write the copy's changes into the target, all or none; none if there are conflicts. Raises: as `look`."""
        async with self._workspaces.writing(target) as epoch:
            merge = await self.look(chat_id, copy, target, choices=choices, paths=paths, overwrite=overwrite)
            if merge.conflicts or not merge.writes:
                return merge
            folder = self._workspaces.open(target)
            cause = TaskCommit(self._clock.new_id(), chat_id, turn_id)
            paths, removed = [undo.path for undo in merge.writes], removed_paths(merge.writes)
            before = await self._snapshots.before(cause, folder, paths, removed=removed)
            meant = self._snapshots.meant(before, merge.writes)
            writes = (RequireLease(folder.root, epoch), before, meant)
            await self._journal.write(Change(chat_id, writes, (event_factory.snapshot(before),)))
            done = await self._snapshots.restore(folder, merge.writes)
            after = await self._snapshots.after(before, folder)
            after = after or _unread(before, self._clock)
            await self._journal.write(Change(chat_id, (after,), (event_factory.snapshot(after),)))
        late = tuple(MergeConflict(path, reason, "") for path, reason in (done.conflicts or {}).items())
        return replace(merge, conflicts=late)

    async def _changes(self, chat_id: str, copy: str) -> list[Undo]:
        """Return, for each path that was changed in the copy, its version there, kept, and the version that it was made from."""
        recorded = undoing(await self._rows.changes_in(copy))
        if not recorded:
            return []
        base = {undo.path: undo.target for undo in recorded}
        folder = self._workspaces.open(copy)
        kept = await self._snapshots.saved(TaskCommit(self._clock.new_id(), chat_id), folder, sorted(base))
        mine = {image.path: image for image in kept.images}
        found = [Undo(mine.get(path, absent(path)), base.get(path, absent(path))) for path in sorted({**base, **mine})]
        return [undo for undo in found if undo.expected is None or not undo.target.same_as(undo.expected)]

    async def _merge(
        self,
        preview: RestorePreview,
        wanted: Mapping[str, Undo],
        folder: Workspace,
        choices: Choices,
        overwrite: Sequence[str],
    ) -> TaskMerge:
        writes: list[Undo] = []
        conflicts: list[MergeConflict] = []
        merged: list[str] = []
        named = {path.strip("/") for path in overwrite}
        for undo in preview.undos:
            if undo.path not in preview.conflicts:
                writes.append(undo)
                continue
            state = _state(undo)
            choice = (
                KEEP_TASK if shown_path(undo.path) in named else choices.get(choice_key(shown_path(undo.path), state))
            )
            if choice == KEEP_WORKSPACE:
                continue
            if choice == KEEP_TASK and undo.path not in preview.hopeless:
                writes.append(undo)
            elif (both := await self._merged(undo, wanted[undo.path].expected, folder)) is not None:
                writes.append(both)
                merged.append(undo.path)
            else:
                conflicts.append(await self._conflict(undo, preview.conflicts[undo.path], state, folder))
        unreadable = preview.conflicts.keys() - {undo.path for undo in preview.undos}
        conflicts += [MergeConflict(path, preview.conflicts[path], "") for path in sorted(unreadable)]
        return TaskMerge(tuple(writes), tuple(conflicts), preview.files, preview.diff, tuple(merged))

    async def _merged(self, undo: Undo, base: PathImage | None, folder: Workspace) -> Undo | None:
        both = await self._snapshots.merge(base, undo.target, folder) if base is not None else None
        return None if both is None else replace(undo, target=both)

    async def _conflict(self, undo: Undo, reason: str, state: str, folder: Workspace) -> MergeConflict:
        task = await self._snapshots.contents(undo.target) if undo.target.has_content else None
        now = await self._snapshots.contents(undo.target, folder)
        return MergeConflict(undo.path, reason, state, _side(task), _side(now))


def _state(undo: Undo) -> str:
    """Name both versions: a person's choice counts only for the two that were shown."""
    now = undo.expected or absent(undo.path)
    return f"{undo.target.kind.value}:{undo.target.hash or ''}:{now.kind.value}:{now.hash or ''}"


def _side(content: bytes | None) -> str | None:
    """Return a version as text; None if there is no file."""
    if content is None:
        return None
    text = content.decode("utf-8", "backslashreplace")
    return text if len(text) <= MOST_OF_A_SIDE else f"{text[:MOST_OF_A_SIDE]}\n… {len(text)} characters in total"


def _unread(before: Snapshot, clock: Clock) -> Snapshot:
    return replace(before, id=clock.new_id(), moment=SnapshotMoment.AFTER, images=(), created_at=clock.now())
