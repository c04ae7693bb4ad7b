"""Adds a linked worktree with a new branch, as `git worktree add` does, without reading the repository's configuration. Blocking.

The files that link the two folders are written by us (gitrepository-layout(5)); the files of the commit are checked out by git in a folder
of our own, so no filter and no hook of the repository exists.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anycowork.domain.errors import CommandFailed, FileExists, Invalid, ToolFault
from anycowork.domain.values import value
from anycowork.git.git_process import run_git
from anycowork.git.own_git_folder import (
    GIT,
    WORKTREES,
    GitHead,
    RepositoryPlace,
    find_repository,
    is_branch_reference,
    own_git_folder,
    read_head,
    real_git_folder,
)
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.sandbox.layers.workspace_copies import create_folder_beside
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import give_to_owner_of
from anycowork.workspace.paths import WorkspacePath


@value
class NewBranch:
    """A branch that can be created: its repository, its reference, and the commit that it starts at."""

    place: RepositoryPlace
    reference: str
    commit: str

    def create(self) -> None:
        """Raises: FileExists, ToolFault."""
        arguments = ("update-ref", "-m", "branch: created", self.reference, self.commit, "0" * len(self.commit))
        try:
            run_git(arguments, folder=self.place.worktree, environment=real_git_folder(self.place))
        except CommandFailed:
            raise FileExists(f"There is a branch '{self.reference.removeprefix('refs/heads/')}' already.") from None


def plan_branch(folder: Folder, name: str, *, param: str) -> NewBranch:
    """Raises: NoRepository, ToolFault without a commit; Invalid, which names `param`, for what cannot be a branch's name."""
    reference = f"refs/heads/{name}"
    if not is_branch_reference(reference):
        raise Invalid(f"'{name[:80]}' cannot be the name of a branch.", param=param)
    repository = find_repository(folder)
    head = read_head(repository)
    if head.commit is None:
        raise ToolFault("There is no commit yet that a branch could start at. Commit first.")
    return NewBranch(repository, reference, head.commit)


_CHECKOUT_SECONDS = 120.0
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def add_worktree(folder: Folder, branch: str, elsewhere: Path) -> str:
    """Creates the branch at the last commit and a folder beside the workspace where it is checked out; returns the folder.

    Raises: NoRepository, FileExists, Invalid, ToolFault; then nothing was changed.
    """
    new = plan_branch(folder, branch, param="branch")
    repository = new.place
    with _created(new):
        name = f"{Path(repository.jail.root).name}-{branch.replace('/', '-')}"
        new_folder = create_folder_beside(Path(repository.jail.root), name[:200], elsewhere)
        linked = RepositoryPlace(repository.jail, str(new_folder))
        try:
            linked = _link(repository, new_folder, new.reference)
            _check_out(linked, GitHead(new.reference, new.commit))
            _give_to_owner(repository, linked)
        except BaseException:
            remove_tree(new_folder)
            if linked.own != (GIT,):
                remove_tree(Path(linked.own_folder))
            raise
    return str(new_folder)


@contextmanager
def _created(branch: NewBranch) -> Iterator[None]:
    """Removes it again if the block fails."""
    branch.create()
    try:
        yield
    except BaseException:
        arguments = ("update-ref", "-d", branch.reference, branch.commit)
        run_git(arguments, folder=branch.place.worktree, environment=real_git_folder(branch.place))
        raise


def _link(repository: RepositoryPlace, new_folder: Path, reference: str) -> RepositoryPlace:
    """Writes the two halves of the link. Raises: ToolFault, OSError."""
    worktrees = WorkspacePath((*repository.common, WORKTREES))
    repository.jail.make_folders(worktrees)
    with repository.jail.folder(worktrees, flags=os.O_RDONLY) as fd:
        name = new_folder.name
        number = 1
        while True:
            try:
                os.mkdir(name, 0o755, dir_fd=fd)
                break
            except FileExistsError:
                number += 1
                name = f"{new_folder.name}{number}"
        give_to_owner_of(fd, name)
    linked = RepositoryPlace(repository.jail, str(new_folder), (*repository.common, WORKTREES, name))
    files = {"HEAD": f"ref: {reference}\n", "commondir": "../..\n", "gitdir": f"{new_folder / GIT}\n"}
    with repository.jail.folder(WorkspacePath(linked.own), flags=os.O_RDONLY) as fd:
        for file, text in files.items():
            _write(fd, file, text)
    opened = os.open(new_folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _write(opened, GIT, f"gitdir: {linked.own_folder}\n")
    finally:
        os.close(opened)
    return linked


def _write(folder: int, name: str, text: str) -> None:
    fd = os.open(name, _NEW_FILE, 0o644, dir_fd=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(os.fsencode(text))
        file.flush()
        os.fsync(file.fileno())
    give_to_owner_of(folder, name)


def _check_out(linked: RepositoryPlace, head: GitHead) -> None:
    with own_git_folder(linked, head) as environment:
        arguments = ("read-tree", "--reset", "-u", "HEAD")
        run_git(arguments, folder=linked.worktree, environment=environment, seconds=_CHECKOUT_SECONDS)


def _give_to_owner(repository: RepositoryPlace, linked: RepositoryPlace) -> None:
    """A server that runs as root gives the files to the owner of the repository, who could not change them otherwise."""
    status = Path(repository.worktree).stat()
    Path(linked.worktree).chmod(status.st_mode & 0o777)
    if os.geteuid() != 0:
        return
    os.chown(Path(linked.own_folder, "index"), status.st_uid, status.st_gid, follow_symlinks=False)
    for folder, folders, files in os.walk(linked.worktree):
        for name in (*folders, *files):
            os.chown(Path(folder, name), status.st_uid, status.st_gid, follow_symlinks=False)
    os.chown(linked.worktree, status.st_uid, status.st_gid, follow_symlinks=False)
