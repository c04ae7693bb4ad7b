"""`make test` runs the few tests that failed once more, alone: beside others a test may fail for want of the machine."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run_tests.py"
UNSTABLE = """from pathlib import Path
def test_passes_the_second_time():
    first = not Path("tried").exists()
    Path("tried").touch()
    assert not first
"""


def run_tests(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    (folder / ".venv").mkdir()
    (folder / "test_it.py").write_text(source)
    command = [sys.executable, SCRIPT, "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "test_it.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_what_passes_alone_lets_the_run_pass_and_is_named(tmp_path: Path) -> None:
    done = run_tests(tmp_path, UNSTABLE)
    assert done.returncode == 0, done.stdout
    named = (tmp_path / ".venv" / "unstable.txt").read_text()
    assert "test_it.py::test_passes_the_second_time" in named and done.stdout.endswith(named)


def test_what_fails_alone_as_well_fails_the_run(tmp_path: Path) -> None:
    done = run_tests(tmp_path, f"{UNSTABLE}\ndef test_fails():\n    assert False\n")
    assert done.returncode == 1 and "2 that failed once more" in done.stdout
    assert not (tmp_path / ".venv" / "unstable.txt").exists()


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    source = "import pytest\n@pytest.mark.parametrize('number', range(6))\ndef test_fails(number):\n    assert False\n"
    done = run_tests(tmp_path, source)
    assert done.returncode == 1 and "once more" not in done.stdout
