"""The trees that a joined worker lays for commands, kept for the next command on the same workspace: only what differs is laid again.

A command writes into a layer above its tree, so a tree stays as it was laid. Blocking; one caller at a time.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.sandbox.remote.tree_manifest import FOLDER, TreeEntry
from anycowork.server.content_cache import ContentCache

MOST_IDLE = 4
UNFINISHED = "unfinished"  # the setup of a tree that is not used again


@dataclass(slots=True, eq=False)
class LaidTree:
    """`root` is the workspace that it shows. `setup_key` and `stays`: the setup whose files were added, and their topmost paths."""

    path: Path
    root: str
    entries: dict[str, TreeEntry] = field(default_factory=dict)
    setup_key: str = ""
    stays: list[str] = field(default_factory=list)


class TreePool:
    def __init__(self, folder: Path, cache: ContentCache) -> None:
        self._folder = folder
        self._cache = cache
        self._idle: list[LaidTree] = []
        remove_tree(folder)  # what a killed worker left
        folder.mkdir(mode=0o700, parents=True)

    def take(self, root: str, setup_key: str, entries: Sequence[TreeEntry]) -> LaidTree:
        """Returns a tree with exactly these entries, and those of its setup. Raises: ToolFault, OSError."""
        for tree in reversed(self._idle):
            if tree.root == root and tree.setup_key in ("", setup_key):
                self._idle.remove(tree)
                if self._update(tree, entries):
                    return tree
                remove_tree(tree.path)
                break
        tree = LaidTree(self._folder / secrets.token_hex(8), root)
        tree.path.mkdir(mode=0o755)
        try:
            self._cache.lay(entries, tree.path)
        except BaseException:
            remove_tree(tree.path)
            raise
        tree.entries = {entry.path: entry for entry in entries}
        return tree

    def give_back(self, tree: LaidTree) -> None:
        self._idle.append(tree)
        while len(self._idle) > MOST_IDLE:
            remove_tree(self._idle.pop(0).path)

    def _update(self, tree: LaidTree, entries: Sequence[TreeEntry]) -> bool:
        """Lays what differs. Returns False if the tree cannot be used: it is to be removed."""
        new = {entry.path: entry for entry in entries}
        if any(path in new for path in tree.stays):
            return False  # what travelled wins over what the setup made
        gone = [path for path, entry in tree.entries.items() if new.get(path) != entry]
        changed = [entry for entry in entries if tree.entries.get(entry.path) != entry]
        try:
            for path in sorted(gone, key=len, reverse=True):
                _remove(tree.path / path, tree.entries[path], new.get(path))
            self._cache.lay(changed, tree.path)
        except (OSError, ToolFault):
            return False
        tree.entries = new
        return True


def _remove(path: Path, old: TreeEntry, new: TreeEntry | None) -> None:
    """Raises: OSError, also for a folder in which something is left."""
    if old.kind != FOLDER:
        path.unlink()
    elif new is None or new.kind != FOLDER:
        path.rmdir()
