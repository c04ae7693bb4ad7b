"""Gives a chat's work a folder beside: a copy with the files as they were at a checkpoint, or a linked git worktree. A person's own act."""

import logging
from collections.abc import Awaitable, Callable

from anycowork.chats.files.person_changes import PersonChangeWriter
from anycowork.chats.files.rollback_service import RollbackService
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.chats import Chat
from anycowork.domain.errors import RestoreConflict
from anycowork.domain.files import shown_name
from anycowork.domain.journal import Change
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal
from anycowork.domain.rules import Effect, RuleScope
from anycowork.domain.snapshots import Undo, shown_path
from anycowork.domain.values import replace
from anycowork.git.repositories import GitRepositories
from anycowork.permissions.policy import admit_person
from anycowork.sandbox.layers.workspace_copies import WorkspaceCopier
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.turns.record_factory import RecordFactory

log = logging.getLogger(__name__)


class WorkspaceCopyService:
    """`register` makes a folder an allowed workspace, as visible as the one that it is made of."""

    def __init__(
        self,
        *,
        copier: WorkspaceCopier,
        rollback: RollbackService,
        workspaces: Workspaces,
        writer: PersonChangeWriter,
        snapshots: Snapshots,
        rules: Rules,
        clock: Clock,
        register: Callable[[str, str, str], Awaitable[str]],
    ) -> None:
        self._copier = copier
        self._rollback = rollback
        self._workspaces = workspaces
        self._writer = writer
        self._snapshots = snapshots
        self._rules = rules
        self._clock = clock
        self._register = register

    async def create(self, principal: Principal, chat: Chat, snapshot_id: str | None) -> str:
        """Returns the new workspace: the files as they were before that snapshot's change, or as they are now.

        It gets the deny and ask rules of the workspace; what was allowed there has to be allowed again.

        Raises: NotAllowed, NotFound, SnapshotPruned, SnapshotDamaged, BadWorkspace, ToolFault, RestoreConflict, Conflict; then there is
        no copy.
        """
        by = admit_person(principal)
        async with self._writer.writing(chat.workspace, principal):  # no agent writes in it meanwhile
            undos = await self._rollback.undos_since(chat.id, snapshot_id) if snapshot_id else []
            copy = await self._copier.copy(chat.workspace)
        try:
            await self._go_back(copy, undos)
            root = await self._register(copy, by, chat.workspace)
            await copy_limiting_rules(self._rules, self._clock, chat.workspace, root)
        except BaseException:
            await self.remove(copy)
            raise
        return root

    async def remove(self, copy: str) -> None:
        await self._copier.remove(copy)

    async def _go_back(self, copy: str, undos: list[Undo]) -> None:
        """In a copy nobody's change is lost, so what somebody else changed since is no conflict."""
        workspace = self._workspaces.open(copy)
        preview = await self._snapshots.preview(workspace, undos)
        hopeless = {path: preview.conflicts[path] for path in preview.hopeless}
        done = None if hopeless else await self._snapshots.restore(workspace, preview.undos)
        failed = hopeless or (done.conflicts if done else None)
        if failed:
            raise RestoreConflict.over({shown_path(path): reason for path, reason in failed.items()})


async def copy_limiting_rules(rules: Rules, clock: Clock, origin: str, copy: str) -> None:
    """Gives a copy of a workspace its deny and ask rules: it never has more permissions than its original."""
    for rule in await rules.all():
        if rule.scope is RuleScope.WORKSPACE and rule.workspace == origin and rule.effect is not Effect.ALLOW:
            await rules.add(replace(rule, id=clock.new_id(), workspace=copy))


class WorktreeService:
    """`find_workspace` returns an allowed folder; `register` makes a folder one, as visible as the one that it is made of."""

    def __init__(
        self,
        *,
        store: Store,
        rules: Rules,
        journal: Journal,
        repositories: GitRepositories,
        writer: PersonChangeWriter,
        clock: Clock,
        find_workspace: Callable[[str | None], Awaitable[str]],
        register: Callable[[str, str, str], Awaitable[str]],
    ) -> None:
        self._store = store
        self._rules = rules
        self._journal = journal
        self._repositories = repositories
        self._writer = writer
        self._clock = clock
        self._draft = RecordFactory(clock)
        self._find_workspace = find_workspace
        self._register = register

    async def create(
        self, principal: Principal, workspace: str | None, branch: str, *, chat_id: str | None = None
    ) -> str:
        """Returns the new folder, an allowed workspace with the deny and ask rules of the first. With a chat it is recorded there.

        Raises: NotAllowed, NotFound, BadWorkspace, Conflict, FileExists, Invalid, ToolFault.
        """
        by = admit_person(principal)
        chat = await require_chat_in_folder(self._store, chat_id) if chat_id is not None else None
        root = chat.workspace if chat else await self._find_workspace(workspace)
        async with self._writer.writing(root, principal) as (opened, _):
            folder = await self._repositories.create_worktree(opened, branch)
        registered = await self._register(folder, by, root)
        await copy_limiting_rules(self._rules, self._clock, root, registered)
        log.info("%s created the worktree %s", by, registered)
        if chat is not None:
            note = f"You created the branch {shown_name(branch)} in a new worktree, {shown_name(registered)}."
            payload: Json = {"git": {"branch": shown_name(branch), "worktree": shown_name(registered), "by": by}}
            message = self._draft.message(chat, Speaker.SYSTEM, note, payload=payload)
            await self._journal.write(Change(chat.id, (message,), principal=by))
        return registered
