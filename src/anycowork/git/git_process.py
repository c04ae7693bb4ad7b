"""Runs git with an environment of our own and limits on time and output; reads and writes a repository's remotes and who commits. Blocking."""

import itertools
import os
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager

from anycowork.domain.errors import CommandFailed, ToolFault, ToolTimedOut
from anycowork.git.own_git_folder import LARGEST_SMALL_FILE, RepositoryPlace
from anycowork.sandbox.git_identity import gitconfig_of
from anycowork.workspace.jail import Jail, give_to_owner_of
from anycowork.workspace.paths import WorkspacePath, shown

SECONDS = 20.0
MOST_PRINTED = 2_000_000  # bytes
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    "HOME": "/nonexistent",
}
# Whatever a configuration says: no program is run for any of these.
_SAFE = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null", "core.untrackedCache=false", "core.sshCommand=false", "commit.gpgSign=false",
    "gpg.program=false", "gc.auto=0", "maintenance.auto=false", "protocol.allow=never",
)  # fmt: skip


def run_git(
    arguments: Sequence[str],
    *,
    folder: str,
    environment: Mapping[str, str],
    seconds: float = SECONDS,
    stdin: bytes = b"",
    good: Collection[int] = (0,),
) -> bytes:
    """Returns what git printed, at most the limit and one byte. `good` are the exit codes of success.

    Raises: CommandFailed, ToolTimedOut, ToolFault if there is no git.
    """
    options = [word for setting in _SAFE for word in ("-c", setting)]
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        try:
            done = subprocess.run(
                ["git", "--no-pager", "--literal-pathspecs", *options, *arguments],
                cwd=folder,
                env={"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **environment},
                input=stdin,
                stdout=printed,
                stderr=errors,
                timeout=seconds,
                check=False,
            )
        except FileNotFoundError:
            raise ToolFault("Git is not installed on the server's machine.") from None
        except subprocess.TimeoutExpired:
            raise ToolTimedOut(f"Git did not finish within {seconds:.0f} seconds.") from None
        printed.seek(0)
        errors.seek(0)
        if done.returncode not in good:
            raise CommandFailed(f"Git failed: {_reason(errors.read(4000).decode(errors='replace'))}")
        return printed.read(MOST_PRINTED + 1)


def require_one_file(names: bytes, path: str) -> None:
    """Raises: ToolFault if git, with `-z --name-only`, lists anything but this very path: who judged the path has not judged the rest."""
    if {*names.split(b"\0")} - {b"", os.fsencode(path)}:
        raise ToolFault(f"'{shown(path)}' is not the path of one file, as git lists it.")


def _reason(text: str) -> str:
    """The first error with the files that git lists below it, else the last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if line.startswith(("error: ", "fatal: ")):
            listed = itertools.takewhile(lambda below: below.startswith("\t"), lines[number + 1 :])
            return f"{line} {', '.join(path.strip() for path in listed)}".strip()[:300]
    return lines[-1][:300] if lines else "no message"


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
