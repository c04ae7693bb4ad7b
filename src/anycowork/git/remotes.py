"""Reads the addresses that a repository's configuration gives its remotes, decides which of them a person may push to, and pulls from one."""

import re
from collections.abc import Mapping
from pathlib import Path

from anycowork.domain.errors import CommandFailed, StateChanged, ToolFault
from anycowork.domain.git import MergeResult, PullSource
from anycowork.domain.values import value
from anycowork.git.configuration import read_configuration
from anycowork.git.git_process import run_git
from anycowork.git.own_git_folder import (
    GitHead,
    is_branch_reference,
    is_commit,
    own_git_folder,
    read_head,
    real_git_folder,
)
from anycowork.git.push import run_as_person, safe_program
from anycowork.git.repository_place import RepositoryPlace, find_repository
from anycowork.git.worktree_acts import merge_commit
from anycowork.git.worktree_index import require_no_operation
from anycowork.workspace.folder import Folder

MOST_REMOTES = 50
_SCHEMES = ("https", "http", "ssh", "file")
_SCP = re.compile(r"(?:[A-Za-z0-9._-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*:[^:].*")
_HOST = re.compile(r"[A-Za-z0-9[][A-Za-z0-9.:\]-]*")


@value
class Remote:
    """`address` is what git gets; `shown` has no password. `refused` says why nothing is pushed there."""

    name: str
    address: str
    shown: str
    refused: str | None = None

    @property
    def is_local(self) -> bool:
        return self.address.startswith(("/", "file:"))


def read_remotes(repository: RepositoryPlace, *, fetches: bool = False) -> list[Remote]:
    """Returns the remotes in the order of the configuration, with the address to push to, or the one to fetch from.

    Includes of other files are not followed. Raises: ToolFault.
    """
    urls: dict[str, str] = {}
    push_urls: dict[str, str] = {}
    for key, address in read_configuration(repository, r"^remote\..*\.(url|pushurl)$"):
        name, _, kind = key.removeprefix("remote.").rpartition(".")
        if name:
            (push_urls if kind == "pushurl" else urls).setdefault(name, address)
    used = urls if fetches else {**urls, **push_urls}
    remotes = [_remote(name, used[name] or urls[name]) for name in used if name in urls]
    return remotes[:MOST_REMOTES]


def _remote(name: str, address: str) -> Remote:
    return Remote(name, address, _without_password(address), _refusal(address))


def _refusal(address: str) -> str | None:
    """Why git would do more with it than open a connection of a known kind, or None."""
    if not address.isprintable() or address.startswith("-") or address != address.strip():
        return "The address has characters that an address does not have."
    if "::" in address.split("/", 1)[0]:
        return "The address names a program ('…::'), which is not run."
    if address.startswith("/"):
        return None
    scheme, separator, remainder = address.partition("://")
    if not separator:
        return None if _SCP.fullmatch(address) else "The address is of no kind that is known."
    if scheme not in _SCHEMES:
        return f"Addresses that begin with '{scheme[:20]}:' are not used."
    host = remainder.partition("/")[0].rpartition("@")[2]
    if scheme != "file" and not _HOST.fullmatch(host):
        return "The address has no usable host name."
    return None


def _without_password(address: str) -> str:
    """Leaves out what signs in: a user name with or without a password for the web, a password for the rest."""
    scheme, separator, remainder = address.partition("://")
    if not separator:
        return address
    netloc, slash, path = remainder.partition("/")
    user, at_sign, host = netloc.rpartition("@")
    kept_user = "" if scheme in ("http", "https") else user.partition(":")[0] + at_sign
    return f"{scheme}://{kept_user}{host}{slash}{path}"


_FETCH = ("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--no-auto-maintenance")
_FETCHED = "refs/heads/anycowork-fetched"  # in the git folder of our own, which is gone after the fetch


def read_pull_sources(folder: Folder) -> tuple[GitHead, list[PullSource]]:
    """Returns what is checked out, and where it could be pulled from. Talks to no remote. Raises: NoRepository, ToolFault."""
    repository = find_repository(folder)
    remotes = read_remotes(repository, fetches=True)
    return read_head(repository), [PullSource(remote.name, remote.shown, remote.refused) for remote in remotes]


def pull(
    folder: Folder,
    remote_name: str,
    address: str,
    offered: GitHead,
    user: Mapping[str, str],
    environ: Mapping[str, str],
) -> MergeResult:
    """Fetches the branch of the same name and merges it. `address` is the one that the person saw.

    Raises: StateChanged if branch or address are not what the person saw; ToolFault, CommandFailed, ToolTimedOut.
    """
    repository = find_repository(folder)
    head = read_head(repository)
    remotes = read_remotes(repository, fetches=True)
    remote = next((candidate for candidate in remotes if candidate.name == remote_name), None)
    if head != offered or head.reference is None or remote is None or remote.shown != address:
        raise StateChanged("The branch or the remote's address changed meanwhile. Nothing was pulled; look again.")
    if remote.refused is not None:
        raise ToolFault(f"Nothing was pulled. {remote.refused}")
    require_no_operation(repository)
    commit = _fetch(repository, head, remote, environ)
    return merge_commit(folder, commit, f"Merge branch '{head.branch}' of {remote.shown}", user)


def _fetch(repository: RepositoryPlace, head: GitHead, remote: Remote, environ: Mapping[str, str]) -> str:
    arguments = [*_FETCH]
    if remote.is_local:
        arguments.append(f"--upload-pack={safe_program('upload-pack')}")
    arguments += ["--", remote.address, f"+{head.reference}:{_FETCHED}"]
    with own_git_folder(repository, head) as environment:
        run_as_person(arguments, environment, environ, remote, failed="Git could not fetch")
        commit = Path(environment["GIT_DIR"], _FETCHED).read_text().strip()
    if not is_commit(commit):
        raise CommandFailed("Git fetched no commit.")
    if is_branch_reference(f"refs/heads/{remote.name}/{head.branch}"):
        update = ("update-ref", "-m", "pull", f"refs/remotes/{remote.name}/{head.branch}", commit)
        run_git(update, folder="/", environment=real_git_folder(repository))
    return commit
