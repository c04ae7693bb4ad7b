"""Which paths a command may never change, and which only with a person's word. Decided by name, at any depth. Pure."""

import re
from collections.abc import Callable
from enum import Enum, auto
from itertools import pairwise

from anycowork.domain.steering import steers
from anycowork.workspace.paths import folds_to_git


class PathClass(Enum):
    PLAIN = auto()
    ASKED = auto()
    NEVER = auto()


# What git reads as orders: programs to run, other places to read orders from.
_GIT_CONTROL = re.compile(r"config.*|hooks|info|modules|worktrees|commondir|gitdir", re.IGNORECASE)


# What git works out anew from the others.
_GIT_INDEXES = re.compile(r"info(/.*)?|pack/(multi-pack-index.*|.*\.(rev|bitmap|mtimes|keep|promisor|idx))", re.DOTALL)


def class_of(parts: tuple[str, ...]) -> PathClass:
    """By name alone; whether an entry's kind or removal makes it worse is `never_reason`'s."""
    if _in_git_control(parts):
        return PathClass.NEVER
    return PathClass.ASKED if steers(parts) else PathClass.PLAIN


def is_stored_by_git(parts: tuple[str, ...]) -> bool:
    """What commits consist of, or a folder of it. Git never changes such a file, and removes one only when it tidies up."""
    for at, (part, inner) in enumerate(pairwise(parts)):
        if folds_to_git(part) and inner.casefold() == "objects":
            return not _GIT_INDEXES.fullmatch("/".join(parts[at + 2 :]))
    return False


def never_reason(
    parts: tuple[str, ...], *, is_link: bool, after: bool, exists: Callable[[tuple[str, ...]], bool]
) -> str | None:
    """Why this change is never made, or None. `exists` looks into the tree as it would be afterwards."""
    if folds_to_git(parts[-1]):
        return "a repository's '.git' is never removed, replaced or made by a command"
    if _in_git_control(parts):
        return "git runs programs that this file names"
    in_git = any(folds_to_git(part) for part in parts)
    if in_git and is_link:
        return "a link in '.git' would lead git out of it"
    if in_git and parts[-2:] == ("info", "alternates"):
        return "it would make git read from elsewhere"
    if not in_git and after and _makes_bare_repository(parts, exists):
        return "the folder would become a repository, and git runs programs that its 'config' names"
    return None


def _in_git_control(parts: tuple[str, ...]) -> bool:
    return any(folds_to_git(part) and _GIT_CONTROL.fullmatch(inner) is not None for part, inner in pairwise(parts))


def _makes_bare_repository(parts: tuple[str, ...], exists: Callable[[tuple[str, ...]], bool]) -> bool:
    """Git takes any folder with these three for a repository, whatever it is called."""
    needed = ("HEAD", "objects", "refs")
    if parts[-1] not in (*needed, "config"):
        return False
    return all(exists((*parts[:-1], name)) for name in needed)
