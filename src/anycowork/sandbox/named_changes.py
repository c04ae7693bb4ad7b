"""Finds the changes that are shown by name however many there are: control files, and what looks like a secret. Pure."""

from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from anycowork.domain.control_files import folder_may_be_control, is_control_name, name_may_be_control
from anycowork.domain.key_files import folder_looks_secret, looks_secret, name_looks_secret
from anycowork.domain.path_summary import FolderCount, counts_of_folders
from anycowork.sandbox.delta import Delta, PathChange
from anycowork.workspace.paths import WorkspacePath


def is_named_always(place: WorkspacePath) -> bool:
    return is_control_name(place.parts) or looks_secret(place.path)


def named_always(delta: Delta) -> list[PathChange]:
    """Several steps of a commit ask, so the answer is remembered with the delta."""
    if delta.named is None or delta.named[0] is not delta.changes:
        delta.named = (delta.changes, _named_in(delta.changes))
    return delta.named[1]


def _named_in(changes: Iterable[PathChange]) -> list[PathChange]:
    """Thousands of files lie in far fewer folders, and a folder's own parts are looked at once."""
    found: list[PathChange] = []
    last: list[str] | None = None
    may_be_in = False
    for change in changes:
        *above, name = change.place.parts
        if above != last:
            last = above
            may_be_in = folder_may_be_control(tuple(above)) or (bool(above) and folder_looks_secret("/".join(above)))
        if (may_be_in or name_may_be_control(name) or name_looks_secret(name)) and is_named_always(change.place):
            found.append(change)
    return found


def count_by_folder(changes: Iterable[PathChange]) -> list[FolderCount]:
    """Changes in one folder stand together: they are counted before their folder is looked up."""
    counted: Counter[tuple[tuple[str, ...], str]] = Counter()
    for (above, verb), alike in groupby((change.place.parts[:-1], change.verb) for change in changes):
        counted[above, verb] += sum(1 for _ in alike)
    return counts_of_folders(counted)
