"""What changes the files of a worktree as git would: switching to a branch, merging, and stashing. Blocking.

Git works in a folder of our own with a copy of the index, so no filter, merge driver or hook of the repository exists. Git itself refuses
to overwrite what a person changed and did not commit.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from anycowork.domain.errors import CommandFailed, FileMissing, Invalid, StateChanged, ToolFault
from anycowork.domain.git import GitStash, MergeResult
from anycowork.git.git_process import MOST_PRINTED, locked_git_file, run_git
from anycowork.git.history import list_stashes
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
from anycowork.sandbox.git_identity import gitconfig_of
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath, shown

_SECONDS = 120.0
_OF_A_MERGE = ("MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE")
_MARKERS = (b"<<<<<<< ", b">>>>>>> ")


@contextmanager
def changed_index(
    folder: Folder, repository: RepositoryPlace, head: GitHead, user: str = ""
) -> Iterator[dict[str, str]]:
    """Yields the environment of git with a copy of the index, which replaces the index if the block succeeds. Other gits wait.

    Raises: ToolFault if another git is at work.
    """
    with (
        locked_git_file(repository.jail, repository.own, "index") as write,
        tempfile.TemporaryDirectory(prefix="anycowork-index-") as temporary_folder,
    ):
        index = Path(temporary_folder, "index")
        copy_index(repository, index)
        with own_git_folder(repository, head, user=user, index=index) as environment:
            refresh = ("update-index", "-q", "--refresh")
            run_git(refresh, folder=folder.root, environment=environment, good=(0, 1))
            yield environment
            write(index.read_bytes())


def copy_index(repository: RepositoryPlace, target: Path) -> None:
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


def operation_in(repository: RepositoryPlace) -> str | None:
    """Returns what a person is in the middle of: merge, rebase, cherry-pick or revert."""
    files = ((operation, WorkspacePath((*repository.own, name))) for name, operation in _OPERATIONS.items())
    return next((operation for operation, path in files if repository.jail.stat(path) is not None), None)


def require_no_operation(repository: RepositoryPlace) -> None:
    """Raises: StateChanged. A commit of ours would have one parent: of a merge it would lose the other one."""
    if (operation := operation_in(repository)) is not None:
        raise StateChanged(
            f"A {operation} is in progress in this repository. Nothing was changed. Finish it in a terminal with"
            f" 'git {operation} --continue', or end it with 'git {operation} --abort'."
        )


def require_no_conflicts(folder: Folder, environment: Mapping[str, str]) -> None:
    """Raises: ToolFault if files are left in the index whose conflicts nobody resolved: no commit can be made of it."""
    if paths := unmerged_paths(folder, environment):
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        raise ToolFault(
            f"Git still has conflicts in '{shown(paths[0])}'{more}. Nothing was committed. Resolve them first, then choose these files too."
        )


def unmerged_paths(folder: Folder, environment: Mapping[str, str]) -> list[str]:
    """Returns the files of the index with conflicts that nobody resolved."""
    printed = run_git(_UNMERGED, folder=folder.root, environment=environment)
    return sorted({os.fsdecode(line.partition(b"\t")[2]) for line in printed.split(b"\0") if line})


def switch_branch(folder: Folder, branch: str) -> None:
    """Checks the branch out. Raises: StateChanged or ToolFault if files would be overwritten or something is in progress; Invalid."""
    repository, head = _unoccupied(folder)
    reference = f"refs/heads/{branch}"
    if not is_branch_reference(reference):
        raise Invalid(f"'{branch[:80]}' cannot be the name of a branch.", param="branch")
    commit = read_reference(repository, reference)
    if commit is None:
        raise FileMissing(f"There is no branch '{branch}' in this repository.")
    if head.reference == reference:
        raise ToolFault(f"'{branch}' is checked out already.")
    real = real_git_folder(repository)
    elsewhere = run_git(("for-each-ref", "--format=%(worktreepath)", reference), folder="/", environment=real)
    if elsewhere.strip():
        raise ToolFault(f"'{branch}' is checked out in another worktree, {shown(os.fsdecode(elsewhere.strip()))}.")
    with changed_index(folder, repository, head) as environment:
        _check_out(folder, environment, head.commit or "", commit)
        note = f"checkout: moving from {head.branch or head.commit} to {branch}"
        run_git(("symbolic-ref", "-m", note, "HEAD", reference), folder="/", environment=real)


def merge_commit(folder: Folder, commit: str, label: str, message: str, user: Mapping[str, str]) -> MergeResult:
    """Merges the commit into the current branch. Conflicts stay in the files, labelled, and the merge in progress, as git leaves them.

    Raises: StateChanged, ToolFault; then nothing was changed.
    """
    repository, head = _unoccupied(folder)
    if head.reference is None or head.commit is None:
        raise ToolFault("No branch is checked out that could be merged into.")
    base = _merge_base(folder, repository, head.commit, commit)
    if base == commit:
        return MergeResult(head.commit, is_new=False)
    with changed_index(folder, repository, head, gitconfig_of(user)) as environment:
        if base == head.commit:
            _check_out(folder, environment, head.commit, commit)
            _move_branch(repository, head, commit, "pull: Fast-forward")
            return MergeResult(commit)
        require_user(user)
        arguments = (
            "merge",
            "--no-commit",
            "--no-ff",
            "--no-stat",
            "--no-verify",
            "-m",
            message,
            _named(environment, label, commit),
        )
        if conflicts := _conflicts_after(arguments, folder, environment):
            _begin_merge(repository, commit, message)
            return MergeResult(None, conflicts=conflicts)
        merged = _commit_merge(folder, environment, (head.commit, commit), message)
        _move_branch(repository, head, merged, "pull: Merge made by AnyCowork")
        return MergeResult(merged)


def finish_merge(folder: Folder, user: Mapping[str, str]) -> str:
    """Commits the merge in progress with the files as they are now. Raises: StateChanged, ToolFault if conflicts are left in the files."""
    repository = find_repository(folder)
    head, other = read_head(repository), _merged_in(repository)
    require_user(user)
    if head.commit is None:
        raise ToolFault("The branch has no commit.")
    with changed_index(folder, repository, head, gitconfig_of(user)) as environment:
        paths = unmerged_paths(folder, environment)
        for path in paths:
            _require_no_markers(folder, path)
        path_list = b"".join(os.fsencode(path) + b"\0" for path in paths)
        add = ("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
        if paths:
            run_git(add, folder=folder.root, environment=environment, stdin=path_list)
        message = repository.read_own("MERGE_MSG") or f"Merge commit '{other}'"
        merged = _commit_merge(folder, environment, (head.commit, other), message)
        _move_branch(repository, head, merged, "commit (merge)")
    _end_merge(repository)
    return merged


def abort_merge(folder: Folder) -> None:
    """Gives the files back that they had before the merge, as `git merge --abort` does. Raises: StateChanged, ToolFault."""
    repository = find_repository(folder)
    _merged_in(repository)
    with changed_index(folder, repository, read_head(repository)) as environment:
        run_git(("reset", "-q", "--merge"), folder=folder.root, environment=environment, seconds=_SECONDS)
    _end_merge(repository)


def save_stash(folder: Folder, message: str, user: Mapping[str, str]) -> str:
    """Puts the changes of tracked files aside and returns the stash's commit. It is in git's list before a file changes.

    Raises: StateChanged, ToolFault.
    """
    repository, head = _unoccupied(folder)
    require_user(user)
    with changed_index(folder, repository, head, gitconfig_of(user)) as environment:
        text = f"On {head.branch or 'no branch'}: {message}"
        created = run_git(("stash", "create", message), folder=folder.root, environment=environment, seconds=_SECONDS)
        commit = created.decode().strip()
        if not is_commit(commit):
            raise ToolFault("No tracked file differs from the last commit, so there is nothing to stash.")
        store = ("stash", "store", "-m", text, commit)
        run_git(store, folder=folder.root, environment=real_git_folder(repository))
        reset = ("read-tree", "--reset", "-u", "HEAD")
        run_git(reset, folder=folder.root, environment=environment, seconds=_SECONDS)
    return commit


def apply_stash(folder: Folder, number: int, commit: str, user: Mapping[str, str]) -> MergeResult:
    """Brings the changes of a stash back. Conflicts stay in the files. Raises: StateChanged if it is another one now; ToolFault."""
    repository, head = _unoccupied(folder)
    _require_stash(repository, number, commit)
    with changed_index(folder, repository, head, gitconfig_of(user)) as environment:
        arguments = ("stash", "apply", "-q", commit)
        if conflicts := _conflicts_after(arguments, folder, environment):
            return MergeResult(None, conflicts=conflicts)
    return MergeResult(commit)


def _conflicts_after(arguments: Sequence[str], folder: Folder, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Runs git and returns the paths it left in conflict. Raises: CommandFailed if it failed for another reason."""
    try:
        run_git(arguments, folder=folder.root, environment=environment, seconds=_SECONDS)
    except CommandFailed:
        conflicts = tuple(unmerged_paths(folder, environment))
        if not conflicts:
            raise
        return conflicts
    return ()


def drop_stash(folder: Folder, number: int, commit: str) -> None:
    """Removes a stash from git's list. Raises: StateChanged if it is another one now; ToolFault."""
    repository = find_repository(folder)
    _require_stash(repository, number, commit)
    arguments = ("stash", "drop", "-q", f"stash@{{{number}}}")
    run_git(arguments, folder=folder.root, environment=real_git_folder(repository))


def _unoccupied(folder: Folder) -> tuple[RepositoryPlace, GitHead]:
    repository = find_repository(folder)
    head = read_head(repository)
    require_no_operation(repository)
    if head.commit is None:
        raise ToolFault("There is no commit yet. Commit first.")
    return repository, head


def _check_out(folder: Folder, environment: Mapping[str, str], before: str, commit: str) -> None:
    arguments = ("read-tree", "-m", "-u", before, commit)
    try:
        run_git(arguments, folder=folder.root, environment=environment, seconds=_SECONDS)
    except CommandFailed as failed:
        overwritten = _overwritten(folder, environment, before, commit)
        if not overwritten:
            raise
        listed = ", ".join(f"'{shown(path)}'" for path in overwritten[:5])
        more = f" and {len(overwritten) - 5:,} more" if len(overwritten) > 5 else ""
        raise ToolFault(
            f"Your changes would be overwritten in {listed}{more}. Nothing was changed. Commit or stash them first."
        ) from failed


def _overwritten(folder: Folder, environment: Mapping[str, str], before: str, commit: str) -> list[str]:
    """Returns the files that both the person and the other commit changed."""
    compared = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, commit)
    listed = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all", "--untracked-files=all")
    theirs = run_git(compared, folder=folder.root, environment=environment)[:MOST_PRINTED].split(b"\0")
    changed = run_git(listed, folder=folder.root, environment=environment)[:MOST_PRINTED].split(b"\0")
    return sorted(os.fsdecode(path) for path in {line[3:] for line in changed if line} & set(theirs))


def _merge_base(folder: Folder, repository: RepositoryPlace, ours: str, theirs: str) -> str | None:
    real = real_git_folder(repository)
    printed = run_git(("merge-base", ours, theirs), folder=folder.root, environment=real, good=(0, 1))
    return printed.decode().strip() or None


def _commit_merge(folder: Folder, environment: Mapping[str, str], parents: tuple[str, str], message: str) -> str:
    tree = run_git(("write-tree",), folder=folder.root, environment=environment).decode().strip()
    arguments = ("commit-tree", tree, "-p", parents[0], "-p", parents[1], "-F", "-")
    printed = run_git(
        arguments, folder=folder.root, environment=environment, stdin=message.encode(errors="surrogateescape")
    )
    return printed.decode().strip()


def _move_branch(repository: RepositoryPlace, head: GitHead, commit: str, note: str) -> None:
    arguments = ("update-ref", "-m", note, head.reference or "HEAD", commit, head.commit or "")
    run_git(arguments, folder="/", environment=real_git_folder(repository))


def _named(environment: Mapping[str, str], label: str, commit: str) -> str:
    """Gives the commit this name in git's folder of our own: git labels conflicts with it. Returns the commit where git takes the name
    for another one: the repository chose it."""
    if not is_branch_reference(f"refs/heads/{label}"):
        return commit
    reference = Path(environment["GIT_DIR"], "refs", "remotes", label)
    reference.parent.mkdir(parents=True, exist_ok=True)
    reference.write_text(f"{commit}\n")
    resolved = run_git(("rev-parse", "--verify", "-q", f"{label}^0"), folder="/", environment=environment, good=(0, 1))
    return label if resolved.decode().strip() == commit else commit


def _begin_merge(repository: RepositoryPlace, commit: str, message: str) -> None:
    for name, text in (("MERGE_MSG", f"{message}\n"), ("MERGE_MODE", "no-ff"), ("MERGE_HEAD", f"{commit}\n")):
        with locked_git_file(repository.jail, repository.own, name) as write:
            write(text.encode())


def _end_merge(repository: RepositoryPlace) -> None:
    with repository.jail.folder(WorkspacePath(repository.own), flags=os.O_RDONLY) as git:
        for name in _OF_A_MERGE:
            try:
                os.unlink(name, dir_fd=git)
            except FileNotFoundError:
                continue


def _merged_in(repository: RepositoryPlace) -> str:
    """Returns the commit that is being merged."""
    other = (repository.read_own("MERGE_HEAD") or "").strip()
    if operation_in(repository) != "merge" or not is_commit(other):
        raise StateChanged("No merge of two commits is in progress in this repository. Nothing was changed.")
    return other


def _require_no_markers(folder: Folder, path: str) -> None:
    try:
        with folder.jail.regular_file(folder.jail.entry(path)) as (fd, _), os.fdopen(os.dup(fd), "rb") as file:
            has_markers = any(line.startswith(_MARKERS) for line in file)
    except FileMissing:
        return  # resolved by deleting it
    if has_markers:
        raise ToolFault(f"Conflicts are left in '{shown(path)}'. Nothing was committed. Resolve them first.")


def require_user(user: Mapping[str, str]) -> None:
    if not {"name", "email"} <= user.keys():
        raise ToolFault(
            "Git does not know who commits: neither this repository nor your own configuration has a name and an e-mail address."
            " Set them beside the commit message, or in the folder with 'git config user.name' and 'git config user.email'."
        )


def _require_stash(repository: RepositoryPlace, number: int, commit: str) -> GitStash:
    stash = next((stash for stash in list_stashes(repository) if stash.number == number), None)
    if stash is None or stash.commit != commit:
        raise StateChanged("The list of stashes changed meanwhile. Nothing was changed; look at it again.")
    return stash
