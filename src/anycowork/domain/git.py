"""The git repository of a workspace, as a person sees and changes it; the port that reads and changes it."""

from collections.abc import Sequence

from anycowork.domain.values import value


@value
class GitFile:
    """One file that differs from the last commit. `status` is added, modified, deleted, untracked or conflicted.

    A path that ends with a slash is an untracked folder: `file_count` says how many files it holds, and is a lower limit if
    `is_counted_to_the_end` is False; `inside` are their paths. `is_generated`: it is untracked, and lies in a folder of generated files or is one.
    """

    path: str
    status: str
    file_count: int | None = None
    is_counted_to_the_end: bool = True
    is_generated: bool = False
    inside: tuple[str, ...] = ()


@value
class GitIdentity:
    """Who commits; what git does not know is empty."""

    name: str = ""
    email: str = ""


@value
class GitState:
    """`reason` says why there is no repository that can be shown; `branch` is None for a detached HEAD, `head` before the first commit.

    `complete` is False if more files changed than are listed. `hooks_not_run` are the hooks that git itself would run at a commit.
    """

    branch: str | None = None
    head: str | None = None
    files: Sequence[GitFile] = ()
    complete: bool = True
    reason: str | None = None
    identity: GitIdentity = GitIdentity()
    hooks_not_run: Sequence[str] = ()


@value
class GitCommit:
    id: str
    subject: str
    author: str
    created_at: str


@value
class PushTarget:
    """A remote and what a push would bring it, as far as is known without asking it. `address` has no password; `refused` says why
    nothing is pushed there. `complete` is False if there are more commits than are listed."""

    remote: str
    address: str
    refused: str | None
    commits: Sequence[GitCommit] = ()
    complete: bool = True
    is_new_branch: bool = False


@value
class PushOffer:
    branch: str | None
    head: str | None
    targets: Sequence[PushTarget]


@value
class PushRequest:
    """What the person saw when they pressed Push."""

    remote: str
    address: str
    branch: str
    head: str


@value
class PreparedCommit:
    """A commit on no branch yet, and how many files it changes: a chosen folder counts as its files. `complete` is False if there are more."""

    commit: str
    files: int
    complete: bool = True
    hooks_not_run: Sequence[str] = ()


@value
class CommitIntent:
    """A commit that a person asked for, until its result is recorded, as the message with this id."""

    message_id: str
    chat_id: str
    commit: str
    parent: str | None
    paths: tuple[str, ...]
    by: str
    what: str
