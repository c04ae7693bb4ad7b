"""Creates a linked git worktree with a branch of its own, for a chat that works beside the others. A person's own act."""

import logging
from collections.abc import Awaitable, Callable

from anycowork.chats.files.person_changes import PersonChangeWriter
from anycowork.chats.files.workspace_copy_service import copy_limiting_rules
from anycowork.domain.files import shown_name
from anycowork.domain.journal import Change
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal
from anycowork.git.repositories import GitRepositories
from anycowork.permissions.policy import admit_person
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.rules import Rules
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat_in_folder
from anycowork.turns.record_factory import RecordFactory

log = logging.getLogger(__name__)


class WorktreeService:
    """`find_workspace` returns an allowed folder; `register` makes a folder one."""

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
        register: Callable[[str, str], Awaitable[str]],
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
        """Return the new folder, an allowed workspace with the deny and ask rules of the first. With a chat it is recorded there.

        Raises: NotAllowed, NotFound, BadWorkspace, Conflict, FileExists, Invalid, ToolFault.
        """
        by = admit_person(principal)
        chat = await require_chat_in_folder(self._store, chat_id) if chat_id is not None else None
        root = chat.workspace if chat else await self._find_workspace(workspace)
        async with self._writer.writing(root, principal) as (opened, _):
            folder = await self._repositories.create_worktree(opened, branch)
        registered = await self._register(folder, by)
        await copy_limiting_rules(self._rules, self._clock, root, registered)
        log.info("%s created the worktree %s", by, registered)
        if chat is not None:
            note = f"You created the branch {shown_name(branch)} in a new worktree, {shown_name(registered)}."
            payload: Json = {"git": {"branch": shown_name(branch), "worktree": shown_name(registered), "by": by}}
            message = self._draft.message(chat, Speaker.SYSTEM, note, payload=payload)
            await self._journal.write(Change(chat.id, (message,), principal=by))
        return registered
