"""Hides paths that a command or a plugin may not read: mounts an empty, unreadable entry over each of them.

Rules are patterns and a mount covers one path, so they are expanded against the tree when the program starts. Follows no link: rules apply
to the resolved path.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from anycowork.domain.errors import DeniedByRule, FileMissing, ToolFault, WrongKind
from anycowork.domain.ports import ANYTHING_INSIDE, Hidden, names_nothing
from anycowork.domain.values import value
from anycowork.sandbox.stage import Layer, Stage
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

MOST_MASKS = 256  # mounts; each adds to the start-up cost of every command
MOST_LOOKED = 200_000  # paths
_COVERS = "covers"


@value
class Mask:
    place: WorkspacePath
    is_folder: bool


class KeyFiles(Protocol):
    def masks(self, jail: Jail, withholds: Callable[[str], bool]) -> tuple[Mask, ...]:
        """Returns what covers the key files that are withheld. Raises: DeniedByRule."""


@value
class Covered:
    """What a program cannot read: `masks` are all of it, `key_files` those of them that no rule denies and nobody allowed."""

    masks: tuple[Mask, ...] = ()
    key_files: tuple[str, ...] = ()


def cover(jail: Jail, stage: Stage, hidden: Hidden, key_files: KeyFiles) -> Covered:
    """Prepares covers for everything that a program in this stage would see and may not read. Blocking. Raises: DeniedByRule."""
    # A private copy shows the state when it was made, whatever a person did to the workspace since.
    seen = Jail(str(stage.upper)) if stage.layer is Layer.COPY else jail
    masks = find_masks(seen, hidden) if hidden.patterns else ()
    withheld: tuple[Mask, ...] = ()
    if hidden.withholds is not names_nothing:
        found = key_files.masks(seen, hidden.withholds)
        withheld = tuple(mask for mask in found if not any(each.place.holds(mask.place) for each in masks))
    if masks or withheld:
        _make_covers(stage)
    return Covered((*masks, *withheld), tuple(mask.place.path for mask in withheld))


def find_masks(jail: Jail, hidden: Hidden) -> tuple[Mask, ...]:
    """Finds everything hidden in the workspace, whole folders as one; reads only. Blocking.

    Raises: DeniedByRule if there is more than can be covered, or more than can be searched.
    """
    looking = _MaskSearch(jail, hidden)
    for start, depth in sorted(_starts(hidden), key=lambda one: len(one[0])):
        looking.search(WorkspacePath(start), depth)
    return tuple(looking.masks.values())


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


def _starts(hidden: Hidden) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """Yields where each pattern stops being a plain name, and how deep below that it can match; None is any depth."""
    for pattern in hidden.patterns:
        parts = pattern.strip().removeprefix("./").strip("/").split("/")
        wild = next((at for at, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
        rest = parts[wild:]
        anywhere = parts == ["*"] or pattern.strip().endswith("/") or any("**" in part for part in rest)
        yield tuple(part for part in parts[:wild] if part), None if anywhere else len(rest)


@dataclass(slots=True)
class _MaskSearch:
    jail: Jail
    hidden: Hidden
    masks: dict[WorkspacePath, Mask] = field(default_factory=dict)
    looked: int = 0

    def search(self, place: WorkspacePath, depth: int | None) -> None:
        """Searches this path, and what is in it down to this depth."""
        if any(WorkspacePath(place.parts[:length]) in self.masks for length in range(1, len(place.parts) + 1)):
            return
        found = self.jail.stat(place)
        if found is None:
            return
        if stat.S_ISDIR(found.st_mode):
            self._folder(place, depth)
        elif not stat.S_ISLNK(found.st_mode) and self.hidden.hides(place.path):
            self._mask(Mask(place, is_folder=False))

    def _folder(self, place: WorkspacePath, depth: int | None) -> None:
        waiting = [(place, depth)]
        while waiting:
            folder, left = waiting.pop()
            if folder in self.masks:
                continue
            if not folder.is_root and self._hides_all(folder):
                self._mask(Mask(folder, is_folder=True))
            elif left is None or left > 0:
                waiting += [(inner, None if left is None else left - 1) for inner in self._inside(folder)]

    def _inside(self, folder: WorkspacePath) -> list[WorkspacePath]:
        """Returns the folders in it; masks its hidden files."""
        folders = []
        above = "".join(
            f"{part}/" for part in folder.parts
        )  # hidden files are rare, so a WorkspacePath is made only for those
        try:
            with self.jail.folder(folder, flags=os.O_RDONLY) as fd, os.scandir(fd) as entries:
                for entry in entries:
                    self._count()
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(folder.child(entry.name))
                    elif self.hidden.hides(above + entry.name) and not entry.is_symlink():
                        self._mask(Mask(folder.child(entry.name), is_folder=False))
        except (FileMissing, WrongKind):
            return []  # deleted since it was seen
        except ToolFault:
            # Closed to us; but its owner could open it again, and read it.
            self._mask(Mask(folder, is_folder=True))
            return []
        return folders

    def _hides_all(self, folder: WorkspacePath) -> bool:
        return all(self.hidden.hides("/".join((*folder.parts, inside))) for inside in ANYTHING_INSIDE)

    def _mask(self, mask: Mask) -> None:
        self.masks[mask.place] = mask
        if len(self.masks) > MOST_MASKS:
            raise DeniedByRule(
                f"Rules keep more than {MOST_MASKS} files and folders of this workspace from being read, too many to hide one by "
                "one, so it did not run. A person can deny whole folders instead ('/secrets/**'); the file tools work as ever."
            )

    def _count(self) -> None:
        self.looked += 1
        if self.looked > MOST_LOOKED:
            raise DeniedByRule(
                f"Rules keep files from being read by patterns that could match anywhere ({', '.join(self.hidden.patterns[:3])}), and "
                f"the workspace has more than {MOST_LOOKED:,} paths to look through for them, so it did not run. A person can "
                "name folders in the patterns instead; the file tools work as ever."
            )
