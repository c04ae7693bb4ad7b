"""Decides what of a delta is left out because no command may change it, where the rest can be committed without it. Changes nothing.

Only submodules and linked worktrees are left out by themselves: they are repositories of their own. A refused change in the workspace's own
`.git`, or a new repository, drops the whole delta as before.
"""

from collections.abc import Iterator
from pathlib import Path

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.path_class import folds_to_git, is_git_control
from anycowork.domain.values import value
from anycowork.sandbox.commit.delta import FILE, Delta, PathChange
from anycowork.sandbox.commit.git_changes import GitChanges, GitFinding, PlaceInGit
from anycowork.sandbox.commit.nested_git_folders import NESTING
from anycowork.workspace.git_index_file import Parts
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown

_MOST_NAMED = 5
_GIT = ".git"


@value
class LeftOutChanges:
    """`remaining` can be checked and committed; `message` names what cannot, and why."""

    remaining: list[PathChange]
    paths: tuple[str, ...]
    message: str


def leave_out(delta: Delta, upper: Path, root: str) -> LeftOutChanges | None:
    """Returns None if nothing has to be left out, or if not everything that is refused can be: then the whole delta is refused."""
    if not _may_concern_git(delta):
        return None
    in_git = GitChanges(delta, upper, root)
    refused = list(in_git.refused())
    if not refused:
        return None
    new_repository = in_git.made()
    if new_repository is not None and not is_git_control(new_repository.parts):
        return None
    parts_out = _PartsLeftOut(Jail(root))
    for git_path, _ in refused:
        if not parts_out.add(git_path):
            return None
    left_out = [change for change in delta.changes if parts_out.has(change)]
    if not parts_out.add_files_kept_in(left_out):
        return None
    remaining = [change for change in delta.changes if not parts_out.has(change)]
    if not remaining or (parts_out.is_new_worktree and any(change.after is None for change in remaining)):
        return None  # of something that was moved, the removal alone would be made
    return LeftOutChanges(
        remaining,
        tuple(git_path.place.path for git_path, _ in refused),
        _message([GitFinding(git_path.place, reason) for git_path, reason in refused], sorted(parts_out.scopes)),
    )


def _may_concern_git(delta: Delta) -> bool:
    """Tells of most deltas at once that they do not. A name that only some file systems take for `.git` is refused with all the rest."""
    last: list[str] | None = None
    for change in delta.changes:
        *above, name = change.place.parts
        if name == _GIT or change.below:
            return True
        if above != last:
            last = above
            if _GIT in above:
                return True
    return False


class _PartsLeftOut:
    """Collects the places below which nothing is committed."""

    def __init__(self, root: Jail) -> None:
        self.scopes: set[Parts] = set()
        self.is_new_worktree = False
        self._files: dict[Parts, WorkspacePath | None] = {}
        self._root = root

    def add(self, git_path: PlaceInGit) -> bool:
        """Returns False if the change cannot be left out by itself."""
        if git_path.place.parts in self.scopes or self.has(git_path.change):
            return True
        if folds_to_git(git_path.place.name):
            return self._add_link(git_path)
        if git_path.folder.nested:
            folder = git_path.place.parts[: git_path.folder.depth]
            self._add(git_path, folder)
            if not git_path.folder.linked:
                self._files[folder] = git_path.folder.worktree
            return True
        if git_path.inner[0] in NESTING:
            self._add(git_path, git_path.place.parts)
            self._files[git_path.change.place.parts] = None
            return True
        return False

    def _add_link(self, git_path: PlaceInGit) -> bool:
        """A `.git` file leads to the git folder of a submodule or worktree. A new one makes a worktree of its folder."""
        path, after = git_path.place, git_path.change.after
        if len(path.parts) == 1:
            return False
        if not git_path.gone and git_path.change.before is None:
            self.is_new_worktree = True
            self.scopes.add(path.parts[:-1])
            return after is not None and after.kind == FILE
        self._add(git_path, path.parts)
        return self._was_file(path)

    def _add(self, git_path: PlaceInGit, scope: Parts) -> None:
        """A folder that was removed with a part that stays, stays whole."""
        inside = git_path.change.place.parts[: len(scope)] == scope
        self.scopes.add(scope if inside else git_path.change.place.parts)

    def _was_file(self, path: WorkspacePath) -> bool:
        try:
            with self._root.regular_file(path):
                return True
        except (OSError, ToolFault, OutsideWorkspace):
            return False

    def add_files_kept_in(self, left_out: list[PathChange]) -> bool:
        """Leaves out the files of a submodule too if git has stored something: a stash may be the only place of what was in them.

        Returns False if it is not known where these files lie.
        """
        for change in left_out:
            if change.before is not None or "objects" not in change.place.parts:
                continue
            for scope, files in self._files.items():
                if change.place.parts[: len(scope)] != scope:
                    continue
                if files is None:
                    return False
                self.scopes.add(files.parts)
        return True

    def has(self, change: PathChange) -> bool:
        parts = change.place.parts
        return any(parts[:depth] in self.scopes for depth in range(1, len(parts) + 1))


def _message(findings: list[GitFinding], scopes: list[Parts]) -> str:
    return " ".join(_sentences(findings, scopes))


def _sentences(findings: list[GitFinding], scopes: list[Parts]) -> Iterator[str]:
    for finding in findings[:_MOST_NAMED]:
        yield f"'{shown(finding.place.path)}' may not be changed by a command: {finding.reason}."
    if len(findings) > _MOST_NAMED:
        yield f"The same holds for {len(findings) - _MOST_NAMED} more."
    listed = ", ".join(f"'{shown('/'.join(scope))}'" for scope in scopes[:_MOST_NAMED])
    more = f" and {len(scopes) - _MOST_NAMED} more" if len(scopes) > _MOST_NAMED else ""
    yield f"So what the command changed there was left out: {listed}{more}. Its other changes do not depend on that."
