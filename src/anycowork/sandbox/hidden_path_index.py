"""Finds the paths of a workspace that rules hide from commands, without walking the whole tree for each command.

Rules are patterns and a mask covers one path, so patterns are expanded against the tree. Follows no link: rules apply to the resolved path.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock

from anycowork.domain.errors import DeniedByRule, FileMissing, ToolFault, WrongKind
from anycowork.domain.ports import ANYTHING_INSIDE, HiddenPathRules
from anycowork.sandbox.folder_index import Entries, SeenFolder, Selection, read_folder, unchanged
from anycowork.sandbox.masks import MOST_MASKS, Mask
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

MOST_READ = 1_000_000  # paths in folders that changed since the last search
_MOST_WORKSPACES = 16

Folders = dict[tuple[str, ...], SeenFolder]


class HiddenPathIndex:
    """What is known of the folders of some workspaces, for the rules that applied last. For several threads."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[HiddenPathRules, Folders]] = {}
        self._lock = Lock()

    def masks(self, jail: Jail, hidden: HiddenPathRules) -> tuple[Mask, ...]:
        """Returns what covers everything hidden in the workspace, whole folders as one; reads only.

        Raises: DeniedByRule if there is more than can be covered, or more than can be searched.
        """
        with self._lock:
            rules, folders = self._known.pop(jail.root, (hidden, Folders()))
        search = _MaskSearch(jail, hidden, folders if rules.hides is hidden.hides else {})
        for start, depth in sorted(_starts(hidden), key=lambda one: len(one[0])):
            search.search(WorkspacePath(start), depth)
        with self._lock:
            self._known[jail.root] = (hidden, search.seen)
            while len(self._known) > _MOST_WORKSPACES:
                del self._known[next(iter(self._known))]
        return tuple(search.masks.values())


def _starts(hidden: HiddenPathRules) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """Yields where each pattern stops being a plain name, and how deep below that it can match; None is any depth."""
    for pattern in hidden.patterns:
        parts = pattern.strip().removeprefix("./").strip("/").split("/")
        wild = next((at for at, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
        rest = parts[wild:]
        anywhere = parts == ["*"] or pattern.strip().endswith("/") or any("**" in part for part in rest)
        yield tuple(part for part in parts[:wild] if part), None if anywhere else len(rest)


@dataclass(slots=True)
class _MaskSearch:
    """`known` is what an earlier search for the same rules has seen, `seen` what this one has."""

    jail: Jail
    hidden: HiddenPathRules
    known: Folders
    seen: Folders = field(default_factory=dict)
    masks: dict[WorkspacePath, Mask] = field(default_factory=dict)
    read: int = 0

    def search(self, place: WorkspacePath, depth: int | None) -> None:
        """Searches this path, and what is in it down to this depth."""
        if any(WorkspacePath(place.parts[:length]) in self.masks for length in range(1, len(place.parts) + 1)):
            return
        found = self.jail.stat(place)
        if found is None:
            return
        if stat.S_ISDIR(found.st_mode):
            self._folder(place.parts, depth)
        elif not stat.S_ISLNK(found.st_mode) and self.hidden.hides(place.path):
            self._mask(place.parts, is_folder=False)

    def _folder(self, parts: tuple[str, ...], depth: int | None) -> None:
        waiting = [(parts, depth)]
        while waiting:
            folder, left = waiting.pop()
            if WorkspacePath(folder) in self.masks:
                continue
            if (
                folder not in self.known and folder and self._hides_all(folder)
            ):  # what is known is not hidden as a whole
                self._mask(folder, is_folder=True)
            elif left is None or left > 0:
                inside = self._inside(folder)
                waiting += [((*folder, name), None if left is None else left - 1) for name in inside]

    def _inside(self, folder: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the folders in it; masks its hidden files."""
        try:
            found = self._seen_folder(folder)
        except (FileMissing, WrongKind):
            return ()  # deleted since it was seen
        except ToolFault:
            # Closed to us; but its owner could open it again, and read it.
            self._mask(folder, is_folder=True)
            return ()
        if found is None:
            return ()
        self.seen[folder] = found
        for name in found.names:
            self._mask((*folder, name), is_folder=False)
        return found.folders

    def _seen_folder(self, folder: tuple[str, ...]) -> SeenFolder | None:
        known = self.seen.get(folder) or self.known.get(folder)
        layers = ["/".join((layer, *folder)) for layer in self.jail.layers]
        try:
            if (same := unchanged(layers, known)) is not None:
                return same
        except OSError:
            pass  # opening it finds out what is wrong
        above = "".join(f"{part}/" for part in folder)
        with self.jail.folder(WorkspacePath(folder), flags=os.O_RDONLY) as fd:
            return read_folder(fd, lambda entries: self._select(above, entries), layers if len(layers) > 1 else ())

    def _select(self, above: str, entries: Entries) -> Selection:
        folders, names = [], []
        hides = self.hidden.hides
        for entry in entries:
            self.read += 1
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif hides(above + entry.name) and not entry.is_symlink():
                names.append(entry.name)
        self._require_searchable()
        return folders, names

    def _hides_all(self, folder: tuple[str, ...]) -> bool:
        return all(self.hidden.hides("/".join((*folder, inside))) for inside in ANYTHING_INSIDE)

    def _mask(self, parts: tuple[str, ...], *, is_folder: bool) -> None:
        place = WorkspacePath(parts)
        self.masks[place] = Mask(place, is_folder)
        if len(self.masks) > MOST_MASKS:
            raise DeniedByRule(
                f"Rules keep more than {MOST_MASKS} files and folders of this workspace from being read, too many to hide one by "
                "one, so it did not run. A person can deny whole folders instead ('/secrets/**'); the file tools work as ever."
            )

    def _require_searchable(self) -> None:
        if self.read > MOST_READ:
            raise DeniedByRule(
                f"Rules keep files from being read by patterns that could match anywhere ({', '.join(self.hidden.patterns[:3])}), and "
                f"the workspace has more than {MOST_READ:,} paths to look through for them, so it did not run. A person can "
                "name folders in the patterns instead; the file tools work as ever."
            )
