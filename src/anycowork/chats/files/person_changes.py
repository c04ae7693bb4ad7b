"""Writes the changes that a person makes directly, without an agent: recorded before it happens, kept for undo, finished after a crash."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from anycowork.checkpoints.snapshots import Snapshots
from anycowork.checkpoints.workspace_images import KeptWorkspace
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat
from anycowork.domain.errors import AnyCoworkError, Conflict, NotKept, StateChanged
from anycowork.domain.files import shown_name
from anycowork.domain.journal import AddFileOrigins, Change, RequireLease, VouchForFile
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.origins import NO_ORIGINS, Origins, join, unvouched
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal
from anycowork.domain.snapshots import PERSON_CHANGE, PersonChange, Snapshot, SnapshotMoment, Undo
from anycowork.domain.values import replace, value
from anycowork.permissions.policy import admit_person, admit_vouching
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.people import People
from anycowork.store.sql.store import Store
from anycowork.turns.record_factory import RecordFactory
from anycowork.workspace.folder import Folder

WAITS = 10.0  # seconds for an agent that writes in the same workspace


@value
class WrittenChange:
    """`snapshot` takes the change back; None if there was nothing to change."""

    snapshot: str | None = None


class PersonChangeWriter:
    """A person may change files while the agent works: both wait for the workspace's lease, and an approval or an edit of the agent
    is bound to the content that it saw."""

    def __init__(
        self,
        *,
        journal: Journal,
        store: Store,
        workspaces: Workspaces,
        snapshots: Snapshots,
        clock: Clock,
        people: People,
        waits: float = WAITS,
    ) -> None:
        self._journal = journal
        self._store = store
        self._workspaces = workspaces
        self._snapshots = snapshots
        self._clock = clock
        self._people = people
        self._waits = waits
        self._draft = RecordFactory(clock)

    @asynccontextmanager
    async def writing(self, root: str, principal: Principal | None) -> AsyncIterator[tuple[Folder, int]]:
        """Waits for the workspace's lease. Raises: Conflict if the agent keeps it too long; NotAllowed if the access of who asks has ended
        meanwhile; BadWorkspace."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._waits):
                    epoch = await stack.enter_async_context(self._workspaces.writing(root))
            except TimeoutError:
                raise Conflict(
                    "A command of the agent is writing in this workspace. Nothing was changed; try again when it has ended."
                ) from None
            if principal is not None:
                await self._people.require(principal)
            yield self._workspaces.open(root), epoch

    async def keep(self, workspace: Folder) -> tuple[KeptWorkspace | None, str | None]:
        """Keeps everything before something that nobody can foresee; else return why it cannot be undone.

        Raises: Conflict if the tasks of a job stand in the way.
        """
        try:
            return await self._snapshots.keep_workspace(workspace), None
        except NotKept as error:
            return None, error.message

    async def changes_since(
        self, kept_workspace: KeptWorkspace | None, act_id: str, chat: Chat, workspace: Folder
    ) -> tuple[tuple[Snapshot, ...], str | None]:
        """Returns the snapshots before and after what changed; none if nothing did, or why it cannot be undone."""
        if kept_workspace is None:
            return (), None
        cause = PersonChange(f"{PERSON_CHANGE}{act_id}", chat.id)
        try:
            pair = await self._snapshots.change_since(kept_workspace, cause, workspace) or ()
        except AnyCoworkError as error:
            return (), error.message
        return tuple(snapshot for snapshot in pair if snapshot is not None), None

    async def origins_of(
        self, workspace: Folder, snapshots: Sequence[Snapshot], *, unknown: bool, brought: Origins = NO_ORIGINS
    ) -> tuple[AddFileOrigins, ...]:
        """Returns what gives the changed files the origins of all that the act could read, and of what it `brought`; nothing where those
        are the person and the folder alone. What changed may be `unknown`: then all files have them."""
        paths = {"/"} if unknown else {image.path for snapshot in snapshots for image in snapshot.images}
        read = await self._store.origins.of_workspace(workspace.origin)
        carried = join(read, brought)
        return (
            (AddFileOrigins(workspace.origin, tuple(sorted(paths)), carried),)
            if paths and unvouched(carried, trusts_contents=True)
            else ()
        )

    async def write(
        self,
        principal: Principal,
        chat: Chat,
        workspace: Folder,
        epoch: int,
        undos: Sequence[Undo],
        *,
        verb: str,
        origins: Origins = NO_ORIGINS,
    ) -> WrittenChange:
        """Writes these files as the person's change, and adds `origins` to theirs.

        Raises: NotAllowed, StateChanged (nothing was changed), NotKept, NotEnoughSpace.
        """
        by = admit_person(principal)
        preview = await self._snapshots.preview(workspace, undos)
        if preview.conflicts:
            path, reason = min(preview.conflicts.items())
            raise StateChanged(f"'{shown_name(path)}': {reason.rstrip('.')}. Nothing was changed.")
        if not preview.undos:
            return WrittenChange()
        cause = PersonChange(f"{PERSON_CHANGE}{self._clock.new_id()}", chat.id)
        before = await self._snapshots.before(cause, workspace, [undo.path for undo in preview.undos])
        intended = self._snapshots.meant(before, preview.undos)
        paths = [undo.path for undo in preview.undos]
        labels = (AddFileOrigins(workspace.origin, tuple(paths), origins),) if origins else ()
        writes = (RequireLease(workspace.root, epoch), before, intended, *labels)
        await self._journal.write(Change(chat.id, writes, (event_factory.snapshot(before),), principal=by))
        done = await self._snapshots.restore(workspace, preview.undos)
        after = await self._snapshots.after(before, workspace) or replace(
            before, id=self._clock.new_id(), moment=SnapshotMoment.AFTER, images=()
        )
        payload: Json = {
            "person_change": {"paths": [shown_name(path) for path in paths], "snapshot": before.id, "by": by}
        }
        message = self._draft.message(chat, Speaker.SYSTEM, _words(verb, paths, after), payload=payload)
        await self._journal.write(Change(chat.id, (after, message), (event_factory.snapshot(after),), principal=by))
        if done.conflicts:
            path, reason = min(done.conflicts.items())
            raise StateChanged(f"'{shown_name(path)}' was left as it is: {reason}.")
        return WrittenChange(before.id)

    async def vouch(self, principal: Principal, chat: Chat, workspace: Folder, path: str) -> None:
        """Records that the person vouches for what a file holds. Raises: NotAllowed."""
        by = admit_vouching(principal)
        payload: Json = {"person_change": {"vouched": shown_name(path), "by": by}}
        message = self._draft.message(chat, Speaker.SYSTEM, f"You vouch for {shown_name(path)}.", payload=payload)
        await self._journal.write(Change(chat.id, (VouchForFile(workspace.origin, path), message), principal=by))


def _words(verb: str, paths: Sequence[str], after: Snapshot) -> str:
    file_names = ", ".join(shown_name(path) for path in paths[:3]) + (
        f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    )
    return f"You {verb} {file_names} (+{after.additions} −{after.deletions})."
