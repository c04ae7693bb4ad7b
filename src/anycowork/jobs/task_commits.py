"""Writes what a task changed in its own workspace into the chat's, or into the one that collects a job's changes.

What the task changed is known from its recorded changes. A file that somebody else changed too is merged line by line; where that is not
possible, nothing is written and a person decides. The write is a recorded change: it is finished after a crash, and can be undone.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain import event_factory
from anycowork.domain.errors import BadWorkspace, RestoreConflict
from anycowork.domain.journal import Change, RequireAccess, RequireLease, Write
from anycowork.domain.messages import Json
from anycowork.domain.ports import Clock
from anycowork.domain.snapshots import (
    FileDifference,
    PathImage,
    PathKind,
    Restored,
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
from anycowork.jobs.conflict_authors import AuthorKind, ConflictAuthor, find_author
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.workspace.folder import Folder
from anycowork.workspace.merges import merge_draft
from anycowork.workspace.text import TextFile, decode

KEEP_TASK, KEEP_WORKSPACE, KEEP_MERGED = "task", "workspace", "merge"
TRIES = 3  # of a commit, if somebody changes the same paths at the same time
MOST_OF_A_SIDE = 20_000  # characters of one version of a file in a question
MOST_OF_A_DRAFT = 100_000  # characters of both versions in one text, to be merged by hand


@value
class MergeConflict:
    """A path that the task and somebody else changed in ways that cannot be merged. `state` names both versions as they are now.

    `other` is who made the version that is there. `draft` is the text with both versions between marks, for a merge by hand; None if it
    is no text or too long.
    """

    path: str
    reason: str
    state: str
    task: str | None = None
    workspace: str | None = None
    other: ConflictAuthor = ConflictAuthor(AuthorKind.OUTSIDE)
    draft: str | None = None

    def to_json(self) -> Json:
        return {
            "path": shown_path(self.path),
            "reason": self.reason,
            "state": self.state,
            "task": self.task,
            "workspace": self.workspace,
            "other": self.other.to_json(),
            "draft": self.draft,
        }


@value
class TaskMerge:
    """What would be written into the target: `writes`, unless there are `conflicts`. `files` and `diff` describe it."""

    writes: tuple[Undo, ...]
    conflicts: tuple[MergeConflict, ...] = ()
    files: tuple[FileDifference, ...] = ()
    diff: str = ""
    merged: tuple[str, ...] = ()


Choices = Mapping[str, JsonValue]
"""By path and state: which version a person keeps, or under KEEP_MERGED the text that the person wrote."""


def choice_key(path: str, state: str) -> str:
    return f"{state} {path}"


class TaskCommitter:
    """`is_copy` tells whether a folder is a layer or a copy of a task on this server: no other one is merged, whatever a row names."""

    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        workspaces: Workspaces,
        snapshots: Snapshots,
        clock: Clock,
        is_copy: Callable[[str], bool],
    ) -> None:
        self._is_copy = is_copy
        self._journal = journal
        self._store = store
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
        """Returns what committing the copy would do to the target now. `paths` narrows it; of paths in `overwrite` the task's version is
        kept. Raises: BadWorkspace, NotKept, SnapshotDamaged, NotEnoughSpace; RestoreConflict if a path can never be written."""
        changes = await self._changes(chat_id, copy)
        if paths is not None:
            changes = in_paths(changes, paths)
        folder = self._workspaces.open(target)
        preview = await self._snapshots.preview(folder, changes)
        return await self._merge(preview, {undo.path: undo for undo in changes}, folder, choices or {}, overwrite)

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
        required: RequireAccess | None = None,
    ) -> TaskMerge:
        """Writes the copy's changes into the target, all or none; none if there are conflicts.

        Raises: as `look`; NotAllowed without the access that is `required`; RestoreConflict if a path cannot be written, whatever a person answers.
        """
        async with self._workspaces.writing(target) as epoch:
            reasons: Mapping[str, str] = {}
            for _ in range(TRIES):
                merge = await self.look(chat_id, copy, target, choices=choices, paths=paths, overwrite=overwrite)
                if merge.conflicts or not merge.writes:
                    return merge
                folder = self._workspaces.open(target)
                reasons = await self._snapshots.unwritable(folder, merge.writes)
                if not reasons:
                    reasons = await self._write(
                        TaskCommit(self._clock.new_id(), chat_id, turn_id), merge, folder, epoch, required
                    )
                if not reasons:
                    return merge
            raise _unwritable(reasons)

    async def _write(
        self, cause: TaskCommit, merge: TaskMerge, folder: Folder, epoch: int, required: RequireAccess | None
    ) -> Mapping[str, str]:
        """Returns why some paths were not written; then none is."""
        paths, removed = [undo.path for undo in merge.writes], removed_paths(merge.writes)
        before = await self._snapshots.before(cause, folder, paths, removed=removed)
        intended = self._snapshots.meant(before, merge.writes)
        writes: tuple[Write, ...] = (RequireLease(folder.root, epoch), before, intended)
        if required is not None:
            writes = (required, *writes)
        await self._journal.write(Change(cause.chat_id, writes, (event_factory.snapshot(before),)))
        done = await self._snapshots.restore(folder, merge.writes)
        if done.conflicts:
            await take_back(self._snapshots, folder, before, [undo.target for undo in merge.writes])
        after = await self._snapshots.after(before, folder)
        after = after or _unread(before, self._clock)
        await self._journal.write(Change(cause.chat_id, (after,), (event_factory.snapshot(after),)))
        return done.conflicts or {}

    async def _changes(self, chat_id: str, copy: str) -> list[Undo]:
        """Returns, for each path that was changed in the copy, its version there, kept, and the version that it was made from."""
        if not await asyncio.to_thread(self._is_copy, copy):
            raise BadWorkspace(
                "What this task changed is not on this server: its folder is gone, or belongs to another server. Start the task again, or"
                " drop the changes.",
                param="workspace",
            )
        recorded = undoing(await self._store.snapshots.changes_in(copy))
        if not recorded:
            return []
        base = {undo.path: undo.target for undo in recorded}
        folder = self._workspaces.open(copy)
        snapshot = await self._snapshots.saved(TaskCommit(self._clock.new_id(), chat_id), folder, sorted(base))
        mine = {image.path: image for image in snapshot.images}
        changes = [
            Undo(mine.get(path, absent(path)), base.get(path, absent(path))) for path in sorted({**base, **mine})
        ]
        return [undo for undo in changes if undo.expected is None or not undo.target.same_as(undo.expected)]

    async def _merge(
        self,
        preview: RestorePreview,
        changes: Mapping[str, Undo],
        folder: Folder,
        choices: Choices,
        overwrite: Sequence[str],
    ) -> TaskMerge:
        if preview.hopeless:
            raise _unwritable({path: preview.conflicts[path] for path in preview.hopeless})
        writes: list[Undo] = []
        conflicts: list[MergeConflict] = []
        merged: list[str] = []
        overwritten = {path.strip("/") for path in overwrite}
        for undo in preview.undos:
            if undo.path not in preview.conflicts:
                writes.append(undo)
                continue
            state = _state(undo)
            choice = (
                KEEP_TASK
                if shown_path(undo.path) in overwritten
                else choices.get(choice_key(shown_path(undo.path), state))
            )
            if choice == KEEP_WORKSPACE:
                continue
            if choice == KEEP_TASK:
                writes.append(undo)
            elif isinstance(choice, dict):
                writes.append(await self._by_hand(undo, str(choice.get(KEEP_MERGED)), folder))
            elif (merged_undo := await self._merged(undo, changes[undo.path].expected, folder)) is not None:
                writes.append(merged_undo)
                merged.append(undo.path)
            else:
                reason, base = preview.conflicts[undo.path], changes[undo.path].expected
                conflicts.append(await self._conflict(undo, base, reason, state, folder))
        return TaskMerge(tuple(writes), tuple(conflicts), preview.files, preview.diff, tuple(merged))

    async def _merged(self, undo: Undo, base: PathImage | None, folder: Folder) -> Undo | None:
        image = await self._snapshots.merge(base, undo.target, folder) if base is not None else None
        return None if image is None else replace(undo, target=image)

    async def _by_hand(self, undo: Undo, text: str, folder: Folder) -> Undo:
        """Returns the undo that writes a person's text, with the line ends and the byte order mark of the version that is there."""
        present = decode(await self._snapshots.contents(undo.target, folder) or b"") or TextFile("")
        body = text.replace("\n", "\r\n") if present.newline == "\r\n" and "\r" not in text else text
        data = present.with_body(body).encoded()
        return replace(
            undo, target=await self._snapshots.keep(undo.path, data, mode=undo.target.mode, workspace=folder)
        )

    async def _conflict(
        self, undo: Undo, base: PathImage | None, reason: str, state: str, folder: Folder
    ) -> MergeConflict:
        task = await self._snapshots.contents(undo.target) if undo.target.has_content else None
        now = await self._snapshots.contents(undo.target, folder)
        present = undo.expected or absent(undo.path)
        author = await find_author(self._store, folder.root, present)
        draft: str | None = None
        if (
            base is not None
            and undo.target.kind is present.kind is PathKind.FILE
            and task is not None
            and now is not None
        ):
            old = await self._snapshots.contents(base) if base.has_content else None
            draft = await asyncio.to_thread(merge_draft, old or b"", task, now)
        if draft is not None and len(draft) > MOST_OF_A_DRAFT:
            draft = None
        return MergeConflict(undo.path, reason, state, _side(task), _side(now), author, draft)


async def take_back(snapshots: Snapshots, folder: Folder, before: Snapshot, written: Sequence[PathImage]) -> Restored:
    """Brings the paths back that a commit has written before it failed. What somebody else made there meanwhile stays."""
    was = {image.path: image for image in before.images}
    preview = await snapshots.preview(
        folder, [Undo(was.get(image.path, absent(image.path)), image) for image in written]
    )
    written_images = {image.path: image for image in written}
    ours = [
        undo for undo in preview.undos if undo.expected is None or _is_ours(undo.expected, written_images[undo.path])
    ]
    return await snapshots.restore(folder, ours)


def _unwritable(reasons: Mapping[str, str]) -> RestoreConflict:
    reasons_by_path = {shown_path(path): reason for path, reason in reasons.items()}
    first, reason = min(reasons_by_path.items())
    more = f" ({len(reasons_by_path) - 1} more)" if len(reasons_by_path) > 1 else ""
    message = f"'{first}' cannot be written: {reason.rstrip('.')}{more}. Nothing was changed. Clear the way, or leave the path out."
    return RestoreConflict(message, reasons_by_path)


def _is_ours(now: PathImage, written: PathImage) -> bool:
    """A path that is absent was removed for what should have come there."""
    return now.kind is PathKind.ABSENT or now.same_as(written)


def _state(undo: Undo) -> str:
    """Names both versions: a person's choice counts only for the two that were shown."""
    now = undo.expected or absent(undo.path)
    return f"{undo.target.kind.value}:{undo.target.hash or ''}:{now.kind.value}:{now.hash or ''}"


def _side(content: bytes | None) -> str | None:
    """Returns a version as text; None if there is no file."""
    if content is None:
        return None
    text = content.decode("utf-8", "backslashreplace")
    return text if len(text) <= MOST_OF_A_SIDE else f"{text[:MOST_OF_A_SIDE]}\n… {len(text)} characters in total"


def _unread(before: Snapshot, clock: Clock) -> Snapshot:
    return replace(before, id=clock.new_id(), moment=SnapshotMoment.AFTER, images=(), created_at=clock.now())
