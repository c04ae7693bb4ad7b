"""Lists the files that differ from the last commit. An untracked folder is one line with the number of its files. Blocking."""

import os
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from anycowork.domain.errors import ToolFault
from anycowork.domain.git import GitFile
from anycowork.domain.values import replace
from anycowork.git.git_process import MOST_PRINTED, run_git
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.walk import FolderWalk

MOST_FILES = 2_000
MOST_COUNTED = 1_000  # entries of one folder
_COUNT_SECONDS = 2.0  # for all folders together
_MOST_OPENED = 100  # folders
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")
_WORDS = {"?": "untracked", "A": "added", "D": "deleted", "U": "conflicted"}


def list_changed_files(
    folder: Folder, environment: Mapping[str, str], opened: Collection[str], generated: frozenset[str]
) -> tuple[list[GitFile], bool]:
    """Returns the files, and whether these are all. Raises: ToolFault if git fails.

    Untracked folders named in `opened` are listed file by file, except where a folder has too many files. `generated` are names of folders
    of generated files: each is one line wherever it lies.
    """
    files, complete = _status(folder, environment, "--untracked-files=normal")
    folders_to_open = [file.path for file in files if _is_to_open(file, opened, generated)][:_MOST_OPENED]
    inside, all_inside = (
        _status(folder, environment, "--untracked-files=all", "--", *folders_to_open)
        if folders_to_open
        else ([], False)
    )
    if all_inside and len(files) + len(inside) <= MOST_FILES:
        closed = [file for file in files if file.path not in folders_to_open]
        files = sorted([*closed, *_with_generated_joined(inside, generated)], key=_order)
    marked = [replace(file, is_generated=_is_generated(file, generated)) for file in files if file.path != ".git/"]
    return _with_counts(folder, marked), complete


def _status(folder: Folder, environment: Mapping[str, str], *arguments: str) -> tuple[list[GitFile], bool]:
    printed = run_git((*_STATUS, *arguments), folder=folder.root, environment=environment)
    lines = printed[:MOST_PRINTED].split(b"\0")[:-1]
    return [_file(line) for line in lines[:MOST_FILES]], len(printed) <= MOST_PRINTED and len(lines) <= MOST_FILES


def _file(line: bytes) -> GitFile:
    letters = line[:2].decode("ascii", "replace").strip()
    status = "conflicted" if letters in ("AA", "DD") or "U" in letters else _WORDS.get(letters[-1:], "modified")
    return GitFile(os.fsdecode(line[3:]), status)


def _is_to_open(file: GitFile, opened: Collection[str], generated: frozenset[str]) -> bool:
    is_folder = file.status == "untracked" and file.path.endswith("/")
    return is_folder and file.path.rstrip("/") in opened and not _is_generated(file, generated)


def _is_generated(file: GitFile, generated: frozenset[str]) -> bool:
    return file.status == "untracked" and not generated.isdisjoint(file.path.split("/")[:-1])


def _with_generated_joined(files: Iterable[GitFile], generated: frozenset[str]) -> Sequence[GitFile]:
    """Returns one line for each folder of generated files instead of the files in it."""
    files_by_path: dict[str, GitFile] = {}
    for file in files:
        parts = file.path.split("/")
        depth = next((index for index, name in enumerate(parts[:-1]) if name in generated), None)
        path = file.path if depth is None else "/".join(parts[: depth + 1]) + "/"
        files_by_path.setdefault(path, GitFile(path, file.status))
    return [*files_by_path.values()]


def _order(file: GitFile) -> tuple[bool, bytes]:
    """As git lists them: tracked files first, each part by name."""
    return file.status == "untracked", os.fsencode(file.path)


def _with_counts(folder: Folder, files: Sequence[GitFile]) -> list[GitFile]:
    ends = time.monotonic() + _COUNT_SECONDS
    return [_counted(folder, file, ends) if file.path.endswith("/") else file for file in files]


def _counted(folder: Folder, file: GitFile, ends: float) -> GitFile:
    remaining_seconds = max(0.0, ends - time.monotonic())
    walk = FolderWalk(folder.jail, most=MOST_COUNTED, seconds=remaining_seconds, leave_out=frozenset({".git"}))
    try:
        entries = walk.entries(WorkspacePath(tuple(file.path.rstrip("/").split("/"))))
        inside = tuple(entry.place.path for entry in entries if not entry.is_folder)
    except ToolFault:
        return file  # deleted since git listed it, or not readable
    return replace(file, file_count=len(inside), inside=inside, is_counted_to_the_end=not walk.cut)
