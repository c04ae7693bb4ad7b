"""Reads the history of a repository: its log by the page, its branches, its stashes, and what one commit changed. Blocking."""

import os
from collections.abc import Mapping, Sequence

from anycowork.domain.errors import CommandFailed, FileMissing, ToolFault
from anycowork.domain.git import CommitDetails, GitBranch, GitCommit, GitFile, GitLog, GitStash
from anycowork.domain.visible_text import bare_lines
from anycowork.git.git_process import MOST_PRINTED, require_one_file, run_git
from anycowork.git.own_git_folder import (
    GitHead,
    RepositoryPlace,
    find_repository,
    is_branch_reference,
    is_commit,
    own_git_folder,
    read_head,
    read_reference,
    real_git_folder,
)
from anycowork.workspace.folder import Folder

PAGE = 50
MOST_SKIPPED = 100_000
MOST_BRANCHES = 500
MOST_STASHES = 100
MOST_LISTED = 2_000
COMMIT_LINE = "--format=%H%x09%aI%x09%an%x09%s"
_DETAILS = "--format=%H%x00%P%x00%an%x00%ae%x00%aI%x00%s%x00%b"
_DIFF = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--no-color")
_STATUSES = {"A": "added", "D": "deleted"}


def read_log(folder: Folder, *, tip: str | None, branch: str | None, skip: int) -> GitLog:
    """Returns one page of the commits before `tip`, or of those of the branch, else of what is checked out.

    Git stops at the end of the page, so a page costs the commits up to it, however many there are. Raises: NoRepository, ToolFault.
    """
    repository = find_repository(folder)
    head = read_head(repository)
    start = tip or (_commit_of(repository, branch) if branch else head.commit)
    if start is None:
        return GitLog(None, (), is_last=True)
    arguments = ("log", "-z", f"--max-count={PAGE + 1}", f"--skip={skip}", "--no-show-signature", COMMIT_LINE, start)
    with own_git_folder(repository, head) as environment:
        try:
            printed = run_git(arguments, folder="/", environment=environment)
        except CommandFailed:
            raise FileMissing(f"There is no commit {start[:10]} in this repository.") from None
    commits = commits_in(printed)
    return GitLog(start, tuple(commits[:PAGE]), is_last=len(commits) <= PAGE)


def count_ahead_and_behind(
    repository: RepositoryPlace, head: GitHead, environment: Mapping[str, str]
) -> tuple[int, int] | None:
    """Returns how many commits the branch has that the same branch of `origin` lacks, and the other way round, as they were last pulled
    or pushed. None if that is not known. Talks to no remote."""
    if head.commit is None or head.branch is None or not is_branch_reference(f"refs/heads/origin/{head.branch}"):
        return None
    known_commit = read_reference(repository, f"refs/remotes/origin/{head.branch}")
    if known_commit is None:
        return None
    if known_commit == head.commit:
        return 0, 0
    arguments = ("rev-list", "--left-right", "--count", f"{head.commit}...{known_commit}")
    try:
        ahead, behind = run_git(arguments, folder="/", environment=environment).split()
    except (CommandFailed, ValueError):  # the known commit was pruned
        return None
    return int(ahead), int(behind)


def commits_in(printed: bytes) -> list[GitCommit]:
    """Reads what `git log -z` printed in the format of `COMMIT_LINE`."""
    lines = (line.split("\t", 3) for line in printed.decode(errors="replace").split("\0") if line)
    return [GitCommit(line[0], line[3], line[2], line[1]) for line in lines if len(line) == 4]


def read_commit(folder: Folder, commit: str) -> CommitDetails:
    """Returns the message of a commit and the files that differ from its first parent. Raises: NoRepository, FileMissing, ToolFault."""
    repository = find_repository(folder)
    with own_git_folder(repository, read_head(repository)) as environment:
        fields = _details(commit, environment)
        parents = fields[1].split()
        listed = (*_DIFF, "-z", "--name-status", *_compared(commit, parents))
        printed = run_git(listed, folder="/", environment=environment)
    fields_of_files = printed[:MOST_PRINTED].split(b"\0")[:-1]
    files = [
        GitFile(os.fsdecode(path), _STATUSES.get(letter[:1].decode(errors="replace"), "modified"))
        for letter, path in zip(fields_of_files[0::2], fields_of_files[1::2], strict=False)
    ]
    line = GitCommit(fields[0], fields[5], fields[2], fields[4])
    complete = len(printed) <= MOST_PRINTED and len(files) <= MOST_LISTED
    return CommitDetails(line, fields[6].strip(), fields[3], tuple(parents), tuple(files[:MOST_LISTED]), complete)


def read_commit_difference(folder: Folder, commit: str, path: str) -> str:
    """Returns how a commit changed one file. Raises: NoRepository, FileMissing, ToolFault."""
    repository = find_repository(folder)
    with own_git_folder(repository, read_head(repository)) as environment:
        parents = _details(commit, environment)[1].split()
        compared = (*_compared(commit, parents), "--", path)
        require_one_file(run_git((*_DIFF, "-z", "--name-only", *compared), folder="/", environment=environment), path)
        printed = run_git((*_DIFF, "-p", *compared), folder="/", environment=environment)
    return printed[:MOST_PRINTED].decode(errors="replace")


def list_branches(folder: Folder) -> list[GitBranch]:
    """Returns the newest branches of the repository, the current one among them. Raises: NoRepository, ToolFault."""
    repository = find_repository(folder)
    current = read_head(repository).branch
    arguments = ("for-each-ref", f"--count={MOST_BRANCHES}", "--sort=-committerdate")
    form = "--format=%(objectname)%09%(committerdate:iso-strict)%09%(refname)"
    printed = run_git((*arguments, form, "refs/heads/"), folder="/", environment=real_git_folder(repository))
    lines = (line.split("\t", 2) for line in bare_lines(printed.decode(errors="replace")))
    branches = (line for line in lines if len(line) == 3 and is_branch_reference(line[2]))
    names = ((commit, date, reference.removeprefix("refs/heads/")) for commit, date, reference in branches)
    return [GitBranch(name, commit, date, is_current=name == current) for commit, date, name in names]


def list_stashes(repository: RepositoryPlace) -> list[GitStash]:
    """Returns the stashes, newest first, from git's own log of them: the number of each is its place."""
    lines = [line for line in bare_lines(repository.read_common("logs", "refs", "stash") or "") if line]
    entries: list[Sequence[str]] = [line.partition("\t")[0::2] for line in reversed(lines)]
    return [
        GitStash(number, columns[1], message)
        for number, (start, message) in enumerate(entries[:MOST_STASHES])
        if len(columns := start.split(" ", 2)) == 3 and is_commit(columns[1])
    ]


def _commit_of(repository: RepositoryPlace, branch: str) -> str:
    reference = f"refs/heads/{branch}"
    commit = read_reference(repository, reference) if is_branch_reference(reference) else None
    if commit is None:
        raise FileMissing(f"There is no branch '{branch[:80]}' in this repository.")
    return commit


def _details(commit: str, environment: dict[str, str]) -> list[str]:
    if not is_commit(commit):
        raise ToolFault("A commit is named by its whole number.")
    try:
        arguments = ("log", "-1", "--no-show-signature", _DETAILS, commit)
        fields = run_git(arguments, folder="/", environment=environment).decode(errors="replace").split("\0", 6)
    except CommandFailed:
        raise FileMissing(f"There is no commit {commit[:10]} in this repository.") from None
    return fields


def _compared(commit: str, parents: Sequence[str]) -> tuple[str, ...]:
    """A commit is compared with its first parent, the very first one with nothing."""
    return (parents[0], commit) if parents else ("--root", "--no-commit-id", commit)
