"""Which paths of a workspace a program must not see, for rules deny reading them. Looks; the sandbox puts the masks on. Blocking."""

from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.domain.ports import Hidden
from anycowork.workspace.bwrap import Sight
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import Place
from anycowork.workspace.walk import Walk

MOST_MASKED = 500
_MOST_LOOKED_AT = 500_000
_SECONDS = 10.0


class TooMuchToMask(ToolFault):
    """What may not be read cannot be kept from the program."""

    code = "too_much_to_mask"


def masked(jail: Jail, hidden: Hidden) -> Sight:
    """Raises: TooMuchToMask."""
    if not hidden.patterns:
        return Sight()
    walk = Walk(jail, most=_MOST_LOOKED_AT, seconds=_SECONDS, with_ignored=True)
    files: list[str] = []
    folders: set[Place] = set()
    for entry in walk.entries(Place(())):
        covered = any(Place(entry.place.parts[:depth]) in folders for depth in range(1, len(entry.place.parts)))
        if covered or entry.kind == "symbolic link" or not hidden.hides(entry.place.path):
            continue  # a link shows what it leads to, and that is masked where it lies
        if entry.is_folder:
            folders.add(entry.place)
        else:
            files.append(entry.place.path)
    if walk.cut or len(files) + len(folders) > MOST_MASKED:
        raise TooMuchToMask(
            "Rules deny reading so much of this workspace, or it is so large, that a plugin's tool cannot be kept from all of it; it was not "
            "run. Deny whole folders rather than many files, or work in a smaller folder."
        )
    absolute = Path(jail.root)
    return Sight(
        masked_files=tuple(str(absolute / file) for file in files),
        masked_folders=tuple(str(absolute / folder.path) for folder in sorted(folders, key=lambda place: place.parts)),
    )
