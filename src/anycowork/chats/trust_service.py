"""Lets a person trust a file of a workspace with its exact content. Does not read the file."""

import logging
from collections.abc import Awaitable, Callable

from anycowork.domain.errors import Invalid
from anycowork.domain.journal import Change
from anycowork.domain.messages import Json, Speaker
from anycowork.domain.ports import Clock
from anycowork.domain.principals import Principal, Scope
from anycowork.store.sql.journal import Journal
from anycowork.store.sql.store import Store
from anycowork.turns.lookup import require_chat
from anycowork.turns.record_factory import RecordFactory
from anycowork.workspace.trusted_files import TrustedFileStore

log = logging.getLogger(__name__)


class TrustService:
    def __init__(
        self,
        *,
        files: TrustedFileStore,
        journal: Journal,
        store: Store,
        clock: Clock,
        find_workspace: Callable[[str | None], Awaitable[str]],
    ) -> None:
        self._files = files
        self._journal = journal
        self._store = store
        self._draft = RecordFactory(clock)
        self._find_workspace = find_workspace

    async def trust(
        self, principal: Principal, workspace: str, path: str, sha256: str | None, *, chat_id: str | None = None
    ) -> str:
        """Trust exactly this content, or revoke the trust; return the folder's real path. Only a person may do this.

        With a chat, it is recorded in that chat's history and audit chain before it takes effect. Without a chat there is no audit chain.

        Raises: NotAllowed, BadWorkspace, NotFound, ContentChanged, Invalid.
        """
        principal.require(Scope.MANAGE)
        folder = await self._find_workspace(workspace)
        await self._files.require(folder, path, sha256)
        if chat_id is not None:
            await self._write_down(principal, chat_id, folder, path, sha256)
        await self._files.set_trust(folder, path, sha256)
        log.info("%s %s %s in %s", principal.label(), "trusts" if sha256 else "no longer trusts", path, folder)
        return folder

    async def _write_down(self, principal: Principal, chat_id: str, folder: str, path: str, sha256: str | None) -> None:
        chat = await require_chat(self._store, chat_id)
        if chat.workspace != folder:
            raise Invalid(f"This chat works in another folder ('{chat.workspace}').", param="trust.context_id")
        note = (
            f"{path} of this folder is trusted with its current content (SHA-256 {sha256[:12]}…)."
            if sha256
            else f"{path} of this folder is no longer trusted."
        )
        payload: Json = {"trust": {"workspace": folder, "path": path, "sha256": sha256}}
        message = self._draft.message(chat, Speaker.SYSTEM, note, payload=payload)
        await self._journal.write(Change(chat_id, (message,), principal=principal.label()))
