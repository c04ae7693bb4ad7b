"""The manifest of a commit: each path's state before and after, as it is recorded before anything moves. Pure."""

from collections.abc import Iterable

from anycowork.domain.tools import PathIntent
from anycowork.sandbox.commit.delta import FILE, FOLDER, LINK, Delta, PathChange, PathState

TREE = "tree:"


def manifest(delta: Delta) -> tuple[PathIntent, ...]:
    """Returns each path's state before and after; folders come before their content."""
    return tuple([_intent(change) for change in delta.changes])


def changes_kind(item: PathIntent) -> bool:
    """Tells whether a folder replaces a file, or the reverse: then the old entry must be removed first."""
    if item.before is None or item.after is None:
        return False
    return (item.after == FOLDER) != (item.before == FOLDER or item.before.startswith(TREE))


def new_folders(intents: Iterable[PathIntent]) -> list[list[PathIntent]]:
    """Returns the folders that were not there before, each with everything in it. A new folder in another one is part of that one."""
    folders: list[list[PathIntent]] = []
    inside = "/"  # no path starts with it
    for item in intents:
        if item.path.startswith(inside):
            folders[-1].append(item)
        elif item.before is None and item.after == FOLDER:
            folders.append([item])
            inside = f"{item.path}/"
    return folders


def _intent(change: PathChange) -> PathIntent:
    before, after = change.before, change.after
    if before is not None and after is not None and before.kind == after.kind == FILE:  # of these there are thousands
        return PathIntent(change.place.path, before.mark, after.mark, FILE, after.mode)
    either = after or before
    assert either is not None  # a change has at least one side
    return PathIntent(
        path=change.place.path,
        before=_state_text(before, tree=after is None or after.kind != FOLDER),
        after=_state_text(after, tree=False),
        kind=either.kind,
        mode=after.mode if after else None,
    )


def _state_text(state: PathState | None, *, tree: bool) -> str | None:
    if state is None:
        return None
    if state.kind == FOLDER:
        return TREE + state.mark if tree else FOLDER
    return f"link:{state.mark}" if state.kind == LINK else state.mark
