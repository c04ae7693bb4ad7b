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
    `operation` is what the person is in the middle of: merge, rebase, cherry-pick or revert. `ahead_and_behind` counts the commits that
    `origin` lacks and those that only it has, as far as is known.
    """

    branch: str | None = None
    head: str | None = None
    files: Sequence[GitFile] = ()
    complete: bool = True
    reason: str | None = None
    identity: GitIdentity = GitIdentity()
    hooks_not_run: Sequence[str] = ()
    operation: str | None = None
    ahead_and_behind: tuple[int, int] | None = None


@value
class GitDifference:
    """`path` is the file that git compared. `sha256` names the difference when some of its hunks are committed; None if it cannot be
    divided."""

    path: str
    text: str
    sha256: str | None


@value
class ChosenHunks:
    """Which hunks of a file's difference are committed, counted from 0. `sha256` is that of the difference that the person saw."""

    path: str
    sha256: str
    numbers: Sequence[int]


@value
class CommitContent:
    """What a person commits: files as they are now, and hunks of others. `amend`: in place of the last commit."""

    message: str
    paths: Sequence[str]
    hunks: Sequence[ChosenHunks] = ()
    amend: bool = False

    @property
    def all_paths(self) -> tuple[str, ...]:
        return (*self.paths, *(chosen.path for chosen in self.hunks))


@value
class GitHook:
    """A hook that the repository brings. `is_allowed`: a person allowed exactly this text."""

    name: str
    sha256: str
    text: str
    is_allowed: bool


@value
class GitCommit:
    id: str
    subject: str
    author: str
    created_at: str


@value
class GitLog:
    """One page of commits. `tip` is the commit at which the log starts: the next page has the same one."""

    tip: str | None
    commits: Sequence[GitCommit]
    is_last: bool


@value
class CommitDetails:
    """A commit with the files that differ from its first parent. `complete` is False if there are more than are listed."""

    line: GitCommit
    body: str
    email: str
    parents: Sequence[str]
    files: Sequence[GitFile]
    complete: bool = True


@value
class GitBranch:
    name: str
    commit: str
    committed_at: str
    is_current: bool


@value
class GitStash:
    """Changes that were put aside. `number` is its place in git's own list, 0 the newest; `commit` tells whether it is still that one."""

    number: int
    commit: str
    message: str


@value
class MergeResult:
    """`commit` is where the branch is now; None if `conflicts` stay in these files. `is_new` is False if there was nothing to merge."""

    commit: str | None
    conflicts: Sequence[str] = ()
    is_new: bool = True


@value
class PullSource:
    """A remote that a branch could be pulled from. `refused` says why nothing is pulled from there."""

    remote: str
    address: str
    refused: str | None


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
