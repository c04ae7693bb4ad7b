"""Decides which folders may be workspaces, and serialises their writers. The store keeps the lease itself."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anycowork.domain.errors import BadWorkspace, ToolFault
from anycowork.domain.ports import RolledForward
from anycowork.domain.tools import Intent
from anycowork.sandbox.commit.transaction import finish
from anycowork.sandbox.layers.layer_mounts import LayerMounts, LayersNotMounted, TaskLayer
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.sandbox.layers.workspace_layers import WorkspaceLayers
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import shown

if TYPE_CHECKING:
    from anycowork.store.postgres.layer_requests import LayerRequests


class Workspaces:
    """Opens the folders of this machine, and decides who writes in them.

    `take_lease` makes this process the workspace's writer in the store and returns the new epoch; `end_lease` lets another server write.
    `peers` are the other servers' layers, and `others_write` tells whether one of them holds the lease of a folder that overlaps.
    `data_folder` is the id of the data folder, if others use the database too.
    """

    def __init__(
        self,
        take_lease: Callable[[str], Awaitable[int]],
        staging: Staging | None = None,
        end_lease: Callable[[str], Awaitable[object]] | None = None,
        peers: "LayerRequests | None" = None,
        others_write: Callable[[str], Awaitable[bool]] | None = None,
        data_folder: str | None = None,
    ) -> None:
        self.data_folder = data_folder
        self._take_lease = take_lease
        self._end_lease = end_lease
        self._staging = staging
        self.mounts = LayerMounts()
        self.layers = WorkspaceLayers(
            staging, lambda root: self.open(root).jail, self.writing, peers=peers, others_write=others_write
        )
        self._line: list[_Writer] = []

    def open(self, root: str) -> Folder:
        """Raises: BadWorkspace if it is missing, not a folder, now a link to another one, or a task's own on another server."""
        real = _existing_folder(root)
        if self._staging is not None and self._staging.task_folders.is_of_another(root):
            raise BadWorkspace(
                f"'{shown(root)}' belongs to a task of another server: only that one can show or keep what was changed there. Ask that server,"
                " or start it again.",
                param="workspace",
            )
        if str(real) != root:  # otherwise a writer of a parent folder could choose where this chat works
            raise BadWorkspace(
                f"'{shown(root)}' is no longer the folder of this chat: a link leads from there to '{shown(str(real))}'. "
                "Put the folder back, or open a new chat in the other one.",
                param="workspace",
            )
        try:
            layer = self.layer(root)
            if layer is not None:
                return Folder(root, jail=self.mounts.jail(layer))
            origin = self._staging.task_folders.origin_of(root) if self._staging is not None else None
            return Folder(root, jail=Jail(root, is_real=True, origin=origin))
        except LayersNotMounted as fault:
            raise BadWorkspace(fault.message, param="workspace") from None
        except OSError as error:
            raise BadWorkspace(
                f"The workspace '{shown(root)}' cannot be opened: {error.strerror}.", param="workspace"
            ) from None

    def layer(self, root: str) -> TaskLayer | None:
        """Returns the task's layer that `root` names; None if it is a folder with all its files. Raises: OSError."""
        lower = self._staging.task_folders.lower_of(root) if self._staging is not None else None
        if self._staging is None or lower is None:
            return None
        return TaskLayer(root, self._staging.task_folders.origin_of(root) or root, lower)

    def writing(self, root: str) -> AbstractAsyncContextManager[int]:
        """Waits until nobody else writes in this workspace, under any name, nor in one that contains it or is inside it; yields the lease's
        epoch.
        """
        return self._writing(str(_existing_folder(root)))

    def roll_forward(self, root: str, intent: Intent) -> RolledForward:
        """Finishes an interrupted commit. Blocking; needs the lease. Raises: BadWorkspace, ToolFault."""
        if self._staging is None:
            raise ToolFault(
                "This server has no place where commands' changes wait, so a cut-off commit cannot be finished."
            )
        return finish(self._staging, self.open(root).jail, intent)

    def let_go(self, intent: Intent, *, keep: bool) -> str | None:
        """Ends the waiting of held changes without making them: removes them, or keeps them for a person and returns where. Blocking."""
        folder = self._staging.found(intent.staged) if self._staging is not None and intent.staged else None
        if folder is None or self._staging is None:
            return None
        if keep:
            return str(self._staging.keep(folder) / "upper")
        remove_tree(folder)
        return None

    @asynccontextmanager
    async def _writing(self, real: str) -> AsyncIterator[int]:
        writer = _Writer(f"{real}/", asyncio.Event())
        self._line.append(writer)
        try:
            self._let_in()
            await writer.let_in.wait()
            epoch = await self._take_lease(real)
            try:
                yield epoch
            finally:
                if self._end_lease is not None:
                    await self._end_lease(real)
        finally:
            self._line.remove(writer)
            self._let_in()

    def _let_in(self) -> None:
        """Admits every writer with no earlier writer, active or waiting, in an overlapping folder."""
        for index, writer in enumerate(self._line):
            if not any(writer.overlaps(other) for other in self._line[:index]):
                writer.let_in.set()


@dataclass(eq=False, slots=True)
class _Writer:
    """`folder` ends in a slash, so that no name is mistaken for the prefix of another."""

    folder: str
    let_in: asyncio.Event

    def overlaps(self, other: "_Writer") -> bool:
        return self.folder.startswith(other.folder) or other.folder.startswith(self.folder)


def check_root(path: str | Path, *, home: Path, data_dir: Path) -> Path:
    """Returns the real path of a folder that a person may register or a chat may use.

    Raises: BadWorkspace for `/`, the home folder itself, and any folder that contains or is inside the data folder.
    """
    real = _existing_folder(path)
    data = data_dir.expanduser().resolve()
    if real == Path(real.anchor):
        raise BadWorkspace("The whole file system cannot be a workspace. Choose a project's folder.", param="workspace")
    if real == home.resolve():
        raise BadWorkspace(
            f"The home folder '{real}' itself cannot be a workspace: it holds keys and settings. Choose a folder inside it.",
            param="workspace",
        )
    if real.is_relative_to(data) or data.is_relative_to(real):
        raise BadWorkspace(
            f"'{real}' contains or lies in the data folder '{data}', which agents must not reach. Choose another folder.",
            param="workspace",
        )
    return real


def not_registered(folder: str | Path) -> BadWorkspace:
    """Returns the message about a folder that lies in no registered folder."""
    return BadWorkspace(
        f"'{folder}' is not inside a registered folder. Register it first: POST /workspaces, or start with --workspace.",
        param="workspace",
    )


def under_a_root(path: str | Path, roots: Iterable[str | Path]) -> bool:
    """Tells whether the folder, links resolved, is one of these roots or inside one.

    The roots are real paths: a root that was replaced by a link since is not the one that a person registered.
    """
    real = Path(path).resolve()
    return any(real.is_relative_to(root) for root in roots)


def home_folder() -> Path:
    """Returns the home of the server's user; where there is none (a container's bare user id), the root, which can never be a workspace."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def _existing_folder(path: str | Path) -> Path:
    try:
        real = Path(path).expanduser().resolve(strict=True)
        os.scandir(real).close()
    except PermissionError:
        raise BadWorkspace(
            f"The server's user cannot read '{shown(str(path))}'. Grant it access, or name another folder.",
            param="workspace",
        ) from None
    except NotADirectoryError:
        raise BadWorkspace(
            f"'{shown(str(path))}' is not a folder. Name the folder that it lies in, or another.", param="workspace"
        ) from None
    except (OSError, RuntimeError, ValueError):
        raise BadWorkspace(
            f"There is no folder '{shown(str(path))}'. Create it first, or name another.", param="workspace"
        ) from None
    return real
