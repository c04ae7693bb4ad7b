"""Makes commits of what a person chose: whole files, single hunks, or a new version of the last commit; what was begun when the server
died is found in files. Blocking.

A commit is prepared on no branch, so that it can be recorded first; then the branch moves to it.
"""

import asyncio
import hashlib
import logging
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from anycowork.config.secure_files import OWNER_ONLY_FOLDER, replace_file
from anycowork.domain.errors import CommandFailed, StateChanged, StorageFault, ToolFault
from anycowork.domain.git import ChosenHunks, CommitContent, CommitIntent, GitDifference, PreparedCommit
from anycowork.git.git_process import (
    MOST_PRINTED,
    locked_git_file,
    read_user,
    remove_our_lock,
    require_one_file,
    run_git,
)
from anycowork.git.hooks import HookRun, hooks_not_run
from anycowork.git.own_git_folder import (
    GitHead,
    RepositoryPlace,
    find_repository,
    own_git_folder,
    read_head,
    real_git_folder,
)
from anycowork.git.worktree_acts import copy_index, require_no_conflicts, require_no_operation, require_user
from anycowork.sandbox.git_identity import gitconfig_of
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import shown

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
_FROM_LIST = ("--pathspec-from-file=-", "--pathspec-file-nul")
_APPLY = ("apply", "--cached", "--whitespace=nowarn", "-")
_HUNK = b"@@ "
FOLDER = "git-commits"
log = logging.getLogger(__name__)


def read_difference(folder: Folder, path: str) -> GitDifference:
    """Returns how one file differs from the last commit. Raises: ToolFault, OutsideWorkspace."""
    path = folder.jail.entry(path).path
    repository = find_repository(folder)
    head = read_head(repository)
    with own_git_folder(repository, head) as environment:
        printed = _diff(folder, head, path, environment)
    is_whole = len(printed) <= MOST_PRINTED and _can_be_divided(printed)
    sha256 = hashlib.sha256(printed).hexdigest() if is_whole else None
    return GitDifference(path, printed[:MOST_PRINTED].decode(errors="replace"), sha256)


def prepare_commit(
    folder: Folder, content: CommitContent, expected: str | None, person: Mapping[str, str], hooks: HookRun | None
) -> PreparedCommit:
    """Stores a commit on top of `expected`, or in its place, on no branch yet. Raises: StateChanged, ToolFault."""
    repository = find_repository(folder)
    head = _require_head(repository, expected)
    user = read_user(repository, person)
    require_user(user)
    require_no_operation(repository)
    with _with_content_added(folder, repository, head, content, gitconfig_of(user)) as environment:
        require_no_conflicts(folder, environment)
        message = content.message
        if hooks is not None:
            message = hooks.before_commit(folder, repository, Path(environment["GIT_INDEX_FILE"]), message)
        tree = run_git(("write-tree",), folder=folder.root, environment=environment).decode().strip()
        parents, author = _origin(folder, head, environment, amend=content.amend)
        arguments = ("commit-tree", tree, *(word for parent in parents for word in ("-p", parent)), "-F", "-")
        printed = run_git(arguments, folder=folder.root, environment={**environment, **author}, stdin=message.encode())
        commit = printed.decode().strip()
        changed = run_git((*_CHANGED, commit), folder=folder.root, environment=environment)
        count = changed[:MOST_PRINTED].count(b"\0")
        omitted = tuple(name for name in hooks_not_run(folder, repository) if hooks is None or name not in hooks.names)
        return PreparedCommit(commit, count, complete=len(changed) <= MOST_PRINTED, hooks_not_run=omitted)


def finish_commit(folder: Folder, commit: str, paths: Sequence[str], expected: str | None) -> None:
    """Under the lock of the index: the branch moves in git's own way, with its log; then the index has the committed files too."""
    repository = find_repository(folder)
    head = _require_head(repository, expected)
    require_no_operation(repository)
    before = head.commit or "0" * len(commit)
    with (
        locked_git_file(repository.jail, repository.own, "index") as write,
        _with_commit_in_index(folder, repository, head, commit, paths) as index,
    ):
        try:
            arguments = ("update-ref", "-m", "commit", head.reference or "HEAD", commit, before)
            run_git(arguments, folder=folder.root, environment=real_git_folder(repository))
        except CommandFailed as failed:
            raise StateChanged(f"The branch was moved by somebody else meanwhile. {failed.message}") from None
        write(index.read_bytes())


def settle_commit(folder: Folder, commit: str, paths: Sequence[str]) -> bool:
    """Returns whether the current branch has the commit, after a crash; if it is the newest, the index has its files too."""
    repository = find_repository(folder)
    head = read_head(repository)
    remove_our_lock(repository.jail, repository.own, "index")
    if head.commit != commit:
        return head.commit is not None and _is_ancestor(folder, repository, commit, head.commit)
    with (
        locked_git_file(repository.jail, repository.own, "index") as write,
        _with_commit_in_index(folder, repository, head, commit, paths) as index,
    ):
        write(index.read_bytes())
    return True


def _is_ancestor(folder: Folder, repository: RepositoryPlace, commit: str, head: str) -> bool:
    try:
        arguments = ("merge-base", "--is-ancestor", commit, head)
        run_git(arguments, folder=folder.root, environment=real_git_folder(repository))
    except CommandFailed:
        return False
    return True


@contextmanager
def _with_commit_in_index(
    folder: Folder, repository: RepositoryPlace, head: GitHead, commit: str, paths: Sequence[str]
) -> Iterator[Path]:
    """Yields a copy of the index that has these paths, and all that the commit changed, as the commit has them."""
    with tempfile.TemporaryDirectory(prefix="anycowork-index-") as temporary_folder:
        index = Path(temporary_folder, "index")
        copy_index(repository, index)
        with own_git_folder(repository, head, user="", index=index) as environment:
            changed = run_git((*_CHANGED, commit), folder=folder.root, environment=environment)[:MOST_PRINTED]
            path_list = b"".join(os.fsencode(path) + b"\0" for path in paths) + changed[: changed.rfind(b"\0") + 1]
            reset = ("reset", "-q", commit, *_FROM_LIST)
            if path_list:
                run_git(reset, folder=folder.root, environment=environment, stdin=path_list)
            refresh = ("update-index", "-q", "--refresh")
            run_git(refresh, folder=folder.root, environment=environment, good=(0, 1))
            yield index


@contextmanager
def _with_content_added(
    folder: Folder, repository: RepositoryPlace, head: GitHead, content: CommitContent, user: str
) -> Iterator[dict[str, str]]:
    """Yields the environment of git with a copy of the index that has what the person chose."""
    with tempfile.TemporaryDirectory(prefix="anycowork-index-") as temporary_folder:
        index = Path(temporary_folder, "index")
        copy_index(repository, index)
        with own_git_folder(repository, head, user=user, index=index) as environment:
            path_list = b"".join(os.fsencode(folder.jail.entry(path).path) + b"\0" for path in content.paths)
            if path_list:
                add = ("add", "--all", *_FROM_LIST)
                run_git(add, folder=folder.root, environment=environment, stdin=path_list)
            for chosen in content.hunks:
                _add_hunks(folder, head, chosen, environment)
            yield environment


def _add_hunks(folder: Folder, head: GitHead, chosen: ChosenHunks, environment: Mapping[str, str]) -> None:
    """Adds these hunks to the index, byte by byte as they are in the difference that the person saw. Raises: StateChanged, ToolFault."""
    path = folder.jail.entry(chosen.path).path
    printed = _diff(folder, head, path, environment)
    if len(printed) > MOST_PRINTED or hashlib.sha256(printed).hexdigest() != chosen.sha256:
        raise StateChanged(f"'{shown(path)}' changed since it was shown. Nothing was committed; look at it again.")
    if not _can_be_divided(printed):
        raise ToolFault(f"'{shown(path)}' can be committed as a whole only: it is new, deleted or not a text.")
    header, hunks = _divided(printed)
    if not chosen.numbers or max(chosen.numbers) >= len(hunks):
        raise ToolFault(f"'{shown(path)}' has {len(hunks)} hunks, counted from 0. Nothing was committed.")
    reset = ("reset", "-q", *_FROM_LIST)
    run_git(reset, folder=folder.root, environment=environment, stdin=os.fsencode(path) + b"\0")
    patch = header + b"".join(hunks[number] for number in sorted(set(chosen.numbers)))
    run_git(_APPLY, folder=folder.root, environment=environment, stdin=patch)


def _diff(folder: Folder, head: GitHead, path: str, environment: Mapping[str, str]) -> bytes:
    against = head.commit or run_git(_EMPTY_TREE, folder=folder.root, environment=environment).decode().strip()
    names = run_git((*_DIFF, "-z", "--name-only", against, "--", path), folder=folder.root, environment=environment)
    require_one_file(names, path)
    return run_git((*_DIFF, against, "--", path), folder=folder.root, environment=environment)


def _can_be_divided(printed: bytes) -> bool:
    header = printed.partition(b"\n" + _HUNK)[0]
    lines = header.split(b"\n")
    is_whole = any(line.startswith((b"new file mode", b"deleted file mode", b"old mode")) for line in lines)
    return not is_whole and any(line.startswith(b"+++ ") for line in lines)


def _divided(printed: bytes) -> tuple[bytes, list[bytes]]:
    """Returns the header of a difference, and its hunks. Lines of a text begin with another character than a hunk does."""
    header, *hunks = printed.split(b"\n" + _HUNK)
    ends = [b"\n"] * (len(hunks) - 1) + [b""]
    return header + b"\n", [_HUNK + hunk + end for hunk, end in zip(hunks, ends, strict=True)]


def _origin(
    folder: Folder, head: GitHead, environment: Mapping[str, str], *, amend: bool
) -> tuple[list[str], dict[str, str]]:
    """Returns the parents of the new commit, and who its author is if that is not who commits: of an amended one it stays."""
    if not amend:
        return ([head.commit] if head.commit else []), {}
    if head.commit is None:
        raise ToolFault("There is no commit yet that could be amended.")
    arguments = ("log", "-1", "--no-show-signature", "--date=raw", "--format=%P%x00%an%x00%ae%x00%ad", head.commit)
    printed = run_git(arguments, folder=folder.root, environment=environment).decode(errors="replace")
    parents, name, email, date = printed.rstrip("\n").split("\0", 3)
    return parents.split(), {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}


def _require_head(repository: RepositoryPlace, expected: str | None) -> GitHead:
    head = read_head(repository)
    if head.commit != expected:
        raise StateChanged("Somebody committed meanwhile. Nothing was committed; look at the state again.")
    return head


class CommitIntentFiles:
    """Keeps each commit that was begun, until its result is recorded."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / FOLDER

    async def put(self, intent: CommitIntent) -> None:
        """Durable on return. Raises: StorageFault."""
        await asyncio.to_thread(self._put, intent)

    async def remove(self, intent: CommitIntent) -> None:
        await asyncio.to_thread((self._folder / f"{intent.message_id}.json").unlink, missing_ok=True)

    async def all(self) -> list[CommitIntent]:
        return await asyncio.to_thread(self._all)

    def _put(self, intent: CommitIntent) -> None:
        try:
            self._folder.mkdir(mode=OWNER_ONLY_FOLDER, exist_ok=True)
        except OSError as error:
            raise StorageFault(f"The folder {self._folder} cannot be created ({error.strerror}).") from error
        fields = [
            intent.message_id,
            intent.chat_id,
            intent.commit,
            intent.parent,
            list(intent.paths),
            intent.by,
            intent.what,
        ]
        replace_file(self._folder / f"{intent.message_id}.json", msgspec.json.encode(fields))

    def _all(self) -> list[CommitIntent]:
        intents = []
        for file in sorted(self._folder.glob("*.json")):
            try:
                message_id, chat_id, commit, parent, paths, by, action = msgspec.json.decode(
                    file.read_bytes(), type=_Fields
                )
                intents.append(CommitIntent(message_id, chat_id, commit, parent, tuple(paths), by, action))
            except (OSError, ValueError) as error:
                log.warning("what became of a commit is not known: %s cannot be read (%s)", file, error)
        return intents


_Fields = tuple[str, str, str, str | None, list[str], str, str]
