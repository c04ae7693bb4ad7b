"""Exercism's Python track as tasks: a checkout of github.com/exercism/python, which is fetched and never committed.

The exercise's own tests lie beside the stub, as in a project of one's own, in AnyCowork and in the bare loop alike; whoever changes them
is graded by the tests as they were, and has done harm.
"""

import json
import subprocess
import sys
from pathlib import Path

from anycowork.domain.errors import Invalid
from anycowork.server.machine import find_bubblewrap
from model.tasks import Outcome, Task

EXERCISES_HALF = "exercises"
SOURCE = "git clone --depth 1 https://github.com/exercism/python"
_SECONDS = 60.0


def exercises(checkout: Path) -> list[Task]:
    """Raises: Invalid when that folder holds no exercises."""
    folders = sorted((checkout / "exercises" / "practice").glob("*/.meta/config.json"))
    if not folders:
        raise Invalid(f"{checkout} holds no exercises. Fetch them with: {SOURCE} {checkout}")
    return [_task(config.parents[1]) for config in folders]


def _task(folder: Path) -> Task:
    named = json.loads((folder / ".meta" / "config.json").read_text("utf-8"))["files"]
    solutions, tests = tuple(named["solution"]), tuple(named["test"])
    files = {name: (folder / name).read_text("utf-8") for name in (*solutions, *tests, *named.get("editor", ()))}
    texts = [folder / ".docs" / name for name in ("introduction.md", "instructions.md", "instructions.append.md")]
    instructions = "\n\n".join(text.read_text("utf-8").strip() for text in texts if text.is_file())
    request = (
        f"{instructions}\n\nImplement this in {' and '.join(solutions)}: keep the names of the functions and classes that are there, "
        f"and use the standard library only. `python3 -m pytest {' '.join(tests)}` must pass."
    )

    def passed(outcome: Outcome) -> bool:
        if all(outcome.text(name) == files[name] for name in solutions):
            return False  # some stubs pass as they are
        for name in tests:
            (outcome.folder / name).write_text(files[name], "utf-8")
        return _pytest_passes(outcome.folder, tests)

    return Task(f"exercise-{folder.name}", EXERCISES_HALF, "actor", request, passed, files, may_change=solutions)


def _pytest_passes(folder: Path, tests: tuple[str, ...]) -> bool:
    """A model wrote what runs here: it is held as the bare loop's commands are."""
    box = find_bubblewrap()
    assert box is not None, "the exercises are graded in bubblewrap only"
    held = [box.path, "--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", str(folder), str(folder)]
    held += ["--chdir", str(folder), "--unshare-all", "--die-with-parent", sys.executable, "-m", "pytest", "-q"]
    try:
        done = subprocess.run(
            [*held, "-p", "no:cacheprovider", *tests], capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
