"""The workspaces of a job's writing tasks, by both adapters of the port: private copies, and layers over the workspace."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from anycowork.domain.errors import BadWorkspace, FileExists
from anycowork.domain.path_class import is_key_file
from anycowork.domain.ports import HiddenPathRules
from anycowork.sandbox.layers.stage import Layer, Staging
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.workspace.paths import WorkspacePath
from support.disks import as_root, mounted
from support.spec import proves
from support.task_places import KINDS, LAYERS, TaskPlaces
from support.tool_workspace import tree


@pytest.fixture(params=KINDS)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TaskPlaces]:
    found = TaskPlaces(tmp_path, request.param)
    found.write("a.txt", "a\n")
    found.write("sub/b.txt", "b\n")
    found.write("sub/deep/c.txt", "c\n")
    (found.root / "link").symlink_to("sub/b.txt")
    yield found


@proves("JOB-10")
async def test_task_sees_the_workspace_and_changes_only_its_own(places: TaskPlaces) -> None:
    before = dict(tree(places.root))
    first, second = await places.create(), await places.create()
    assert places.tree(first) == places.tree(second) == before
    assert places.folder(first).origin == str(places.root)
    await places.call(first, "create_file", path="new/n.txt", content="n\n")
    await places.call(first, "read_file", path="a.txt")
    await places.call(first, "update_file", path=f"{places.root}/a.txt", edits=[{"find": "a", "replace": "A"}])
    await places.call(first, "delete_file", path="sub/b.txt")
    await places.call(second, "move_file", path="a.txt", to="moved.txt")
    assert dict(tree(places.root)) == before, "nothing of it is in the workspace"
    changed = {**before, "a.txt": b"A\n", "new": "folder", "new/n.txt": b"n\n"}
    del changed["sub/b.txt"]
    assert places.tree(first) == changed
    assert places.tree(second) == {**{k: v for k, v in before.items() if k != "a.txt"}, "moved.txt": b"a\n"}


@proves("JOB-10")
async def test_command_of_a_task_sees_and_changes_what_the_tasks_file_tools_do(places: TaskPlaces) -> None:
    before = dict(tree(places.root))
    task = await places.create()
    await places.call(task, "create_file", path="new/n.txt", content="n\n")
    await places.call(task, "delete_file", path="a.txt")
    result = await places.run(
        task, "pwd; cat new/n.txt sub/b.txt; ls a.txt; echo more >> new/n.txt; rm -r sub; mkdir sub; echo x > sub/x"
    )
    assert f"{places.root}\nn\nb\n" in result.content and "cannot access 'a.txt'" in result.content, result.content
    assert places.tree(task) == {
        "link": "-> sub/b.txt",
        "new": "folder",
        "new/n.txt": b"n\nmore\n",
        "sub": "folder",
        "sub/x": b"x\n",
    }
    await places.run(
        task,
        "mkdir -p a.txt/in sub/deep; mv sub/x a.txt/in/; printf '#!/bin/sh' > sub/run; chmod 755 sub/run; ln -s run sub/l",
    )
    assert places.folder(task).jail.stat(places.folder(task).jail.place("sub/run")).st_mode & 0o777 == 0o755  # type: ignore[union-attr]
    assert {**places.tree(task)}.keys() >= {"a.txt/in/x", "sub/l", "sub/run"}
    assert "x" in (await places.call(task, "read_file", path="a.txt/in/x")).content
    assert "sub/run" in (await places.call(task, "grep", pattern="bin/sh")).content
    assert dict(tree(places.root)) == before


@proves("JOB-10")
async def test_folders_are_moved_and_removed_whole_and_never_over_another(places: TaskPlaces) -> None:
    task = await places.create()
    (places.root / "sub").chmod(0o750)
    await places.call(task, "move_file", path="sub", to="other/sub")
    seen = places.tree(task)
    assert seen["other/sub/deep/c.txt"] == b"c\n" and "sub" not in seen
    await places.run(task, "rm -r other; mkdir -p one/two two")
    with pytest.raises(FileExists):
        await places.call(task, "move_file", path="one", to="two")
    assert sorted(places.tree(task)) == ["a.txt", "link", "one", "one/two", "two"]


@proves("JOB-10")
async def test_task_that_starts_from_another_tasks_workspace_sees_its_changes(places: TaskPlaces) -> None:
    collecting = await places.create()
    await places.call(collecting, "create_file", path="n.txt", content="n\n")
    await places.run(collecting, "rm -r sub; echo more >> a.txt")
    task = await places.create(collecting)
    assert places.folder(task).origin == str(places.root)
    assert places.tree(task) == {"a.txt": b"a\nmore\n", "link": "-> sub/b.txt", "n.txt": b"n\n"}
    await places.run(task, "mkdir sub; cat n.txt > sub/own; rm n.txt")
    assert places.tree(task) == {"a.txt": b"a\nmore\n", "link": "-> sub/b.txt", "sub": "folder", "sub/own": b"n\n"}
    assert places.tree(collecting) == {"a.txt": b"a\nmore\n", "link": "-> sub/b.txt", "n.txt": b"n\n"}
    await places.tasks.remove(task)
    await places.call(collecting, "create_file", path="last.txt", content="")
    assert "last.txt" in places.tree(collecting)


@proves("JOB-10")
async def test_task_keeps_seeing_what_it_started_from_when_the_workspace_changes_beneath_it(places: TaskPlaces) -> None:
    """Whether it had looked at a path before or not, also after a restart."""
    places.write("kind/was_file", "f\n")
    places.write("gone/x/y.txt", "y\n")
    places.write("locked.txt", "l\n").chmod(0o444)
    before = dict(tree(places.root))
    looked, fresh, own = [await places.create() for _ in range(3)]
    assert places.tree(looked) == before and not places.folder(looked).jail.stat(WorkspacePath(("made",)))
    await places.call(own, "create_file", path="made/own.txt", content="own\n")
    await places.call(own, "delete_file", path="a.txt")
    changed = [
        "a.txt",
        "sub/b.txt",
        "link",
        "made",
        "made/n.txt",
        "sub/new.txt",
        "kind/was_file",
        "kind/was_file/in.txt",
    ]
    gone = ["gone", "gone/x", "gone/x/y.txt", "locked.txt"]
    await places.workspaces.layers.hold(str(places.root), [*changed, *gone], [*gone, "kind/was_file"])
    shutil.rmtree(places.root / "gone")
    for path in ("a.txt", "link", "kind/was_file", "locked.txt"):
        (places.root / path).unlink()
    for path in ("a.txt", "made/n.txt", "sub/new.txt", "kind/was_file/in.txt", "link"):
        places.write(path, "later\n")
    for _ in range(2):
        assert places.tree(looked) == places.tree(fresh) == before
        seen = places.tree(own)
        assert "a.txt" not in seen and seen["made/own.txt"] == b"own\n" and "made/n.txt" not in seen
        assert (await places.run(fresh, "cat a.txt locked.txt gone/x/y.txt; ls made")).content.startswith("a\nl\ny\n")
        for task in (looked, fresh, own):
            places.workspaces.mounts.end(task)
        places.start_server()
    await places.run(fresh, "mkdir made; echo mine > made/n.txt")
    assert places.tree(fresh)["made/n.txt"] == b"mine\n"
    later = await places.create()
    assert places.tree(later) == dict(tree(places.root)), "the next task sees the new versions"


@proves("JOB-10")
async def test_threads_limited_to_an_ended_mount_get_no_work_of_the_next_one(places: TaskPlaces) -> None:
    """A server that joins its database again mounts anew in the same process, and the kernel gives the old mount's numbers to the new one."""
    task = await places.create()
    for name in "abc":
        await places.call(task, "create_file", path=f"{name}.new", content=name)
        places.workspaces.mounts.end_all()
        places.start_server()
    assert {f"{name}.new" for name in "abc"} <= set(places.tree(task))


@proves("JOB-10", "JOB-6")
async def test_task_goes_on_after_a_restart_and_what_is_not_needed_is_removed(places: TaskPlaces) -> None:
    first, second = await places.create(), await places.create()
    await places.call(first, "create_file", path="n.txt", content="n\n")
    await places.call(first, "delete_file", path="a.txt")
    for task in (first, second):
        places.workspaces.mounts.end(task)  # as the end of the process does
    places.start_server()
    await places.tasks.keep_only({first})
    assert places.bench.sandbox.staging.task_folders.copies() == [first]
    seen = places.tree(first)
    assert seen["n.txt"] == b"n\n" and "a.txt" not in seen
    assert "n\n" in (await places.run(first, "cat n.txt")).content
    with pytest.raises(BadWorkspace):
        places.folder(second)
    await places.tasks.remove(first)
    await places.tasks.remove(first)  # once more is no fault
    assert not list((places.base / "data").glob("**/copies/*"))
    assert not [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(places.base) in line]


async def test_commits_made_in_a_tasks_workspace_are_noticed(places: TaskPlaces) -> None:
    places.write(".git/HEAD", "ref: refs/heads/main\n")
    places.write(".git/refs/heads/main", "a" * 40)
    task = await places.create()
    assert not await places.tasks.has_commits(task)
    folder = places.folder(task)
    Path(places.folder_path(folder), ".git/refs/heads/main").write_text("b" * 40)
    assert await places.tasks.has_commits(task)
    assert (places.root / ".git/refs/heads/main").read_text() == "a" * 40
    other = await places.create()
    places.write(".git/refs/heads/main", "c" * 40)
    assert not await places.tasks.has_commits(other), "a person's commit in the workspace is none of the task's"


@proves("SEC-4")
async def test_what_may_not_be_read_in_any_layer_is_kept_from_a_tasks_commands(places: TaskPlaces) -> None:
    for path in (".env", "sub/id_rsa", "sub/deep/hidden.txt"):
        places.write(path, "SECRET\n")
    task = await places.create()
    await places.call(task, "create_file", path="sub/.env", content="SECRET\n")
    await places.call(task, "create_file", path="new/hidden.txt", content="SECRET\n")
    await places.call(task, "delete_file", path="sub/id_rsa")
    await places.call(task, "create_file", path="sub/id_rsa/plain", content="plain\n")
    hidden = HiddenPathRules(
        ("**/hidden.txt",), lambda path: path.endswith("hidden.txt"), lambda path: is_key_file(path.split("/")[-1])
    )
    command = "grep -r SECRET .; cat sub/id_rsa/plain"
    for late in (".env", "sub/deep/.env", "sub/hidden.txt"):
        result = await places.bench.call("execute_command", places.context(task, hidden=hidden), command=command)
        assert "SECRET" not in result.content and "plain" in result.content, result.content
        places.write(late, "SECRET\n")  # a person adds one while the task works
    assert places.tree(task)["sub/.env"] == b"SECRET\n"


@as_root
async def test_workspace_with_another_file_system_in_it_is_copied(tmp_path: Path) -> None:
    """Nothing of that file system would be seen through a layer."""
    places = TaskPlaces(tmp_path, LAYERS)
    (inner := places.root / "inner").mkdir()
    with mounted(inner, "-t", "tmpfs", "none"):
        (inner / "a.txt").write_text("a\n")
        task = await places.tasks.create(str(places.root))
        assert places.tree(task)["inner/a.txt"] == b"a\n"
        await places.tasks.remove(task)


async def test_layer_is_mounted_once_and_by_one_server_only(tmp_path: Path) -> None:
    places = TaskPlaces(tmp_path, LAYERS)
    task = await places.create()
    numbers = {places.folder(task).jail.mount_number for _ in range(2)}
    other = TaskPlaces(tmp_path, LAYERS)
    with pytest.raises(BadWorkspace, match="another server"):
        other.folder(task)
    places.workspaces.mounts.end(task)
    assert len(numbers) == 1 and other.folder(task).jail.mount_number not in numbers


def test_copy_that_a_killed_server_left_half_removed_is_removed(tmp_path: Path) -> None:
    (root := tmp_path / "work").mkdir()
    staging = Staging(tmp_path / "staging")
    copy = staging.task_folders.keep_copy(staging.open(runner_for(str(root)), Layer.COPY).folder, str(root))
    assert staging.task_folders.copies() == [str(copy)] and staging.task_folders.origin_of(str(copy)) == str(root)
    (copy.parent / "origin").unlink()  # removing it began, and never ended
    staging.task_folders.drop_copy(str(copy))
    assert staging.task_folders.copies() == []
    staging.task_folders.drop_copy(str(root / "upper"))
    assert root.is_dir(), "only a copy is removed"
