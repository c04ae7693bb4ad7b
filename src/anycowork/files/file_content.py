"""Reads one file for a person: text, the beginning of a large text, a picture, or only its size and hash."""

import hashlib
import os

from anycowork.domain.errors import Invalid, TooLarge
from anycowork.domain.files import ContentKind, FileContent
from anycowork.domain.images import MAX_BYTES, MEDIA_TYPES, image_size
from anycowork.domain.values import replace
from anycowork.workspace.diffs import text_with_odd_bytes
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import translate_os_errors
from anycowork.workspace.text import TextFile, decode

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
