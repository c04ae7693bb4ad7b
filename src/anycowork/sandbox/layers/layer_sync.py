"""Makes a command's changes durable, before they are recorded and committed."""

import os
from pathlib import Path

from anycowork.sandbox.commit import entries
from anycowork.sandbox.commit.delta import FILE, Delta
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.syscalls import sync_file_system

_FEW = 32  # up to this number each file and folder is synced; beyond it, the whole file system once


def seal(upper: Path, delta: Delta) -> None:
    """Makes everything in the upper layer durable. Raises: OSError."""
    jail = Jail(str(upper))
    new = [change.place for change in delta.changes if change.after is not None]
    if len(new) > _FEW:
        with entries.opened(upper) as fd:
            sync_file_system(fd)
        return
    for change in delta.changes:
        if change.after is not None and change.after.kind == FILE:
            with jail.regular_file(change.place) as (fd, _found):
                os.fsync(fd)
    for parent in {WorkspacePath(path.parts[:depth]) for path in new for depth in range(len(path.parts))}:
        with jail.folder(parent, flags=os.O_RDONLY) as fd:
            os.fsync(fd)
