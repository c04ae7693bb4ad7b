"""Restores snapshots, optionally as a dry run. A restore is a recorded change and can be undone like any other."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from anycowork.chats.lookup import require_chat
from anycowork.chats.record_factory import IDLE, RecordFactory, require_idle
from anycowork.chats.running_restores import RunningRestores
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat
from anycowork.domain.errors import (
    BadWorkspace,
    Conflict,
    Invalid,
    NotEnoughSpace,
    NotFound,
    RestoreConflict,
    SnapshotDamaged,
    SnapshotPruned,
)
from anycowork.domain.journal import Change, RequireLease
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.ports import Clock, Journal, Store, Workspace, Workspaces
from anycowork.domain.principals import SERVER_PRINCIPAL, Principal, Scope
from anycowork.domain.snapshot_ports import SnapshotRows, Snapshots
from anycowork.domain.snapshots import (
    FileDifference,
    Kind,
    PathImage,
    Restore,
    Restored,
    RestorePreview,
    Snapshot,
    SnapshotMoment,
    Undo,
    in_paths,
    is_in,
    paths_without_undo,
    shown_path,
    undoing,
)
from anycowork.domain.values import value

log = logging.getLogger(__name__)
MOST_LISTED = 1_000  # paths of one answer or record


@value
class RollbackRequest:
    """`only` undoes the snapshot's own change and keeps later work; otherwise everything since is undone.

    `paths` (and what lies below them) narrows it; `overwrite` names the paths where someone else's change may be lost.
    """

    dry_run: bool = False
    only: bool = False
    paths: tuple[str, ...] | None = None
    overwrite: tuple[str, ...] = ()


@value
class ShownDifference:
    """`files` is one page of all `total`; `next` is the path after which the next page begins."""

    text: str = ""
    files: tuple[FileDifference, ...] = ()
    total: int = 0
    next: str | None = None

    def to_json(self) -> Json:
        return {
            "diff": self.text,
            "files": [file.to_json() for file in self.files],
            "total": self.total,
            "next": self.next,
        }


@value
class RollbackResult:
    """`preview` is what a restore would do; `done` is what was restored, or for a dry run what would be.

    Of very many paths, the JSON names the first; `counts` tells how many there are.
    """

    done: Restored
    preview: RestorePreview
    undo_snapshot: str | None = None

    def to_json(self) -> Json:
        done = self.done
        reasons = done.conflicts or {}
        lists = {"restored": done.restored, "deleted": done.deleted, "kept": done.kept, "unkept": done.unkept}
        counts: Json = {name: len(paths) for name, paths in lists.items()}
        return {
            **{name: [shown_path(path) for path in paths[:MOST_LISTED]] for name, paths in lists.items()},
            "counts": counts,
            "conflicts": [shown_path(path) for path in sorted(reasons)],
            "reasons": {shown_path(path): reason for path, reason in reasons.items()},
            "left": done.left,
            "undo_snapshot": self.undo_snapshot,
            "diff": self.preview.diff,
            "files": [file.to_json() for file in self.preview.files[:MOST_LISTED]],
        }


class RollbackService:
    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        rows: SnapshotRows,
        workspaces: Workspaces,
        snapshots: Snapshots,
        clock: Clock,
    ) -> None:
        self._journal = journal
        self._store = store
        self._rows = rows
        self._workspaces = workspaces
        self._snapshots = snapshots
        self._clock = clock
        self._draft = RecordFactory(clock)
        self._running = RunningRestores(journal)

    async def page(self, chat_id: str, *, before: int | None, limit: int) -> tuple[list[Snapshot], int | None]:
        await require_chat(self._store, chat_id)
        return await self._rows.snapshots_page(chat_id, before=before, limit=limit)

    async def difference(
        self,
        chat_id: str,
        snapshot_id: str,
        *,
        path: str | None = None,
        after: str | None = None,
        limit: int = MOST_LISTED,
    ) -> ShownDifference:
        """Return the difference that the snapshot's change made: its text, and the `limit` files after the path `after`.

        `path` narrows it to that path and what lies below. Of many files the text covers those that are listed.
        Raises: NotFound, SnapshotPruned.
        """
        await require_chat(self._store, chat_id)
        snapshot = await self._snapshot(chat_id, snapshot_id)
        change = await self._rows.change_of(snapshot)
        if change is None or change.after is None:
            return ShownDifference()
        files = _file_differences(change.before, change.after)
        if path is not None:
            files = [file for file in files if is_in(shown_path(file.path), path.strip("/"))]
        page = [file for file in files if after is None or shown_path(file.path) > after][: limit + 1]
        listed, more = page[:limit], len(page) > limit
        text = await self._snapshots.difference(change.after) if path is None and after is None else None
        if text is None and listed:
            named = {file.path for file in listed}
            text = await self._snapshots.compare(change, named, self._open(snapshot.workspace))
        return ShownDifference(text or "", tuple(listed), len(files), shown_path(listed[-1].path) if more else None)

    def _open(self, root: str) -> Workspace | None:
        try:
            return self._workspaces.open(root)
        except BadWorkspace:
            return None

    async def restore(
        self, principal: Principal, chat_id: str, snapshot_id: str, request: RollbackRequest
    ) -> RollbackResult:
        """Restore the state of that snapshot. A later change of another chat is a conflict unless `overwrite` names the path.

        Raises: NotFound, SnapshotPruned, SnapshotDamaged, TurnAlreadyRunning, Invalid, BadWorkspace; RestoreConflict, NoRoom and
        NotKept (then nothing was changed).
        """
        principal.require(Scope.DECIDE)
        chat = await require_chat(self._store, chat_id)
        snapshot = await self._snapshot(chat_id, snapshot_id)
        if snapshot.workspace != chat.workspace:
            raise Conflict("This change was made in the private copy of a job's task. Undo the task instead.")
        if request.dry_run:
            preview = await self._preview(snapshot, request, self._workspaces.open(snapshot.workspace))
            return RollbackResult(_would_be(preview), preview)
        if chat.state not in IDLE:
            raise require_idle(chat).error
        async with self._workspaces.writing(snapshot.workspace) as epoch:
            workspace = self._workspaces.open(snapshot.workspace)
            preview = await self._preview(snapshot, request, workspace, to_restore=True)
            return await self._restore(principal, chat, snapshot, preview, request, workspace, epoch)

    async def _restore(
        self,
        principal: Principal,
        chat: Chat,
        snapshot: Snapshot,
        preview: RestorePreview,
        request: RollbackRequest,
        workspace: Workspace,
        epoch: int,
    ) -> RollbackResult:
        _require_no_conflicts(preview, request.overwrite)
        with self._running.running(chat.id, snapshot.id) as control:
            before = await self._begin(principal, chat, snapshot, preview, workspace, epoch)
            done = await self._snapshots.restore(workspace, preview.undos, control)
        done = replace(done, unkept=preview.unkept)
        targets = [undo.target for undo in preview.undos]
        await self._finish(principal.label(), chat, before, targets, done, workspace)
        return RollbackResult(done, preview, undo_snapshot=before.id)

    def stop(self, principal: Principal, chat_id: str) -> bool:
        """Stop the restores that run in the chat, and return whether there were any. Only who may restore stops one.

        What they have restored is recorded and can be undone; restoring again goes on.
        """
        return Scope.DECIDE in principal.scopes and self._running.stop(chat_id)

    async def undos_since(self, chat_id: str, snapshot_id: str) -> list[Undo]:
        """Return what undoes every change since before that snapshot. Raises: NotFound, SnapshotPruned."""
        return await self._undos(await self._snapshot(chat_id, snapshot_id), only=False)

    async def undo_turns(
        self, principal: Principal, chat_id: str, turn_ids: Sequence[str], request: RollbackRequest
    ) -> RollbackResult:
        """Undo what these turns changed, and nothing else: what somebody changed since is a conflict. Raises: as `restore`."""
        principal.require(Scope.DECIDE)
        chat = await require_chat(self._store, chat_id)
        changes = await self._rows.changes_of_turns(turn_ids, chat.workspace)
        if not changes:
            raise Conflict("No change is recorded that could be undone.")
        undos = undoing(changes)
        if request.paths is not None:
            undos = narrowed(undos, request.paths)
        first = changes[0].before
        if any(change.before.pruned for change in changes):
            raise _pruned(first.id)
        if request.dry_run:
            preview = await self._snapshots.preview(self._workspaces.open(chat.workspace), undos)
            return RollbackResult(_would_be(preview), preview)
        if chat.state not in IDLE:
            raise require_idle(chat).error
        async with self._workspaces.writing(chat.workspace) as epoch:
            workspace = self._workspaces.open(chat.workspace)
            preview = await self._snapshots.preview(workspace, undos, to_restore=True)
            return await self._restore(principal, chat, first, preview, request, workspace, epoch)

    async def settle_after_crash(self) -> None:
        """Finish interrupted restores; files that someone changed since are left unchanged and reported.

        A restore that cannot be finished now (full disk, damaged content) blocks nothing: the next start tries again.
        """
        for before, meant in await self._rows.unfinished_restores():
            chat = await self._store.chat(before.chat_id)
            try:
                workspace = self._workspaces.open(before.workspace)
            except BadWorkspace:
                continue
            if chat is None:
                continue
            was = {image.path: image for image in before.images}
            undos = [Undo(target, was.get(target.path)) for target in meant.images]
            async with self._workspaces.writing(before.workspace):
                if before.id not in {unfinished.id for unfinished, _ in await self._rows.unfinished_restores()}:
                    continue  # another server has finished it meanwhile
                try:
                    preview = await self._snapshots.preview(workspace, undos)
                except (NotEnoughSpace, SnapshotDamaged) as error:
                    log.error("a restore that was cut off cannot be finished yet: %s", error.message)
                    continue  # it stays unfinished, and the next start tries again
                ours = [undo for undo in preview.undos if undo.path not in preview.conflicts]
                done = await self._snapshots.restore(workspace, ours)
                done = replace(done, conflicts={**preview.conflicts, **(done.conflicts or {})})
                await self._finish(SERVER_PRINCIPAL.label(), chat, before, meant.images, done, workspace)

    # --- the parts

    async def _preview(
        self, snapshot: Snapshot, request: RollbackRequest, workspace: Workspace, *, to_restore: bool = False
    ) -> RestorePreview:
        undos = await self._undos(snapshot, only=request.only)
        if request.paths is not None:
            undos = narrowed(undos, request.paths)
        return await self._snapshots.preview(workspace, undos, to_restore=to_restore)

    async def _undos(self, snapshot: Snapshot, *, only: bool) -> list[Undo]:
        if not only:
            return undoing(await self._rows.changes_since(snapshot), for_chat=snapshot.chat_id)
        change = await self._rows.change_of(snapshot)
        return undoing([change]) if change else []

    async def _begin(
        self,
        principal: Principal,
        chat: Chat,
        snapshot: Snapshot,
        preview: RestorePreview,
        workspace: Workspace,
        epoch: int,
    ) -> Snapshot:
        """Save the current state and record the intended state before anything is changed."""
        cause = Restore(self._clock.new_id(), chat.id, snapshot.id)
        before = await self._snapshots.before_restore(cause, workspace, preview.undos)
        meant = self._snapshots.meant(before, preview.undos)
        writes = (require_idle(chat), RequireLease(workspace.root, epoch), before, meant)
        await self._journal.write(
            Change(chat.id, writes, (event_factory.snapshot(before),), principal=principal.label(), cause=snapshot.id)
        )
        return before

    async def _finish(
        self,
        principal: str,
        chat: Chat,
        before: Snapshot,
        targets: Sequence[PathImage],
        done: Restored,
        workspace: Workspace,
    ) -> None:
        after = await self._snapshots.after_restore(before, workspace, targets, done)
        summary = RollbackResult(done, RestorePreview((), {}), before.id).to_json()
        if before.restores is None:  # the changes of a task were being written; its job says so
            after = after or replace(before, id=self._clock.new_id(), moment=SnapshotMoment.AFTER, images=())
            await self._journal.write(Change(chat.id, (after,), (event_factory.snapshot(after),), principal=principal))
            return
        payload: Json = {"restore": {"snapshot": before.restores, **{key: summary[key] for key in _RECORDED}}}
        message = self._draft.message(chat, Speaker.SYSTEM, _words(done), payload=payload)
        # Without images of the current state it still counts as finished: a retry would not read more.
        after = after or replace(before, id=self._clock.new_id(), moment=SnapshotMoment.AFTER, images=())
        change = Change(
            chat.id, (after, message), (event_factory.snapshot(after),), principal=principal, cause=before.restores
        )
        await self._journal.write(change)

    async def _snapshot(self, chat_id: str, snapshot_id: str) -> Snapshot:
        snapshot = await self._rows.snapshot(chat_id, snapshot_id)
        if snapshot is None:
            raise NotFound("snapshot", snapshot_id)
        if snapshot.pruned:
            raise _pruned(snapshot_id)
        return snapshot


_RECORDED = ("restored", "deleted", "kept", "unkept", "counts", "left", "conflicts", "reasons", "undo_snapshot")


def _pruned(snapshot_id: str) -> SnapshotPruned:
    return SnapshotPruned(
        f"The content of snapshot '{snapshot_id}' was pruned to make space for newer ones. Choose a newer one,"
        " and raise 'snapshot_quota_bytes' to keep them longer."
    )


def narrowed(undos: list[Undo], paths: Sequence[str]) -> list[Undo]:
    """Return the undos at these paths or below them. Raises: Invalid if there is none at one of the paths."""
    for path in paths_without_undo(undos, paths):
        raise Invalid(f"Nothing was recorded at '{path}' that could be undone.", param="paths")
    return in_paths(undos, paths)


def _require_no_conflicts(preview: RestorePreview, overwrite: Sequence[str]) -> None:
    allowed = {path.strip("/") for path in overwrite}
    left = {
        shown_path(path): reason
        for path, reason in preview.conflicts.items()
        if path in preview.hopeless or shown_path(path) not in allowed
    }
    if left:
        raise RestoreConflict.over(left)


def _would_be(preview: RestorePreview) -> Restored:
    gone = tuple(undo.path for undo in preview.undos if undo.target.kind is Kind.ABSENT)
    back = tuple(undo.path for undo in preview.undos if undo.target.kind is not Kind.ABSENT)
    return Restored(back, gone, conflicts=preview.conflicts, unkept=preview.unkept)


def _file_differences(before: Snapshot, after: Snapshot) -> list[FileDifference]:
    was = {image.path: image for image in before.images}
    now = {image.path: image for image in after.images}
    found = []
    for path in sorted({**was, **now}):
        old, new = was.get(path), now.get(path)
        there = [image.kind is not Kind.ABSENT if image else False for image in (old, new)]
        if not any(there) or (old and new and old.same_as(new)):
            continue
        status = "modified" if all(there) else "added" if there[1] else "deleted"
        found.append(FileDifference(path, status, new.additions if new else 0, new.deletions if new else 0))
    return found


def _words(done: Restored) -> str:
    parts = [f"{len(done.restored)} restored", f"{len(done.deleted)} deleted"]
    if done.kept:
        parts.append(f"{len(done.kept)} folders kept because they contain other files")
    if done.unkept:
        first = min(done.unkept)
        parts.append(
            f"{len(done.unkept)} in folders that git ignores left as they are, because their older content was not kept"
            f" ('{shown_path(first)}')"
        )
    if done.conflicts:
        first, reason = min(done.conflicts.items())
        parts.append(f"{len(done.conflicts)} left unchanged ('{shown_path(first)}': {reason.rstrip('.')})")
    if done.left:
        parts.append(f"{done.left} not reached because it was stopped (restore again to go on)")
    return f"Files were restored to an earlier state: {', '.join(parts)}."
