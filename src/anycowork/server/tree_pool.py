"""The trees that a joined worker lays for commands, kept for the next command on the same workspace: only what differs is laid again.

A command writes into a layer above its tree, so a tree stays as it was laid. Blocking; one caller at a time.
"""

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.sandbox.remote.tree_manifest import FOLDER, TreeChanges, TreeEntry
from anycowork.server.content_cache import ContentCache

MOST_IDLE = 4
UNFINISHED = "unfinished"  # the setup of a tree that is not used again


@dataclass(slots=True, eq=False)
class LaidTree:
    """`root` is the workspace that it shows, as its command `run_id` saw it. `setup_key` and `stays`: the setup whose files were added, and
    their topmost paths."""

    path: Path
    root: str
    run_id: str = ""
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

    def take(self, root: str, setup_key: str) -> LaidTree:
        """Returns a tree that was laid for an earlier command on this workspace, or an empty one. The caller gives it back."""
        for tree in reversed(self._idle):
            if tree.root == root and tree.setup_key in ("", setup_key):
                self._idle.remove(tree)
                return tree
        return self.empty(root)

    def empty(self, root: str) -> LaidTree:
        tree = LaidTree(self._folder / secrets.token_hex(8), root)
        tree.path.mkdir(mode=0o755)
        return tree

    def give_back(self, tree: LaidTree) -> None:
        if not tree.run_id:
            remove_tree(tree.path)
            return
        self._idle.append(tree)
        while len(self._idle) > MOST_IDLE:
            remove_tree(self._idle.pop(0).path)

    def update(self, tree: LaidTree, run_id: str, changes: TreeChanges) -> None:
        """Lays what differs. If that fails, the tree cannot be used again: it is removed. Raises: ToolFault, OSError."""
        try:
            entries = changes.applied_to(tree.entries)
            if any(path in entries for path in tree.stays):
                raise ToolFault("The workspace has a file now that its setup makes, too.")  # what travels wins
            replaced = [entry.path for entry in changes.changed if entry.path in tree.entries]
            for path in sorted([*changes.gone, *replaced], key=len, reverse=True):
                _remove(tree.path / path, tree.entries[path], entries.get(path))
            self._cache.lay(changes.changed, tree.path)
        except BaseException:
            remove_tree(tree.path)
            raise
        tree.entries, tree.run_id = entries, run_id


def _remove(path: Path, old: TreeEntry, new: TreeEntry | None) -> None:
    """Raises: OSError, also for a folder in which something is left."""
    if old.kind != FOLDER:
        path.unlink()
    elif new is None or new.kind != FOLDER:
        path.rmdir()
