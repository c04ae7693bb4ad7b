"""Hides paths that a command or a plugin may not read: mounts an empty, unreadable entry over each of them."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from anycowork.domain.ports import ANYTHING_INSIDE, HiddenPathRules, names_nothing
from anycowork.domain.values import value
from anycowork.sandbox.layers.stage import Layer, Stage
from anycowork.sandbox.secrets.cover_watch import CoverWatch, Identity, identities
from anycowork.workspace.hard_links import other_names
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

MOST_MASKS = 256  # mounts; each adds to the start-up cost of every command
_COVERS = "covers"


@value
class Mask:
    place: WorkspacePath
    is_folder: bool


class KeyFiles(Protocol):
    def masks(self, jail: Jail, withholds: Callable[[str], bool], watch: CoverWatch | None = None) -> tuple[Mask, ...]:
        """Returns what covers the key files that are withheld. Raises: DeniedByRule."""


class HiddenPaths(Protocol):
    def masks(self, jail: Jail, hidden: HiddenPathRules, watch: CoverWatch | None = None) -> tuple[Mask, ...]:
        """Returns what covers everything that rules hide. Raises: DeniedByRule."""


@value
class MaskedPaths:
    """What a program cannot read: `masks` are all of it, `key_files` those of them that no rule denies and nobody allowed.

    `watch` notices what comes later; None if nothing can, because the program has a copy of its own.
    """

    masks: tuple[Mask, ...] = ()
    key_files: tuple[str, ...] = ()
    watch: CoverWatch | None = None

    def is_intact(self) -> bool:
        """Whether the program still sees nothing that it may not read."""
        return self.watch is None or self.watch.appeared() is None

    def require_intact(self) -> None:
        """Raises: ConcealedPathAppeared."""
        if self.watch is not None:
            self.watch.require_nothing()

    @contextmanager
    def watched(self, when_broken: Callable[[], None]) -> Iterator[None]:
        """While the block runs, `when_broken` is called as soon as the program could read something that it may not."""
        descriptor = self.watch.descriptor if self.watch is not None else None
        if descriptor is None:
            yield
            return
        loop = asyncio.get_running_loop()

        def look() -> None:
            if not self.is_intact():
                loop.remove_reader(descriptor)
                when_broken()

        loop.add_reader(descriptor, look)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)

    def close(self) -> None:
        if self.watch is not None:
            self.watch.close()


def cover(
    jail: Jail, stage: Stage, hidden: HiddenPathRules, key_files: KeyFiles, hidden_paths: HiddenPaths
) -> MaskedPaths:
    """Prepares covers for everything that a program in this stage would see and may not read; the caller closes what it gets.

    Blocking. Raises: DeniedByRule.
    """
    if not hidden.patterns and hidden.withholds is names_nothing:
        return MaskedPaths()
    # A private copy shows the state when it was made, whatever a person did to the workspace since.
    is_copy = stage.layer is Layer.COPY
    seen = Jail(str(stage.upper)) if is_copy else jail

    def concealed(watch: CoverWatch | None) -> tuple[tuple[Mask, ...], tuple[Mask, ...]]:
        covered = hidden_paths.masks(seen, hidden, watch) if hidden.patterns or hidden.asking else ()
        masks = tuple(mask for mask in covered if _is_hidden(mask, hidden))
        asking_masks = tuple(mask for mask in covered if mask not in masks)
        key_file_masks = key_files.masks(seen, hidden.withholds, watch) if hidden.withholds is not names_nothing else ()
        # A private copy has files of its own for two names of one: the workspace knows that they are the same.
        covered_places = [mask.place for mask in (*covered, *key_file_masks)]
        key_file_masks = (
            *key_file_masks,
            *(
                Mask(other_name, is_folder=False)
                for other_name in other_names(jail, covered_places)
                if not any(covering.holds(other_name) for covering in covered_places)
            ),
        )
        return masks, (
            *asking_masks,
            *(mask for mask in key_file_masks if not any(covering.place.holds(mask.place) for covering in covered)),
        )

    def state() -> dict[str, Identity]:
        masks, withheld = concealed(None)
        return identities(seen.layers, (mask.place.path for mask in (*masks, *withheld)))

    watch = None if is_copy else CoverWatch(hidden, is_pinned=stage.layer is Layer.OVERLAY, state=state)
    try:
        masks, withheld = concealed(watch)
        if watch is not None:
            watch.covers(identities(seen.layers, (mask.place.path for mask in (*masks, *withheld))))
        if masks or withheld:
            _make_covers(stage)
    except BaseException:
        if watch is not None:
            watch.close()
        raise
    return MaskedPaths((*masks, *withheld), tuple(mask.place.path for mask in withheld), watch)


def _is_hidden(mask: Mask, hidden: HiddenPathRules) -> bool:
    """Whether a rule denies it; otherwise a rule asks about it."""
    return hidden.hides(f"{mask.place.path}/{ANYTHING_INSIDE[0]}" if mask.is_folder else mask.place.path)


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
    existing_paths = [path for path in map(Path, paths) if path.exists() and not path.is_symlink()]
    return [
        word
        for path in existing_paths
        for word in ("--ro-bind", str(cover_for(stage, is_folder=path.is_dir())), str(path))
    ]


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
