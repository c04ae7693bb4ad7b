"""People read why the system refused something, and no error number; no other code prints an error of the system as it is."""

import ast
from collections.abc import Iterator
from pathlib import Path

import anycowork
from anycowork.domain.visible_text import os_reason

SOURCES = Path(anycowork.__file__).parent


def test_the_reason_has_no_number_and_the_path_only_where_it_is_wanted() -> None:
    refused = PermissionError(13, "Permission denied", "/backups/monday")
    assert os_reason(refused) == "Permission denied"
    assert os_reason(refused, with_path=True) == "Permission denied: /backups/monday"
    several = OSError("Multiple exceptions: [Errno 111] Connect call failed, [Errno 101] Network is unreachable")
    assert os_reason(several) == "Multiple exceptions: Connect call failed, Network is unreachable"
    assert os_reason(TimeoutError()) == "TimeoutError"
    assert os_reason(ValueError("not a number")) == "not a number"


def test_no_message_for_people_holds_an_error_of_the_system_as_python_prints_it() -> None:
    found = [f"{file.relative_to(SOURCES)}:{line}" for file in SOURCES.rglob("*.py") for line in _printed(file)]
    assert found == [], "use os_reason(error)"


def _printed(file: Path) -> Iterator[int]:
    """Yield the lines that print the caught error itself, where it may be one of the system."""
    for handler in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(handler, ast.ExceptHandler) or handler.type is None or handler.name is None:
            continue
        if not {"OSError", "PermissionError", "IOError"} & {ast.unparse(one) for one in ast.walk(handler.type)}:
            continue
        for node in ast.walk(handler):
            is_str = isinstance(node, ast.Call) and ast.unparse(node.func) == "str" and node.args
            printed = node.args[0] if is_str else node.value if isinstance(node, ast.FormattedValue) else None
            if isinstance(printed, ast.Name) and printed.id == handler.name:
                yield node.lineno
