"""What one process tells the others on the same database before it changes a folder that their tasks of jobs lie on."""

from collections.abc import Collection
from enum import StrEnum
from typing import Protocol

from anycowork.domain.values import value


class LayerChangeKind(StrEnum):
    """`HOLD`: the paths are about to change. `HOLD_ALL`: anything may. `HIDE`: the paths came just now."""

    HOLD = "hold"
    HOLD_ALL = "hold_all"
    HIDE = "hide"


@value
class LayerChange:
    """`folder` is a real path, and `paths` are below it. `gone` are those that will be removed or replaced by another kind of entry."""

    kind: LayerChangeKind
    folder: str
    paths: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


class PeerLayers(Protocol):
    """The layers of other processes on the same database, over folders that this one writes in too."""

    async def announce(self, folders: Collection[str]) -> None:
        """Tell the others which folders this process's layers lie on now. Raises: StorageFault."""

    async def tell(self, change: LayerChange) -> None:
        """Return when every other process has kept what its tasks see. Only under the lease of the folder.

        Raises: Conflict if one of them cannot; StorageFault.
        """
