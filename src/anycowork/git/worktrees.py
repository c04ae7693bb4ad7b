"""Adds a linked worktree with a new branch, as `git worktree add` does, without reading the repository's configuration. Blocking.

The files that link the two folders are written by us (gitrepository-layout(5)); the files of the commit are checked out by git in a folder
of our own, so no filter and no hook of the repository exists.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anycowork.git.git_process import run_git
from anycowork.git.new_branch import NewBranch, plan_branch
from anycowork.git.own_git_folder import GitHead, own_git_folder, real_git_folder
from anycowork.git.repository_place import GIT, WORKTREES, RepositoryPlace
from anycowork.sandbox.new_folder import create_folder_beside
from anycowork.sandbox.staging_folders import remove_tree
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import give_to_owner_of
from anycowork.workspace.paths import WorkspacePath

_CHECKOUT_SECONDS = 120.0
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def add_worktree(folder: Folder, branch: str, elsewhere: Path) -> str:
    """Creates the branch at the last commit and a folder beside the workspace where it is checked out; returns the folder.

    Raises: NoRepository, FileExists, Invalid, ToolFault; then nothing was changed.
    """
    new = plan_branch(folder, branch, param="branch")
    place = new.place
    with _created(new):
        name = f"{Path(place.jail.root).name}-{branch.replace('/', '-')}"
        made = create_folder_beside(Path(place.jail.root), name[:200], elsewhere)
        linked = RepositoryPlace(place.jail, str(made))
        try:
            linked = _link(place, made, new.reference)
            _check_out(linked, GitHead(new.reference, new.commit))
            _give_to_owner(place, linked)
        except BaseException:
            remove_tree(made)
            if linked.own != (GIT,):
                remove_tree(Path(linked.own_folder))
            raise
    return str(made)


@contextmanager
def _created(branch: NewBranch) -> Iterator[None]:
    """Removes it again if the block fails."""
    branch.create()
    try:
        yield
    except BaseException:
        words = ("update-ref", "-d", branch.reference, branch.commit)
        run_git(words, folder=branch.place.worktree, environment=real_git_folder(branch.place))
        raise


def _link(place: RepositoryPlace, made: Path, reference: str) -> RepositoryPlace:
    """Writes the two halves of the link. Raises: ToolFault, OSError."""
    worktrees = WorkspacePath((*place.common, WORKTREES))
    place.jail.make_folders(worktrees)
    with place.jail.folder(worktrees, flags=os.O_RDONLY) as fd:
        name = made.name
        number = 1
        while True:
            try:
                os.mkdir(name, 0o755, dir_fd=fd)
                break
            except FileExistsError:
                number += 1
                name = f"{made.name}{number}"
        give_to_owner_of(fd, name)
    linked = RepositoryPlace(place.jail, str(made), (*place.common, WORKTREES, name))
    files = {"HEAD": f"ref: {reference}\n", "commondir": "../..\n", "gitdir": f"{made / GIT}\n"}
    with place.jail.folder(WorkspacePath(linked.own), flags=os.O_RDONLY) as fd:
        for file, text in files.items():
            _write(fd, file, text)
    opened = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
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
        words = ("read-tree", "--reset", "-u", "HEAD")
        run_git(words, folder=linked.worktree, environment=environment, seconds=_CHECKOUT_SECONDS)


def _give_to_owner(place: RepositoryPlace, linked: RepositoryPlace) -> None:
    """A server that runs as root gives the files to the owner of the repository, who could not change them otherwise."""
    found = Path(place.worktree).stat()
    Path(linked.worktree).chmod(found.st_mode & 0o777)
    if os.geteuid() != 0:
        return
    os.chown(Path(linked.own_folder, "index"), found.st_uid, found.st_gid, follow_symlinks=False)
    for folder, folders, files in os.walk(linked.worktree):
        for name in (*folders, *files):
            os.chown(Path(folder, name), found.st_uid, found.st_gid, follow_symlinks=False)
    os.chown(linked.worktree, found.st_uid, found.st_gid, follow_symlinks=False)
