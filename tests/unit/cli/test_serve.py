"""What the server prints when it starts."""

import sys
from pathlib import Path

import pytest

from anycowork.cli.serve import typed_name


def _program(folder: Path) -> Path:
    folder.mkdir()
    program = folder / "anycowork"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_hints_name_a_program_that_the_shell_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, other = _program(tmp_path / "a clone"), _program(tmp_path / "bin")
    monkeypatch.setattr(sys, "argv", [str(program), "serve"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert typed_name() == f"'{program}'"
    monkeypatch.setenv("PATH", str(other.parent))
    assert typed_name() == f"'{program}'", "another installation is not this one"
    monkeypatch.setenv("PATH", str(program.parent))
    assert typed_name() == "anycowork"


def test_hints_name_the_program_also_where_it_was_started_under_a_name_that_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(_program(tmp_path / "bin").parent))
    for name in ("anycowork", str(tmp_path / "gone" / "anycowork"), ""):
        monkeypatch.setattr(sys, "argv", [name, "serve"])
        assert typed_name() == "anycowork"
