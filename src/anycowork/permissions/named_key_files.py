"""Finds the key files, and files that rules ask about, that a call names, so that a person who allowed the call has read their names. Pure."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from anycowork.domain.key_files import is_key_file
from anycowork.domain.ports import ANYTHING_INSIDE, HiddenPathRules, names_nothing
from anycowork.permissions.command_risk import words_of
from anycowork.permissions.resources import AccessedResources, from_root


def without_named(hidden: HiddenPathRules, touched: AccessedResources, workspace: str) -> HiddenPathRules:
    """Return `hidden` without withholding the files that the call names: in `key_files`, as its path, or as a word of its command.

    A pattern names no file, and a folder names its files only where a rule asks about everything in it. Where the command may change
    folders, `.env` names `sub/.env` too.
    """
    if hidden.withholds is names_nothing:
        return hidden
    named_paths = {path.strip("/") for path in (*touched.paths, *touched.reads, *touched.key_files)}
    command_paths: set[str] = set()
    if touched.command is not None:
        command_paths = {from_root(word, workspace) for word in words_of(touched.command) if word not in ("", ".", "/")}
    moves = touched.command is not None and (touched.command.moves or touched.unanalyzable is not None)
    paths, ends = frozenset(named_paths | command_paths), frozenset(command_paths if moves else ())
    folders = frozenset(path for path in paths if hidden.asks(f"{path}/{ANYTHING_INSIDE[0]}"))
    excepting = partial(_Withheld, paths=paths, ends=ends, folders=folders)
    asks = excepting(hidden.asks) if hidden.asking else hidden.asks
    return replace(
        hidden, withholds=excepting(hidden.withholds), asks=asks, named=paths if hidden.asking else frozenset()
    )


class _Withheld:
    """Withholds what another function withholds, except these paths, what is in these folders, and paths that end in one of `ends`."""

    def __init__(
        self, withholds: Callable[[str], bool], *, paths: frozenset[str], ends: frozenset[str], folders: frozenset[str]
    ) -> None:
        self._withholds, self._paths, self._ends, self._folders = withholds, paths, ends, folders

    def __call__(self, path: str) -> bool:
        return self._withholds(path) and not self._is_named(path.strip("/"))

    def _is_named(self, path: str) -> bool:
        if path in self._paths:
            return True
        parts = path.split("/")
        if any("/".join(parts[:depth]) in self._folders for depth in range(1, len(parts))) and not is_key_file(path):
            return True
        return any("/".join(parts[depth:]) in self._ends for depth in range(len(parts)))
