"""Prepares what a person wants to save: the bytes with the file's own line ends, and whether the file is still what they edited."""

import stat

from anycowork.domain.errors import FileExists, NotText, StateChanged
from anycowork.domain.files import PreparedEdit
from anycowork.files.file_content import MOST_TEXT, can_be_edited
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import shown
from anycowork.workspace.text import TextFile, decode, with_line_ends

_NEW_FILE = 0o644


def prepare_edit(folder: Folder, path: str, text: str, *, expected: str | None) -> PreparedEdit:
    """Raises: StateChanged, FileMissing, FileExists, WrongKind, NotText, OutsideWorkspace."""
    place = folder.writable(path)
    if expected is None:
        if folder.jail.stat(place) is not None:
            raise FileExists(f"'{shown(place.path)}' exists already. Open it, and edit it there.")
        return PreparedEdit(place.path, text.encode(), _NEW_FILE)
    folder.require_replaceable(place)
    contents = folder.read_up_to(place, MOST_TEXT)
    if contents is None or contents.sha256 != expected:
        raise StateChanged(f"'{shown(place.path)}' was changed since you opened it. Nothing was saved.")
    found = decode(contents.data)
    if found is None or not can_be_edited(found):
        raise NotText(f"'{shown(place.path)}' is no text that can be saved without loss. Use an editor on the machine.")
    return PreparedEdit(place.path, _encoded(found, text), stat.S_IMODE(contents.mode), expected)


def _encoded(found: TextFile, text: str) -> bytes:
    return found.with_body(with_line_ends(text, found.newline)).encoded()
