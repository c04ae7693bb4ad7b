"""Implements the `GitRepositories` port for the repositories of workspaces on this machine."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from anycowork.domain.errors import CommandFailed, StateChanged, ToolFault
from anycowork.domain.git import GitState, PreparedCommit, PushOffer, PushRequest
from anycowork.domain.ports import LayerVersions, Workspace
from anycowork.git.changed_files import list_changed_files
from anycowork.git.git_process import MOST_PRINTED, run_git
from anycowork.git.new_branch import plan_branch
from anycowork.git.own_git_folder import GitHead, is_branch_reference, own_git_folder, read_head, real_git_folder
from anycowork.git.push import push, read_push_offer
from anycowork.git.repository_place import WORKTREES, NoRepository, RepositoryPlace, find_repository
from anycowork.git.unfinished_operation import require_no_conflicts, require_no_operation
from anycowork.git.worktrees import add_worktree
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import give_to_owner_of
from anycowork.workspace.paths import WorkspacePath
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
_OUR_LOCK = b"anycowork\n"  # in the lock of the index, as long as the index is not written


class LocalGitRepositories:
    """`user` returns the section of git's configuration with the person's name and address; empty if git does not know them. `environ` is
    the person's environment, for pushing. `elsewhere` holds worktrees that cannot lie beside their repository. `layers` keeps what tasks
    of jobs see of git's own files. `generated` are names of folders of generated files."""

    def __init__(
        self,
        user: Callable[[], str],
        environ: Mapping[str, str],
        elsewhere: Path,
        layers: LayerVersions,
        generated: frozenset[str] = frozenset(),
    ) -> None:
        self._user = user
        self._layers = layers
        self._environ = environ
        self._elsewhere = elsewhere
        self._generated = generated

    async def state(self, workspace: Workspace, opened: Collection[str] = ()) -> GitState:
        return await asyncio.to_thread(_state, _folder(workspace), opened, self._generated)

    async def difference(self, workspace: Workspace, path: str) -> str:
        return await asyncio.to_thread(_difference, _folder(workspace), path)

    async def prepare_commit(
        self, workspace: Workspace, message: str, paths: Sequence[str], *, head: str | None
    ) -> PreparedCommit:
        return await asyncio.to_thread(_prepared, _folder(workspace), message, paths, head, self._user())

    async def finish_commit(self, workspace: Workspace, commit: str, paths: Sequence[str], *, head: str | None) -> None:
        folder = _folder(workspace)
        await self._hold_git_files(folder)
        await run_uncancellable(lambda: _finish(folder, commit, paths, head))

    async def settle_commit(self, workspace: Workspace, commit: str, paths: Sequence[str]) -> bool:
        folder = _folder(workspace)
        await self._hold_git_files(folder)
        return await run_uncancellable(lambda: _settled(folder, commit, paths))

    async def create_branch(self, workspace: Workspace, name: str) -> None:
        folder = _folder(workspace)
        await self._hold_git_files(folder, f"refs/heads/{name}")
        await asyncio.to_thread(_branch, folder, name)

    async def create_worktree(self, workspace: Workspace, branch: str) -> str:
        folder = _folder(workspace)
        await self._hold_git_files(folder, f"refs/heads/{branch}")
        return await run_uncancellable(lambda: add_worktree(folder, branch, self._elsewhere))

    async def push_offer(self, workspace: Workspace) -> PushOffer:
        return await asyncio.to_thread(read_push_offer, _folder(workspace))

    async def push(self, workspace: Workspace, wanted: PushRequest) -> None:
        folder, offered = _folder(workspace), GitHead(f"refs/heads/{wanted.branch}", wanted.head)
        await run_uncancellable(lambda: push(folder, wanted.remote, wanted.address, offered, self._environ))

    async def _hold_git_files(self, folder: Folder, new_reference: str | None = None) -> None:
        """Keeps for the tasks of jobs what a commit or a new branch changes of git's own files. Objects are only added."""
        root, paths = await asyncio.to_thread(_git_files, folder, new_reference)
        await self._layers.hold(root, paths, ())


def _git_files(folder: Folder, new_reference: str | None) -> tuple[str, list[str]]:
    """Returns the folder of the main worktree, and which files in it are written."""
    try:
        place = find_repository(folder)
        reference = read_head(place).reference
    except ToolFault:
        return folder.root, []  # what writes them reports it
    own = [(*place.own, *name.split("/")) for name in ("HEAD", "index", "index.lock", "logs/HEAD")]
    named = [name for name in (reference, new_reference) if name is not None and is_branch_reference(name)]
    common = [(*place.common, *start, *name.split("/")) for name in named for start in ((), ("logs",))]
    worktrees = [(*place.common, WORKTREES)] if new_reference is not None else []
    return place.jail.root, ["/".join(parts) for parts in (*own, *common, *worktrees)]


def _state(folder: Folder, opened: Collection[str], generated: frozenset[str]) -> GitState:
    try:
        place = find_repository(folder)
        head = read_head(place)
        with own_git_folder(place, head) as environment:
            files, whole = list_changed_files(folder, environment, opened, generated)
    except NoRepository as none:
        return GitState(reason=none.message)
    return GitState(head.branch, head.commit, files, complete=whole)


def _difference(folder: Folder, path: str) -> str:
    entry = folder.jail.entry(path)
    place = find_repository(folder)
    head = read_head(place)
    with own_git_folder(place, head) as environment:
        against = head.commit or run_git(_EMPTY_TREE, folder=folder.root, environment=environment).decode().strip()
        printed = run_git((*_DIFF, against, "--", entry.path), folder=folder.root, environment=environment)
    return printed[:MOST_PRINTED].decode(errors="replace")


def _prepared(folder: Folder, message: str, paths: Sequence[str], expected: str | None, user: str) -> PreparedCommit:
    place = find_repository(folder)
    head = _require_head(place, expected)
    if not user:
        raise ToolFault(
            "Git does not know your name. Set it on the server's machine with 'git config --global user.name' and"
            " 'git config --global user.email'."
        )
    require_no_operation(place)
    with _with_paths_added(folder, place, head, paths, user) as (environment, _):
        require_no_conflicts(folder, environment)
        tree = run_git(("write-tree",), folder=folder.root, environment=environment).decode().strip()
        parents = ("-p", head.commit) if head.commit else ()
        words = ("commit-tree", tree, *parents, "-F", "-")
        made = run_git(words, folder=folder.root, environment=environment, given=message.encode()).decode().strip()
        changed = run_git((*_CHANGED, made), folder=folder.root, environment=environment)
        return PreparedCommit(made, changed[:MOST_PRINTED].count(b"\0"), complete=len(changed) <= MOST_PRINTED)


def _finish(folder: Folder, commit: str, paths: Sequence[str], expected: str | None) -> None:
    """Under the lock of the index: the branch moves in git's own way, with its log; then the index has the committed files too."""
    place = find_repository(folder)
    head = _require_head(place, expected)
    require_no_operation(place)
    before = head.commit or "0" * len(commit)
    with _locked_index(place) as write, _with_paths_added(folder, place, head, paths) as (_, index):
        try:
            words = ("update-ref", "-m", "commit", head.reference or "HEAD", commit, before)
            run_git(words, folder=folder.root, environment=real_git_folder(place))
        except CommandFailed as failed:
            raise StateChanged(f"The branch was moved by somebody else meanwhile. {failed.message}") from None
        write(index.read_bytes())


def _settled(folder: Folder, commit: str, paths: Sequence[str]) -> bool:
    place = find_repository(folder)
    head = read_head(place)
    _remove_our_lock(place)
    if head.commit != commit:
        return head.commit is not None and _is_ancestor(folder, place, commit, head.commit)
    with _locked_index(place) as write, _with_paths_reset(folder, place, head, paths) as index:
        write(index.read_bytes())
    return True


def _remove_our_lock(place: RepositoryPlace) -> None:
    """Removes the lock of the index that a server left that died. No other one is at work here: the caller has the workspace's lease."""
    with place.jail.folder(WorkspacePath(place.own), flags=os.O_RDONLY) as git:
        try:
            fd = os.open("index.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=git)
        except OSError:
            return
        with os.fdopen(fd, "rb") as lock:
            if lock.read(len(_OUR_LOCK) + 1) == _OUR_LOCK:
                os.unlink("index.lock", dir_fd=git)


def _is_ancestor(folder: Folder, place: RepositoryPlace, commit: str, head: str) -> bool:
    try:
        words = ("merge-base", "--is-ancestor", commit, head)
        run_git(words, folder=folder.root, environment=real_git_folder(place))
    except CommandFailed:
        return False
    return True


@contextmanager
def _with_paths_reset(folder: Folder, place: RepositoryPlace, head: GitHead, paths: Sequence[str]) -> Iterator[Path]:
    """Yields a copy of the index that has these paths as the newest commit has them: they may have changed since."""
    with tempfile.TemporaryDirectory(prefix="anycowork-index-") as made:
        index = Path(made, "index")
        _copy_index(place, index)
        with own_git_folder(place, head, user="", index=index) as environment:
            given = b"".join(os.fsencode(path) + b"\0" for path in paths)
            reset = ("reset", "-q", "--pathspec-from-file=-", "--pathspec-file-nul")
            run_git(reset, folder=folder.root, environment=environment, given=given)
            yield index


@contextmanager
def _with_paths_added(
    folder: Folder, place: RepositoryPlace, head: GitHead, paths: Sequence[str], user: str = ""
) -> Iterator[tuple[dict[str, str], Path]]:
    """Yields the environment of git with a copy of the index that has these paths as they are now, and that copy."""
    with tempfile.TemporaryDirectory(prefix="anycowork-index-") as made:
        index = Path(made, "index")
        _copy_index(place, index)
        with own_git_folder(place, head, user=user, index=index) as environment:
            given = b"".join(os.fsencode(folder.jail.entry(path).path) + b"\0" for path in paths)
            add = ("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
            run_git(add, folder=folder.root, environment=environment, given=given)
            yield environment, index


@contextmanager
def _locked_index(place: RepositoryPlace) -> Iterator[Callable[[bytes], None]]:
    """Yields what writes the index. Raises: ToolFault if another git has the lock."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with place.jail.folder(WorkspacePath(place.own), flags=os.O_RDONLY) as git:
        try:
            fd = os.open("index.lock", flags, 0o644, dir_fd=git)
        except FileExistsError:
            raise ToolFault("Another git is at work in this repository. Try again when it has finished.") from None
        os.write(fd, _OUR_LOCK)

        def write(data: bytes) -> None:
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            with os.fdopen(os.dup(fd), "wb") as file:
                file.write(data)
            os.fsync(fd)
            give_to_owner_of(git, "index.lock")
            os.rename("index.lock", "index", src_dir_fd=git, dst_dir_fd=git)

        try:
            yield write
        finally:
            os.close(fd)
            try:
                os.unlink("index.lock", dir_fd=git)
            except FileNotFoundError:
                pass  # it is the index now


def _branch(folder: Folder, name: str) -> None:
    branch = plan_branch(folder, name, param="name")
    require_no_operation(branch.place)
    branch.create()
    real = real_git_folder(branch.place)
    run_git(("symbolic-ref", "-m", "switched", "HEAD", branch.reference), folder=folder.root, environment=real)


def _require_head(place: RepositoryPlace, expected: str | None) -> GitHead:
    head = read_head(place)
    if head.commit != expected:
        raise StateChanged("Somebody committed meanwhile. Nothing was committed; look at the state again.")
    return head


def _copy_index(place: RepositoryPlace, target: Path) -> None:
    """Copies it with its time: by that git knows which files may have changed within the second in which they were added."""
    try:
        with place.jail.regular_file(WorkspacePath((*place.own, "index"))) as (fd, _), target.open("wb") as copy:
            while piece := os.read(fd, 1 << 20):
                copy.write(piece)
            copy.flush()
            found = os.fstat(fd)
            os.utime(copy.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))
    except ToolFault:
        return  # a repository without a first commit has none


def _folder(workspace: Workspace) -> Folder:
    if not isinstance(workspace, Folder):
        raise TypeError("a repository is read in a workspace that LocalWorkspaces opened")
    return workspace
