"""A workspace as a manifest: reading it again shows what is there now, whatever was remembered."""

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.sandbox.remote import tree_reader
from anycowork.sandbox.remote.tree_manifest import FILE, TreeChanges, TreeEntry
from anycowork.sandbox.remote.tree_reader import TreeReader
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from support.task_places import LAYERS, TaskPlaces

HOUR_AGO = 1_000_000_000
PATHS = st.sampled_from(["a", "b", "c/a", "c/b"])
FILES = st.dictionaries(PATHS, st.builds(TreeEntry, PATHS, st.just(FILE), st.sampled_from([0o644, 0o755])))


@pytest.mark.parametrize("leave_out", [(), ("*.log",)])
def test_reading_again_is_as_reading_for_the_first_time(tmp_path: Path, leave_out: tuple[str, ...]) -> None:
    reader, jail = TreeReader(), Jail(str(tmp_path))

    def require_the_same() -> None:
        for _ in range(2):
            assert reader.read(jail, (), leave_out) == TreeReader().read(jail, (), leave_out)

    (tmp_path / "folder").mkdir()
    for name in ("a.txt", "b.log", "folder/c.txt", ".env"):
        (tmp_path / name).write_text("1")
    (tmp_path / "link").symlink_to("a.txt")
    require_the_same()
    assert ".env" not in reader.read(jail, (), leave_out)
    (tmp_path / "a.txt").write_text("2")  # of the same size, within the same tick of the clock
    require_the_same()
    os.utime(tmp_path / "a.txt", ns=(HOUR_AGO, HOUR_AGO))
    require_the_same()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("b.log")
    (tmp_path / "folder/c.txt").chmod(0o755)
    require_the_same()
    (tmp_path / "a.txt").rename(tmp_path / "id_rsa")
    require_the_same()
    assert "id_rsa" not in reader.read(jail, (), leave_out)
    (tmp_path / ".gitignore").write_text("folder/\n")
    require_the_same()


def test_what_is_covered_later_does_not_travel_though_it_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1")
    reader, jail = TreeReader(), Jail(str(tmp_path))
    assert "a.txt" in reader.read(jail)
    assert reader.read(jail, [WorkspacePath(("a.txt",))]) == {}
    assert "a.txt" in reader.read(jail)


@pytest.fixture
def settled(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Returns what waits for the next tick of the clock of files: from then on what lies there counts as settled."""
    monkeypatch.setattr(tree_reader, "_RECENT_NS", 0)
    probe = tmp_path_factory.mktemp("clock") / "probe"

    def wait() -> None:
        probe.write_text("")
        begun = now = probe.stat().st_ctime_ns
        while now == begun:
            probe.touch()
            now = probe.stat().st_ctime_ns

    return wait


def change_something(root: Path, chance: random.Random) -> None:
    """Does what people, editors and git do to a workspace, at any of a few paths."""
    path = root / chance.choice(["a", "b.log", "c", "c/d", "c/e.log", "c/f/g", ".gitignore", "c/.gitignore"])
    if path.parent.is_file():
        path.parent.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    action = chance.choice(["write", "write", "replace", "remove", "chmod", "link", "mkdir"])
    if action == "chmod" and path.exists():
        path.chmod(chance.choice([0o600, 0o644, 0o755]) | 0o100 * path.is_dir())
    elif path.is_dir() and not path.is_symlink():
        shutil.rmtree(path) if action == "remove" else None
    elif action == "write" and not path.is_symlink():
        path.write_text(chance.choice(["*.log\n", "f/\n", ".gitignore\n", "!*.log\n"]))
    else:
        new = path.with_name("unfinished")
        if action == "link":
            new.symlink_to("a")
        elif action == "mkdir":
            path.unlink(missing_ok=True)
            new.mkdir()
        else:
            new.write_text("replaced")
        path.unlink() if action == "remove" and path.is_file() else None
        new.rename(path)


@pytest.mark.parametrize("seed", range(8))
def test_no_change_of_a_settled_tree_is_missed(tmp_path: Path, settled: Callable[[], None], seed: int) -> None:
    reader, jail, chance = TreeReader(), Jail(str(tmp_path)), random.Random(seed)
    for _ in range(60):
        change_something(tmp_path, chance)
        settled()
        assert reader.read(jail) == TreeReader().read(jail)


async def test_no_change_in_any_layer_of_a_task_is_missed(tmp_path: Path, settled: Callable[[], None]) -> None:
    """Tasks share what is known of their workspace, and each has changes of its own above it."""
    places, reader = TaskPlaces(tmp_path, LAYERS), TreeReader()
    for path in ("a.txt", "sub/b.txt", "sub/deep/c.txt", "other/d.txt"):
        places.write(path, f"{path}\n")
    tasks = [await places.create(), await places.create()]

    def require_the_same() -> None:
        settled()
        for jail in [Jail(str(places.root)), *(places.folder(task).jail for task in tasks)]:
            assert reader.read(jail) == TreeReader().read(jail)

    require_the_same()
    await places.call(tasks[0], "create_file", path="sub/mine.txt", content="mine\n")
    require_the_same()
    settled()
    reader.read(places.folder(tasks[0]).jail)  # what is remembered is this task's, not the others'
    places.write("sub/theirs.txt", "in a lower layer, below a folder that the task has changed\n")
    assert "sub/theirs.txt" in reader.read(places.folder(tasks[0]).jail)
    require_the_same()
    places.write("other/d.txt", "changed below both\n")
    require_the_same()


def test_an_unchanged_folder_is_not_listed_again(
    tmp_path: Path, settled: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("one/a", "two/b"):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text("1")
    listed, names = Counter[str](), Jail.names

    def counting(self: Jail, path: WorkspacePath) -> list[str]:
        listed[path.path] += 1
        return names(self, path)

    monkeypatch.setattr(Jail, "names", counting)
    reader, jail = TreeReader(), Jail(str(tmp_path))
    settled()
    first = reader.read(jail)
    assert listed == {".": 1, "one": 1, "two": 1}
    (tmp_path / "two/b").write_text("22")
    second = reader.read(jail)
    assert listed == {".": 1, "one": 1, "two": 1} and second["two/b"] != first["two/b"]
    assert second["one/a"] is first["one/a"], "so the difference between both costs little"
    (tmp_path / "two/c").write_text("3")
    assert "two/c" in reader.read(jail) and listed == {".": 1, "one": 1, "two": 2}


def test_an_ignore_file_that_was_ignored_itself_travels_when_it_is_not(
    tmp_path: Path, settled: Callable[[], None]
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".gitignore").write_text(".gitignore\n")
    (tmp_path / "sub/.gitignore").write_text("*.log\n")
    reader, jail = TreeReader(), Jail(str(tmp_path))
    settled()
    assert reader.read(jail).keys() == {"sub"}
    (tmp_path / ".gitignore").write_text("nothing\n")
    settled()
    assert reader.read(jail).keys() == {".gitignore", "sub", "sub/.gitignore"}


@settings(max_examples=200)
@given(old=FILES, new=FILES)
def test_differences_lead_from_one_tree_to_the_other(old: dict[str, TreeEntry], new: dict[str, TreeEntry]) -> None:
    old, new = ({path: TreeEntry(path, FILE, entry.mode) for path, entry in tree.items()} for tree in (old, new))
    assert TreeChanges.between(old, new).applied_to(old) == new
    assert TreeChanges.between(new, new) == TreeChanges([], [])
