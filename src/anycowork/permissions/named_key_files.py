"""Finds the key files that a call names, so that a person who allowed the call has read their names. Pure."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

from anycowork.domain.ports import HiddenPathRules, names_nothing
from anycowork.permissions.command_risk import words_of
from anycowork.permissions.resources import AccessedResources


def without_named(hidden: HiddenPathRules, touched: AccessedResources, workspace: str) -> HiddenPathRules:
    """Return `hidden` without withholding the key files that the call names: in `key_files`, as its path, or as a word of its command.

    A folder or a pattern names no file. Where the command may change folders, `.env` names `sub/.env` too.
    """
    if hidden.withholds is names_nothing:
        return hidden
    named = {path.strip("/") for path in (*touched.paths, *touched.reads, *touched.key_files)}
    words: set[str] = set()
    if touched.command is not None:
        words = {_from_root(word, workspace) for word in words_of(touched.command) if word}
    moves = touched.command is not None and (touched.command.moves or touched.unanalyzable is not None)
    return replace(
        hidden, withholds=_Withheld(hidden.withholds, frozenset(named | words), frozenset(words if moves else ()))
    )


def _from_root(word: str, workspace: str) -> str:
    path = PurePosixPath(word)
    return str(path.relative_to(workspace)) if workspace and path.is_relative_to(workspace) else str(path)


class _Withheld:
    """Withholds what another function withholds, except these paths, and paths that end in one of these."""

    def __init__(self, withholds: Callable[[str], bool], paths: frozenset[str], ends: frozenset[str]) -> None:
        self._withholds, self._paths, self._ends = withholds, paths, ends

    def __call__(self, path: str) -> bool:
        return self._withholds(path) and not self._is_named(path.strip("/"))

    def _is_named(self, path: str) -> bool:
        if path in self._paths:
            return True
        parts = path.split("/")
        return any("/".join(parts[at:]) in self._ends for at in range(len(parts)))
