"""Snapshots and restores."""

from typing import Literal

from pydantic import Field

from anycowork.api.schemas.base import DescribedSchema, Schema


class SnapshotResponse(Schema):
    id: str
    created_at: str
    moment: Literal["before", "after"]
    tool_call_id: str | None
    turn_id: str | None = Field(default=None, description="The turn that made the change; null for a person's.")
    files: int
    additions: int
    deletions: int
    lines_counted: bool = Field(
        default=True,
        description="False for a change of very many files: its lines are compared when its difference is asked for.",
    )
    restores: str | None = Field(description="The snapshot that was gone back to, if this was a restore.")
    by_person: bool = Field(description="A person made this change, by hand or by going back.")
    pruned: bool = Field(description="Its content made room for newer ones: it cannot be restored any more.")
    origins: list[str] = Field([], description="Where what the change wrote came from; empty for a person's change.")


class SnapshotList(DescribedSchema):
    snapshots: list[SnapshotResponse]
    next: str | None


class FileDifferenceResponse(DescribedSchema):
    path: str
    status: Literal["added", "modified", "deleted", "renamed"]
    additions: int
    deletions: int


class DifferenceResponse(DescribedSchema):
    diff: str
    files: list[FileDifferenceResponse]
    total: int = Field(description="How many files changed; `files` is one page of them.")
    next: str | None = Field(description="Pass it as `after` to get the next page; null on the last one.")


class RestoredCounts(Schema):
    restored: int
    deleted: int
    kept: int
    unkept: int


class RestoredResponse(DescribedSchema):
    restored: list[str] = Field(
        description="The first 1,000; `counts` has their number, without folders that come or go with their files."
    )
    deleted: list[str]
    counts: RestoredCounts
    kept: list[str] = Field(description="Folders that should have gone but hold what no recorded change put there.")
    unkept: list[str] = Field(
        description="Paths in folders that git ignores; they stay as they are, because their older content was not kept."
    )
    conflicts: list[str] = Field(description="Paths that someone else changed; with a dry run, all of them.")
    reasons: dict[str, str] = Field(description="Why each of the conflicts is one.")
    left: int = Field(
        description="How many paths were not reached because a person stopped it; restore again to go on."
    )
    undo_snapshot: str | None = Field(description="Restoring this one takes the restore back; null for a dry run.")
    diff: str | None
    files: list[FileDifferenceResponse]
