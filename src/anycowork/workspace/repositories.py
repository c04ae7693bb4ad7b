"""Decides which folders git treats as a repository, whatever their name: git follows the `config` of such a folder.

Git looks for `HEAD`, `objects` and `refs` in a folder, or for `HEAD` and a `commondir` that names the place of the others. Here the names
alone count, whatever they contain: what git refuses today it may accept after one more change.
"""

from collections.abc import Callable, Iterable

from anycowork.domain.control_files import fold_name
from anycowork.workspace.paths import folds_to_git

REPOSITORY_NAMES = frozenset({"head", "objects", "refs", "commondir"})
WHY_NO_REPOSITORY = "the folder would become a repository, and git runs programs that its 'config' names"

Parts = tuple[str, ...]


def is_repository(names: Iterable[str]) -> bool:
    """Tells whether git may treat a folder with these entries as a repository."""
    found = REPOSITORY_NAMES.intersection(map(fold_name, names))
    return "head" in found and ("commondir" in found or {"objects", "refs"} <= found)


def repository_around(parts: Parts, names_in: Callable[[Parts], Iterable[str]]) -> Parts | None:
    """Returns the outermost folder above `parts` that is a repository, or becomes one once `parts` exists. Ignores `.git`."""
    for at in range(len(parts)):
        if folds_to_git(parts[at]):
            return None
        folder = parts[:at]
        if is_repository([*names_in(folder), parts[at]]):
            return folder
    return None
