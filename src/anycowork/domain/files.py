"""The files of a workspace as a person browses them: what was found, and the port that reads them. Nothing of it reaches a model."""

from collections.abc import Sequence
from typing import Protocol

from anycowork.domain.messages import Json
from anycowork.domain.ports import Hidden, Workspace
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, visible_line


@value
class FoundPath:
    """A file or folder that a search found. `path` is from the workspace's root."""

    path: str
    is_folder: bool = False

    def to_json(self) -> Json:
        """`shown` is the path with misleading characters written out."""
        return {
            "path": self.path,
            "shown": visible_line(UntrustedText(self.path)),
            "kind": "folder" if self.is_folder else "file",
        }


@value
class FoundPaths:
    """The best matches first. `complete` is False if the workspace has more files than were searched."""

    paths: Sequence[FoundPath]
    complete: bool = True


class FileBrowser(Protocol):
    """Reads the files of a workspace for a person."""

    async def search(self, workspace: Workspace, query: str, *, limit: int, hidden: Hidden) -> FoundPaths:
        """Return the paths that match best, without those that git ignores and those that rules hide."""
