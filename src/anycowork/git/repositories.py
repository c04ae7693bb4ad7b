"""The git repositories of workspaces on this machine."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from anycowork.domain.errors import CommandFailed, StateChanged, ToolFault
from anycowork.domain.git import GitIdentity, GitState, PreparedCommit, PushOffer, PushRequest
from anycowork.git.changed_files import list_changed_files
from anycowork.git.configuration import hooks_not_run, locked_git_file, read_user, remove_our_lock, write_user
from anycowork.git.git_process import MOST_PRINTED, run_git
from anycowork.git.own_git_folder import GitHead, is_branch_reference, own_git_folder, read_head, real_git_folder
from anycowork.git.push import push, read_push_offer
from anycowork.git.repository_place import WORKTREES, NoRepository, RepositoryPlace, find_repository
from anycowork.git.worktrees import add_worktree, plan_branch
from anycowork.sandbox.git_identity import gitconfig_of
from anycowork.sandbox.layers.workspace_layers import WorkspaceLayers
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.uncancellable import run_uncancellable

_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=all")
_CHANGED = (
    "diff-tree",
    "-r",
    "-z",
    "--root",
    "--no-commit-id",
    "--name-only",
    "--no-renames",
    "--ignore-submodules=none",
)
_EMPTY_TREE = ("hash-object", "-t", "tree", "--stdin")


class GitRepositories:
    """`user` returns the person's `name` and `email` as far as their own configuration of git has them. `environ` is the person's
    environment, for pushing. `elsewhere` holds worktrees that cannot lie beside their repository. `layers` keeps what tasks of jobs see
    of git's own files. `generated` are names of folders of generated files."""

    def __init__(
        self,
        user: Callable[[], Mapping[str, str]],
        environ: Mapping[str, str],
        elsewhere: Path,
        layers: WorkspaceLayers,
        generated: frozenset[str] = frozenset(),
    ) -> None:
        self._user = user
        self._layers = layers
        self._environ = environ
        self._elsewhere = elsewhere
        self._generated = generated

    async def state(self, workspace: Folder, opened: Collection[str] = ()) -> GitState:
        """Return branch and changed files. Untracked folders named in `opened` are listed file by file. Raises: ToolFault if git fails."""
        return await asyncio.to_thread(_state, workspace, opened, self._generated, self._user())

    async def difference(self, workspace: Folder, path: str) -> str:
        """Return how one file differs from the last commit. Raises: ToolFault, OutsideWorkspace."""
        return await asyncio.to_thread(_difference, workspace, path)

    async def prepare_commit(
        self, workspace: Folder, message: str, paths: Sequence[str], *, head: str | None
    ) -> PreparedCommit:
        """Store a commit of these paths on top of `head`, on no branch yet. Raises: StateChanged, ToolFault."""
        return await asyncio.to_thread(_prepared, workspace, message, paths, head, self._user())

    async def finish_commit(self, workspace: Folder, commit: str, paths: Sequence[str], *, head: str | None) -> None:
        """Make the prepared commit the newest of the current branch. Raises: StateChanged if the branch moved; ToolFault."""
        await self._hold_git_files(workspace)
        await run_uncancellable(lambda: _finish(workspace, commit, paths, head))

    async def settle_commit(self, workspace: Folder, commit: str, paths: Sequence[str]) -> bool:
        """Return whether the current branch has the prepared commit, after a crash; if it is the newest, the index has its files too.

        Raises: ToolFault.
        """
        await self._hold_git_files(workspace)
        return await run_uncancellable(lambda: _settled(workspace, commit, paths))

    async def set_identity(self, workspace: Folder, identity: GitIdentity) -> None:
        """Write who commits into the repository's own configuration. Needs the workspace's lease. Raises: ToolFault."""
        repository = await asyncio.to_thread(find_repository, workspace)
        await self._layers.hold(repository.jail.root, ["/".join((*repository.common, "config"))], ())
        user = {"name": identity.name, "email": identity.email}
        await run_uncancellable(lambda: write_user(repository, user))

    async def create_branch(self, workspace: Folder, name: str) -> None:
        """Create a branch at the last commit and switch to it; no file changes. Raises: FileExists, ToolFault, Invalid."""
        await self._hold_git_files(workspace, f"refs/heads/{name}")
        await asyncio.to_thread(_branch, workspace, name)

    async def create_worktree(self, workspace: Folder, branch: str) -> str:
        """Create a branch at the last commit and a folder where it is checked out; return the folder. Needs the workspace's lease.

        Raises: FileExists, ToolFault, Invalid; then nothing was changed."""
        await self._hold_git_files(workspace, f"refs/heads/{branch}")
        return await run_uncancellable(lambda: add_worktree(workspace, branch, self._elsewhere))

    async def push_offer(self, workspace: Folder) -> PushOffer:
        """Return where the current branch could be pushed, without asking a remote. Raises: ToolFault."""
        return await asyncio.to_thread(read_push_offer, workspace)

    async def push(self, workspace: Folder, request: PushRequest) -> None:
        """Push as the person, never by force. Raises: StateChanged if something is not as shown; ToolFault."""
        folder, offered = workspace, GitHead(f"refs/heads/{request.branch}", request.head)
        await run_uncancellable(lambda: push(folder, request.remote, request.address, offered, self._environ))

    async def _hold_git_files(self, folder: Folder, new_reference: str | None = None) -> None:
        """Keeps for the tasks of jobs what a commit or a new branch changes of git's own files. Objects are only added."""
        root, paths = await asyncio.to_thread(_git_files, folder, new_reference)
        await self._layers.hold(root, paths, ())


def _git_files(folder: Folder, new_reference: str | None) -> tuple[str, list[str]]:
    """Returns the folder of the main worktree, and which files in it are written."""
    try:
        repository = find_repository(folder)
        reference = read_head(repository).reference
    except ToolFault:
        return folder.root, []  # what writes them reports it
    own_files = [(*repository.own, *name.split("/")) for name in ("HEAD", "index", "index.lock", "logs/HEAD")]
    references = [name for name in (reference, new_reference) if name is not None and is_branch_reference(name)]
    common = [(*repository.common, *start, *name.split("/")) for name in references for start in ((), ("logs",))]
    worktrees = [(*repository.common, WORKTREES)] if new_reference is not None else []
    return repository.jail.root, ["/".join(parts) for parts in (*own_files, *common, *worktrees)]


def _state(folder: Folder, opened: Collection[str], generated: frozenset[str], person: Mapping[str, str]) -> GitState:
    try:
        repository = find_repository(folder)
        head = read_head(repository)
        with own_git_folder(repository, head) as environment:
            files, complete = list_changed_files(folder, environment, opened, generated)
        user, hooks = read_user(repository, person), hooks_not_run(folder, repository)
    except NoRepository as none:
        return GitState(reason=none.message)
    identity = GitIdentity(user.get("name", ""), user.get("email", ""))
    return GitState(head.branch, head.commit, files, complete=complete, identity=identity, hooks_not_run=hooks)


def _difference(folder: Folder, path: str) -> str:
    entry = folder.jail.entry(path)
    repository = find_repository(folder)
    head = read_head(repository)
    with own_git_folder(repository, head) as environment:
        against = head.commit or run_git(_EMPTY_TREE, folder=folder.root, environment=environment).decode().strip()
        printed = run_git((*_DIFF, against, "--", entry.path), folder=folder.root, environment=environment)
    return printed[:MOST_PRINTED].decode(errors="replace")


def _prepared(
    folder: Folder, message: str, paths: Sequence[str], expected: str | None, person: Mapping[str, str]
) -> PreparedCommit:
    repository = find_repository(folder)
    head = _require_head(repository, expected)
    user = read_user(repository, person)
    if not {"name", "email"} <= user.keys():
        raise ToolFault(
            "Git does not know who commits: neither this repository nor your own configuration has a name and an e-mail address."
            " Set them beside the commit message, or in the folder with 'git config user.name' and 'git config user.email'."
        )
    require_no_operation(repository)
    with _with_paths_added(folder, repository, head, paths, gitconfig_of(user)) as (environment, _):
        require_no_conflicts(folder, environment)
        tree = run_git(("write-tree",), folder=folder.root, environment=environment).decode().strip()
        parents = ("-p", head.commit) if head.commit else ()
        arguments = ("commit-tree", tree, *parents, "-F", "-")
        commit = (
            run_git(arguments, folder=folder.root, environment=environment, stdin=message.encode()).decode().strip()
        )
        changed = run_git((*_CHANGED, commit), folder=folder.root, environment=environment)
        hooks, count = hooks_not_run(folder, repository), changed[:MOST_PRINTED].count(b"\0")
        return PreparedCommit(commit, count, complete=len(changed) <= MOST_PRINTED, hooks_not_run=hooks)


def _finish(folder: Folder, commit: str, paths: Sequence[str], expected: str | None) -> None:
    """Under the lock of the index: the branch moves in git's own way, with its log; then the index has the committed files too."""
    repository = find_repository(folder)
    head = _require_head(repository, expected)
    require_no_operation(repository)
    before = head.commit or "0" * len(commit)
    with (
        locked_git_file(repository.jail, repository.own, "index") as write,
        _with_paths_added(folder, repository, head, paths) as (_, index),
    ):
        try:
            arguments = ("update-ref", "-m", "commit", head.reference or "HEAD", commit, before)
            run_git(arguments, folder=folder.root, environment=real_git_folder(repository))
        except CommandFailed as failed:
            raise StateChanged(f"The branch was moved by somebody else meanwhile. {failed.message}") from None
        write(index.read_bytes())


def _settled(folder: Folder, commit: str, paths: Sequence[str]) -> bool:
    repository = find_repository(folder)
    head = read_head(repository)
    remove_our_lock(repository.jail, repository.own, "index")
    if head.commit != commit:
        return head.commit is not None and _is_ancestor(folder, repository, commit, head.commit)
    with (
        locked_git_file(repository.jail, repository.own, "index") as write,
        _with_paths_reset(folder, repository, head, paths) as index,
    ):
        write(index.read_bytes())
    return True


def _is_ancestor(folder: Folder, repository: RepositoryPlace, commit: str, head: str) -> bool:
    try:
        arguments = ("merge-base", "--is-ancestor", commit, head)
        run_git(arguments, folder=folder.root, environment=real_git_folder(repository))
    except CommandFailed:
        return False
    return True


@contextmanager
def _with_paths_reset(
    folder: Folder, repository: RepositoryPlace, head: GitHead, paths: Sequence[str]
) -> Iterator[Path]:
    """Yields a copy of the index that has these paths as the newest commit has them: they may have changed since."""
    with tempfile.TemporaryDirectory(prefix="anycowork-index-") as temporary_folder:
        index = Path(temporary_folder, "index")
        _copy_index(repository, index)
        with own_git_folder(repository, head, user="", index=index) as environment:
            path_list = b"".join(os.fsencode(path) + b"\0" for path in paths)
            reset = ("reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul")
            run_git(reset, folder=folder.root, environment=environment, stdin=path_list)
            yield index


@contextmanager
def _with_paths_added(
    folder: Folder, repository: RepositoryPlace, head: GitHead, paths: Sequence[str], user: str = ""
) -> Iterator[tuple[dict[str, str], Path]]:
    """Yields the environment of git with a copy of the index that has these paths as they are now, and that copy."""
    with tempfile.TemporaryDirectory(prefix="anycowork-index-") as temporary_folder:
        index = Path(temporary_folder, "index")
        _copy_index(repository, index)
        with own_git_folder(repository, head, user=user, index=index) as environment:
            path_list = b"".join(os.fsencode(folder.jail.entry(path).path) + b"\0" for path in paths)
            add = ("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
            run_git(add, folder=folder.root, environment=environment, stdin=path_list)
            yield environment, index


def _branch(folder: Folder, name: str) -> None:
    branch = plan_branch(folder, name, param="name")
    require_no_operation(branch.place)
    branch.create()
    real = real_git_folder(branch.place)
    run_git(("symbolic-ref", "-m", "switched", "HEAD", branch.reference), folder=folder.root, environment=real)


def _require_head(repository: RepositoryPlace, expected: str | None) -> GitHead:
    head = read_head(repository)
    if head.commit != expected:
        raise StateChanged("Somebody committed meanwhile. Nothing was committed; look at the state again.")
    return head


def _copy_index(repository: RepositoryPlace, target: Path) -> None:
    """Copies it with its time: by that git knows which files may have changed within the second in which they were added."""
    try:
        with (
            repository.jail.regular_file(WorkspacePath((*repository.own, "index"))) as (fd, _),
            target.open("wb") as copy,
        ):
            while piece := os.read(fd, 1 << 20):
                copy.write(piece)
            copy.flush()
            status = os.fstat(fd)
            os.utime(copy.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
    except ToolFault:
        return  # a repository without a first commit has none


_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
_UNMERGED = ("ls-files", "--unmerged", "-z", "--full-name")


def require_no_operation(repository: RepositoryPlace) -> None:
    """Raises: StateChanged. A commit of ours would have one parent: of a merge it would lose the other one."""
    for name, operation in _OPERATIONS.items():
        if repository.jail.stat(WorkspacePath((*repository.own, name))) is not None:
            raise StateChanged(
                f"A {operation} is in progress in this repository. Nothing was changed. Finish it in a terminal with"
                f" 'git {operation} --continue', or end it with 'git {operation} --abort'."
            )


def require_no_conflicts(folder: Folder, environment: Mapping[str, str]) -> None:
    """Raises: ToolFault if files are left in the index whose conflicts nobody resolved: no commit can be made of it."""
    printed = run_git(_UNMERGED, folder=folder.root, environment=environment)
    paths = sorted({line.partition(b"\t")[2].decode(errors="replace") for line in printed.split(b"\0") if line})
    if paths:
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        raise ToolFault(
            f"Git still has conflicts in '{shown(paths[0])}'{more}. Nothing was committed. Resolve them first, then choose these files too."
        )
