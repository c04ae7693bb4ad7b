"""Restores snapshots, optionally as a dry run. A restore is a recorded change and can be undone like any other."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from anycowork.chats.files.rollback import (
    MOST_LISTED,
    RollbackRequest,
    RollbackResult,
    ShownDifference,
    expected_result,
    file_differences,
    narrowed,
    pruned_error,
    require_no_conflicts,
    summary_text,
)
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat
from anycowork.domain.errors import (
    BadWorkspace,
    Conflict,
    NotEnoughSpace,
    NotFound,
    SnapshotDamaged,
    ToolFault,
)
from anycowork.domain.jobs import JobTask
from anycowork.domain.journal import Change, RequireLease, Write, required_access
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.principals import SERVER_PRINCIPAL, Principal, Scope
from anycowork.domain.snapshots import (
    PathImage,
    Restore,
    Restored,
    RestorePreview,
    Snapshot,
    SnapshotMoment,
    Undo,
    is_in,
    shown_path,
    undoing,
)
from anycowork.jobs.task_commits import take_back
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat, require_chat_in_folder
from anycowork.turns.record_factory import IDLE, RecordFactory, require_idle
from anycowork.workspace.folder import Folder

log = logging.getLogger(__name__)
_RECORDED = ("restored", "deleted", "kept", "unkept", "counts", "left", "conflicts", "reasons", "undo_snapshot")


class RunningRestore:
    """One restore, from its request on. Its files are written in a thread, which reports and looks here. `is_over`: all are written."""

    def __init__(self, publish: Callable[[int, int], None]) -> None:
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self.is_over = False

    def stop(self) -> None:
        self._stop.set()

    def is_stopped(self) -> bool:
        return self._stop.is_set()

    def report(self, done: int, total: int) -> None:
        self._loop.call_soon_threadsafe(self._publish, done, total)


class RunningRestores:
    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._of_chat: dict[str, list[RunningRestore]] = {}

    @contextmanager
    def running(self, chat_id: str, snapshot_id: str) -> Iterator[RunningRestore]:
        def publish(done: int, total: int) -> None:
            self._journal.show_event(chat_id, event_factory.restore_progress(snapshot_id, done, total))

        restore = RunningRestore(publish)
        self._of_chat.setdefault(chat_id, []).append(restore)
        try:
            yield restore
        finally:
            self._of_chat[chat_id].remove(restore)
            if not self._of_chat[chat_id]:
                del self._of_chat[chat_id]

    def stop(self, chat_id: str) -> bool:
        """Returns whether there was one to stop."""
        running = [restore for restore in self._of_chat.get(chat_id, []) if not restore.is_over]
        for restore in running:
            restore.stop()
        return bool(running)


class RollbackService:
    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        workspaces: Workspaces,
        snapshots: Snapshots,
        clock: Clock,
    ) -> None:
        self._journal = journal
        self._store = store
        self._workspaces = workspaces
        self._snapshots = snapshots
        self._clock = clock
        self._draft = RecordFactory(clock)
        self._running = RunningRestores(journal)

    async def page(self, chat_id: str, *, before: int | None, limit: int) -> tuple[list[Snapshot], int | None]:
        await require_chat(self._store, chat_id)
        return await self._store.snapshots.page(chat_id, before=before, limit=limit)

    async def difference(
        self,
        chat_id: str,
        snapshot_id: str,
        *,
        path: str | None = None,
        after: str | None = None,
        limit: int = MOST_LISTED,
    ) -> ShownDifference:
        """Returns the difference that the snapshot's change made: its text, and the `limit` files after the path `after`.

        `path` narrows it to that path and what lies below. Of many files the text covers those that are listed.
        Raises: NotFound, SnapshotPruned.
        """
        await require_chat(self._store, chat_id)
        snapshot = await self._snapshot(chat_id, snapshot_id)
        change = await self._store.snapshots.change(snapshot.change_id)
        if change is None or change.after is None:
            return ShownDifference()
        files = file_differences(change.before, change.after)
        if path is not None:
            files = [file for file in files if is_in(shown_path(file.path), path.strip("/"))]
        page = [file for file in files if after is None or shown_path(file.path) > after][: limit + 1]
        listed, more = page[:limit], len(page) > limit
        text = await self._snapshots.difference(change.after) if path is None and after is None else None
        if text is None and listed:
            listed_paths = {file.path for file in listed}
            text = await self._snapshots.compare(change, listed_paths, self._open(snapshot.workspace))
        return ShownDifference(text or "", tuple(listed), len(files), shown_path(listed[-1].path) if more else None)

    def _open(self, root: str) -> Folder | None:
        try:
            return self._workspaces.open(root)
        except BadWorkspace:
            return None

    async def restore(
        self, principal: Principal, chat_id: str, snapshot_id: str, request: RollbackRequest
    ) -> RollbackResult:
        """Restores the state of that snapshot. A later change of another chat is a conflict unless `overwrite` names the path.

        Raises: NotFound, SnapshotPruned, SnapshotDamaged, TurnAlreadyRunning, Invalid, BadWorkspace; RestoreConflict, NotEnoughSpace and
        NotKept (then nothing was changed).
        """
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        snapshot = await self._snapshot(chat_id, snapshot_id)
        if snapshot.workspace != chat.workspace:
            raise Conflict("This change was made in the own workspace of a job's task. Undo the task instead.")
        if request.dry_run:
            preview = await self._preview(snapshot, request, self._workspaces.open(snapshot.workspace))
            return RollbackResult(expected_result(preview), preview)
        if chat.state not in IDLE:
            raise require_idle(chat).error
        with self._running.running(chat.id, snapshot.id) as control:
            async with self._workspaces.writing(snapshot.workspace) as epoch:
                workspace = self._workspaces.open(snapshot.workspace)
                preview = await self._preview(snapshot, request, workspace, to_restore=True)
                require_no_conflicts(preview, request.overwrite)
                return await self._restore(principal, chat, snapshot, preview, workspace, epoch, control)

    async def _restore(
        self,
        principal: Principal,
        chat: Chat,
        snapshot: Snapshot,
        preview: RestorePreview,
        workspace: Folder,
        epoch: int,
        control: RunningRestore,
        *,
        undone: JobTask | None = None,
    ) -> RollbackResult:
        before = await self._begin(principal, chat, snapshot, preview, workspace, epoch, undone=undone)
        done = await self._snapshots.restore(workspace, preview.undos, control)
        control.is_over = True
        done = replace(done, unkept=preview.unkept)
        targets = [undo.target for undo in preview.undos]
        await self._finish(principal.label(), chat, before, targets, done, workspace)
        return RollbackResult(done, preview, undo_snapshot=before.id)

    def stop(self, principal: Principal, chat_id: str) -> bool:
        """Stops the restores that run in the chat, and returns whether there were any. Only who may restore stops one.

        What they have restored is recorded and can be undone; restoring again goes on.
        """
        return Scope.DECIDE in principal.scopes and self._running.stop(chat_id)

    async def undos_since(self, chat_id: str, snapshot_id: str) -> list[Undo]:
        """Returns what undoes every change since before that snapshot. Raises: NotFound, SnapshotPruned."""
        return await self._undos(await self._snapshot(chat_id, snapshot_id), only=False)

    async def undo_turns(
        self, principal: Principal, task: JobTask, turn_ids: Sequence[str], request: RollbackRequest
    ) -> RollbackResult:
        """Undos what these turns of the task changed, and nothing else: what somebody changed in the same lines since is a conflict.

        What a job collected and a person kept is undone by the records of the copy that collected it. Raises: as `restore`.
        """
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, task.chat_id)
        changes = await self._store.snapshots.changes_of_turns(turn_ids, chat.workspace)
        changes = changes or await self._store.snapshots.changes_of_turns(turn_ids, None)
        if not changes:
            raise Conflict("No change is recorded that could be undone.")
        undos = undoing(changes)
        if request.paths is not None:
            undos = narrowed(undos, request.paths)
        first = changes[0].before
        if any(change.before.pruned for change in changes):
            raise pruned_error(first.id)
        if request.dry_run:
            preview = await self._preview_merged(self._workspaces.open(chat.workspace), undos, request.overwrite)
            return RollbackResult(expected_result(preview), preview)
        if chat.state not in IDLE:
            raise require_idle(chat).error
        with self._running.running(chat.id, first.id) as control:
            async with self._workspaces.writing(chat.workspace) as epoch:
                workspace = self._workspaces.open(chat.workspace)
                preview = await self._preview_merged(workspace, undos, request.overwrite)
                require_no_conflicts(preview, request.overwrite)
                undone = task if request.paths is None else None
                return await self._restore(principal, chat, first, preview, workspace, epoch, control, undone=undone)

    async def _preview_merged(
        self, workspace: Folder, undos: Sequence[Undo], overwrite: Sequence[str]
    ) -> RestorePreview:
        """Returns what undoing would do, with later changes of other lines in the same files merged, so that they stay."""
        preview = await self._snapshots.preview(workspace, undos, to_restore=True)
        bases = {undo.path: undo.expected for undo in undos if undo.reason is None}
        overwritten = {path.strip("/") for path in overwrite}
        merged_undos: dict[str, Undo] = {}
        for undo in preview.undos:
            base = bases.get(undo.path)
            if base is None or undo.path not in preview.conflicts or shown_path(undo.path) in overwritten:
                continue
            image = await self._snapshots.merge(base, undo.target, workspace)
            if image is not None:
                merged_undos[undo.path] = replace(undo, target=image, seen=None)
        if not merged_undos:
            return preview
        mixed = [merged_undos.get(undo.path, undo) for undo in undos]
        return await self._snapshots.preview(workspace, mixed, to_restore=True)

    async def settle_after_crash(self) -> None:
        """Finishes interrupted restores; files that someone changed since are left unchanged and reported.

        A restore that cannot be finished now (full disk, damaged content) blocks nothing: the next start tries again.
        """
        await self._snapshots.close_left_open()
        for before, intended in await self._store.snapshots.unfinished_restores():
            chat = await self._store.chats.find(before.chat_id)
            try:
                workspace = self._workspaces.open(before.workspace)
            except BadWorkspace:
                continue
            if chat is None:
                continue
            was = {image.path: image for image in before.images}
            undos = [Undo(target, was.get(target.path)) for target in intended.images]
            async with self._workspaces.writing(before.workspace):
                if before.id not in {
                    unfinished.id for unfinished, _ in await self._store.snapshots.unfinished_restores()
                }:
                    continue  # another server has finished it meanwhile
                try:
                    preview = await self._snapshots.preview(workspace, undos)
                except (NotEnoughSpace, SnapshotDamaged, ToolFault) as error:
                    log.error("a restore that was cut off cannot be finished yet: %s", error.message)
                    continue  # it stays unfinished, and the next start tries again
                if before.restores is None and await self._cannot_be_finished(workspace, preview):
                    await take_back(self._snapshots, workspace, before, intended.images)
                    await self._record_as_left(chat, before, workspace)
                    continue
                ours = [undo for undo in preview.undos if undo.path not in preview.conflicts]
                done = await self._snapshots.restore(workspace, ours)
                done = replace(done, conflicts={**preview.conflicts, **(done.conflicts or {})})
                await self._finish(SERVER_PRINCIPAL.label(), chat, before, intended.images, done, workspace)

    async def _record_as_left(self, chat: Chat, before: Snapshot, workspace: Folder) -> None:
        after = await self._snapshots.after(before, workspace)
        after = after or replace(before, id=self._clock.new_id(), moment=SnapshotMoment.AFTER, images=())
        by = SERVER_PRINCIPAL.label()
        await self._journal.write(Change(chat.id, (after,), (event_factory.snapshot(after),), principal=by))

    async def _cannot_be_finished(self, workspace: Folder, preview: RestorePreview) -> bool:
        """Tells whether the changes of a task that were being written cannot all be: then none of them is, and its job decides anew."""
        return bool(preview.conflicts) or bool(await self._snapshots.unwritable(workspace, preview.undos))

    # --- the parts

    async def _preview(
        self, snapshot: Snapshot, request: RollbackRequest, workspace: Folder, *, to_restore: bool = False
    ) -> RestorePreview:
        undos = await self._undos(snapshot, only=request.only)
        if request.paths is not None:
            undos = narrowed(undos, request.paths)
        return await self._snapshots.preview(workspace, undos, to_restore=to_restore)

    async def _undos(self, snapshot: Snapshot, *, only: bool) -> list[Undo]:
        if not only:
            return undoing(await self._store.snapshots.changes_since(snapshot), for_chat=snapshot.chat_id)
        change = await self._store.snapshots.change(snapshot.change_id)
        return undoing([change]) if change else []

    async def _begin(
        self,
        principal: Principal,
        chat: Chat,
        snapshot: Snapshot,
        preview: RestorePreview,
        workspace: Folder,
        epoch: int,
        *,
        undone: JobTask | None,
    ) -> Snapshot:
        """Saves the current state and records the intended state before anything is changed."""
        cause = Restore(self._clock.new_id(), chat.id, snapshot.id)
        before = await self._snapshots.before_restore(cause, workspace, preview.undos)
        intended = self._snapshots.meant(before, preview.undos)
        tasks = await self._tasks_marked(chat.id, snapshot, before, undone)
        writes: list[Write] = [require_idle(chat), RequireLease(workspace.root, epoch), before, intended, *tasks]
        if (required := required_access(principal)) is not None:
            writes.insert(0, required)
        event, by = event_factory.snapshot(before), principal.label()
        await self._journal.write(Change(chat.id, tuple(writes), (event,), principal=by, cause=snapshot.id))
        return before

    async def _tasks_marked(
        self, chat_id: str, snapshot: Snapshot, before: Snapshot, undone: JobTask | None
    ) -> list[JobTask]:
        """Returns the task that is being undone, or those whose undo is being taken back, as they are afterwards."""
        if undone is not None:
            return [replace(undone, undone_by=before.id)]
        earlier = [] if snapshot.restores is None else await self._store.tasks.undone_by(chat_id, snapshot.id)
        return [replace(task, undone_by=None) for task in earlier]

    async def _finish(
        self,
        principal: str,
        chat: Chat,
        before: Snapshot,
        targets: Sequence[PathImage],
        done: Restored,
        workspace: Folder,
    ) -> None:
        after = await self._snapshots.after_restore(before, workspace, targets, done)
        summary = RollbackResult(done, RestorePreview((), {}), before.id).to_json()
        if before.restores is None:  # the changes of a task were being written; its job says so
            after = after or replace(before, id=self._clock.new_id(), moment=SnapshotMoment.AFTER, images=())
            await self._journal.write(Change(chat.id, (after,), (event_factory.snapshot(after),), principal=principal))
            return
        payload: Json = {"restore": {"snapshot": before.restores, **{key: summary[key] for key in _RECORDED}}}
        message = self._draft.message(chat, Speaker.SYSTEM, summary_text(done), payload=payload)
        # Without images of the current state it still counts as finished: a retry would not read more.
        after = after or replace(before, id=self._clock.new_id(), moment=SnapshotMoment.AFTER, images=())
        change = Change(
            chat.id, (after, message), (event_factory.snapshot(after),), principal=principal, cause=before.restores
        )
        await self._journal.write(change)

    async def _snapshot(self, chat_id: str, snapshot_id: str) -> Snapshot:
        snapshot = await self._store.snapshots.find(chat_id, snapshot_id)
        if snapshot is None:
            raise NotFound("snapshot", snapshot_id)
        if snapshot.pruned:
            raise pruned_error(snapshot_id)
        return snapshot
