"""The files of a workspace as a person browses them: what was found, and the port that reads them. Nothing of it reaches a model."""

from collections.abc import Sequence
from enum import StrEnum

from anycowork.domain.messages import Json
from anycowork.domain.values import value
from anycowork.domain.visible_text import UntrustedText, VisibleText, visible_line

INTERNAL_NAMES = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        ".venv",
        "venv",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
    }
    | {".tox", ".idea", ".next", ".cache"}
)
"""Folders of version control and of generated files."""


class Protection(StrEnum):
    """Why a content is shown only after a person asked for it: the name means keys or passwords, or a rule forbids agents to read it."""

    KEY_FILE = "key_file"
    RULE = "rule"


class ChangedBy(StrEnum):
    """Who changed a path since the chat began."""

    AGENT = "agent"
    YOU = "you"
    BOTH = "both"


class ContentKind(StrEnum):
    """`partial` is the beginning of a text that is too large to be shown as a whole."""

    TEXT = "text"
    PARTIAL = "partial"
    IMAGE = "image"
    BINARY = "binary"


def shown_name(name: str) -> VisibleText:
    """Returns a name or path for the screen: misleading characters are written out, bytes that are not text as their number."""
    return visible_line(UntrustedText(name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")))


@value
class FolderEntry:
    """One entry of a folder. `path` is None if no request can name it: its name is not text, or has control characters.

    `target` is where a link leads, as written; `modified` is in nanoseconds since 1970.
    """

    name: str
    path: str | None
    kind: str
    size: int = 0
    modified: int = 0
    ignored: bool = False
    target: str | None = None


@value
class FolderPage:
    """Folders first, then by name. `next` is the cursor of the page that follows; `total` counts the whole folder."""

    path: str
    entries: Sequence[FolderEntry]
    total: int
    next: str | None = None


@value
class FileContent:
    """A file as it is now. `text` is set for text, `image` (with its `media_type`) for a picture.

    `editable`: the text can be written back without loss. `sha256` is None for what was not read as a whole.
    """

    path: str
    kind: ContentKind
    size: int
    modified: int
    sha256: str | None = None
    text: str | None = None
    image: bytes | None = None
    media_type: str | None = None
    editable: bool = False


@value
class PreparedEdit:
    """A text that a person wants to save, as bytes with the file's own line ends. `before` is the hash of what it replaces, if anything."""

    path: str
    data: bytes
    mode: int
    before: str | None = None


@value
class FoundPath:
    """A file or folder that a search found. `path` is from the workspace's root."""

    path: str
    is_folder: bool = False

    def to_json(self) -> Json:
        return {"path": self.path, "shown": shown_name(self.path), "kind": "folder" if self.is_folder else "file"}


@value
class FoundPaths:
    """The best matches first. `complete` is False if the workspace has more files than were searched."""

    paths: Sequence[FoundPath]
    complete: bool = True
