"""Recognises the git folders of submodules and linked worktrees, which lie inside another git folder. Reads only, and runs no git.

One counts only if it and its worktree named each other before the command, both in the workspace and with no link on the way. Everything
else below `modules` or `worktrees` is left to a person.
"""

import os
from itertools import takewhile
from pathlib import Path

from anycowork.domain.errors import OutsideWorkspace, ToolFault
from anycowork.domain.path_class import folds_to_git
from anycowork.domain.values import value
from anycowork.domain.visible_text import bare_lines
from anycowork.workspace.git_index_file import Parts, is_repository
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

MODULES, WORKTREES = "modules", "worktrees"
NESTING = frozenset({MODULES, WORKTREES})
_LARGEST_READ = 1 << 20
_ODD_CHARACTERS = frozenset('"\\#;')


@value
class GitFolder:
    """`depth` parts of a path lead to it, and `worktree` has the files of its index; None if it is bare.

    `nested` if it belongs to a submodule or a linked worktree; `linked` for the latter, whose commits its repository keeps.
    """

    depth: int
    worktree: WorkspacePath | None
    nested: bool = False
    linked: bool = False


class NestedGitFolders:
    """Looks into the workspace at `root` as it was before the command; a command's own changes are elsewhere."""

    def __init__(self, root: str) -> None:
        self._jail = Jail(root)
        self._roots = {root, str(Path(root).resolve())}  # git writes the second into a worktree's files
        # Plain dictionaries: a cached method would refer back to this, and the jail's descriptor would stay open until a garbage collection.
        self._found: dict[tuple[Parts, int], GitFolder] = {}
        self._repositories: dict[Parts, bool] = {}

    def innermost(self, parts: Parts, depth: int) -> GitFolder:
        """Returns the innermost git folder around the path; `depth` parts lead to the outermost one."""
        if len(parts) > depth + 2 and parts[depth] in NESTING:
            return self._in_folder(parts[:-1], depth)
        return _outermost(parts, depth)

    def _in_folder(self, folder: Parts, depth: int) -> GitFolder:
        if (folder, depth) not in self._found:
            self._found[folder, depth] = self._find_innermost(folder, depth)
        return self._found[folder, depth]

    def _is_repository(self, folder: Parts) -> bool:
        if folder not in self._repositories:
            self._repositories[folder] = is_repository(self._names(folder))
        return self._repositories[folder]

    def is_below_another(self, parts: Parts, depth: int) -> bool:
        """Tells whether the path lies in a repository among the refs or logs of the git folder: there its name means something else."""
        if parts[depth] not in ("refs", "logs"):
            return False
        return any(self._is_repository(parts[:end]) for end in range(depth + 1, len(parts)))

    def _find_innermost(self, folder: Parts, depth: int) -> GitFolder:
        git_folder = _outermost(folder, depth)
        while (inner := self._next(folder, git_folder.depth)) is not None:
            git_folder = inner
        return git_folder

    def _next(self, folder: Parts, depth: int) -> GitFolder | None:
        """A submodule's name may have several parts, a worktree's has one. The first repository counts, even if it is not recognised."""
        if folder[depth : depth + 1] not in ((MODULES,), (WORKTREES,)):
            return None
        linked = folder[depth] == WORKTREES
        last = min(depth + 2, len(folder)) if linked else len(folder)
        for end in range(depth + 2, last + 1):
            if self._is_repository(folder[:end]):
                worktree = self._worktree(folder[:end], linked=linked)
                return GitFolder(end, worktree, nested=True, linked=linked) if worktree else None
        return None

    def _worktree(self, folder: Parts, *, linked: bool) -> WorkspacePath | None:
        """Returns where the files of a nested git folder lie, if they and the folder name each other."""
        names = self._names(folder)
        if linked:
            is_whole = self._text((*folder, "commondir")) == "../.."
            link = self._resolve(self._text((*folder, "gitdir")), folder)
            worktree_parts = link[:-1] if link and link[-1] == ".git" else None
        else:
            is_whole = {"HEAD", "objects", "refs"} <= set(names) and "commondir" not in names
            worktree_parts = self._resolve(_configured_worktree(self._text((*folder, "config"))), folder)
        if not is_whole or not worktree_parts:
            return None
        kind, _, target = (self._text((*worktree_parts, ".git")) or "").partition(": ")
        knows = kind == "gitdir" and self._resolve(target, worktree_parts) == folder
        return WorkspacePath(worktree_parts) if knows else None

    def _resolve(self, text: str | None, base: Parts) -> Parts | None:
        """Returns the place that a path in one of git's files names, seen from the folder `base`; None if it is unusual or outside."""
        if not text:
            return None
        path = Path(text)
        if path.is_absolute():
            root = next((root for root in self._roots if path.is_relative_to(root)), None)
            parts = path.relative_to(root).parts if root else None
            return None if parts is None or ".." in parts else parts
        up = len(list(takewhile("..".__eq__, path.parts)))
        down = path.parts[up:]
        return None if ".." in down or up > len(base) else (*base[: len(base) - up], *down)

    def _names(self, folder: Parts) -> list[str]:
        try:
            return self._jail.names(WorkspacePath(folder))
        except (OSError, ToolFault, OutsideWorkspace):
            return []

    def _text(self, parts: Parts) -> str | None:
        try:
            with self._jail.regular_file(WorkspacePath(parts)) as (fd, _):
                return os.read(fd, _LARGEST_READ).decode().rstrip("\n")
        except (OSError, ToolFault, OutsideWorkspace, UnicodeDecodeError):
            return None


def _outermost(parts: Parts, depth: int) -> GitFolder:
    return GitFolder(depth, WorkspacePath(parts[: depth - 1]) if depth and folds_to_git(parts[depth - 1]) else None)


def _configured_worktree(config: str | None) -> str | None:
    """Returns `core.worktree`; None too if the text is written in a way that git reads otherwise than this, or leads to other files."""
    section, worktree = "", None
    for line in map(str.strip, bare_lines(config or "")):
        if not line or line[0] in "#;":
            continue
        if line.startswith("["):
            name, _, remainder = line[1:].partition("]")
            section = name.strip().lower()
            if remainder or section.startswith("include"):
                return None
            continue
        key, _, text = (part.strip() for part in line.partition("="))
        if line.endswith("\\") or (section, key.lower()) == ("extensions", "worktreeconfig"):
            return None
        if (section, key.lower()) == ("core", "worktree"):
            worktree = text
    return worktree if worktree and not _ODD_CHARACTERS.intersection(worktree) else None
