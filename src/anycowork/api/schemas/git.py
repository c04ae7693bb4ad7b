"""The git repository of a workspace."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema


class GitFileShape(DescribedSchema):
    path: str
    shown: str = Field(description="The path for the screen: misleading characters are written out.")
    status: Literal["added", "modified", "deleted", "untracked", "conflicted"]
    protected: Literal["key_file", "rule"] | None
    preselected: bool = Field(
        description="Tracked, or changed in this chat; neither protected nor in a folder of generated files."
    )
    file_count: int | None = Field(description="How many files an untracked folder holds; null for a file.")
    file_count_complete: bool = Field(description="False if the folder holds more files than were counted.")


class GitStateShape(DescribedSchema):
    reason: str | None = Field(description="Why there is no repository that can be shown; null if there is one.")
    branch: str | None = Field(description="Null for a detached HEAD.")
    head: str | None = Field(description="The last commit; null before the first one.")
    files: list[GitFileShape]
    complete: bool = Field(description="False if more files changed than are listed.")
    proposed_message: str = Field(description="A message for a commit, made without a model.")


class GitDifferenceShape(DescribedSchema):
    diff: str | None = Field(description="Null for a protected file without `reveal`.")


class CommitShape(DescribedSchema):
    commit: str


class BranchShape(DescribedSchema):
    branch: str


class GitCommitShape(DescribedSchema):
    id: str
    subject: str
    author: str
    created_at: str


class PushTargetShape(DescribedSchema):
    remote: str
    address: str = Field(description="Without a password.")
    refused: str | None = Field(description="Why nothing is pushed there; null if it can be.")
    commits: list[GitCommitShape]
    complete: bool = Field(description="False if there are more commits than are listed.")
    new_branch: bool = Field(description="Whether the remote does not have the branch yet, as far as is known.")


class PushOfferShape(DescribedSchema):
    branch: str | None = Field(description="Null for a detached HEAD.")
    head: str | None = Field(description="The last commit; null before the first one.")
    remotes: list[PushTargetShape]


class PushedShape(DescribedSchema):
    pushed: str = Field(description="The commit.")
