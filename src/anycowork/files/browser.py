"""Reads the files of a workspace for a person, on threads that can change nothing."""

import heapq
import stat
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from anycowork.domain.errors import FileExists, NotText, StateChanged
from anycowork.domain.files import INTERNAL_NAMES, FileContent, FolderPage, FoundPath, FoundPaths, PreparedEdit
from anycowork.domain.ports import HiddenPathRules
from anycowork.files.file_content import MOST_TEXT, can_be_edited, read_content
from anycowork.files.folder_page import read_folder
from anycowork.workspace.folder import Folder
from anycowork.workspace.landlock_threads import reading
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.text import TextFile, decode, with_line_ends
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


class FileBrowser:
    """Keeps the names of the workspaces that were searched last."""

    def __init__(self) -> None:
        self._names: OrderedDict[str, NameList] = OrderedDict()

    async def search(self, workspace: Folder, query: str, *, limit: int, hidden: HiddenPathRules) -> FoundPaths:
        """Return the paths that match best, without those that git ignores and those that rules hide."""
        return await reading(lambda: self._search(workspace, query, limit, hidden))

    async def folder(self, workspace: Folder, path: str, *, cursor: str | None, limit: int) -> FolderPage:
        """Return one page of a folder. Raises: FileMissing, WrongKind, OutsideWorkspace."""
        return await reading(lambda: read_folder(workspace, path, cursor=cursor, limit=limit))

    async def file(self, workspace: Folder, path: str) -> FileContent:
        """Return what is in a regular file, bounded. Raises: FileMissing, WrongKind, OutsideWorkspace."""
        return await reading(lambda: read_content(workspace, path))

    async def prepare_edit(self, workspace: Folder, path: str, text: str, *, expected: str | None) -> PreparedEdit:
        """Return what saving would write. `expected` is the hash of the content that the person edited, None for a new file.

        Raises: StateChanged if the file has another content now; FileMissing, FileExists, WrongKind, NotText, OutsideWorkspace.
        """
        return await reading(lambda: prepare_edit(workspace, path, text, expected=expected))

    def _search(self, folder: Folder, query: str, limit: int, hidden: HiddenPathRules) -> FoundPaths:
        names = self._names_in(folder)
        paths = (name for name in names.paths if not hidden.hides(name.path)) if hidden.patterns else names.paths
        return FoundPaths(best_matches(paths, query, limit), names.complete)

    def _names_in(self, folder: Folder) -> NameList:
        known_names = self._names.get(folder.root)
        if known_names is not None and time.monotonic() < known_names.valid_until:
            return known_names
        names = self._names[folder.root] = read_names(folder)
        self._names.move_to_end(folder.root)
        while len(self._names) > _MOST_WORKSPACES:
            self._names.popitem(last=False)
        return names


def read_names(folder: Folder, *, most: int = MOST_NAMES) -> NameList:
    """Reads all names that git does not ignore, up to a limit. Names that no request could send are left out."""
    started_at = time.monotonic()
    walk = FolderWalk(folder.jail, most=most, seconds=_SECONDS, leave_out=INTERNAL_NAMES)
    paths = tuple(
        FoundPath(entry.place.path, entry.is_folder)
        for entry in walk.entries(WorkspacePath(()))
        if entry.kind in ("file", "folder") and _is_text(entry.place.path)
    )
    now = time.monotonic()
    return NameList(paths, not walk.cut, now + _FRESH + _FRESH_PER_SECOND * (now - started_at))


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


_NEW_FILE = 0o644


def prepare_edit(folder: Folder, path: str, text: str, *, expected: str | None) -> PreparedEdit:
    """Raises: StateChanged, FileMissing, FileExists, WrongKind, NotText, OutsideWorkspace."""
    workspace_path = folder.writable(path)
    if expected is None:
        if folder.jail.stat(workspace_path) is not None:
            raise FileExists(f"'{shown(workspace_path.path)}' exists already. Open it, and edit it there.")
        return PreparedEdit(workspace_path.path, text.encode(), _NEW_FILE)
    folder.require_replaceable(workspace_path)
    contents = folder.read_up_to(workspace_path, MOST_TEXT)
    if contents is None or contents.sha256 != expected:
        raise StateChanged(f"'{shown(workspace_path.path)}' was changed since you opened it. Nothing was saved.")
    text_file = decode(contents.data)
    if text_file is None or not can_be_edited(text_file):
        raise NotText(
            f"'{shown(workspace_path.path)}' is not text that can be saved without loss. Use an editor on the machine."
        )
    return PreparedEdit(workspace_path.path, _encoded(text_file, text), stat.S_IMODE(contents.mode), expected)


def _encoded(text_file: TextFile, text: str) -> bytes:
    return text_file.with_body(with_line_ends(text, text_file.newline)).encoded()


_NAME_STARTS, _IN_NAME, _IN_PATH, _IN_ORDER = range(4)


def best_matches(paths: Iterable[FoundPath], query: str, limit: int) -> list[FoundPath]:
    """Return the best matches first: names that start with the query, that contain it, then paths that contain it, and last paths
    with all its letters in order. Of equal matches the shorter path is better. Every word of the query must match."""
    query_words = query.casefold().split()
    ranked = (
        (rank, len(candidate.path), candidate.path, candidate)
        for candidate in paths
        if (rank := _rank(candidate.path, query_words)) is not None
    )
    return [candidate for *_, candidate in heapq.nsmallest(limit, ranked, key=lambda item: item[:3])]


def _rank(path: str, query_words: list[str]) -> int | None:
    """Return the worst rank of all words; None if one does not match."""
    folded = path.casefold()
    worst = _NAME_STARTS
    for word in query_words:
        rank = _rank_of_word(folded, word)
        if rank is None:
            return None
        worst = max(worst, rank)
    return worst


def _rank_of_word(path: str, word: str) -> int | None:
    if word in path:
        name = path[path.rfind("/") + 1 :]
        if name.startswith(word):
            return _NAME_STARTS
        return _IN_NAME if word in name else _IN_PATH
    return _IN_ORDER if _has_in_order(path, word) else None


def _has_in_order(path: str, letters: str) -> bool:
    position = 0
    for letter in letters:
        position = path.find(letter, position) + 1
        if not position:
            return False
    return True
