"""Reads which commits the branches and tags of a git repository name, without running git: the repository is not trusted."""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from anycowork.domain.text_lines import bare_lines

_MOST_BYTES = 8 * 1024 * 1024  # of packed-refs
_MOST_REFS = 20_000
_HASH_LENGTHS = (40, 64)
_HEX = frozenset("0123456789abcdef")


def named_commits(root: Path) -> frozenset[str]:
    """Return the hashes that HEAD, branches, tags and the stash name; none if there is no repository. What was only fetched is left out."""
    git = root / ".git"
    if not _is_folder(git):
        return frozenset()
    texts = [_text(git / "HEAD"), *map(_text, islice(_refs(git / "refs"), _MOST_REFS))]
    packed = (line.split(" ") for line in bare_lines(_text(git / "packed-refs")))
    texts += [parts[0] for parts in packed if len(parts) == 2 and not parts[1].startswith("refs/remotes/")]
    return frozenset(commit_hash for text in texts if _is_hash(commit_hash := text.strip()))


def _refs(folder: Path) -> Iterator[Path]:
    if not _is_folder(folder):
        return
    for current, folders, files in os.walk(folder):
        if Path(current) == folder:
            folders[:] = [name for name in folders if name != "remotes"]
        yield from (Path(current, name) for name in files)


def _text(path: Path) -> str:
    """The text of a regular file, bounded; empty for anything else: a link, a pipe or a missing file."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            return ""
        return file.read(_MOST_BYTES).decode("ascii", "replace")


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _is_hash(text: str) -> bool:
    return len(text) in _HASH_LENGTHS and _HEX.issuperset(text)
