"""What is read and written of a repository's own configuration: remotes, and who commits. Blocking."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from anycowork.domain.errors import ToolFault
from anycowork.git.git_process import run_git
from anycowork.git.repository_place import LARGEST_SMALL_FILE, RepositoryPlace
from anycowork.sandbox.git_identity import gitconfig_of
from anycowork.workspace.jail import Jail, give_to_owner_of
from anycowork.workspace.paths import WorkspacePath


def read_configuration(repository: RepositoryPlace, pattern: str) -> list[tuple[str, str]]:
    """Returns the keys that match the pattern, with their values, in their order. Follows no include. Raises: ToolFault."""
    config = repository.read_common("config") or ""
    arguments = ("config", "--file", "-", "--no-includes", "-z", "--get-regexp", pattern)
    printed = run_git(arguments, folder="/", environment={}, stdin=config.encode(errors="surrogateescape"), good=(0, 1))
    entries = (entry.partition("\n") for entry in printed.decode(errors="replace").split("\0") if entry)
    return [(key, text) for key, _, text in entries]


def read_user(repository: RepositoryPlace, elsewhere: Mapping[str, str]) -> dict[str, str]:
    """Returns the `name` and `email` for commits: the repository's own, and where it has none the person's from `elsewhere`."""
    repository_user = read_configuration(repository, r"^user\.(name|email)$")  # of several the last counts, as in git
    return {**elsewhere, **{key.removeprefix("user."): text for key, text in repository_user if text.strip()}}


def write_user(repository: RepositoryPlace, user: Mapping[str, str]) -> None:
    """Adds this `name` and `email` to the repository's configuration, where the last ones count. Raises: ToolFault."""
    with locked_git_file(repository.jail, repository.common, "config") as write:
        config = repository.read_common("config")
        if config is None or len(config) >= LARGEST_SMALL_FILE:
            raise ToolFault("The repository's configuration cannot be read. Set the name with 'git config' there.")
        end = "" if not config or config.endswith("\n") else "\n"
        write((config + end + gitconfig_of(user)).encode(errors="surrogateescape"))


_OUR_LOCK = b"anycowork\n"  # in the lock, as long as the file is not written


@contextmanager
def locked_git_file(jail: Jail, git_folder: tuple[str, ...], name: str) -> Iterator[Callable[[bytes], None]]:
    """Yields what writes the file whole. Raises: ToolFault if another git has the lock."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = f"{name}.lock"
    with jail.folder(WorkspacePath(git_folder), flags=os.O_RDONLY) as git:
        try:
            fd = os.open(lock, flags, 0o644, dir_fd=git)
        except FileExistsError:
            raise ToolFault("Another git is at work in this repository. Try again when it has finished.") from None
        os.write(fd, _OUR_LOCK)

        def write(data: bytes) -> None:
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            with os.fdopen(os.dup(fd), "wb") as file:
                file.write(data)
            os.fsync(fd)
            give_to_owner_of(git, lock)
            os.rename(lock, name, src_dir_fd=git, dst_dir_fd=git)

        try:
            yield write
        finally:
            os.close(fd)
            try:
                os.unlink(lock, dir_fd=git)
            except FileNotFoundError:
                pass  # it is the file now


def remove_our_lock(jail: Jail, git_folder: tuple[str, ...], name: str) -> None:
    """Removes the lock that a server left that died. No other one is at work here: the caller has the workspace's lease."""
    lock = f"{name}.lock"
    with jail.folder(WorkspacePath(git_folder), flags=os.O_RDONLY) as git:
        try:
            fd = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=git)
        except OSError:
            return
        with os.fdopen(fd, "rb") as opened:
            if opened.read(len(_OUR_LOCK) + 1) == _OUR_LOCK:
                os.unlink(lock, dir_fd=git)
