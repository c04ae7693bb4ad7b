"""Hides paths that a command or a plugin may not read: mounts an empty, unreadable entry over each of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from anycowork.domain.ports import HiddenPathRules, names_nothing
from anycowork.domain.values import value
from anycowork.sandbox.stage import Layer, Stage
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

MOST_MASKS = 256  # mounts; each adds to the start-up cost of every command
_COVERS = "covers"


@value
class Mask:
    place: WorkspacePath
    is_folder: bool


class KeyFiles(Protocol):
    def masks(self, jail: Jail, withholds: Callable[[str], bool]) -> tuple[Mask, ...]:
        """Returns what covers the key files that are withheld. Raises: DeniedByRule."""


class HiddenPaths(Protocol):
    def masks(self, jail: Jail, hidden: HiddenPathRules) -> tuple[Mask, ...]:
        """Returns what covers everything that rules hide. Raises: DeniedByRule."""


@value
class MaskedPaths:
    """What a program cannot read: `masks` are all of it, `key_files` those of them that no rule denies and nobody allowed."""

    masks: tuple[Mask, ...] = ()
    key_files: tuple[str, ...] = ()


def cover(
    jail: Jail, stage: Stage, hidden: HiddenPathRules, key_files: KeyFiles, hidden_paths: HiddenPaths
) -> MaskedPaths:
    """Prepares covers for everything that a program in this stage would see and may not read. Blocking. Raises: DeniedByRule."""
    # A private copy shows the state when it was made, whatever a person did to the workspace since.
    seen = Jail(str(stage.upper)) if stage.layer is Layer.COPY else jail
    masks = hidden_paths.masks(seen, hidden) if hidden.patterns else ()
    withheld: tuple[Mask, ...] = ()
    if hidden.withholds is not names_nothing:
        found = key_files.masks(seen, hidden.withholds)
        withheld = tuple(mask for mask in found if not any(each.place.holds(mask.place) for each in masks))
    if masks or withheld:
        _make_covers(stage)
    return MaskedPaths((*masks, *withheld), tuple(mask.place.path for mask in withheld))


def mask_arguments(masks: tuple[Mask, ...], stage: Stage, root: str) -> list[str]:
    """Returns bubblewrap's arguments for the masks; they follow those that mount the workspace."""
    return [
        word
        for mask in masks
        for word in (
            "--ro-bind",
            str(cover_for(stage, is_folder=mask.is_folder)),
            str(Path(root, *mask.place.parts)),
        )
    ]


def cover_arguments(paths: Sequence[str], stage: Stage) -> list[str]:
    """Prepares covers for these places outside the workspace and returns bubblewrap's arguments; skips missing ones."""
    found = [path for path in map(Path, paths) if path.exists() and not path.is_symlink()]
    return [word for path in found for word in ("--ro-bind", str(cover_for(stage, is_folder=path.is_dir())), str(path))]


def cover_for(stage: Stage, *, is_folder: bool) -> Path:
    """Returns the cover for a file or a folder; creates it if necessary."""
    _make_covers(stage)
    return stage.folder / _COVERS / ("folder" if is_folder else "file")


def _make_covers(stage: Stage) -> None:
    """Creates the covers. Nobody can open them; they are mounted read-only, so that nobody can change that."""
    folder = stage.folder / _COVERS
    if folder.exists():
        return
    folder.mkdir(mode=0o711)
    (folder / "folder").mkdir(mode=0o000)
    (folder / "file").touch(mode=0o000)
