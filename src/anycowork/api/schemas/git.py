"""The git repository of a workspace."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class GitFileResponse(DescribedSchema):
    path: str
    shown: str = Field(description="The path for the screen: misleading characters are written out.")
    status: Literal["added", "modified", "deleted", "untracked", "conflicted"]
    protected: Literal["key_file", "rule"] | None = Field(description="Of an untracked folder: that of a file in it.")
    preselected: bool = Field(
        description="Tracked, or changed in this chat; neither protected nor in a folder of generated files."
    )
    file_count: int | None = Field(description="How many files an untracked folder holds; null for a file.")
    file_count_complete: bool = Field(description="False if the folder holds more files than were counted.")


class GitIdentityResponse(DescribedSchema):
    name: str = Field(description="Empty if git does not know it.")
    email: str = Field(description="Empty if git does not know it.")


class GitStateResponse(DescribedSchema):
    reason: str | None = Field(description="Why there is no repository that can be shown; null if there is one.")
    branch: str | None = Field(description="Null for a detached HEAD.")
    head: str | None = Field(description="The last commit; null before the first one.")
    files: list[GitFileResponse]
    complete: bool = Field(description="False if more files changed than are listed.")
    proposed_message: str = Field(description="A message for a commit, made without a model.")
    identity: GitIdentityResponse = Field(
        description="Who commits: the repository's own name and address, else the person's."
    )
    hooks_not_run: list[str] = Field(description="Hooks that git itself would run at a commit; none is run here.")


class GitDifferenceResponse(DescribedSchema):
    diff: str | None = Field(description="Null for a protected file without `reveal`.")


class CommitResponse(DescribedSchema):
    commit: str


class BranchResponse(DescribedSchema):
    branch: str


class GitCommitResponse(DescribedSchema):
    id: str
    subject: str
    author: str
    created_at: str


class PushTargetResponse(DescribedSchema):
    remote: str
    address: str = Field(description="Without a password.")
    refused: str | None = Field(description="Why nothing is pushed there; null if it can be.")
    commits: list[GitCommitResponse]
    complete: bool = Field(description="False if there are more commits than are listed.")
    new_branch: bool = Field(description="Whether the remote does not have the branch yet, as far as is known.")


class PushOfferResponse(DescribedSchema):
    branch: str | None = Field(description="Null for a detached HEAD.")
    head: str | None = Field(description="The last commit; null before the first one.")
    remotes: list[PushTargetResponse]


class PushedResponse(DescribedSchema):
    pushed: str = Field(description="The commit.")
