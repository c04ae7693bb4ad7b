"""Decides which folders may be workspaces: those inside a root that a person registered. `workspace/` handles the folders themselves."""

from collections.abc import Sequence
from pathlib import Path

from anycowork.config.settings import Settings
from anycowork.domain.errors import BadWorkspace
from anycowork.domain.store_ports import RootRows, WorkspaceRoot
from anycowork.sandbox.workspaces import check_root, home_folder, under_a_root

PERSON = "person:owner"


class WorkspaceRoots:
    """The folders that a person registered, and the default folder of a chat."""

    def __init__(self, roots: RootRows, settings: Settings) -> None:
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

    async def register(self, root: str, *, registered_by: str) -> str:
        """Registers a folder and returns its real path. Raises: BadWorkspace."""
        real = str(check_root(root, home=home_folder(), data_dir=self._data_dir))
        await self._roots.register(real, registered_by=registered_by)
        return real

    async def find(self, wanted: str | None) -> str:
        """Returns the real path of the folder for a new chat. Raises: BadWorkspace."""
        real = check_root(wanted or self._default, home=home_folder(), data_dir=self._data_dir)
        if not under_a_root(real, [root.root for root in await self._roots.all()]):
            raise BadWorkspace(
                f"'{real}' is not inside a registered folder. Register it first: POST /workspaces, or start with --workspace.",
                param="workspace",
            )
        return str(real)
