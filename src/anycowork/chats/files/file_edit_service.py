"""What a person does with the chat's files in the page: save a text, look at the net changes since the chat began, take them back."""

import asyncio
from collections.abc import Sequence
from hashlib import sha256

from anycowork.chats.files.chat_changes import ChangedPath, RecordedPathsCache, is_changed
from anycowork.chats.files.file_service import protection_of
from anycowork.chats.files.person_changes import PersonChangeWriter, WrittenChange
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.chats import Chat
from anycowork.domain.errors import ContentChanged, FileMissing, Invalid, NotFound, StateChanged
from anycowork.domain.files import ChangedBy, Protection, shown_name
from anycowork.domain.messages import Json
from anycowork.domain.origins import PERSON, Origins, join
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.snapshots import (
    PathImage,
    PathKind,
    RecordedChange,
    RestorePreview,
    Snapshot,
    SnapshotMoment,
    Undo,
    absent,
)
from anycowork.domain.values import replace, value
from anycowork.files.browser import FileBrowser
from anycowork.permissions.policy import PolicyEvaluator
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.workspace.folder import Folder


@value
class SavedFile:
    path: str
    sha256: str
    written: WrittenChange

    def to_json(self) -> Json:
        return {"path": self.path, "sha256": self.sha256, "snapshot": self.written.snapshot}


@value
class NetChange:
    """How one file differs from its state when the chat began; `base` and `now` are these states. `diff` is None if it was not asked for.

    The additions and deletions are lines."""

    base: PathImage
    now: PathImage
    changed_by: ChangedBy
    protection: Protection | None
    additions: int = 0
    deletions: int = 0
    diff: str | None = None
    ignored: bool = False

    def to_json(self) -> Json:
        exists = (self.base.kind is not PathKind.ABSENT, self.now.kind is not PathKind.ABSENT)
        return {
            "path": self.now.path,
            "shown": shown_name(self.now.path),
            "status": "modified" if all(exists) else "added" if exists[1] else "deleted",
            "additions": self.additions,
            "deletions": self.deletions,
            "changed_by": self.changed_by,
            "protected": self.protection,
            "state": state_of(self.base, self.now),
            "diff": self.diff,
            "ignored": self.ignored,
        }


@value
class NetChanges:
    """One page; `next` is the path after which the next page begins."""

    changes: tuple[NetChange, ...]
    next: str | None = None


def state_of(base: PathImage, now: PathImage) -> str:
    """Names both sides of a difference: taking back what was shown needs exactly these two."""
    sides = [f"{side.kind.value}:{side.hash or ''}:{side.mode:o}" for side in (base, now)]
    return sha256("\n".join(sides).encode()).hexdigest()


class FileEditService:
    def __init__(
        self,
        *,
        store: Store,
        rules: Rules,
        workspaces: Workspaces,
        snapshots: Snapshots,
        browser: FileBrowser,
        recorded: RecordedPathsCache,
        writer: PersonChangeWriter,
    ) -> None:
        self._store = store
        self._policy = PolicyEvaluator(rules)
        self._workspaces = workspaces
        self._snapshots = snapshots
        self._browser = browser
        self._recorded = recorded
        self._writer = writer

    async def save(
        self, principal: Principal, chat_id: str, path: str, text: str, *, expected: str | None
    ) -> SavedFile:
        """Saves a text as the person's change. `expected` is the hash of the content that they edited, None for a new file.

        Raises: NotFound; ContentChanged if the file is not what they edited (nothing was saved); ToolFault, OutsideWorkspace, Conflict.
        """
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        async with self._writer.writing(chat.workspace, principal) as (workspace, epoch):
            try:
                edit = await self._browser.prepare_edit(workspace, path, text, expected=expected)
                target = await self._snapshots.keep(edit.path, edit.data, mode=edit.mode, workspace=workspace)
                now = absent(edit.path) if edit.before is None else replace(target, hash=edit.before)
                undo = Undo(target, now)
                origins = join(await self._store.origins.of_paths(workspace.origin, [edit.path]), (PERSON,))
                written = await self._writer.write(
                    principal, chat, workspace, epoch, [undo], verb="edited", origins=origins
                )
            except FileMissing:
                raise NotFound("file", shown_name(path)) from None
            except StateChanged as changed:
                raise ContentChanged(changed.message) from None
        return SavedFile(edit.path, target.hash or "", written)

    async def vouch(self, principal: Principal, chat_id: str, path: str, *, seen: str) -> Origins:
        """Makes what a file holds the person's own: they vouch for it. `seen` is the hash of what they read.

        Raises: NotFound; ContentChanged if the file is not what they read (nobody vouches for it then); OutsideWorkspace, Conflict.
        """
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        async with self._writer.writing(chat.workspace, principal) as (workspace, _):
            try:
                content = await self._browser.file(workspace, path)
            except FileMissing:
                raise NotFound("file", shown_name(path)) from None
            if content.sha256 != seen:
                raise ContentChanged(f"'{shown_name(path)}' changed since you read it. Read it again first.")
            await self._writer.vouch(principal, chat, workspace, content.path)
        return await self._store.origins.of_paths(workspace.origin, [content.path])

    async def changes(self, principal: Principal, chat_id: str, *, after: str | None, limit: int) -> NetChanges:
        """Returns the files that differ from their state when the chat began, without their diffs. Raises: NotFound, SnapshotDamaged."""
        chat, workspace = await self._open(principal, chat_id)
        recorded = (await self._recorded.of(chat)).paths
        paths = sorted(path for path, changed in recorded.items() if _is_file(changed))
        page = [path for path in paths if after is None or path > after][: limit + 1]
        net_changes = await self._net(chat, workspace, {path: recorded[path] for path in page[:limit]})
        return NetChanges(tuple(net_changes), page[limit - 1] if len(page) > limit else None)

    async def change(self, principal: Principal, chat_id: str, path: str, *, reveal: bool) -> NetChange:
        """Returns one file's net change with its diff; of a protected file only with `reveal`. Raises: NotFound, SnapshotDamaged."""
        chat, workspace = await self._open(principal, chat_id)
        net_change = await self._net_of(chat, workspace, path)
        if net_change.protection is not None and not reveal:
            return net_change
        sides = [_snapshot(image) for image in (net_change.base, net_change.now)]
        text = await self._snapshots.compare(RecordedChange(*sides), {path}, workspace)
        return replace(net_change, diff=text)

    async def revert(
        self, principal: Principal, chat_id: str, path: str, *, state: str, hunks: Sequence[int] | None
    ) -> WrittenChange:
        """Takes a file back to its state when the chat began, or only these hunks of its diff. `state` names what the person saw.

        Raises: NotFound; ContentChanged if it is not what they saw (nothing was changed); Invalid, ToolFault, Conflict.
        """
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        async with self._writer.writing(chat.workspace, principal) as (workspace, epoch):
            net_change = await self._net_of(chat, workspace, path)
            if state_of(net_change.base, net_change.now) != state:
                raise ContentChanged(
                    f"'{shown_name(path)}' changed since you saw this. Nothing was changed; look again."
                )
            target = net_change.base if hunks is None else await self._with_hunks_back(net_change, hunks, workspace)
            undo = Undo(target, net_change.now)
            try:
                return await self._writer.write(principal, chat, workspace, epoch, [undo], verb="took back changes of")
            except StateChanged as changed:
                raise ContentChanged(changed.message) from None

    async def _with_hunks_back(self, net_change: NetChange, hunks: Sequence[int], workspace: Folder) -> PathImage:
        data = await self._snapshots.without_hunks(net_change.base, net_change.now, hunks, workspace)
        if data is None:
            raise Invalid("There are no such hunks in this file's difference.", param="hunks")
        return await self._snapshots.keep(net_change.now.path, data, mode=net_change.now.mode, workspace=workspace)

    async def _open(self, principal: Principal, chat_id: str) -> tuple[Chat, Folder]:
        principal.require(Scope.DECIDE)
        chat = await require_chat_in_folder(self._store, chat_id)
        return chat, self._workspaces.open(chat.workspace)

    async def _net_of(self, chat: Chat, workspace: Folder, path: str) -> NetChange:
        changed = (await self._recorded.of(chat)).paths.get(path)
        net_changes = [] if changed is None else await self._net(chat, workspace, {path: changed})
        if not net_changes:
            raise NotFound("change", shown_name(path))
        return net_changes[0]

    async def _net(self, chat: Chat, workspace: Folder, paths: dict[str, ChangedPath]) -> list[NetChange]:
        hidden = await self._policy.hidden(chat.id, workspace.origin)
        preview = await self._snapshots.preview(
            workspace, [Undo(changed_path.base, changed_path.left) for changed_path in paths.values()]
        )
        counts = _counts(preview)
        ignored = await asyncio.to_thread(workspace.ignored_among, [undo.path for undo in preview.undos])
        return [
            NetChange(
                undo.target,
                undo.expected or absent(undo.path),
                _by(paths[undo.path], undo.expected),
                protection_of(undo.path, hidden),
                *counts.get(undo.path, (0, 0)),
                ignored=any(undo.path == entry or undo.path.startswith(f"{entry}/") for entry in ignored),
            )
            for undo in preview.undos
        ]


def _counts(preview: RestorePreview) -> dict[str, tuple[int, int]]:
    """The preview is about going back, so that what it adds was deleted."""
    return {file.path: (file.deletions, file.additions) for file in preview.files}


def _by(changed: ChangedPath, now: PathImage | None) -> ChangedBy:
    as_left = changed.left is None or (now is not None and now.same_as(changed.left))
    return changed.changed_by if as_left or changed.changed_by is ChangedBy.YOU else ChangedBy.BOTH


def _is_file(changed: ChangedPath) -> bool:
    sides = (changed.base, changed.left or changed.base)
    return all(side.kind is not PathKind.FOLDER for side in sides) and (
        is_changed(changed) or changed.base.kind is not PathKind.ABSENT
    )


def _snapshot(image: PathImage) -> Snapshot:
    return Snapshot("", "", "", SnapshotMoment.BEFORE, "", images=(image,))
