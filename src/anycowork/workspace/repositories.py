"""Which folders git takes for a repository, whatever they are called: it reads orders from the `config` of such a folder.

Git looks for `HEAD`, `objects` and `refs` in a folder, or for `HEAD` and a `commondir` that says where the others are. Here a folder
counts by these names alone, whatever stands behind them: what git would refuse today may be what it accepts after one more change.
"""

from collections.abc import Callable, Iterable

from anycowork.domain.control_files import fold_name
from anycowork.workspace.paths import folds_to_git

REPOSITORY_NAMES = frozenset({"head", "objects", "refs", "commondir"})
WHY_NO_REPOSITORY = "the folder would become a repository, and git runs programs that its 'config' names"

Parts = tuple[str, ...]


def is_repository(names: Iterable[str]) -> bool:
    """Whether git may take a folder with these entries for a repository."""
    found = REPOSITORY_NAMES.intersection(map(fold_name, names))
    return "head" in found and ("commondir" in found or {"objects", "refs"} <= found)


def repository_around(parts: Parts, names_in: Callable[[Parts], Iterable[str]]) -> Parts | None:
    """The outermost folder on the way to `parts` that is a repository, or becomes one once `parts` exists. `.git` is not looked at."""
    for at in range(len(parts)):
        if folds_to_git(parts[at]):
            return None
        folder = parts[:at]
        if is_repository([*names_in(folder), parts[at]]):
            return folder
    return None
