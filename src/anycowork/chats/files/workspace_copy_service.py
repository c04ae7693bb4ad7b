"""Copies a chat's workspace into a new folder, with the files as they were at a checkpoint. The original is only read."""

from collections.abc import Awaitable, Callable

from anycowork.chats.files.person_changes import PersonChangeWriter
from anycowork.chats.files.rollback_service import RollbackService
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.chats import Chat
from anycowork.domain.errors import RestoreConflict
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal
from anycowork.domain.rules import Effect, RuleScope
from anycowork.domain.snapshots import Undo, shown_path
from anycowork.domain.values import replace
from anycowork.permissions.policy import admit_person
from anycowork.sandbox.layers.workspace_copies import WorkspaceCopier
from anycowork.sandbox.workspaces import Workspaces
from anycowork.store.sql.rules import Rules


class WorkspaceCopyService:
    """`register` makes a folder an allowed workspace."""

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
        register: Callable[[str, str], Awaitable[str]],
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
        """Return the new workspace: the files as they were before that snapshot's change, or as they are now.

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
            root = await self._register(copy, by)
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
    """Give a copy of a workspace its deny and ask rules: it never has more permissions than its original."""
    for rule in await rules.all():
        if rule.scope is RuleScope.WORKSPACE and rule.workspace == origin and rule.effect is not Effect.ALLOW:
            await rules.add(replace(rule, id=clock.new_id(), workspace=copy))
