"""Which tasks' layers lie on a workspace, and what they keep when somebody is about to change it."""

import asyncio
import shutil
from pathlib import Path

import pytest

import anycowork
from anycowork.domain.errors import Conflict
from anycowork.sandbox.layers import workspace_layers
from support.spec import proves
from support.task_places import LAYERS, TaskPlaces
from support.tool_workspace import tree

SOURCE = Path(anycowork.__file__).parent
# Who takes a workspace's lease, and what keeps for the tasks of jobs what they see before anything changes.
LEASE_HOLDERS = {
    "agent/tool_runner.py": "Snapshots.before and before_commit",
    "chats/files/file_edit_service.py": "PersonChangeWriter.write",
    "chats/files/git_service.py": "GitRepositories",
    "chats/files/git_worktree_service.py": "Snapshots.keep_workspace",
    "chats/files/person_changes.py": "Snapshots.before",
    "chats/files/person_command_service.py": "Snapshots.keep_workspace",
    "chats/files/rollback_service.py": "Snapshots.before_restore; after a crash it was kept before",
    "turns/turn_recovery.py": "it was kept before the crash: the intent is recorded after Snapshots.before_commit",
    "chats/files/workspace_copy_service.py": "it only reads; GitRepositories",
    "jobs/task_commits.py": "Snapshots.before",
    "sandbox/layers/task_workspaces.py": "it only reads",
}


@pytest.fixture
def places(tmp_path: Path) -> TaskPlaces:
    found = TaskPlaces(tmp_path, LAYERS)
    for path in ("a.txt", "sub/b.txt", "sub/deep/c.txt"):
        found.write(path, f"{path}\n")
    return found


@proves("JOB-10")
def test_everybody_who_takes_the_lease_keeps_for_tasks_what_they_see() -> None:
    """Somebody new is added to the list above once it is clear what keeps the versions there, and to the writers of
    `tests/integration/jobs/test_frozen_base.py`."""
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if ".writing(" in path.read_text(encoding="utf-8")
    }
    assert found == set(LEASE_HOLDERS)


async def test_a_change_costs_nothing_where_no_layer_lies(places: TaskPlaces) -> None:
    """Not even the workspace is opened."""
    await places.workspaces.layers.hold("/nonexistent", ["a.txt"], ["a.txt"])
    await places.workspaces.layers.hold_all("/nonexistent")
    task = await places.create()
    await places.tasks.remove(task)
    await places.workspaces.layers.hold("/nonexistent", ["a.txt"], ["a.txt"])


@proves("JOB-10", "JOB-6")
async def test_layers_that_an_earlier_server_left_keep_what_they_show(places: TaskPlaces) -> None:
    before = dict(tree(places.root))
    task, half_removed = await places.create(), await places.create()
    for each in (task, half_removed):
        places.workspaces.mounts.end(each)  # as the end of the process does
    (Path(half_removed).parent / "lower").unlink()
    places.start_server()
    for _ in range(2):  # a server that dies in the middle does it again
        await places.workspaces.layers.hold(str(places.root), ["a.txt", "new.txt", "sub"], ["sub"])
    shutil.rmtree(places.root / "sub")
    places.write("a.txt", "later\n")
    places.write("new.txt", "later\n")
    assert places.tree(task) == before


@proves("JOB-10")
async def test_base_of_a_whole_job_and_of_its_tasks_stands_still(places: TaskPlaces) -> None:
    before = dict(tree(places.root))
    collecting = await places.create()
    first = await places.create(collecting)
    await places.call(first, "create_file", path="mine.txt", content="mine\n")
    await places.workspaces.layers.hold(str(places.root), ["a.txt", "new.txt", "sub"], ["sub"])
    shutil.rmtree(places.root / "sub")
    places.write("a.txt", "later\n")
    places.write("new.txt", "later\n")
    second = await places.create(collecting)
    assert places.tree(collecting) == places.tree(second) == before
    assert places.tree(first) == {**before, "mine.txt": b"mine\n"}


@proves("JOB-10")
async def test_layers_on_folders_around_and_inside_the_changed_one_keep_what_they_show(places: TaskPlaces) -> None:
    inner = places.root / "sub"
    before, inside = dict(tree(places.root)), dict(tree(inner))
    around, within = await places.create(), await places.create(str(inner))
    hold = places.workspaces.layers.hold
    await hold(str(inner), ["b.txt", "n.txt"], [])
    places.write("sub/b.txt", "by a chat inside\n")
    places.write("sub/n.txt", "by a chat inside\n")
    assert (places.tree(around), places.tree(within)) == (before, inside)
    await hold(str(places.root), ["sub/deep/c.txt"], [])
    places.write("sub/deep/c.txt", "by a chat around\n")
    await hold(str(places.root), ["sub"], ["sub"])
    shutil.rmtree(inner / "deep")
    (inner / "b.txt").unlink()
    assert (places.tree(around), places.tree(within)) == (before, inside)


@proves("JOB-10")
async def test_a_removed_folder_waits_for_the_command_of_a_task_that_sees_it(places: TaskPlaces) -> None:
    before = dict(tree(places.root))
    task = await places.create()
    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks, places.workspaces.writing(task):
        holds = tasks.create_task(places.workspaces.layers.hold(str(places.root), ["sub"], ["sub"]))
        await places.workspaces.layers.hold(str(places.root), ["a.txt"], [])  # a file does not wait
        assert not holds.done()
    shutil.rmtree(places.root / "sub")
    assert places.tree(task) == before


@proves("JOB-10")
async def test_everything_is_kept_before_a_command_that_nobody_can_foresee(places: TaskPlaces) -> None:
    before = dict(tree(places.root))
    task, layers = await places.create(), places.workspaces.layers
    await layers.hold_all(str(places.root))
    shutil.rmtree(places.root / "sub")
    for path in ("a.txt", "sub/deep/new.txt", "top.txt", "topmost/t.txt"):
        places.write(path, "later\n")
    await layers.hide(str(places.root), ["top.txt", "topmost"])
    assert places.tree(task) == before


@proves("JOB-10")
async def test_command_that_nobody_can_foresee_is_refused_where_not_everything_can_be_kept(
    places: TaskPlaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers, root = places.workspaces.layers, str(places.root)
    task = await places.create()
    monkeypatch.setattr(workspace_layers, "WAITS", 0.01)
    async with places.workspaces.writing(task):  # a command of the task runs
        with pytest.raises(Conflict, match=r"has to end first.*pause the job"):
            await layers.hold_all(root)
    monkeypatch.setattr(workspace_layers, "MOST_PATHS", 2)
    with pytest.raises(Conflict, match=r"too large.*Wait until the job is done"):
        await layers.hold_all(root)
    await places.tasks.remove(task)
    await layers.hold_all(root)
