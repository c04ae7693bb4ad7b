"""Says who may see a new chat, and checks who changes it: its owner, to a group that there is, and never wider than its workspace."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from anycowork.domain.chats import Chat
from anycowork.domain.errors import Invalid, NotFound
from anycowork.domain.principals import Principal
from anycowork.domain.visibility import (
    EVERYONE,
    PRIVATE,
    group_in,
    is_wider,
    may_see,
    owner_of,
    read_visibility,
    require_owner,
    viewer_of,
)
from anycowork.sandbox.workspaces import not_registered
from anycowork.store.sql.visibility import VisibilityTable, is_inside
from anycowork.store.sql.workspaces import WorkspaceRoot

T = TypeVar("T")
WorkspaceOwner = tuple[str, str]
"""A visibility, and the id of who may change it."""


class ChatVisibility:
    def __init__(self, table: VisibilityTable, default: Callable[[], str | None]) -> None:
        """`default`: who sees what a person starts, if that was set."""
        self._table, self._default = table, default

    async def require(self, principal: Principal, chat_id: str) -> None:
        """For what is done later in somebody's name. Raises: NotFound if the chat is hidden from them."""
        viewer = viewer_of(principal)
        if viewer is not None and await self._table.hides_chat(viewer, chat_id):
            raise NotFound("chat", chat_id)

    async def visible_only(
        self,
        principal: Principal,
        entries: Iterable[T],
        chat_of: Callable[[T], str | None],
        folder_of: Callable[[T], str | None] = lambda entry: None,
    ) -> list[T]:
        """Returns the entries whose chat and folder are not hidden from who asks."""
        listed, viewer = list(entries), viewer_of(principal)
        if viewer is None or not listed:
            return listed
        chat_ids = list({chat_id for entry in listed if (chat_id := chat_of(entry)) is not None})
        hidden = await self._table.hidden_chats(viewer, chat_ids) if chat_ids else set()
        roots = await self._table.hidden_roots(viewer)
        return [
            entry for entry in listed if chat_of(entry) not in hidden and not is_inside(folder_of(entry) or "", roots)
        ]

    async def visible_folder(self, principal: Principal, folder: str) -> str:
        """Returns the folder. Raises: BadWorkspace if it is hidden from who asks, as for one that nobody registered."""
        viewer = viewer_of(principal)
        if viewer is not None and await self._table.hides_folder(viewer, folder):
            raise not_registered(folder)
        return folder

    async def of_new_chat(self, principal: Principal, folder: str, visibility: str | None) -> str:
        """Returns the visibility of a new chat in this folder. Raises: Invalid."""
        if visibility is not None:
            return await self._checked(visibility, folder)
        visibility = await self.of_new(principal)
        around = await self._table.around(folder)
        return next(
            (root_visibility for root_visibility, *_ in around if is_wider(visibility, than=root_visibility)),
            visibility,
        )

    async def of_new(self, principal: Principal) -> str:
        """Returns the visibility of what nobody said more about. What is made with the server's own token is for everyone."""
        return EVERYONE if principal.person is None else self._default() or await self._table.of_new()

    async def of_new_workspace(
        self, principal: Principal, folder: str, roots: Sequence[WorkspaceRoot]
    ) -> WorkspaceOwner:
        """Returns the visibility and the owner of a workspace of which nobody said more: those of the one around it, as for a copy. It hides
        none inside it that everyone sees."""
        around = [root for root in roots if is_inside(folder, (root.root,))]
        if (
            innermost := max(around, key=lambda root: len(root.root), default=None)
        ) and innermost.visibility != EVERYONE:
            return innermost.visibility, innermost.owner
        holds_open = any(root.visibility == EVERYONE and is_inside(root.root, (folder,)) for root in roots)
        visibility = EVERYONE if around or holds_open else await self.of_new(principal)
        return visibility, owner_of(principal)

    async def changed(self, principal: Principal, chat: Chat, visibility: str) -> str:
        """Raises: NotAllowed for others than the owner, Invalid."""
        require_owner(principal, chat.owner, "chat")
        return await self._checked(visibility, chat.workspace)

    async def known(self, visibility: str) -> str:
        """Returns it as it is stored. Raises: Invalid, also for a group in which nobody is."""
        visibility = read_visibility(visibility)
        group = group_in(visibility)
        if group is not None and group not in await self._table.groups():
            raise Invalid(
                f"Nobody here is in a group '{group}'. An admin puts people into groups: 'anycowork people groups NAME {group}'.",
                param="visibility",
            )
        return visibility

    async def _checked(self, visibility: str, folder: str) -> str:
        visibility = await self.known(visibility)
        for narrower, root, _ in await self._table.around(folder):
            if is_wider(visibility, than=narrower):
                shared = "is private" if narrower == PRIVATE else f"is shared with {narrower} only"
                raise Invalid(
                    f"The workspace '{root}' {shared}, and a chat is never more visible than its workspace.",
                    param="visibility",
                )
        return visibility


def visible_roots(principal: Principal, roots: Sequence[WorkspaceRoot]) -> list[WorkspaceRoot]:
    """Returns those that are not hidden, and lie in none that is."""
    viewer = viewer_of(principal)
    hidden = [root.root for root in roots if not may_see(viewer, visibility=root.visibility, owner=root.owner)]
    return [root for root in roots if not is_inside(root.root, hidden)]
