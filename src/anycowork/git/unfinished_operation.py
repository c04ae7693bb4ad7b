"""Tells whether a person is in the middle of a merge, a rebase or the like. Then only git itself continues: it knows what belongs to it."""

from collections.abc import Mapping

from anycowork.domain.errors import StateChanged, ToolFault
from anycowork.git.git_process import run_git
from anycowork.git.repository_place import RepositoryPlace
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath, shown

_OPERATIONS = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}
_UNMERGED = ("ls-files", "--unmerged", "-z", "--full-name")


def require_no_operation(place: RepositoryPlace) -> None:
    """Raises: StateChanged. A commit of ours would have one parent: of a merge it would lose the other one."""
    for name, operation in _OPERATIONS.items():
        if place.jail.stat(WorkspacePath((*place.own, name))) is not None:
            raise StateChanged(
                f"A {operation} is in progress in this repository. Nothing was changed. Finish it in a terminal with"
                f" 'git {operation} --continue', or end it with 'git {operation} --abort'."
            )


def require_no_conflicts(folder: Folder, environment: Mapping[str, str]) -> None:
    """Raises: ToolFault if files are left in the index whose conflicts nobody resolved: no commit can be made of it."""
    printed = run_git(_UNMERGED, folder=folder.root, environment=environment)
    paths = sorted({line.partition(b"\t")[2].decode(errors="replace") for line in printed.split(b"\0") if line})
    if paths:
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        raise ToolFault(
            f"Git still has conflicts in '{shown(paths[0])}'{more}. Nothing was committed. Resolve them first, then choose these files too."
        )
