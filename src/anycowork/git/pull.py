"""Pulls a branch as the person: fetched with their credentials and nothing that the repository's configuration names, then merged. Blocking."""

from collections.abc import Mapping
from pathlib import Path

from anycowork.domain.errors import CommandFailed, StateChanged, ToolFault
from anycowork.domain.git import MergeResult, PullSource
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
from anycowork.git.remotes import Remote, read_remotes
from anycowork.git.repository_place import RepositoryPlace, find_repository
from anycowork.git.worktree_acts import merge_commit
from anycowork.git.worktree_index import require_no_operation
from anycowork.workspace.folder import Folder

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
