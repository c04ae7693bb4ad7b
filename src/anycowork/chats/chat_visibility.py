"""Says who may see a new chat, and checks who changes it: its owner, to a group that there is, and never wider than its workspace."""

from anycowork.domain.chats import Chat
from anycowork.domain.errors import Invalid, NotAllowed, NotFound
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.visibility import (
    EVERYONE,
    PRIVATE,
    group_in,
    is_wider,
    may_see,
    owner_of,
    read_visibility,
    viewer_of,
)
from anycowork.sandbox.workspaces import not_registered
from anycowork.store.sql.visibility import VisibilityTable
from anycowork.store.sql.workspaces import WorkspaceRoot


class ChatVisibility:
    def __init__(self, table: VisibilityTable) -> None:
        self._table = table

    async def require(self, principal: Principal, chat_id: str) -> None:
        """For what is done later in somebody's name. Raises: NotFound if the chat is hidden from them."""
        viewer = viewer_of(principal)
        if viewer is not None and await self._table.hides_chat(viewer, chat_id):
            raise NotFound("chat", chat_id)

    async def visible_folder(self, principal: Principal, folder: str) -> str:
        """Return the folder. Raises: BadWorkspace if it is hidden from who asks, as for one that nobody registered."""
        viewer = viewer_of(principal)
        if viewer is not None and await self._table.hides_folder(viewer, folder):
            raise not_registered(folder)
        return folder

    async def of_new_chat(self, principal: Principal, folder: str, visibility: str | None) -> str:
        """Return the visibility of a new chat in this folder. Raises: Invalid."""
        if visibility is not None:
            return await self._checked(visibility, folder)
        visibility = await self.of_new(principal)
        around = await self._table.around(folder)
        return next(
            (root_visibility for root_visibility, _ in around if is_wider(visibility, than=root_visibility)), visibility
        )

    async def of_new(self, principal: Principal) -> str:
        """Return the visibility of what nobody said more about. What is made with the server's own token is for everyone."""
        return EVERYONE if principal.person is None else await self._table.of_new()

    async def changed(self, principal: Principal, chat: Chat, visibility: str) -> str:
        """Raises: NotAllowed for others than the owner, Invalid."""
        require_owner(principal, chat.owner, "chat")
        return await self._checked(visibility, chat.workspace)

    async def known(self, visibility: str) -> str:
        """Return it as it is stored. Raises: Invalid, also for a group in which nobody is."""
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
        for narrower, root in await self._table.around(folder):
            if is_wider(visibility, than=narrower):
                shared = "is private" if narrower == PRIVATE else f"is shared with {narrower} only"
                raise Invalid(
                    f"The workspace '{root}' {shared}, and a chat is never more visible than its workspace.",
                    param="visibility",
                )
        return visibility


def require_owner(principal: Principal, owner: str, kind: str) -> None:
    """Raises: NotAllowed unless it is who owns this, or the holder of the server's token."""
    principal.require(Scope.DECIDE)
    if principal.person is not None and owner_of(principal) != owner:
        raise NotAllowed(
            f"Only the owner of this {kind}, or who has the server's token, changes who may see it. {principal.name} is neither."
        )


def visible_roots(principal: Principal, roots: list[WorkspaceRoot]) -> list[WorkspaceRoot]:
    viewer = viewer_of(principal)
    return [root for root in roots if may_see(viewer, visibility=root.visibility, owner=root.owner)]
