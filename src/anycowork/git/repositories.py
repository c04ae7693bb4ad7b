"""The git repositories of workspaces on this machine."""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.git import (
    CommitContent,
    CommitDetails,
    GitBranch,
    GitDifference,
    GitFile,
    GitIdentity,
    GitLog,
    GitStash,
    GitState,
    MergeResult,
    PreparedCommit,
    PullSource,
    PushOffer,
    PushRequest,
)
from anycowork.domain.values import replace
from anycowork.git.commits import finish_commit, prepare_commit, read_difference, settle_commit
from anycowork.git.git_process import MOST_PRINTED, read_user, run_git, write_user
from anycowork.git.history import (
    count_ahead_and_behind,
    list_branches,
    list_stashes,
    read_commit,
    read_commit_difference,
    read_log,
)
from anycowork.git.hooks import HookRun, hooks_not_run
from anycowork.git.own_git_folder import (
    WORKTREES,
    GitHead,
    NoRepository,
    find_repository,
    is_branch_reference,
    own_git_folder,
    read_head,
    real_git_folder,
)
from anycowork.git.push import pull, push, read_pull_sources, read_push_offer
from anycowork.git.worktree_acts import (
    abort_merge,
    apply_stash,
    drop_stash,
    finish_merge,
    operation_in,
    require_no_operation,
    save_stash,
    switch_branch,
)
from anycowork.git.worktrees import add_worktree, plan_branch
from anycowork.sandbox.layers.workspace_layers import WorkspaceLayers
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.reader_threads import run_uncancellable
from anycowork.workspace.walk import FolderWalk

MOST_FILES = 2_000
MOST_COUNTED = 1_000  # entries of one folder
_COUNT_SECONDS = 2.0  # for all folders together
_MOST_OPENED = 100  # folders
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")
_WORDS = {"?": "untracked", "A": "added", "D": "deleted", "U": "conflicted"}


def list_changed_files(
    folder: Folder, environment: Mapping[str, str], opened: Collection[str], generated: frozenset[str]
) -> tuple[list[GitFile], bool]:
    """Returns the files, and whether these are all. Raises: ToolFault if git fails.

    Untracked folders named in `opened` are listed file by file, except where a folder has too many files. `generated` are names of folders
    of generated files: each is one line wherever it lies.
    """
    files, complete = _status(folder, environment, "--untracked-files=normal")
    folders_to_open = [file.path for file in files if _is_to_open(file, opened, generated)][:_MOST_OPENED]
    inside, all_inside = (
        _status(folder, environment, "--untracked-files=all", "--", *folders_to_open)
        if folders_to_open
        else ([], False)
    )
    if all_inside and len(files) + len(inside) <= MOST_FILES:
        closed = [file for file in files if file.path not in folders_to_open]
        files = sorted([*closed, *_with_generated_joined(inside, generated)], key=_order)
    marked = [replace(file, is_generated=_is_generated(file, generated)) for file in files if file.path != ".git/"]
    return _with_counts(folder, marked), complete


def _status(folder: Folder, environment: Mapping[str, str], *arguments: str) -> tuple[list[GitFile], bool]:
    printed = run_git((*_STATUS, *arguments), folder=folder.root, environment=environment)
    lines = printed[:MOST_PRINTED].split(b"\0")[:-1]
    return [_file(line) for line in lines[:MOST_FILES]], len(printed) <= MOST_PRINTED and len(lines) <= MOST_FILES


def _file(line: bytes) -> GitFile:
    letters = line[:2].decode("ascii", "replace").strip()
    status = "conflicted" if letters in ("AA", "DD") or "U" in letters else _WORDS.get(letters[-1:], "modified")
    return GitFile(os.fsdecode(line[3:]), status)


def _is_to_open(file: GitFile, opened: Collection[str], generated: frozenset[str]) -> bool:
    is_folder = file.status == "untracked" and file.path.endswith("/")
    return is_folder and file.path.rstrip("/") in opened and not _is_generated(file, generated)


def _is_generated(file: GitFile, generated: frozenset[str]) -> bool:
    return file.status == "untracked" and not generated.isdisjoint(file.path.split("/")[:-1])


def _with_generated_joined(files: Iterable[GitFile], generated: frozenset[str]) -> Sequence[GitFile]:
    """Returns one line for each folder of generated files instead of the files in it."""
    files_by_path: dict[str, GitFile] = {}
    for file in files:
        parts = file.path.split("/")
        depth = next((index for index, name in enumerate(parts[:-1]) if name in generated), None)
        path = file.path if depth is None else "/".join(parts[: depth + 1]) + "/"
        files_by_path.setdefault(path, GitFile(path, file.status))
    return [*files_by_path.values()]


def _order(file: GitFile) -> tuple[bool, bytes]:
    """As git lists them: tracked files first, each part by name."""
    return file.status == "untracked", os.fsencode(file.path)


def _with_counts(folder: Folder, files: Sequence[GitFile]) -> list[GitFile]:
    ends = time.monotonic() + _COUNT_SECONDS
    return [_counted(folder, file, ends) if file.path.endswith("/") else file for file in files]


def _counted(folder: Folder, file: GitFile, ends: float) -> GitFile:
    remaining_seconds = max(0.0, ends - time.monotonic())
    walk = FolderWalk(folder.jail, most=MOST_COUNTED, seconds=remaining_seconds, leave_out=frozenset({".git"}))
    try:
        entries = walk.entries(WorkspacePath(tuple(file.path.rstrip("/").split("/"))))
        inside = tuple(entry.place.path for entry in entries if not entry.is_folder)
    except ToolFault:
        return file  # deleted since git listed it, or not readable
    return replace(file, file_count=len(inside), inside=inside, is_counted_to_the_end=not walk.cut)


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
        """Returns branch and changed files. Untracked folders named in `opened` are listed file by file. Raises: ToolFault if git fails."""
        return await asyncio.to_thread(_state, workspace, opened, self._generated, self._user())

    async def difference(self, workspace: Folder, path: str) -> GitDifference:
        """Returns how one file differs from the last commit. Raises: ToolFault, OutsideWorkspace."""
        return await asyncio.to_thread(read_difference, workspace, path)

    async def prepare_commit(
        self, workspace: Folder, content: CommitContent, *, head: str | None, hooks: HookRun | None = None
    ) -> PreparedCommit:
        """Stores a commit on top of `head`, or in its place, on no branch yet. Raises: StateChanged, ToolFault."""
        return await run_uncancellable(lambda: prepare_commit(workspace, content, head, self._user(), hooks))

    async def finish_commit(self, workspace: Folder, commit: str, paths: Sequence[str], *, head: str | None) -> None:
        """Makes the prepared commit the newest of the current branch. Raises: StateChanged if the branch moved; ToolFault."""
        await self._hold_git_files(workspace)
        await run_uncancellable(lambda: finish_commit(workspace, commit, paths, head))

    async def settle_commit(self, workspace: Folder, commit: str, paths: Sequence[str]) -> bool:
        """Returns whether the current branch has the prepared commit, after a crash; if it is the newest, the index has its files too.

        Raises: ToolFault.
        """
        await self._hold_git_files(workspace)
        return await run_uncancellable(lambda: settle_commit(workspace, commit, paths))

    async def set_identity(self, workspace: Folder, identity: GitIdentity) -> None:
        """Writes who commits into the repository's own configuration. Needs the workspace's lease. Raises: ToolFault."""
        repository = await asyncio.to_thread(find_repository, workspace)
        await self._layers.hold(repository.jail.root, ["/".join((*repository.common, "config"))], ())
        user = {"name": identity.name, "email": identity.email}
        await run_uncancellable(lambda: write_user(repository, user))

    async def create_branch(self, workspace: Folder, name: str) -> None:
        """Creates a branch at the last commit and switches to it; no file changes. Raises: FileExists, ToolFault, Invalid."""
        await self._hold_git_files(workspace, f"refs/heads/{name}")
        await asyncio.to_thread(_branch, workspace, name)

    async def create_worktree(self, workspace: Folder, branch: str) -> str:
        """Creates a branch at the last commit and a folder where it is checked out; returns the folder. Needs the workspace's lease.

        Raises: FileExists, ToolFault, Invalid; then nothing was changed."""
        await self._hold_git_files(workspace, f"refs/heads/{branch}")
        return await run_uncancellable(lambda: add_worktree(workspace, branch, self._elsewhere))

    async def push_offer(self, workspace: Folder) -> PushOffer:
        """Returns where the current branch could be pushed, without asking a remote. Raises: ToolFault."""
        return await asyncio.to_thread(read_push_offer, workspace)

    async def push(self, workspace: Folder, request: PushRequest) -> None:
        """Pushes as the person, never by force. Raises: StateChanged if something is not as shown; ToolFault."""
        folder, offered = workspace, GitHead(f"refs/heads/{request.branch}", request.head)
        await run_uncancellable(lambda: push(folder, request.remote, request.address, offered, self._environ))

    async def log(self, workspace: Folder, *, tip: str | None, branch: str | None, skip: int) -> GitLog:
        """Returns one page of commits. Raises: ToolFault."""
        return await asyncio.to_thread(read_log, workspace, tip=tip, branch=branch, skip=skip)

    async def commit_details(self, workspace: Folder, commit: str) -> CommitDetails:
        """Returns a commit and the files that it changed. Raises: FileMissing, ToolFault."""
        return await asyncio.to_thread(read_commit, workspace, commit)

    async def commit_difference(self, workspace: Folder, commit: str, path: str) -> str:
        """Returns how a commit changed a file. Raises: FileMissing, ToolFault."""
        return await asyncio.to_thread(read_commit_difference, workspace, commit, path)

    async def branches(self, workspace: Folder) -> list[GitBranch]:
        """Returns the newest branches. Raises: ToolFault."""
        return await asyncio.to_thread(list_branches, workspace)

    async def stashes(self, workspace: Folder) -> list[GitStash]:
        """Returns the newest stashes. Raises: ToolFault."""
        return await asyncio.to_thread(lambda: list_stashes(find_repository(workspace)))

    async def pull_sources(self, workspace: Folder) -> tuple[GitHead, list[PullSource]]:
        """Returns what is checked out, and where it could be pulled from, without asking a remote. Raises: ToolFault."""
        return await asyncio.to_thread(read_pull_sources, workspace)

    async def switch(self, workspace: Folder, branch: str) -> None:
        """Checks the branch out. Needs the workspace's lease. Raises: StateChanged, ToolFault, Invalid; then nothing was changed."""
        await self._hold_git_files(workspace)
        await run_uncancellable(lambda: switch_branch(workspace, branch))

    async def pull(self, workspace: Folder, request: PushRequest) -> MergeResult:
        """Fetches the branch as the person and merges it. Needs the workspace's lease. Raises: StateChanged, ToolFault."""
        await self._hold_git_files(workspace)
        offered = GitHead(f"refs/heads/{request.branch}", request.head)
        user = await self._committer(workspace)
        return await run_uncancellable(
            lambda: pull(workspace, request.remote, request.address, offered, user, self._environ)
        )

    async def finish_merge(self, workspace: Folder) -> str:
        """Commits the merge in progress. Needs the workspace's lease. Raises: StateChanged, ToolFault if conflicts are left."""
        await self._hold_git_files(workspace)
        user = await self._committer(workspace)
        return await run_uncancellable(lambda: finish_merge(workspace, user))

    async def abort_merge(self, workspace: Folder) -> None:
        """Gives back the files that were there before the merge. Needs the workspace's lease. Raises: StateChanged, ToolFault."""
        await self._hold_git_files(workspace)
        await run_uncancellable(lambda: abort_merge(workspace))

    async def save_stash(self, workspace: Folder, message: str) -> str:
        """Puts the changes of tracked files aside. Needs the workspace's lease. Raises: StateChanged, ToolFault."""
        await self._hold_git_files(workspace)
        user = await self._committer(workspace)
        return await run_uncancellable(lambda: save_stash(workspace, message, user))

    async def apply_stash(self, workspace: Folder, number: int, commit: str) -> MergeResult:
        """Bring the changes of a stash back. Needs the workspace's lease. Raises: StateChanged, ToolFault."""
        await self._hold_git_files(workspace)
        user = await self._committer(workspace)
        return await run_uncancellable(lambda: apply_stash(workspace, number, commit, user))

    async def drop_stash(self, workspace: Folder, number: int, commit: str) -> None:
        """Removes a stash from git's list. Needs the workspace's lease. Raises: StateChanged, ToolFault."""
        await self._hold_git_files(workspace)
        await run_uncancellable(lambda: drop_stash(workspace, number, commit))

    async def _committer(self, workspace: Folder) -> dict[str, str]:
        return await asyncio.to_thread(lambda: read_user(find_repository(workspace), self._user()))

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
            counts = count_ahead_and_behind(repository, head, environment)
        user, hooks = read_user(repository, person), hooks_not_run(folder, repository)
        operation = operation_in(repository)
    except NoRepository as none:
        return GitState(reason=none.message)
    identity = GitIdentity(user.get("name", ""), user.get("email", ""))
    return GitState(
        head.branch,
        head.commit,
        files,
        complete=complete,
        identity=identity,
        hooks_not_run=hooks,
        operation=operation,
        ahead_and_behind=counts,
    )


def _branch(folder: Folder, name: str) -> None:
    branch = plan_branch(folder, name, param="name")
    require_no_operation(branch.place)
    branch.create()
    real = real_git_folder(branch.place)
    run_git(("symbolic-ref", "-m", "switched", "HEAD", branch.reference), folder=folder.root, environment=real)
