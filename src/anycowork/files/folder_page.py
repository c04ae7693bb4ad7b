"""Reads one folder, one page at a time: only the entries of the page are looked at. Follows no links."""

import os
from bisect import bisect_right

from anycowork.domain.errors import Invalid
from anycowork.domain.files import FolderEntry, FolderPage
from anycowork.domain.path_class import folds_to_git
from anycowork.workspace.folder import Folder
from anycowork.workspace.ignores import Ignores
from anycowork.workspace.jail import kind_of, translate_os_errors
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.walk import FolderWalk

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
    """Return where the page begins. What was there may be gone since, so it is the place where it would be."""
    try:
        name = os.fsdecode(bytes.fromhex(cursor[1:]))
    except ValueError:
        raise Invalid("This cursor is not one that a page ended with.", param="cursor") from None
    return bisect_right(keys, (cursor[:1], name.casefold(), name))


def _rules_in(folder: Folder, path: WorkspacePath) -> Ignores | None:
    """Return the ignore rules in force there; None if git ignores the folder itself."""
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
