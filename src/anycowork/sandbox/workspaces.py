"""Which folders may be worked in, and who may write in one right now. The lease's row itself is the store's."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from anycowork.domain.errors import BadWorkspace, ToolFault
from anycowork.domain.ports import RolledForward
from anycowork.domain.tools import Intent
from anycowork.sandbox.stage import Staging, remove_tree
from anycowork.sandbox.transaction import finish
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import shown


class LocalWorkspaces:
    """The Workspaces of the domain's ports, for folders of this machine.

    `take_lease` makes this process the workspace's writer in the store and answers with the new epoch.
    """

    def __init__(self, take_lease: Callable[[str], Awaitable[int]], staging: Staging | None = None) -> None:
        self._take_lease = take_lease
        self._staging = staging
        self._line: list[_Writer] = []

    def open(self, root: str) -> Folder:
        """Raises: BadWorkspace if it is gone, no folder, or by now a way to another one."""
        real = _existing_folder(root)
        if str(real) != root:  # whoever may write in a folder above could choose where this chat works
            raise BadWorkspace(
                f"'{shown(root)}' is no longer the folder of this chat: a link leads from there to '{shown(str(real))}'. "
                "Put the folder back, or open a new chat in the other one.",
                param="workspace",
            )
        try:
            return Folder(root, jail=Jail(root, is_real=True))
        except OSError as error:
            raise BadWorkspace(
                f"The workspace '{shown(root)}' cannot be opened: {error.strerror}.", param="workspace"
            ) from None

    def writing(self, root: str) -> AbstractAsyncContextManager[int]:
        """Waits until no one else writes in this workspace, under whatever name, nor in one that holds it or lies in it; yields the
        lease's epoch.
        """
        return self._writing(str(_existing_folder(root)))

    def roll_forward(self, root: str, intent: Intent) -> RolledForward:
        """Finishes a commit that was intended and cut off. Blocking; under the lease. Raises: BadWorkspace, ToolFault."""
        if self._staging is None:
            raise ToolFault(
                "This server has no place where commands' changes wait, so a cut-off commit cannot be finished."
            )
        return finish(self._staging, self.open(root).jail, intent)

    def let_go(self, intent: Intent, *, keep: bool) -> str | None:
        """Ends the waiting of held changes without making them: removed, or kept aside for a person; then where. Blocking."""
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
            yield await self._take_lease(real)
        finally:
            self._line.remove(writer)
            self._let_in()

    def _let_in(self) -> None:
        """Everyone before whom nobody stands in the line, at work or waiting, whose folder overlaps with theirs."""
        for at, writer in enumerate(self._line):
            if not any(writer.overlaps(other) for other in self._line[:at]):
                writer.let_in.set()


@dataclass(eq=False, slots=True)
class _Writer:
    """`folder` ends in a slash, so that no name is taken for the beginning of another."""

    folder: str
    let_in: asyncio.Event

    def overlaps(self, other: "_Writer") -> bool:
        return self.folder.startswith(other.folder) or other.folder.startswith(self.folder)


def check_root(path: str | Path, *, home: Path, data_dir: Path) -> Path:
    """The real path of a folder that a person may register or a chat may use.

    Raises: BadWorkspace for `/`, the home folder itself, and any folder that contains or lies in the data folder.
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


def under_a_root(path: str | Path, roots: Iterable[str | Path]) -> bool:
    """Whether the folder, links resolved, is one of these roots or lies in one.

    The roots are real paths: one that was replaced by a link since it was registered is not what a person registered.
    """
    real = Path(path).resolve()
    return any(real.is_relative_to(root) for root in roots)


def home_folder() -> Path:
    """The home of who runs the server; where there is none (a container's bare user id), the root, which is nobody's workspace either."""
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
            f"The server's user may not look into '{shown(str(path))}'. Give it the right to, or name another folder.",
            param="workspace",
        ) from None
    except NotADirectoryError:
        raise BadWorkspace(
            f"'{shown(str(path))}' is not a folder. Name the folder that it lies in, or another.", param="workspace"
        ) from None
    except (OSError, RuntimeError, ValueError):
        raise BadWorkspace(
            f"There is no folder '{shown(str(path))}'. Make it first, or name another.", param="workspace"
        ) from None
    return real
