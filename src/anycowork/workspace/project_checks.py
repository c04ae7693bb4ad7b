"""Detects the command that runs a project's own tests, from the files at its root. Reads; runs nothing."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import Refusal, ToolFault
from anycowork.domain.files import INTERNAL_NAMES
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from anycowork.workspace.walk import FolderWalk

if TYPE_CHECKING:
    from anycowork.workspace.folder import Folder

_PYTHON_ENVIRONMENTS = (".venv/bin/python", "venv/bin/python")
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_TEST_TARGET = re.compile(r"^test\s*:(?!=)", re.M)
_NPM_PLACEHOLDER = "no test specified"  # what `npm init` writes


def quick_checks(folder: "Folder") -> tuple[str, ...]:
    """Returns the commands, those in the project's own environment first; none if no tests are found."""
    return tuple(dict.fromkeys(_commands(folder)))


def find_files(jail: Jail, matches: Callable[[str], bool], most: int) -> list[tuple[str, str]]:
    """Returns the files whose paths match, nearest to the root first, each with the path that it leads to if it is a link."""
    files: list[tuple[str, str]] = []
    for entry in FolderWalk(jail, seconds=2.0, leave_out=INTERNAL_NAMES).entries(WorkspacePath(())):
        path = entry.place.path
        if entry.is_folder or not matches(path):
            continue
        try:
            files.append((path, path if entry.kind == "file" else jail.place(path).path))
        except (Refusal, ToolFault):
            continue  # it leads nowhere, or out of the workspace
        if len(files) == most:
            break
    return files


def _commands(folder: "Folder") -> Iterator[str]:
    if _has_python_tests(folder):
        yield from (f"{python} -m pytest -q" for python in _PYTHON_ENVIRONMENTS if _is_there(folder, python))
        if _is_there(folder, "uv.lock"):
            yield "uv run --offline --no-sync python -m pytest -q"
        if _is_there(folder, "poetry.lock"):
            yield "poetry run python -m pytest -q"
        yield "python3 -m pytest -q"
    elif _has_npm_test(folder):
        yield "npm test --silent"
    elif _is_there(folder, "Cargo.toml"):
        yield "cargo test --offline --quiet"
    elif _is_there(folder, "go.mod"):
        yield "go test ./..."
    elif any(_TEST_TARGET.search(folder.small_text(name)) for name in ("Makefile", "makefile")):
        yield "make test"


def _has_python_tests(folder: "Folder") -> bool:
    names = [*_names(folder, "."), *_names(folder, "tests"), *_names(folder, "test")]
    return any(_TEST_FILE.fullmatch(name) for name in names) or (
        "[tool.pytest" in folder.small_text("pyproject.toml") and bool(_names(folder, "tests"))
    )


def _has_npm_test(folder: "Folder") -> bool:
    try:
        manifest = read_json(folder.small_text("package.json") or "{}", strict=False)
        scripts = manifest.get("scripts", {}) if isinstance(manifest, dict) else {}
        return isinstance(scripts, dict) and "test" in scripts and _NPM_PLACEHOLDER not in str(scripts["test"])
    except ValueError:
        return False


def _is_there(folder: "Folder", path: str) -> bool:
    try:
        return folder.jail.find(path)[1] is not None
    except (Refusal, ToolFault, OSError):
        return path in _PYTHON_ENVIRONMENTS and _links_outside(folder, path)


def _links_outside(folder: "Folder", path: str) -> bool:
    """Whether an environment's Python is a link that leads out of the workspace, as nearly all are."""
    return path.rpartition("/")[2] in _names(folder, path.rpartition("/")[0])


def _names(folder: "Folder", path: str) -> list[str]:
    try:
        return folder.jail.names(folder.jail.place(path))
    except (Refusal, ToolFault, OSError):
        return []
