"""What a workspace's setup command made on a joined worker, kept by key: the command and the content that it ran on. Blocking.

Only new paths are kept. What a setup changes in files that travelled is dropped, so no command sees other files than its server.
"""

import os
import shutil
from collections.abc import Collection
from pathlib import Path

from anycowork.sandbox.commit.delta import FOLDER, Delta
from anycowork.sandbox.layers.staging_folders import remove_tree

MOST_SETUPS = 8
_UNFINISHED = ".new"


class SetupCache:
    """Holds the newest setups. Use one key at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def has(self, key: str) -> bool:
        return self._path(key).is_dir()

    def keep(self, key: str, delta: Delta, upper: Path, *, travelled: Collection[str]) -> None:
        """Moves the new paths from the layer that the setup wrote into the cache."""
        unfinished = self._path(key).with_suffix(_UNFINISHED)
        remove_tree(unfinished)
        unfinished.mkdir(mode=0o700)
        for change in delta.changes:
            path = change.place.path
            if change.before is not None or change.after is None or path in travelled:
                continue
            target = unfinished / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if change.after.kind == FOLDER:
                target.mkdir(exist_ok=True)
            else:
                shutil.move(upper / path, target)
        unfinished.rename(self._path(key))
        self._trim()

    def lay(self, key: str, tree: Path, *, travelled: Collection[str]) -> list[str]:
        """Adds what the setup made to a tree, as links, and returns the topmost paths of that. What travelled is left as it is."""
        source = self._path(key)
        os.utime(source)  # the newest goes last
        topmost: list[str] = []
        waiting = [""]
        while waiting:
            above = waiting.pop()
            for entry in sorted(os.scandir(source / above), key=lambda entry: entry.name):
                path = f"{above}/{entry.name}" if above else entry.name
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder and path in travelled and (tree / path).is_dir():
                    waiting.append(path)
                elif path not in travelled:
                    topmost.append(path)
                    if is_folder:
                        shutil.copytree(entry.path, tree / path, symlinks=True, copy_function=os.link)
                    else:
                        os.link(entry.path, tree / path, follow_symlinks=False)
        return topmost

    def _trim(self) -> None:
        setups = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in setups[:-MOST_SETUPS]:
            remove_tree(path)

    def _path(self, key: str) -> Path:
        if len(key) != 64 or not key.isalnum():
            raise ValueError("a setup's key is a SHA-256")
        return self._folder / key
