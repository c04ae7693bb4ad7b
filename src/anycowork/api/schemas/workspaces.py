"""Workspaces and what they supply."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema, Schema


class SuppliedResponse(DescribedSchema):
    kind: Literal["workflow", "instructions"]
    path: str = Field(description="Inside the workspace.")
    sha256: str = Field(description="Of the content as it is now: what trust would hold for.")
    trusted: bool


class TravelResponse(DescribedSchema):
    leave_out: list[str] = Field(
        description="Patterns as in a .gitignore file: what stays at home. One with `!` lets travel what git ignores."
    )


class WorkspaceResponse(Schema):
    id: str | None = Field(description="By it the workspace is removed; null for a folder inside a registered one.")
    root: str
    trusts_contents: bool = Field(
        False,
        description="Whether a person vouches for what lies in the folder. If not, what an agent reads there needs an endorsement "
        "before it has consequences outside the sandbox.",
    )
    visibility: str = Field(
        "everyone", description="Who sees it and the chats in it: private, everyone, or group: and a name."
    )
    owner: str = Field("owner", description="The id of the person who may change that; `owner` has the server's token.")
    check: str | None = Field(
        None,
        description="The command that checks the work in the folder when a turn ends; null: the tests that are found there.",
    )
    setup: str | None = Field(
        None,
        description="A command that prepares the workspace on a joined worker, once for each content; its files stay there.",
    )
    travel: TravelResponse = Field(description="What of the folder goes to joined workers.")
    supplies: list[SuppliedResponse] = Field(description="Files that are used once a person trusted their content.")


class WorkspaceList(DescribedSchema):
    workspaces: list[WorkspaceResponse]


class FolderList(DescribedSchema):
    folders: list[str] = Field(description="Absolute paths, at most 50.")


class InstructionsResponse(DescribedSchema):
    path: str = Field(description="Inside the folder.")
    sha256: str | None = Field(description="Of the content as it is now: what trust would hold for.")
    state: Literal["trusted", "untrusted", "changed", "unreadable"] = Field(
        description="Used only if trusted. Changed: another content was trusted, and neither is used until this one is."
    )
    content: str | None = Field(description="The whole text; characters that nobody would see are written out.")
    fault: str | None = Field(description="Why it cannot be read.")


class InstructionsPage(DescribedSchema):
    instructions: InstructionsResponse | None = Field(description="Null if the folder has no such file.")


class WorktreeResponse(DescribedSchema):
    root: str
    branch: str
