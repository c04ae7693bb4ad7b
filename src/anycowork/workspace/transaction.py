"""One command's changes from their first look to their end: looked at, checked, written down, committed or dropped. Blocking."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.ports import RolledForward
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Intent
from anycowork.workspace.checking import Objection, Why, objection_to
from anycowork.workspace.commit import Applied, apply, manifest, seal
from anycowork.workspace.delta import Delta, scan
from anycowork.workspace.jail import Jail
from anycowork.workspace.stage import Stage, Staging, remove_tree

_SPARE = 64 << 20  # bytes that a commit onto another file system leaves free there


class CommitFailed(ToolFault):
    """The disk refused in the middle of a commit."""

    code = "commit_failed"


@dataclass(slots=True)
class Transaction:
    """`pledged` from the moment its commit may have been written down until it is made: so long its stage must not vanish."""

    stage: Stage
    jail: Jail
    staging: Staging
    delta: Delta = field(default_factory=Delta)
    pledged: bool = False

    def look(self) -> Delta:
        """Raises: UnusableDelta."""
        self.delta = scan(str(self.stage.upper), self.jail.root)
        return self.delta

    def objection(self, permissions: frozenset[Permission], named: Callable[[str], bool]) -> Objection | None:
        """Why the delta may not be committed, or None. What conflicts is kept aside for a person to look at."""
        found = objection_to(
            self.delta,
            permissions=permissions,
            named=named,
            mounted_at=self.stage.mounted_at,
            upper=self.stage.upper,
            root=self.jail.root,
        )
        if found is None or found.why is not Why.CONFLICT:
            return found
        kept = self.staging.keep(self.stage.folder)
        return Objection(found.why, found.paths, f"{found.says} What it had written is kept in '{kept}/upper'.")

    def intent(self, command: str) -> Intent:
        """The commit as it is written down; everything it names is durable by then. Raises: ToolFault."""
        self._require_room()
        try:
            seal(self.stage.upper, self.delta)
        except OSError as error:
            raise ToolFault(
                f"The disk refused the command's changes ({error.strerror}); none of them was made."
            ) from None
        return Intent(paths=manifest(self.delta), command=command, contained=True, staged=str(self.stage.folder))

    def commit(self) -> Applied:
        """Raises: CommitFailed; then what was not moved yet is kept aside."""
        seen = {change.place.path: change.before for change in self.delta.changes if change.before is not None}
        try:
            applied = apply(self.stage.folder, self.jail, manifest(self.delta), seen=seen)
        except OSError as error:
            kept = self.staging.keep(self.stage.folder)
            self.pledged = False
            raise CommitFailed(
                f"The disk refused while the command's changes were being made ({error.strerror}): some are made, the others "
                f"are kept in '{kept}/upper'. Look at the files before going on."
            ) from None
        if applied.conflicts:
            self.staging.keep(self.stage.folder)
        self.pledged = False
        return applied

    def end(self) -> None:
        if not self.pledged:
            remove_tree(self.stage.folder)

    def _require_room(self) -> None:
        """A commit onto another file system copies: it must not stop half way for want of room."""
        if self.stage.upper.stat().st_dev == Path(self.jail.root).stat().st_dev:
            return
        needed = sum(change.after.size for change in self.delta.changes if change.after is not None)
        if shutil.disk_usage(self.jail.root).free < needed + _SPARE:
            raise ToolFault(
                f"The workspace's disk has no room for what the command changed ({needed:,} bytes); none of it was made."
            )


def finish(staging: Staging, jail: Jail, intent: Intent) -> RolledForward:
    """Takes an intended commit to its end after a crash. Raises: ToolFault if the disk refuses."""
    if intent.staged is None:
        raise ValueError("only a commit that was intended can be finished")
    folder = staging.found(intent.staged) or Path(intent.staged)  # gone: then every path should be as meant already
    try:
        applied = apply(folder, jail, intent.paths)
    except OSError as error:
        raise ToolFault(f"The disk refused while a command's changes were being finished: {error.strerror}.") from None
    if staging.found(intent.staged):
        staging.keep(folder) if applied.conflicts else remove_tree(folder)
    return RolledForward(tuple(applied.conflicts))
