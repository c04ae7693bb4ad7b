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
    proposed_message: str = Field(
        description="A message for a commit, made without a model; empty if the chat changed none of the preselected files."
    )
    identity: GitIdentityResponse = Field(
        description="Who commits: the repository's own name and address, else the person's."
    )
    hooks_not_run: list[str] = Field(
        description="Hooks that git itself would run at a commit, and that are not run here."
    )
    hooks_run: list[str] = Field(description="Hooks that somebody allowed: they run when this person commits.")
    hooks_offered: bool = Field(description="Whether this person may allow the hooks that are not run.")
    operation: str | None = Field(
        description="What is in progress: merge, rebase, cherry-pick or revert; null if nothing is."
    )
    ahead: int | None = Field(
        description="How many commits the branch of `origin` lacked when it was last pulled or pushed; null if that is not known."
    )
    behind: int | None = Field(description="How many commits only that branch had.")


class GitDifferenceResponse(DescribedSchema):
    diff: str | None = Field(description="Null for a protected file without `reveal`.")
    sha256: str | None = Field(
        description="Names the difference when hunks of it are committed; null if it cannot be divided."
    )


class GitHookResponse(DescribedSchema):
    name: str
    sha256: str
    text: str = Field(description="Its beginning.")
    allowed: bool


class GitHooksResponse(DescribedSchema):
    hooks: list[GitHookResponse]


class AllowedHooksResponse(DescribedSchema):
    allowed: list[str]


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


class GitLogResponse(DescribedSchema):
    tip: str | None = Field(description="Where the log starts, for the next page; null before the first commit.")
    commits: list[GitCommitResponse]
    last: bool


class CommitFileResponse(DescribedSchema):
    path: str
    shown: str
    status: Literal["added", "modified", "deleted"]
    protected: Literal["key_file", "rule"] | None


class CommitDetailsResponse(DescribedSchema):
    id: str
    subject: str
    body: str
    author: str
    email: str
    created_at: str
    parents: list[str]
    files: list[CommitFileResponse]
    complete: bool = Field(description="False if the commit changed more files than are listed.")


class CommitDifferenceResponse(DescribedSchema):
    diff: str | None = Field(description="Null for a protected file without `reveal`.")


class GitBranchResponse(DescribedSchema):
    name: str
    shown: str
    commit: str
    committed_at: str
    current: bool


class BranchesResponse(DescribedSchema):
    branches: list[GitBranchResponse]


class PullSourceResponse(DescribedSchema):
    remote: str
    address: str = Field(description="Without a password.")
    refused: str | None = Field(description="Why nothing is pulled from there; null if it can be.")


class PullSourcesResponse(DescribedSchema):
    branch: str | None = Field(description="Null for a detached HEAD.")
    head: str | None = Field(description="The last commit; null before the first one.")
    remotes: list[PullSourceResponse]


class MergeResponse(DescribedSchema):
    commit: str | None = Field(description="Where the branch is now; null with conflicts.")
    conflicts: list[str] = Field(description="The files that have conflicts now.")
    new: bool = Field(description="False if there was nothing to merge.")


class MergeEndResponse(DescribedSchema):
    operation: None


class GitStashResponse(DescribedSchema):
    number: int = Field(description="Its place in git's own list, 0 the newest.")
    commit: str
    message: str


class StashesResponse(DescribedSchema):
    stashes: list[GitStashResponse]


class StashResponse(DescribedSchema):
    commit: str
