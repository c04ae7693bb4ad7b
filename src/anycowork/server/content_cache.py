"""A joined worker's contents by hash, and the trees that it lays from them. Readable by the worker's user alone. Blocking."""

import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from anycowork.domain.errors import ToolFault
from anycowork.sandbox.remote.tree_manifest import FILE, FOLDER, LINK, BadManifest, TreeEntry
from anycowork.workspace.paths import shown

MOST_BYTES = 4 << 30


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
        unfinished.write_bytes(content)
        unfinished.chmod(0o644)
        unfinished.rename(path)
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
        """Removes contents until the rest fits. Call it while no tree is being laid."""
        if self.size <= self._most_bytes:
            return
        files = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in self._folder.glob("*/*"))
        self.size = sum(size for _, size, _ in files)
        for _, size, path in files:
            if self.size <= self._most_bytes:
                return
            path.unlink(missing_ok=True)
            self.size -= size

    def _path(self, hash_: str) -> Path:
        return self._folder / hash_[:2] / hash_
