"""A server that is killed while a task works in its layer: the layer is as the task left it, and the workspace as it was."""

import os
import stat
from pathlib import Path

import pytest

from anycowork.domain.tools import Intent
from anycowork.sandbox.commit.delta_check import CommitBlockerKind
from support.spec import proves
from support.task_places import KINDS, LAYERS, TaskPlaces
from support.tool_workspace import EVERYTHING, tree


async def _killed_before_its_commit(places: TaskPlaces, task: str) -> Intent:
    """The intent of a command that removed a folder and made a file, as it was recorded when the server died."""
    sandbox, jail = places.bench.sandbox, places.folder(task).jail
    async with sandbox.begin(jail) as transaction:
        os.mknod(transaction.stage.upper / "sub", stat.S_IFCHR, os.makedev(0, 0))
        (transaction.stage.upper / "new.txt").write_text("new\n")
        transaction.look()
        intent = transaction.intent("rm -r sub; echo new > new.txt")
        transaction.pledged = True
    return intent


def _restart(places: TaskPlaces, *tasks: str) -> None:
    for task in tasks:
        places.workspaces.mounts.end(task)  # as the end of the process does
    places.start_server()


@proves("JOB-6", "JOB-10")
@pytest.mark.parametrize("kind", KINDS)
async def test_commit_into_a_tasks_workspace_is_finished_after_a_kill_wherever_it_stopped(
    tmp_path: Path, kind: str
) -> None:
    places = TaskPlaces(tmp_path, kind)
    for path in ("a.txt", "sub/b.txt", "sub/deep/c.txt"):
        places.write(path, f"{path}\n")
    before = dict(tree(places.root))
    for removed in ([], ["sub/b.txt"], ["sub/b.txt", "sub/deep/c.txt"]):
        if removed and kind != LAYERS:
            continue  # a copy's folder disappears in one rename
        task = await places.create()
        intent = await _killed_before_its_commit(places, task)
        folder = places.folder(task)
        for path in removed:
            Path(folder.jail.process_path, path).unlink()
        _restart(places, task)
        done = places.workspaces.roll_forward(task, intent)
        assert done.conflicts == () and places.tree(task) == {"a.txt": b"a.txt\n", "new.txt": b"new\n"}
        await places.tasks.remove(task)
    assert dict(tree(places.root)) == before
    assert not list((tmp_path / "data").glob("**/copies/*"))


@proves("JOB-10")
async def test_person_who_edits_a_file_beneath_a_tasks_command_loses_nothing(tmp_path: Path) -> None:
    """What the command wrote is kept aside, and the person's version stays."""
    places = TaskPlaces(tmp_path, LAYERS)
    places.write("a.txt", "old\n")
    task = await places.create()
    sandbox, jail = places.bench.sandbox, places.folder(task).jail
    async with sandbox.begin(jail) as transaction:
        (transaction.stage.upper / "a.txt").write_text("old\nof the command\n")
        places.write("person.txt", "of a person\n").rename(places.root / "a.txt")
        delta = transaction.look()
        found = transaction.find_blocker(EVERYTHING, lambda path: True) if delta else None
    assert (places.root / "a.txt").read_text() == "of a person\n"
    assert found is not None and found.kind is CommitBlockerKind.CONFLICT
    assert places.tree(task)["a.txt"] == b"of a person\n"
