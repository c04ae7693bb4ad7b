"""The README's walk, word for word: its shell blocks are run as they stand, against a server that was started as it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support.cli_process import CommandLine
from support.scripted_model import serve_in_thread
from support.spec import proves

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def walk() -> str:
    """Every shell block of the section, in order, as one script that stops at the first failure."""
    section = README.split("## Five more minutes", 1)[1].split("\n## ", 1)[0]
    return "set -euo pipefail\n" + "\n".join(re.findall(r"```sh\n(.*?)```", section, re.DOTALL))


@proves("NEW-1/3", "NEW-1/4")
def test_the_newcomers_walk_works_word_for_word_with_no_model_and_no_network(tmp_path: Path) -> None:
    walk_through(tmp_path)


@proves("NEW-1/3")
def test_the_newcomers_walk_works_word_for_word_with_a_connected_model(tmp_path: Path) -> None:
    with serve_in_thread([]) as model:
        walk_through(tmp_path, OPENAI_API_KEY="sk-test", OPENAI_BASE_URL=model.base_url)
        assert model.requests == [], "the guide answered"


def walk_through(tmp_path: Path, **connected: str) -> None:
    cli = CommandLine(tmp_path)
    home = tmp_path / "home"
    subprocess.run(["sh", str(ROOT / "scripts/first_workspace.sh"), str(home / "AnyCowork")], check=True)
    clone = tmp_path / "clone" / ".venv" / "bin"
    clone.mkdir(parents=True)
    command = clone / "anycowork"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m anycowork.cli.main "$@"\n')
    command.chmod(0o755)
    with cli.serving("--workspace", str(home / "AnyCowork"), HOME=str(home), **connected) as served:
        script = walk().replace("http://127.0.0.1:8484", served.url)
        done = subprocess.run(
            [shutil.which("bash") or "bash", "-c", script],
            cwd=tmp_path / "clone",
            env={
                **cli.environ(HOME=str(home)),
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            },
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "Oat milk\nBread\n" in done.stdout, "the allowed change was made"
    assert (home / "AnyCowork/shopping.txt").read_text() == "Milk\nBread\n", "and taken back"
    assert '"message_type": "plan"' in done.stdout
