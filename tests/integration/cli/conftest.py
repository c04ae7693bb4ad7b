"""What the tests of commands share: a person's home, and a command typed in it."""

import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner


@pytest.fixture
def type_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Runs a command in a home of its own: the exit code, and what was printed."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ANYCOWORK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("ANYCOWORK_PROBE_LOCAL_SERVERS", "false")

    def typed(app: typer.Typer, *words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(words), obj=None)
        failed = result.exception is not None and not isinstance(result.exception, SystemExit)
        assert not failed, "".join(traceback.format_exception(*(result.exc_info or ()))) + result.output
        return result.exit_code, result.output

    return typed
