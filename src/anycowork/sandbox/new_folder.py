"""Creates a new folder beside a workspace. Blocking."""

import errno
from collections.abc import Iterator
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.workspace.paths import shown

_MOST_NAMES = 1_000
_REFUSED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def create_folder_beside(root: Path, name: str, elsewhere: Path) -> Path:
    """Creates `name`, or `name-2` and so on, beside `root`; where nothing can be created there, in `elsewhere`. Raises: ToolFault."""
    try:
        return _created(root.parent, name)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise _not_created(root.parent, error) from None
    try:
        elsewhere.mkdir(exist_ok=True)
        return _created(elsewhere.resolve(), name)
    except OSError as error:
        raise _not_created(elsewhere, error) from None


def _created(parent: Path, name: str) -> Path:
    """Raises: OSError."""
    for candidate in _names(name):
        try:
            (parent / candidate).mkdir(0o700)
        except FileExistsError:
            continue
        return parent / candidate
    raise OSError(errno.EEXIST, "there are too many folders of this name")


def _names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in range(2, _MOST_NAMES))


def _not_created(parent: Path, error: OSError) -> ToolFault:
    return ToolFault(f"No new folder could be created in '{shown(str(parent))}': {error.strerror}.")
