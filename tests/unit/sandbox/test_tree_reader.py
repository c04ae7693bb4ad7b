"""A workspace as a manifest: reading it again shows what is there now, whatever was remembered."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.sandbox.remote.tree_manifest import FILE, TreeChanges, TreeEntry, TreeReader
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath

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


@settings(max_examples=200)
@given(old=FILES, new=FILES)
def test_differences_lead_from_one_tree_to_the_other(old: dict[str, TreeEntry], new: dict[str, TreeEntry]) -> None:
    old, new = ({path: TreeEntry(path, FILE, entry.mode) for path, entry in tree.items()} for tree in (old, new))
    assert TreeChanges.between(old, new).applied_to(old) == new
    assert TreeChanges.between(new, new) == TreeChanges([], [])
