"""What people type after cloning: each target sets up first, and needs nothing that set-up does not bring."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.spec import proves

ROOT = Path(__file__).resolve().parents[2]


def planned(folder: Path, target: str) -> str:
    """The commands that `make` would run there, none of which is run."""
    shutil.copy(ROOT / "Makefile", folder)
    for name in ("requirements", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    done = subprocess.run(
        ["make", "--dry-run", target], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@proves("NEW-1/1", "NEW-1/2")
@pytest.mark.parametrize(("target", "work"), [("run", "anycowork serve"), ("test", "scripts/run_tests.py")])
def test_target_sets_up_before_it_works_in_a_clone_without_an_environment(
    tmp_path: Path, target: str, work: str
) -> None:
    commands = planned(tmp_path, target)
    assert "scripts/install.sh" in commands and "scripts/webui.py offer" in commands
    assert commands.index("scripts/install.sh") < commands.index("scripts/webui.py offer") < commands.index(work)


@pytest.mark.parametrize("target", ["run", "test"])
def test_target_does_not_set_up_twice(tmp_path: Path, target: str) -> None:
    (tmp_path / ".venv").mkdir()
    planned(tmp_path, target)
    (tmp_path / ".venv" / ".installed").touch()
    again = subprocess.run(
        ["make", "--dry-run", target], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert "scripts/install.sh" not in again.stdout
