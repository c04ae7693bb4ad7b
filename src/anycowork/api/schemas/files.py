"""Files of a workspace, as a person browses them."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema

_SHOWN = "The path with misleading and invisible characters written out, for the screen."


class FoundPathResponse(DescribedSchema):
    path: str
    shown: str = Field(description=_SHOWN)
    kind: Literal["file", "folder"]


class FoundPathsResponse(DescribedSchema):
    results: list[FoundPathResponse]
    complete: bool = Field(description="False if the workspace has more files than were searched.")


_CHANGED_BY = "Who changed it since the chat began; null if nobody did."
_PROTECTED = (
    "Why its content is shown only with `reveal`: its name means keys or passwords, or a rule hides it from agents."
)
_Changed = Literal["agent", "you", "both"]
_Protected = Literal["key_file", "rule"]


class FolderEntryResponse(DescribedSchema):
    path: str | None = Field(
        description="Null if no request can name it: its name is not text, or has control characters."
    )
    name: str = Field(description="For the screen: misleading and invisible characters are written out.")
    kind: Literal["file", "folder", "link", "other"]
    size: int
    modified: str | None
    ignored: bool = Field(description="Git ignores it.")
    target: str | None = Field(description="Where a link leads, as written in it.")
    changed_by: _Changed | None = Field(description=_CHANGED_BY)
    protected: _Protected | None = Field(description=_PROTECTED)


class FolderResponse(DescribedSchema):
    path: str
    entries: list[FolderEntryResponse] = Field(description="Folders first, then by name.")
    total: int = Field(description="How many entries the folder has; `entries` is one page of them.")
    next: str | None = Field(description="Pass it as `cursor` to get the next page; null on the last one.")


class FileResponse(DescribedSchema):
    path: str
    shown: str = Field(description=_SHOWN)
    kind: Literal["text", "partial", "image", "binary", "protected"] = Field(
        description="`partial` is the beginning of a large text; `protected` is withheld until `reveal` asks for it."
    )
    size: int
    modified: str | None
    sha256: str | None = Field(description="Of the whole content; null if it was not read as a whole.")
    text: str | None
    image: str | None = Field(description="A picture as a data URL.")
    editable: bool = Field(description="The text can be saved back without loss.")
    changed_by: _Changed | None = Field(description=_CHANGED_BY)
    protected: _Protected | None = Field(description=_PROTECTED)


_SNAPSHOT = "Restoring this snapshot takes the change back; null if nothing had to be changed."


class SavedFileResponse(DescribedSchema):
    path: str
    sha256: str
    snapshot: str | None = Field(description=_SNAPSHOT)


class WrittenChangeResponse(DescribedSchema):
    snapshot: str | None = Field(description=_SNAPSHOT)


class NetChangeResponse(DescribedSchema):
    path: str
    shown: str = Field(description=_SHOWN)
    status: Literal["added", "modified", "deleted"]
    additions: int
    deletions: int
    changed_by: _Changed
    protected: _Protected | None = Field(description=_PROTECTED)
    state: str = Field(description="Names both sides of the difference; send it with what is to be taken back.")
    diff: str | None = Field(description="A unified diff; null in lists, and for a protected file without `reveal`.")
    ignored: bool = Field(description="Whether git ignores it, or its folder holds generated files.")


class NetChangeList(DescribedSchema):
    changes: list[NetChangeResponse]
    next: str | None = Field(description="Pass it as `after` to get the next page; null on the last one.")


class FoundSymbolResponse(DescribedSchema):
    name: str
    kind: str = Field(description="The keyword that defines it, such as class or def.")
    path: str
    line: int


class FoundSymbolsResponse(DescribedSchema):
    results: list[FoundSymbolResponse]


class MemoryChangeResponse(DescribedSchema):
    """The file that remembers, its hash now (null: there is none), and how it would change."""

    path: str
    sha256: str | None
    diff: str


class RememberedResponse(SavedFileResponse):
    trusted: bool


class OriginsResponse(DescribedSchema):
    origins: list[str] = Field(
        description="person, workspace, git:<remote>, model, web:<host>, mcp:<server>, delegate:<name>, attachment:<hash>, import."
    )
