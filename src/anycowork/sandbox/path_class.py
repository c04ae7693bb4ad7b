"""Decides which paths a command may never change, and which only with a person's approval. By name, at any depth. Pure."""

import re
from enum import Enum, auto

from anycowork.domain.control_files import fold_name, is_control_name
from anycowork.workspace.paths import folds_to_git


class PathClass(Enum):
    PLAIN = auto()
    ASKED = auto()
    NEVER = auto()


# What git follows: programs to run, other places to read configuration or history from.
_GIT_NEVER = re.compile(r"config.*|hooks|info|modules|worktrees|commondir|gitdir|branches|remotes", re.DOTALL)
_OBJECTS_NEVER = frozenset({"alternates", "http-alternates"})
# What adding, committing, branching, merging, rebasing, stashing, tagging and fetching write.
_GIT_PLAIN_FOLDERS = frozenset({"objects", "refs", "logs"})
_GIT_PLAIN_FILES = frozenset(
    {
        "HEAD",
        "ORIG_HEAD",
        "FETCH_HEAD",
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "REBASE_HEAD",
        "AUTO_MERGE",
        "MERGE_MODE",
        "MERGE_MSG",
        "MERGE_RR",
        "SQUASH_MSG",
        "COMMIT_EDITMSG",
        "TAG_EDITMSG",
        "packed-refs",
        "index",  # its content decides: `git_index`
        "gc.pid",
        "gc.log",
        *("HEAD.lock", "index.lock", "packed-refs.lock", "gc.pid.lock"),
    }
)
_OF_THE_REPOSITORY = frozenset({"objects", "packed-refs", "packed-refs.lock"})
# State of operations in progress. It may be removed without asking: only existing files have an effect.
_GIT_UNDER_WAY = frozenset({"rebase-merge", "rebase-apply", "sequencer"})

# What git recomputes from the others.
_GIT_INDEX_ENDINGS = (".rev", ".bitmap", ".mtimes", ".keep", ".promisor", ".idx")


def class_of(parts: tuple[str, ...]) -> PathClass:
    """Decides by name alone; an entry's kind, content or removal is checked where it is known."""
    for at, part in enumerate(parts):
        if folds_to_git(part):
            return git_class(parts[at + 1 :])
    return PathClass.ASKED if is_control_name(parts) else PathClass.PLAIN


def git_class(inner: tuple[str, ...], *, linked: bool = False) -> PathClass:
    """Classifies a path inside a git folder: an allow-list, because new releases of git read new files.

    `linked`: the folder of a linked worktree, which uses the objects and packed refs of its repository.
    """
    folded = tuple(map(fold_name, inner))
    if not inner:
        return PathClass.PLAIN
    if _GIT_NEVER.fullmatch(folded[0]) or folded[:2] == ("refs", "replace"):
        return PathClass.NEVER
    if folded[:2] == ("objects", "info") and len(folded) > 2 and folded[2] in _OBJECTS_NEVER:
        return PathClass.NEVER
    plain = inner[0] in _GIT_PLAIN_FOLDERS or (len(inner) == 1 and inner[0] in _GIT_PLAIN_FILES)
    if linked and inner[0] in _OF_THE_REPOSITORY:
        return PathClass.ASKED
    return PathClass.PLAIN if plain else PathClass.ASKED


def may_vanish(inner: tuple[str, ...]) -> bool:
    """Tells whether a path inside a git folder may be removed without asking, although creating it asks."""
    return inner[0] in _GIT_UNDER_WAY


def is_stored_by_git(inner: tuple[str, ...]) -> bool:
    """Tells whether a path inside a git folder is part of stored commits, or a folder of them.

    Git never changes such a file, and removes one only in `gc`.
    """
    return bool(inner) and fold_name(inner[0]) == "objects" and not _is_git_index("/".join(inner[1:]))


def _is_git_index(path: str) -> bool:
    if path.startswith("pack/"):
        return path.startswith("pack/multi-pack-index") or path.endswith(_GIT_INDEX_ENDINGS)
    return path == "info" or path.startswith("info/")
