"""Checks paths that a person named, before a command does or prints anything. A wrong one is a usage error."""

import os
from pathlib import Path

from anycowork.domain.errors import Invalid


def require_folder(workspace: Path) -> None:
    """The server checks the rest. Raises: Invalid."""
    try:
        if workspace.is_dir():
            return
    except PermissionError:
        raise Invalid(f"You cannot read {workspace}. Name another folder with --workspace.") from None
    raise Invalid(f"The workspace {workspace} is not a folder. Create it, or name another with --workspace.")


def require_readable_file(path: Path) -> None:
    """A pipe counts as a file, so nothing is opened here: that would take what is in it. Raises: Invalid."""
    reason = _why_unreadable(path)
    if reason is not None:
        raise Invalid(f"{path} cannot be read ({reason}).")


def _why_unreadable(path: Path) -> str | None:
    try:
        path.stat()
    except OSError as error:
        return error.strerror
    if path.is_dir():
        return "Is a directory"
    return None if os.access(path, os.R_OK) else "Permission denied"
