"""Decides which folders may be workspaces: those inside a root that a person registered. `workspace/` handles the folders themselves."""

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from anycowork.config.settings import Settings
from anycowork.domain.errors import BadWorkspace, Conflict, NotFound
from anycowork.domain.job_workers import TravelSettings
from anycowork.domain.principals import OWNER, Principal
from anycowork.domain.visibility import EVERYONE, require_owner
from anycowork.sandbox.workspaces import check_root, home_folder, not_registered, under_a_root
from anycowork.store.sql.workspaces import RegisteredRoots, WorkspaceRoot, workspace_id_of

PERSON = "person:owner"
_MOST_FOLDERS, _MOST_ENTRIES = 50, 10_000  # offered, and looked at


class WorkspaceRoots:
    """The folders that a person registered, and the default folder of a chat."""

    def __init__(self, roots: RegisteredRoots, settings: Settings) -> None:
        self._roots = roots
        self._data_dir = settings.data_dir
        self._default = settings.workspace or Path.cwd()
        self._named = settings.workspace is not None

    async def register_default(self) -> None:
        """Registers the folder named at startup, or the current folder if it may be a workspace. Raises: BadWorkspace."""
        try:
            self._default = Path(await self.register(str(self._default), registered_by=PERSON))
        except BadWorkspace:
            if self._named:
                raise
            self._default = home_folder() / "AnyCowork"
            self._default.mkdir(exist_ok=True)
            self._default = Path(await self.register(str(self._default), registered_by=PERSON))

    async def all(self) -> Sequence[WorkspaceRoot]:
        return await self._roots.all()

    async def register(
        self, root: str, *, registered_by: str, visibility: str = EVERYONE, owner: str = OWNER.id
    ) -> str:
        """Registers a folder and returns its real path. Raises: BadWorkspace."""
        real = self.real_path(root)
        await self._roots.register(real, registered_by=registered_by, visibility=visibility, owner=owner)
        return real

    def real_path(self, root: str) -> str:
        """Returns the real path of a folder that may be registered. Raises: BadWorkspace."""
        return str(check_root(root, home=home_folder(), data_dir=self._data_dir))

    async def trust_contents(self, workspace_id: str, trusts: bool) -> str:
        """Vouches for what lies in a folder, or takes that back; returns its path. Raises: NotFound."""
        registered = await self._require(workspace_id)
        await self._roots.set_trusts_contents(registered.root, trusts)
        return registered.root

    async def set_visibility(self, principal: Principal, root: str, visibility: str) -> None:
        """Says who sees a registered folder and the chats in it. Raises: NotFound, NotAllowed."""
        registered = await self._require(workspace_id_of(root))
        require_owner(principal, registered.owner, "workspace")
        await self._roots.set_visibility(registered.root, visibility)

    async def set_check(self, workspace_id: str, command: str) -> str:
        """Sets the command that checks the work in a folder, an empty one for what is found there; returns its path. Raises: NotFound."""
        registered = await self._require(workspace_id)
        await self._roots.set_check(registered.root, command.strip())
        return registered.root

    async def root_of(self, workspace_id: str) -> str:
        """Returns its path. Raises: NotFound."""
        return (await self._require(workspace_id)).root

    async def set_travel(self, workspace_id: str, *, setup: str | None, leave_out: Sequence[str] | None) -> str:
        """Changes how the folder travels to joined workers, None leaves a part as it is; returns its path. Raises: NotFound."""
        registered = await self._require(workspace_id)
        before = registered.travel
        travel = TravelSettings(
            before.setup if setup is None else setup.strip(),
            before.leave_out if leave_out is None else tuple(leave_out),
        )
        await self._roots.set_travel(registered.root, travel)
        return registered.root

    async def _require(self, workspace_id: str) -> WorkspaceRoot:
        registered = next((root for root in await self._roots.all() if root.id == workspace_id), None)
        if registered is None:
            raise NotFound("workspace", workspace_id)
        return registered

    def folders_like(self, typed: str) -> list[str]:
        """Returns the folders that a path may be completed to, sorted; none if it cannot be read. Hidden ones only if asked for. Blocking."""
        expanded = f"{home_folder()}{typed[1:]}" if typed == "~" or typed.startswith("~/") else typed
        folder, _, beginning = expanded.rpartition("/")
        if not expanded.startswith("/") or "\0" in expanded:
            return []
        try:
            with os.scandir(folder or "/") as entries:
                names = [
                    entry.name
                    for entry in islice(entries, _MOST_ENTRIES)
                    if entry.name.lower().startswith(beginning.lower())
                    and entry.name.startswith(".") == beginning.startswith(".")
                    and _is_utf8(entry.name)
                    and entry.is_dir()
                ]
        except OSError:
            return []
        return [f"{folder}/{name}" for name in sorted(names)[:_MOST_FOLDERS]]

    async def remove(self, workspace_id: str) -> None:
        """Takes a folder off the list; its files and chats stay. Raises: NotFound, Conflict for the folder of new chats."""
        registered = await self._require(workspace_id)
        if Path(registered.root) == self._default:
            raise Conflict(
                f"'{registered.root}' is where new chats begin, so it stays on the list. Start the server with another --workspace to remove it."
            )
        await self._roots.remove(registered.root)

    async def find(self, folder: str | None) -> str:
        """Returns the real path of the folder for a new chat. Raises: BadWorkspace."""
        real = check_root(folder or self._default, home=home_folder(), data_dir=self._data_dir)
        if not under_a_root(real, [root.root for root in await self._roots.all()]):
            raise not_registered(real)
        return str(real)


def _is_utf8(name: str) -> bool:
    """Whether the name can be written in an answer: a file system takes any bytes for a name."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)
