"""Reads the files of a workspace for a person, on threads that can change nothing."""

import hashlib
import heapq
import os
import stat
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from anycowork.domain.errors import FileExists, Invalid, NotText, StateChanged, TooLarge
from anycowork.domain.files import (
    INTERNAL_NAMES,
    ContentKind,
    FileContent,
    FolderEntry,
    FolderPage,
    FoundPath,
    FoundPaths,
    PreparedEdit,
)
from anycowork.domain.images import MAX_BYTES, MEDIA_TYPES, image_size
from anycowork.domain.path_class import folds_to_git
from anycowork.domain.ports import HiddenPathRules
from anycowork.domain.values import replace
from anycowork.workspace.diffs import text_with_odd_bytes
from anycowork.workspace.folder import Folder
from anycowork.workspace.ignores import Ignores
from anycowork.workspace.jail import kind_of, translate_os_errors
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
        """Returns the paths that match best, without those that git ignores and those that rules hide."""
        return await reading(lambda: self._search(workspace, query, limit, hidden))

    async def folder(self, workspace: Folder, path: str, *, cursor: str | None, limit: int) -> FolderPage:
        """Returns one page of a folder. Raises: FileMissing, WrongKind, OutsideWorkspace."""
        return await reading(lambda: read_folder(workspace, path, cursor=cursor, limit=limit))

    async def file(self, workspace: Folder, path: str) -> FileContent:
        """Returns what is in a regular file, bounded. Raises: FileMissing, WrongKind, OutsideWorkspace."""
        return await reading(lambda: read_content(workspace, path))

    async def prepare_edit(self, workspace: Folder, path: str, text: str, *, expected: str | None) -> PreparedEdit:
        """Returns what saving would write. `expected` is the hash of the content that the person edited, None for a new file.

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
    """Returns the best matches first: names that start with the query, that contain it, then paths that contain it, and last paths
    with all its letters in order. Of equal matches the shorter path is better. Every word of the query must match."""
    query_words = query.casefold().split()
    ranked = (
        (rank, len(candidate.path), candidate.path, candidate)
        for candidate in paths
        if (rank := _rank(candidate.path, query_words)) is not None
    )
    return [candidate for *_, candidate in heapq.nsmallest(limit, ranked, key=lambda item: item[:3])]


def _rank(path: str, query_words: list[str]) -> int | None:
    """Returns the worst rank of all words; None if one does not match."""
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


MOST_TEXT = 1_000_000  # bytes of a text that is shown as a whole
BEGINNING = 200_000  # bytes of a larger one
_MOST_READ = max(MOST_TEXT, MAX_BYTES)


def read_content(folder: Folder, path: str) -> FileContent:
    """Raises: FileMissing, WrongKind, OutsideWorkspace."""
    workspace_path = folder.jail.place(path)
    with folder.jail.regular_file(workspace_path) as (fd, status), translate_os_errors(workspace_path.path):
        data = _up_to(fd, _MOST_READ + 1 if status.st_size <= _MOST_READ else BEGINNING)
    content = FileContent(workspace_path.path, ContentKind.BINARY, status.st_size, status.st_mtime_ns)
    if status.st_size > _MOST_READ or len(data) > _MOST_READ:
        return _beginning(content, data)
    content = replace(content, size=len(data), sha256=hashlib.sha256(data).hexdigest())
    if (media_type := _picture(data)) is not None:
        return replace(content, kind=ContentKind.IMAGE, image=data, media_type=media_type)
    if len(data) > MOST_TEXT:
        return _beginning(content, data)
    text = decode(data)
    if text is not None:
        return replace(content, kind=ContentKind.TEXT, text=text.body, editable=can_be_edited(text))
    odd = text_with_odd_bytes(data)
    return content if odd is None else replace(content, kind=ContentKind.TEXT, text=odd)


def can_be_edited(text: TextFile) -> bool:
    """Whether an editor that knows one line end per file gives the same bytes back."""
    windows = text.body.count("\r\n")
    return text.body.count("\r") == windows and windows in (0, text.body.count("\n"))


def _beginning(content: FileContent, data: bytes) -> FileContent:
    """A character that the cut divides is left away."""
    text = data[:BEGINNING].decode(errors="surrogateescape").rstrip("".join(map(chr, range(0xDC80, 0xDD00))))
    odd = text_with_odd_bytes(text.encode(errors="surrogateescape"))
    return content if odd is None else replace(content, kind=ContentKind.PARTIAL, text=odd)


def _picture(data: bytes) -> str | None:
    for media_type in MEDIA_TYPES:
        try:
            image_size(data, claimed=media_type)
        except (Invalid, TooLarge):
            continue
        return media_type
    return None


def _up_to(fd: int, most: int) -> bytes:
    pieces = []
    while most > 0 and (piece := os.read(fd, min(most, 1 << 20))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


_FOLDER, _OTHER = "0", "1"  # first in a cursor, and in the order
_Key = tuple[str, str, str]


def read_folder(folder: Folder, path: str, *, cursor: str | None, limit: int) -> FolderPage:
    """Raises: FileMissing, WrongKind, OutsideWorkspace; Invalid if the cursor is not one of ours."""
    workspace_path = folder.jail.place(path)
    with folder.jail.folder(workspace_path, flags=os.O_RDONLY) as fd, translate_os_errors(workspace_path.path):
        with os.scandir(fd) as entries_found:
            keys = sorted(_key(entry) for entry in entries_found)
        start = 0 if cursor is None else _after(keys, cursor)
        page = keys[start : start + limit]
        rules = _rules_in(folder, workspace_path)
        entries = [entry for key in page if (entry := _entry(fd, workspace_path.child(key[2]), rules)) is not None]
    more = start + limit < len(keys)
    return FolderPage(workspace_path.path, entries, len(keys), _cursor(page[-1]) if more else None)


def _key(entry: "os.DirEntry[str]") -> _Key:
    return (_FOLDER if entry.is_dir(follow_symlinks=False) else _OTHER, entry.name.casefold(), entry.name)


def _cursor(key: _Key) -> str:
    """The name is written as hexadecimal numbers: it need not be text."""
    return key[0] + os.fsencode(key[2]).hex()


def _after(keys: list[_Key], cursor: str) -> int:
    """Returns where the page begins. What was there may be gone since, so it is the place where it would be."""
    try:
        name = os.fsdecode(bytes.fromhex(cursor[1:]))
    except ValueError:
        raise Invalid("This cursor is not one that a page ended with.", param="cursor") from None
    return bisect_right(keys, (cursor[:1], name.casefold(), name))


def _rules_in(folder: Folder, path: WorkspacePath) -> Ignores | None:
    """Returns the ignore rules in force there; None if git ignores the folder itself."""
    walk = FolderWalk(folder.jail)
    rules = Ignores()
    for depth in range(len(path.parts) + 1):
        ancestor = WorkspacePath(path.parts[:depth])
        if depth and (folds_to_git(ancestor.name) or rules.ignored(ancestor.parts, is_folder=True)):
            return None
        rules = walk.with_own_rules(ancestor, rules)
    return rules


def _entry(fd: int, entry_path: WorkspacePath, rules: Ignores | None) -> FolderEntry | None:
    try:
        status = os.stat(entry_path.name, dir_fd=fd, follow_symlinks=False)
        target = os.readlink(entry_path.name, dir_fd=fd) if kind_of(status.st_mode) == "symbolic link" else None
    except OSError:
        return None  # deleted since it was listed
    kind = _KINDS.get(kind_of(status.st_mode), "other")
    ignored = (
        rules is None or folds_to_git(entry_path.name) or rules.ignored(entry_path.parts, is_folder=kind == "folder")
    )
    path = entry_path.path if _can_be_named(entry_path.path) else None
    size = status.st_size if kind == "file" else 0
    return FolderEntry(entry_path.name, path, kind, size, status.st_mtime_ns, ignored, target)


_KINDS = {"file": "file", "folder": "folder", "symbolic link": "link"}


def _can_be_named(path: str) -> bool:
    """Whether a request can name it: the jail takes no control characters, and JSON only text."""
    if not path.isprintable() and any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in path):
        return False
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
