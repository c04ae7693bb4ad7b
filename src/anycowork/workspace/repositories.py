"""Decides which folders git treats as a repository, whatever their name: git follows the `config` of such a folder.

Git looks for `HEAD`, `objects` and `refs` in a folder, or for `HEAD` and a `commondir` that names the place of the others. Here the names
alone count, whatever they contain: what git refuses today it may accept after one more change.
"""

from collections.abc import Callable, Iterable

from anycowork.domain.path_class import fold_name, folds_to_git

REPOSITORY_NAMES = frozenset({"head", "objects", "refs", "commondir"})
WHY_NO_REPOSITORY = "the folder would become a repository, and git runs programs that its 'config' names"

Parts = tuple[str, ...]


def is_repository(names: Iterable[str]) -> bool:
    """Tells whether git may treat a folder with these entries as a repository."""
    repository_names = REPOSITORY_NAMES.intersection(map(fold_name, names))
    return "head" in repository_names and ("commondir" in repository_names or {"objects", "refs"} <= repository_names)


def repository_around(parts: Parts, names_in: Callable[[Parts], Iterable[str]]) -> Parts | None:
    """Returns the outermost folder above `parts` that is a repository, or becomes one once `parts` exists. Ignores `.git`."""
    for depth in range(len(parts)):
        if folds_to_git(parts[depth]):
            return None
        folder = parts[:depth]
        if is_repository([*names_in(folder), parts[depth]]):
            return folder
    return None
