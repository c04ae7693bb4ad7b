"""What a joined worker keeps between tasks: contents by their hash, and trees laid from them."""

import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.layers.staging_folders import remove_tree
from anycowork.sandbox.remote.tree_manifest import FILE, FOLDER, LINK, BadManifest, TreeChanges, TreeEntry
from anycowork.workspace.paths import shown

MOST_BYTES = 4 << 30
LEAST_FREE = 512 << 20  # bytes of its disk that the cache leaves: with 256 MB a command is stopped
MOST_IDLE = 4
UNFINISHED = "unfinished"  # the setup of a tree that is not used again


class ContentCache:
    """`most_bytes` bounds it: the contents that were used longest ago go first."""

    def __init__(self, folder: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        self.size = sum(path.stat().st_size for path in folder.glob("*/*"))

    def missing(self, entries: Iterable[TreeEntry]) -> list[str]:
        hashes = {entry.hash: None for entry in entries if entry.kind == FILE}
        return [hash_ for hash_ in hashes if not self._path(hash_).is_file()]

    def add(self, hash_: str, content: bytes) -> None:
        """Raises: BadManifest if it is another content."""
        if sha256(content).hexdigest() != hash_:
            raise BadManifest("The server sent a content that its hash does not name.")
        path = self._path(hash_)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        try:
            unfinished.write_bytes(content)
            unfinished.chmod(0o644)
            unfinished.rename(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
        self.size += len(content)

    def lay(self, entries: Sequence[TreeEntry], folder: Path) -> None:
        """Makes the tree in an empty folder. Plain files are links to the cache: what runs there writes into a layer above them.

        Raises: ToolFault for names that are the same here; OSError.
        """
        folders: list[tuple[Path, int]] = []
        for entry in entries:
            target = folder / entry.path
            try:
                if entry.kind == FOLDER:
                    target.mkdir(mode=0o700)
                    folders.append((target, entry.mode))
                elif entry.kind == LINK:
                    target.symlink_to(entry.target)
                else:
                    self._lay_file(entry, target)
            except FileExistsError:
                raise ToolFault(
                    f"This worker's file system takes '{shown(entry.path)}' and another path for the same name: they differ in case or"
                    " accents only. Use a worker on a file system that tells them apart."
                ) from None
        for laid_folder, mode in reversed(folders):
            laid_folder.chmod(mode | 0o500)

    def _lay_file(self, entry: TreeEntry, target: Path) -> None:
        content = self._path(entry.hash)
        os.utime(content)  # the newest goes last
        if entry.mode == 0o644:
            os.link(content, target)
            return
        shutil.copyfile(content, target)
        target.chmod(entry.mode | 0o400)

    def trim(self) -> None:
        """Removes contents until the rest fits and commands have room. Call it while no tree is being laid."""
        most_bytes = min(self._most_bytes, self.size + shutil.disk_usage(self._folder).free - LEAST_FREE)
        if self.size <= most_bytes:
            return
        files = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in self._folder.glob("*/*"))
        self.size = sum(size for _, size, _ in files)
        for _, size, path in files:
            if self.size <= most_bytes:
                return
            path.unlink(missing_ok=True)
            self.size -= size

    def clear(self) -> None:
        """Removes all contents. Call it while no tree is being laid."""
        for path in self._folder.glob("*/*"):
            if "." not in path.name:  # that one is being written
                self.size -= path.stat().st_size
                path.unlink()

    def _path(self, hash_: str) -> Path:
        return self._folder / hash_[:2] / hash_


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

    def clear(self) -> None:
        """Removes the trees that no command uses now."""
        while self._idle:
            remove_tree(self._idle.pop().path)

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
