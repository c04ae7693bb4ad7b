"""What a shell is offered while someone types, by the real program asked as the shells ask it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.spec import proves

SOURCE = Path(__file__).parents[2] / "src"
OWN = """+++
description = "Ours."
[[parameters]]
name = "tone"
choices = ["warm", "cold"]
[[parameters]]
name = "loud"
type = "boolean"
default = false
+++
## Go
Say it {{tone}}.
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """With a workflow in the data folder, and one that a workspace brought along."""
    for folder in ("data/workflows", "work/.anycowork/workflows"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "data/workflows/own_greeting.md").write_text(OWN)
    (tmp_path / "data/workflows/own_broken.md").write_text("---")
    theirs = OWN.replace("Ours.", "$(touch hacked)`touch hacked`").replace('"warm"', '"$(touch hacked)"')
    (tmp_path / "work/.anycowork/workflows/theirs.md").write_text(theirs)
    return tmp_path


def offered(home: Path, typed: str) -> list[str]:
    """As fish asks: a line for each word, with what it stands for behind a tab."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANYCOWORK_")}
    asked = {"_ANYCOWORK_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    asked |= {"_TYPER_COMPLETE_ARGS": f"anycowork {typed}", "ANYCOWORK_DATA_DIR": str(home / "data")}
    done = subprocess.run(
        [sys.executable, "-c", "from anycowork.cli.main import main; main()"],
        cwd=home / "work",
        env={**kept, **asked, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return [line.split("\t")[0] for line in done.stdout.splitlines() if line]


@proves("WFL-1")
def test_workflows_are_completed_wherever_they_come_from(home: Path) -> None:
    found = offered(home, "workflow run ")
    assert {"explain_code", "own_greeting", "theirs"} <= set(found) and "own_broken" not in found
    assert offered(home, "workflow run expl") == ["explain_code"]


@proves("WFL-2")
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("own_greeting ", ["tone=", "loud="]),
        ("own_greeting tone=warm ", ["loud="]),
        ("own_greeting lo", ["loud="]),
        ("own_greeting tone=w", ["tone=warm"]),
        ("own_greeting loud=", ["loud=true", "loud=false"]),
        ("none_of_this ", []),
    ],
)
def test_parameters_are_completed_and_the_values_of_those_that_have_choices(
    home: Path, typed: str, words: list[str]
) -> None:
    assert offered(home, f"workflow run {typed}") == words


def test_a_folder_that_nobody_trusted_puts_nothing_but_names_before_the_shell(home: Path) -> None:
    assert offered(home, "workflow run theirs ") == ["tone=", "loud="]
    assert offered(home, "workflow run theirs tone=") == []


def test_roles_and_commands_are_completed(home: Path) -> None:
    assert offered(home, "run --role p") == ["planner"]
    assert sorted(offered(home, "wor")) == ["worker", "workers", "workflow", "workspaces"]
