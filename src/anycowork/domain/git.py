"""The git repository of a workspace, as a person sees and changes it; the port that reads and changes it."""

from collections.abc import Collection, Sequence
from typing import Protocol

from anycowork.domain.ports import Workspace
from anycowork.domain.values import value


@value
class GitFile:
    """One file that differs from the last commit. `status` is added, modified, deleted, untracked or conflicted.

    A path that ends with a slash is an untracked folder: `file_count` says how many files it holds, and is a lower limit if
    `is_counted_to_the_end` is False. `is_generated`: it is untracked, and lies in a folder of generated files or is one.
    """

    path: str
    status: str
    file_count: int | None = None
    is_counted_to_the_end: bool = True
    is_generated: bool = False


@value
class GitState:
    """`reason` says why there is no repository that can be shown; `branch` is None for a detached HEAD, `head` before the first commit.

    `complete` is False if more files changed than are listed.
    """

    branch: str | None = None
    head: str | None = None
    files: Sequence[GitFile] = ()
    complete: bool = True
    reason: str | None = None


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


class CommitIntents(Protocol):
    """Keeps intents across a crash."""

    async def put(self, intent: CommitIntent) -> None:
        """Durable on return. Raises: StorageFault."""

    async def remove(self, intent: CommitIntent) -> None: ...
    async def all(self) -> list[CommitIntent]: ...


class GitRepositories(Protocol):
    """Runs git without the repository's configuration, hooks and attributes programs. `commit` and `branch` need the workspace's lease."""

    async def state(self, workspace: Workspace, opened: Collection[str] = ()) -> GitState:
        """Return branch and changed files. Untracked folders named in `opened` are listed file by file. Raises: ToolFault if git fails."""

    async def difference(self, workspace: Workspace, path: str) -> str:
        """Return how one file differs from the last commit. Raises: ToolFault, OutsideWorkspace."""

    async def prepare_commit(
        self, workspace: Workspace, message: str, paths: Sequence[str], *, head: str | None
    ) -> PreparedCommit:
        """Store a commit of these paths on top of `head`, on no branch yet. Raises: StateChanged, ToolFault."""

    async def finish_commit(self, workspace: Workspace, commit: str, paths: Sequence[str], *, head: str | None) -> None:
        """Make the prepared commit the newest of the current branch. Raises: StateChanged if the branch moved; ToolFault."""

    async def settle_commit(self, workspace: Workspace, commit: str, paths: Sequence[str]) -> bool:
        """Return whether the current branch has the prepared commit, after a crash; if it is the newest, the index has its files too.

        Raises: ToolFault.
        """

    async def create_branch(self, workspace: Workspace, name: str) -> None:
        """Create a branch at the last commit and switch to it; no file changes. Raises: FileExists, ToolFault, Invalid."""

    async def create_worktree(self, workspace: Workspace, branch: str) -> str:
        """Create a branch at the last commit and a folder where it is checked out; return the folder. Needs the workspace's lease.

        Raises: FileExists, ToolFault, Invalid; then nothing was changed."""

    async def push_offer(self, workspace: Workspace) -> PushOffer:
        """Return where the current branch could be pushed, without asking a remote. Raises: ToolFault."""

    async def push(self, workspace: Workspace, wanted: PushRequest) -> None:
        """Push as the person, never by force. Raises: StateChanged if something is not as shown; ToolFault."""
