"""Finds the paths of a workspace that rules hide from commands, without walking the whole tree for each command.

Rules are patterns and a mask covers one path, so patterns are expanded against the tree. Follows no link: rules apply to the resolved path.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import field
from threading import Lock

from anycowork.domain.errors import DeniedByRule, FileMissing, ToolFault, WrongKind
from anycowork.domain.ports import ANYTHING_INSIDE, HiddenPathRules
from anycowork.domain.values import mutable_value
from anycowork.sandbox.secrets.cover_watch import CoverWatch, Entries, SeenFolder, Selection, read_folder, unchanged
from anycowork.sandbox.secrets.masks import MOST_MASKS, Mask
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

    def masks(self, jail: Jail, hidden: HiddenPathRules, watch: CoverWatch | None = None) -> tuple[Mask, ...]:
        """Returns what covers everything hidden in the workspace, whole folders as one; reads only. `watch` learns of every folder.

        Raises: DeniedByRule if there is more than can be covered, or more than can be searched.
        """
        with self._lock:
            rules, folders = self._known.pop(jail.root, (hidden, Folders()))
        known_folders = folders if (rules.hides, rules.asks) == (hidden.hides, hidden.asks) else {}
        search = _MaskSearch(jail, hidden, known_folders, watch)
        for start, depth in sorted(_starts(hidden), key=lambda start_and_depth: len(start_and_depth[0])):
            search.search(WorkspacePath(start), depth)
        with self._lock:
            self._known[jail.root] = (hidden, search.seen)
            while len(self._known) > _MOST_WORKSPACES:
                del self._known[next(iter(self._known))]
        return tuple(search.masks.values())


def _starts(hidden: HiddenPathRules) -> Iterator[tuple[tuple[str, ...], int | None]]:
    """Yields where each pattern stops being a plain name, and how deep below that it can match; None is any depth."""
    for pattern in (*hidden.patterns, *hidden.asking):
        parts = pattern.strip().removeprefix("./").strip("/").split("/")
        wild = next((index for index, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
        wild_parts = parts[wild:]
        anywhere = parts == ["*"] or pattern.strip().endswith("/") or any("**" in part for part in wild_parts)
        yield tuple(part for part in parts[:wild] if part), None if anywhere else len(wild_parts)


@mutable_value
class _MaskSearch:
    """`known_folders` is what an earlier search for the same rules has seen, `seen` what this one has."""

    jail: Jail
    hidden: HiddenPathRules
    known_folders: Folders
    watch: CoverWatch | None = None
    seen: Folders = field(default_factory=dict)
    masks: dict[WorkspacePath, Mask] = field(default_factory=dict)
    read: int = 0

    def search(self, path: WorkspacePath, depth: int | None) -> None:
        """Searches this path, and what is in it down to this depth."""
        if any(WorkspacePath(path.parts[:length]) in self.masks for length in range(1, len(path.parts) + 1)):
            return
        for length in range(len(path.parts)):
            self._watch(path.parts[:length])
        status = self.jail.stat(path)
        if status is None:
            return
        if stat.S_ISDIR(status.st_mode):
            self._folder(path.parts, depth)
        elif not stat.S_ISLNK(status.st_mode) and self.hidden.covers(path.path):
            self._mask(path.parts, is_folder=False)

    def _folder(self, parts: tuple[str, ...], depth: int | None) -> None:
        waiting = [(parts, depth)]
        while waiting:
            folder, remaining_depth = waiting.pop()
            if WorkspacePath(folder) in self.masks:
                continue
            # What is known is not hidden as a whole.
            if folder not in self.known_folders and folder and self._hides_all(folder):
                self._mask(folder, is_folder=True)
            elif remaining_depth is None or remaining_depth > 0:
                inside = self._inside(folder)
                waiting += [
                    ((*folder, name), None if remaining_depth is None else remaining_depth - 1) for name in inside
                ]

    def _inside(self, folder: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the folders in it; masks its hidden files."""
        try:
            seen_folder = self._seen_folder(folder)
        except (FileMissing, WrongKind):
            return ()  # deleted since it was seen
        except ToolFault:
            # Closed to us; but its owner could open it again, and read it.
            self._mask(folder, is_folder=True)
            return ()
        if seen_folder is None:
            return ()
        self.seen[folder] = seen_folder
        for name in seen_folder.names:
            self._mask((*folder, name), is_folder=False)
        return seen_folder.folders

    def _seen_folder(self, folder: tuple[str, ...]) -> SeenFolder | None:
        known_folder = self.seen.get(folder) or self.known_folders.get(folder)
        layers = ["/".join((layer, *folder)) for layer in self.jail.layers]
        self._watch(folder)
        try:
            if (same := unchanged(layers, known_folder)) is not None:
                return same
        except OSError:
            pass  # opening it finds out what is wrong
        above = "".join(f"{part}/" for part in folder)
        with self.jail.folder(WorkspacePath(folder), flags=os.O_RDONLY) as fd:
            return read_folder(fd, lambda entries: self._select(above, entries), layers if len(layers) > 1 else ())

    def _watch(self, folder: tuple[str, ...]) -> None:
        if self.watch is not None:
            for layer in self.jail.layers:
                self.watch.add_folder(layer, "/".join(folder))

    def _select(self, above: str, entries: Entries) -> Selection:
        folders, names = [], []
        hides = self.hidden.covers
        for entry in entries:
            self.read += 1
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif hides(above + entry.name) and not entry.is_symlink():
                names.append(entry.name)
        self._require_searchable()
        return folders, names

    def _hides_all(self, folder: tuple[str, ...]) -> bool:
        """Whether all of it is covered: a file in it that a person allowed to read stays readable."""
        path = "/".join(folder)
        if any(named_path.startswith(f"{path}/") for named_path in self.hidden.named):
            return False
        return all(self.hidden.covers(f"{path}/{inside}") for inside in ANYTHING_INSIDE)

    def _mask(self, parts: tuple[str, ...], *, is_folder: bool) -> None:
        path = WorkspacePath(parts)
        self.masks[path] = Mask(path, is_folder)
        if len(self.masks) > MOST_MASKS:
            raise DeniedByRule(
                f"Rules keep more than {MOST_MASKS} files and folders of this workspace from being read, too many to hide one by "
                "one, so it did not run. A person can deny whole folders instead ('/secrets/**'); the file tools work as ever."
            )

    def _require_searchable(self) -> None:
        if self.read > MOST_READ:
            patterns = ", ".join((*self.hidden.patterns, *self.hidden.asking)[:3])
            raise DeniedByRule(
                f"Rules keep files from being read by patterns that could match anywhere ({patterns}), and "
                f"the workspace has more than {MOST_READ:,} paths to look through for them, so it did not run. A person can "
                "name folders in the patterns instead; the file tools work as ever."
            )
