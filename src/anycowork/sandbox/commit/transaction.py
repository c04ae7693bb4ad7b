"""Handles one command's changes to their end: scanned, checked, recorded, committed or dropped. Blocking."""

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import StateChanged, ToolFault
from anycowork.domain.ports import NOTHING_HIDDEN, HiddenPathRules, RolledForward
from anycowork.domain.roles import Permission
from anycowork.domain.tools import HeldChanges, Intent, PathIntent
from anycowork.domain.values import mutable_value, replace
from anycowork.sandbox.commit.committer import CommitOutcome, NothingCommitted, apply
from anycowork.sandbox.commit.delta import FILE, FOLDER, Delta, PathChange, UnusableDelta, manifest
from anycowork.sandbox.commit.delta_check import CommitBlocker, CommitBlockerKind, find_blocker
from anycowork.sandbox.commit.delta_scan import scan
from anycowork.sandbox.commit.entries import lies_elsewhere
from anycowork.sandbox.commit.left_out_changes import LeftOutChanges, leave_out
from anycowork.sandbox.layers.layer_sync import seal
from anycowork.sandbox.layers.private_copy import CopyManifest, as_layer, scan_copy
from anycowork.sandbox.layers.stage import Stage, Staging, remove_stage
from anycowork.sandbox.layers.staging_folders import RUNS, remove_tree, runner_for
from anycowork.sandbox.secrets.hidden_path_index import HiddenPathIndex
from anycowork.sandbox.secrets.key_file_index import KeyFileIndex
from anycowork.sandbox.secrets.masks import HiddenPaths, KeyFiles, Mask, MaskedPaths, cover
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath, shown
from anycowork.workspace.paths import shown as legible  # 'shown' is a parameter's name in here

_MOST_HELD = 32
_LARGEST_HELD = 1 << 30  # bytes
_NEVER = 1 << 63  # later than every time of a file: concurrent changes are found by content
_SPARE = 64 << 20  # bytes that a commit onto another file system leaves free there, or a twentieth of a small one


class CommitFailed(ToolFault):
    """The disk refused in the middle of a commit."""

    code = "commit_failed"


class CannotHold(ToolFault):
    """The changes cannot wait for a person here, so none of them is kept."""

    code = "cannot_wait"


class TooMuchToHold(CannotHold):
    """There is no space for more changes that wait for a person."""

    code = "too_much_waiting"


@mutable_value
class Transaction:
    """`pledged` from when its commit may have been recorded until it is made: until then its stage must not be removed.

    `copied` while the command works on a private copy of the workspace instead of an overlay. `covered` is what is `hidden` from it.
    """

    stage: Stage
    jail: Jail
    staging: Staging
    copied: CopyManifest | None = None
    delta: Delta = field(default_factory=Delta)
    pledged: bool = False
    key_files: KeyFiles = field(default_factory=KeyFileIndex)
    hidden_paths: HiddenPaths = field(default_factory=HiddenPathIndex)
    covered: MaskedPaths = field(default_factory=MaskedPaths)
    hidden: HiddenPathRules = NOTHING_HIDDEN
    _manifest: tuple[list[PathChange], tuple[PathIntent, ...]] | None = None

    def manifest(self) -> tuple[PathIntent, ...]:
        """Returns each path's state before and after. Computed once for a delta: several steps need it, and it may be long."""
        if self._manifest is None or self._manifest[0] is not self.delta.changes:
            self._manifest = (self.delta.changes, manifest(self.delta))
        return self._manifest[1]

    def hide(self, hidden: HiddenPathRules) -> None:
        """Call it before the command starts: hides what it may not read. Raises: DeniedByRule if that is too much."""
        self.hidden = hidden
        self.covered = cover(self.jail, self.stage, hidden, self.key_files, self.hidden_paths)

    def look(self) -> Delta:
        """Raises: UnusableDelta."""
        upper, root = str(self.stage.upper), self.jail.process_path
        self.delta = scan(upper, root) if not self.copied else scan_copy(upper, root, self.copied)
        _require_untouched(self)
        return self.delta

    def leave_out(self) -> LeftOutChanges | None:
        """Takes out of the delta what no command may change in submodules and linked worktrees, and returns what that was."""
        left_out = leave_out(self.delta, self.stage.upper, self.jail.process_path)
        if left_out is not None:
            self.delta.changes = left_out.remaining
        return left_out

    def find_blocker(
        self, permissions: frozenset[Permission], is_named: Callable[[str], bool], whose: str = "This role"
    ) -> CommitBlocker | None:
        """Returns why the delta may not be committed, or None. Conflicting changes are kept for a person to inspect."""
        blocker = find_blocker(
            self.delta,
            permissions=permissions,
            whose=whose,
            is_named=is_named,
            mounted_at=self.stage.mounted_at,
            upper=self.stage.upper,
            root=self.jail.process_path,
        )
        if blocker is None or blocker.kind is not CommitBlockerKind.CONFLICT:
            return blocker
        kept_folder = _put_aside(self.staging, self.stage.folder, self.manifest())
        return CommitBlocker(
            blocker.kind, blocker.paths, f"{blocker.message} What it had written is kept in '{kept_folder}/upper'."
        )

    def intent(self, command: str) -> Intent:
        """Returns the commit to be recorded; everything it names is durable by then. Raises: ToolFault."""
        self._require_disk_space()
        try:
            seal(self.stage.upper, self.delta)
        except OSError as error:
            raise ToolFault(
                f"The disk refused the command's changes ({error.strerror}); none of them was made."
            ) from None
        return Intent(paths=self.manifest(), command=command, contained=True, staged=str(self.stage.folder))

    def hold(self, command: str, held_changes: HeldChanges) -> Intent:
        """Makes the changes wait, durable and inaccessible, for a person's approval.

        Raises: CannotHold, ToolFault.
        """
        size = sum(change.after.size for change in self.delta.changes if change.after is not None)
        if size > _LARGEST_HELD or len(self.staging.held()) >= _MOST_HELD:
            raise TooMuchToHold(
                f"The command's changes need a person's approval, but too much is waiting for one already or it is too large to wait "
                f"({size:,} bytes). None of its changes was kept. Decide what is open, or let the command do less."
            )
        self._make_layer()
        intent = self.intent(command)
        try:
            self.stage = replace(self.stage, folder=self.staging.hold(self.stage.folder))
        except OSError as error:
            raise ToolFault(
                f"The disk refused to keep the command's changes ({error.strerror}); none was made."
            ) from None
        self.pledged = True
        return replace(intent, staged=str(self.stage.folder), held=replace(held_changes, beneath=_beneath(self.delta)))

    def commit(self) -> CommitOutcome:
        """Raises: CommitFailed; then the changes not moved yet are kept."""
        try:
            applied = apply(self.stage.folder, self.jail, self.manifest(), delta=self.delta)
        except OSError as error:
            kept_folder = self._put_aside()
            raise CommitFailed(_refused(error, kept_folder=f"{kept_folder}/upper")) from None
        if applied.conflicts:
            self._put_aside()
        else:
            self.pledged = False
        return applied

    def _put_aside(self) -> Path:
        """Returns where the changes are kept: if the disk refuses to move them, until the next start where they are."""
        try:
            kept_folder = _put_aside(self.staging, self.stage.folder, self.manifest())
        except OSError:
            return self.stage.folder
        self.pledged = False
        return kept_folder

    def promise_modes_of(self, approved_intents: Sequence[PathIntent]) -> None:
        """Sets the modes that were shown, where scanning had to change them."""
        self.delta.changes = [
            replace(change, after=replace(change.after, mode=item.mode, plain=False))
            if change.after and item.mode is not None and item.mode != change.after.mode
            else change
            for change, item in zip(self.delta.changes, approved_intents, strict=True)
        ]

    def end(self) -> None:
        self.covered.close()
        if not self.pledged:
            remove_stage(self.stage.folder)

    def _make_layer(self) -> None:
        """Turns a private copy into a layer, because the record of the copy is not stored."""
        if self.copied is None:
            return
        try:
            as_layer(self.stage.folder, self.delta)
        except OSError as error:
            raise CannotHold(
                f"The command's changes need a person's approval, but here they cannot wait for one ({error.strerror}). None of its "
                "changes was kept. Change the files with the tools for files, where a person is asked."
            ) from None
        # The order in which a layer is scanned.
        self.delta.changes = sorted(self.delta.changes, key=lambda change: change.place.parts)
        self.copied = None

    def _require_disk_space(self) -> None:
        """Requires free disk space for a commit onto another file system, which copies. Raises: ToolFault."""
        if not lies_elsewhere(self.stage.upper, self.jail.process_path):
            return
        needed = sum(change.after.size for change in self.delta.changes if change.after is not None)
        disk = shutil.disk_usage(self.jail.process_path)
        spare = min(_SPARE, disk.total // 20)
        if disk.free < needed + spare:
            raise ToolFault(
                f"The workspace's disk has no room for what the command changed: {needed:,} bytes, where {disk.free:,} are free and "
                f"{spare:,} shall stay so. None of it was made."
            )


def resume_transaction(staging: Staging, jail: Jail, intent: Intent) -> Transaction:
    """Returns the transaction of held changes, if they and the files beneath them are exactly as shown.

    Raises: StateChanged; then the held changes are kept.
    """
    folder = staging.found(intent.staged or "")
    if folder is None:
        raise StateChanged(
            "What the command had changed is not on this server: it is gone, or on a server that does not run. So there is nothing to make."
            " Run it again."
        )
    transaction = Transaction(Stage(folder, runner_for(jail.root), _NEVER, etc=folder), jail, staging)
    try:
        transaction.look()
        transaction.leave_out()  # it was not shown either
        current_paths = transaction.manifest()
    except (UnusableDelta, OSError):  # it cannot even be scanned any more
        current_paths = ()
    same = intent.held is not None and intent.held.beneath == _beneath(transaction.delta)
    if same and len(current_paths) == len(intent.paths) and all(map(_is_as_shown, current_paths, intent.paths)):
        transaction.promise_modes_of(intent.paths)
        return transaction
    kept_folder = staging.keep(folder)
    raise StateChanged(
        _what_differs(current_paths, intent.paths)
        + f" Nothing was overwritten: none of it was made. It is kept in '{kept_folder}/upper'."
    )


def _require_untouched(transaction: Transaction) -> None:
    """Paths that may not be read must stay where and as they are, with the folders above: under another name no rule would hide them.

    Raises: UnusableDelta.
    """
    if not transaction.covered.masks and not transaction.hidden.patterns and not transaction.hidden.asking:
        return
    covers = _Covers(transaction.covered.masks)
    for change in transaction.delta.changes:
        if (touched := covers.touched_by(change) or _unseen_in(change, transaction)) is not None:
            raise UnusableDelta(
                f"The command moved, removed or replaced '{shown(touched.path)}', which it may not read; none of its changes was kept. "
                "Use the file tools for that file, where a person is asked."
            )


class _Covers:
    """Finds the mask that a change concerns by looking up folders: there may be hundreds of masks and thousands of changes."""

    def __init__(self, masks: Sequence[Mask]) -> None:
        self._at = {mask.place.parts: mask.place for mask in masks}
        self._below: dict[tuple[str, ...], WorkspacePath] = {}
        for mask in masks:
            for depth in range(len(mask.place.parts) + 1):
                self._below.setdefault(mask.place.parts[:depth], mask.place)

    def touched_by(self, change: PathChange) -> WorkspacePath | None:
        """Nobody can change what is covered: if it is another entry now, its folder was moved and recreated."""
        if not self._at:
            return None
        parts = change.place.parts
        for depth in range(len(parts) + 1):
            if (masked_path := self._at.get(parts[:depth])) is not None:
                return masked_path
        is_removed = change.after is None or (change.before is not None and change.before.kind != change.after.kind)
        return self._below.get(parts) if is_removed else None


def _unseen_in(change: PathChange, transaction: Transaction) -> WorkspacePath | None:
    """Finds what came into the workspace too late to be covered."""
    if change.before is None:
        return None  # a role that may not read it may still create it
    hidden = (path for path in (change.place, *change.below) if transaction.hidden.covers(path.path))
    return next((path for path in hidden if _has_content(transaction.jail.stat(path))), None)


def _has_content(status: os.stat_result | None) -> bool:
    return status is not None and not (stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode))


def _refused(error: OSError, *, kept_folder: str) -> str:
    if isinstance(error, NothingCommitted):
        reason, remedy = (
            ("The workspace's disk has no room for what the command changed", "Free some room")
            if error.errno in (errno.ENOSPC, errno.EDQUOT)
            else (f"{_refuser(error)} refused what the command changed", "Remove the cause")
        )
        return f"{reason} ({error.strerror}): none of it was made, and all of it is kept in '{kept_folder}'. {remedy} and run the command again."
    return (
        f"{_refuser(error)} refused while the command's changes were being made ({error.strerror}): some are made, the others "
        f"are kept in '{kept_folder}'. Check the files before you continue."
    )


def _refuser(error: OSError) -> str:
    return "The system" if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM) else "The disk"


def _beneath(delta: Delta) -> str:
    """Returns the kinds and modes of the old entries; the manifest has the contents."""
    lines = [f"{c.place.path}\0{c.before.kind}\0{c.before.mode:o}" for c in delta.changes if c.before is not None]
    return sha256("\n".join(lines).encode()).hexdigest()


def _is_as_shown(current: PathIntent, approved: PathIntent) -> bool:
    """Scanning opens what a command had closed to its owner, so such a mode cannot be compared any more."""
    if current == approved:
        return True
    owners = stat.S_IRUSR if approved.kind == FILE else stat.S_IRUSR | stat.S_IXUSR
    was_closed = approved.mode is not None and approved.mode & owners != owners
    return was_closed and replace(current, mode=approved.mode) == approved


def _what_differs(current: tuple[PathIntent, ...], approved: tuple[PathIntent, ...]) -> str:
    """Beneath are files that others work on; above is what waited, which nobody else should touch."""
    now = {item.path: (item.after, item.mode, item.kind) for item in current}
    if all(now.get(item.path) == (item.after, item.mode, item.kind) for item in approved) and len(current) == len(
        approved
    ):
        earlier = {item.path: item.before for item in approved}
        changed_paths = (
            ", ".join(f"'{legible(item.path)}'" for item in current if item.before != earlier[item.path])
            or "a file's mode"
        )
        return f"While the command's changes waited, somebody else changed what it changed too: {changed_paths}."
    return "The command's changes, or the files beneath them, are no longer what the person was shown."


def finish(staging: Staging, jail: Jail, intent: Intent) -> RolledForward:
    """Finishes an intended commit after a crash. Raises: ToolFault if the disk refuses."""
    if intent.staged is None:
        raise ValueError("only a commit that was intended can be finished")
    # Gone, or of another data folder whose backup this is: then every path should be in its final state already.
    folder = staging.found(intent.staged) or staging.folders.private / RUNS / Path(intent.staged).name
    try:
        applied = apply(folder, jail, intent.paths)
    except OSError as error:
        raise ToolFault(f"The disk refused while a command's changes were being finished: {error.strerror}.") from None
    if staging.found(intent.staged):
        _put_aside(staging, folder, intent.paths) if applied.conflicts else remove_tree(folder)
    return RolledForward(tuple(applied.conflicts))


def _put_aside(staging: Staging, folder: Path, intents: Iterable[PathIntent]) -> Path:
    """Keeps what the command wrote, and not the rest of a private copy."""
    upper, written = folder / "upper", folder / "written"
    try:
        written.mkdir(mode=0o700)
        for item in intents:
            staged, target = upper / item.path, written / item.path
            if item.after == FOLDER:
                target.mkdir(parents=True, exist_ok=True)
            elif item.after is not None and (staged.is_symlink() or staged.is_file()):
                target.parent.mkdir(parents=True, exist_ok=True)
                staged.rename(target)
        remove_tree(upper)
        written.rename(upper)
    except OSError:
        pass  # then more than that is kept
    return staging.keep(folder)
