"""The tests run as on a machine where nothing was set up."""

import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[1]
LOOK = """
import json, os
from support.bare_environment import enter_bare_environment
enter_bare_environment()
print(json.dumps([dict(os.environ), os.listdir(os.environ["HOME"])]))
"""


def test_nothing_of_a_developers_shell_or_home_reaches_a_test(tmp_path: Path) -> None:
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = A\n")
    shell = {"HOME": str(tmp_path), "GIT_AUTHOR_NAME": "A", "OPENAI_API_KEY": "sk-x", "XDG_CONFIG_HOME": str(tmp_path)}
    needed = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE), "PIP_CERT": "/x", "ANYCOWORK_LARGE_FILES": "5"}
    printed = subprocess.run(
        [sys.executable, "-c", LOOK], env={**shell, **needed}, capture_output=True, timeout=60, check=True
    ).stdout
    environment, in_home = json.loads(printed)
    assert not shell.items() & environment.items() and in_home == []
    assert needed.items() <= environment.items()


def test_python_is_started_without_the_script_of_a_version_manager(tmp_path: Path) -> None:
    shim = tmp_path / "shims" / "python3"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\nexit 1\n")
    shim.chmod(0o700)
    shell = {"PATH": str(shim.parent), "PYTHONPATH": str(HERE)}
    printed = subprocess.run(
        [sys.executable, "-c", LOOK], env=shell, capture_output=True, timeout=60, check=True
    ).stdout
    path = json.loads(printed)[0]["PATH"].split(os.pathsep)
    assert path == [str(Path(sys.base_prefix, "bin")), str(shim.parent)]
    assert subprocess.run([Path(path[0], "python3"), "-c", ""], timeout=60, check=False).returncode == 0


def test_this_very_run_knows_no_git_user() -> None:
    printed = subprocess.run(["git", "config", "--global", "--list"], capture_output=True, timeout=60, check=False)
    assert b"user." not in printed.stdout
