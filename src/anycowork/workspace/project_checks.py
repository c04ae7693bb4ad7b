"""Detects the command that runs a project's own tests, from the files at its root. Reads; runs nothing."""

import re
from collections.abc import Callable, Iterator

from anycowork.domain.bounded_json import read_json
from anycowork.domain.errors import Refusal, ToolFault
from anycowork.workspace.jail import Jail

_PYTHON_ENVIRONMENTS = (".venv/bin/python", "venv/bin/python")
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_TEST_TARGET = re.compile(r"^test\s*:(?!=)", re.M)
_NPM_PLACEHOLDER = "no test specified"  # what `npm init` writes


def quick_checks(jail: Jail, small_text: Callable[[str], str]) -> tuple[str, ...]:
    """Returns the commands, those in the project's own environment first; none if no tests are found.

    `small_text` returns the text of a file inside, or nothing."""
    return tuple(dict.fromkeys(_commands(jail, small_text)))


def _commands(jail: Jail, small_text: Callable[[str], str]) -> Iterator[str]:
    if _has_python_tests(jail, small_text):
        yield from (f"{python} -m pytest -q" for python in _PYTHON_ENVIRONMENTS if _is_there(jail, python))
        if _is_there(jail, "uv.lock"):
            yield "uv run --offline --no-sync python -m pytest -q"
        if _is_there(jail, "poetry.lock"):
            yield "poetry run python -m pytest -q"
        yield "python3 -m pytest -q"
    elif _has_npm_test(small_text):
        yield "npm test --silent"
    elif _is_there(jail, "Cargo.toml"):
        yield "cargo test --offline --quiet"
    elif _is_there(jail, "go.mod"):
        yield "go test ./..."
    elif any(_TEST_TARGET.search(small_text(name)) for name in ("Makefile", "makefile")):
        yield "make test"


def _has_python_tests(jail: Jail, small_text: Callable[[str], str]) -> bool:
    names = [*_names(jail, "."), *_names(jail, "tests"), *_names(jail, "test")]
    return any(_TEST_FILE.fullmatch(name) for name in names) or (
        "[tool.pytest" in small_text("pyproject.toml") and bool(_names(jail, "tests"))
    )


def _has_npm_test(small_text: Callable[[str], str]) -> bool:
    try:
        manifest = read_json(small_text("package.json") or "{}", strict=False)
        scripts = manifest.get("scripts", {}) if isinstance(manifest, dict) else {}
        return isinstance(scripts, dict) and "test" in scripts and _NPM_PLACEHOLDER not in str(scripts["test"])
    except ValueError:
        return False


def _is_there(jail: Jail, path: str) -> bool:
    try:
        return jail.find(path)[1] is not None
    except (Refusal, ToolFault, OSError):
        return path in _PYTHON_ENVIRONMENTS and _links_outside(jail, path)


def _links_outside(jail: Jail, path: str) -> bool:
    """Whether an environment's Python is a link that leads out of the workspace, as nearly all are."""
    return path.rpartition("/")[2] in _names(jail, path.rpartition("/")[0])


def _names(jail: Jail, path: str) -> list[str]:
    try:
        return jail.names(jail.place(path))
    except (Refusal, ToolFault, OSError):
        return []
