"""Implements the `FileBrowser` port on threads that can change nothing."""

import time
from collections import OrderedDict
from dataclasses import dataclass

from anycowork.domain.files import FileContent, FolderPage, FoundPath, FoundPaths, PreparedEdit
from anycowork.domain.ports import HiddenPathRules, Workspace
from anycowork.files.edits import prepare_edit
from anycowork.files.file_content import read_content
from anycowork.files.folder_page import read_folder
from anycowork.files.name_match import best_matches
from anycowork.workspace.folder import INTERNAL_NAMES, Folder
from anycowork.workspace.landlock_threads import reading
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.walk import FolderWalk

MOST_NAMES = 200_000  # paths of one workspace that are searched
_SECONDS = 5.0
_FRESH = 2.0  # seconds for which the names of a small workspace are used again
_FRESH_PER_SECOND = 20.0  # a workspace whose names took a second to read is read again after this long
_MOST_WORKSPACES = 4


@dataclass(frozen=True, slots=True)
class NameList:
    """The names in a workspace, read once for the many searches of somebody who types."""

    paths: tuple[FoundPath, ...]
    complete: bool
    valid_until: float


class LocalFileBrowser:
    """Keeps the names of the workspaces that were searched last."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, NameList] = OrderedDict()

    async def search(self, workspace: Workspace, query: str, *, limit: int, hidden: HiddenPathRules) -> FoundPaths:
        folder = as_folder(workspace)
        return await reading(lambda: self._search(folder, query, limit, hidden))

    async def folder(self, workspace: Workspace, path: str, *, cursor: str | None, limit: int) -> FolderPage:
        folder = as_folder(workspace)
        return await reading(lambda: read_folder(folder, path, cursor=cursor, limit=limit))

    async def file(self, workspace: Workspace, path: str) -> FileContent:
        folder = as_folder(workspace)
        return await reading(lambda: read_content(folder, path))

    async def prepare_edit(self, workspace: Workspace, path: str, text: str, *, expected: str | None) -> PreparedEdit:
        folder = as_folder(workspace)
        return await reading(lambda: prepare_edit(folder, path, text, expected=expected))

    def _search(self, folder: Folder, query: str, limit: int, hidden: HiddenPathRules) -> FoundPaths:
        names = self._names_in(folder)
        paths = (found for found in names.paths if not hidden.hides(found.path)) if hidden.patterns else names.paths
        return FoundPaths(best_matches(paths, query, limit), names.complete)

    def _names_in(self, folder: Folder) -> NameList:
        known = self._names.get(folder.root)
        if known is not None and time.monotonic() < known.valid_until:
            return known
        names = self._names[folder.root] = read_names(folder)
        self._names.move_to_end(folder.root)
        while len(self._names) > _MOST_WORKSPACES:
            self._names.popitem(last=False)
        return names


def read_names(folder: Folder, *, most: int = MOST_NAMES) -> NameList:
    """Reads all names that git does not ignore, up to a limit. Names that no request could send are left out."""
    began = time.monotonic()
    walk = FolderWalk(folder.jail, most=most, seconds=_SECONDS, leave_out=INTERNAL_NAMES)
    paths = tuple(
        FoundPath(entry.place.path, entry.is_folder)
        for entry in walk.entries(WorkspacePath(()))
        if entry.kind in ("file", "folder") and _is_text(entry.place.path)
    )
    now = time.monotonic()
    return NameList(paths, not walk.cut, now + _FRESH + _FRESH_PER_SECOND * (now - began))


def as_folder(workspace: Workspace) -> Folder:
    if not isinstance(workspace, Folder):
        raise TypeError("files are browsed in a workspace that LocalWorkspaces opened")
    return workspace


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
