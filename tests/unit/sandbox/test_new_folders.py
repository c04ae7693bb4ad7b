"""A folder that a command made is renamed into the workspace whole, and only if the stage holds exactly what the manifest names."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.domain.tools import PathIntent
from anycowork.sandbox.commit import committer as commit
from anycowork.sandbox.commit.committer import apply
from anycowork.sandbox.commit.delta import FOLDER, manifest, new_folders
from anycowork.sandbox.commit.delta_scan import scan
from anycowork.workspace.jail import Jail
from support.tool_workspace import tree

NAMES = st.sampled_from(["a", "b", "c"])
TREES = st.recursive(
    st.just({}),
    lambda inner: st.dictionaries(NAMES, st.one_of(st.text("xy", max_size=2), inner), max_size=3),
    max_leaves=12,
)


def made(root: Path, count: int = 20) -> Path:
    """A stage with one new folder of so many files, beside a workspace."""
    stage = root / "stage"
    (stage / "upper/new/inner").mkdir(parents=True)
    (root / "workspace").mkdir()
    for number in range(count):
        (stage / f"upper/new/inner/{number}").write_text(str(number))
    return stage


def commit_all(root: Path, stage: Path) -> list[str]:
    delta = scan(str(stage / "upper"), str(root / "workspace"))
    return apply(stage, Jail(str(root / "workspace")), manifest(delta), delta=delta).conflicts


def test_a_new_folder_is_one_rename_with_its_modes_and_without_the_overlays_attributes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = made(tmp_path)
    os.setxattr(stage / "upper/new", "user.overlay.opaque", b"y")
    os.setxattr(stage / "upper/new/inner/3", "user.overlay.origin", b"x")
    (stage / "upper/new/inner/4").chmod(0o4755)
    (stage / "upper/new/inner").chmod(0o550)
    wanted, renames = tree(stage / "upper"), []
    real = commit.entries.move_in
    monkeypatch.setattr(commit.entries, "move_in", lambda *given: (renames.append(given[0]), real(*given)))
    assert commit_all(tmp_path, stage) == [] and renames == ["new"]
    new = tmp_path / "workspace/new"
    assert tree(tmp_path / "workspace") == wanted and os.listxattr(new) == os.listxattr(new / "inner/3") == []
    assert [stat.S_IMODE((new / name).stat().st_mode) for name in ("inner", "inner/4")] == [0o550, 0o755]


def test_a_pipe_in_a_new_folder_stays_behind(tmp_path: Path) -> None:
    stage = made(tmp_path)
    os.mkfifo(stage / "upper/new/inner/pipe")
    assert commit_all(tmp_path, stage) == []
    found = tree(tmp_path / "workspace")
    assert len(found) == 22 and "new/inner/pipe" not in found


def test_what_somebody_made_in_its_place_meanwhile_is_kept(tmp_path: Path) -> None:
    stage = made(tmp_path)
    delta = scan(str(stage / "upper"), str(tmp_path / "workspace"))
    (tmp_path / "workspace/new/inner").mkdir(parents=True)
    (tmp_path / "workspace/new/inner/7").write_text("mine")
    conflicts = apply(stage, Jail(str(tmp_path / "workspace")), manifest(delta), delta=delta).conflicts
    assert conflicts == ["new/inner/7"] and (tmp_path / "workspace/new/inner/7").read_text() == "mine"
    assert (tmp_path / "workspace/new/inner/8").read_text() == "8"


@settings(deadline=None)  # it writes to the disk, which others use too
@given(old=TREES, new=TREES, resumed=st.booleans())
def test_any_tree_becomes_any_other_when_every_new_folder_is_moved_whole(
    tmp_path_factory: pytest.TempPathFactory, old: dict[str, object], new: dict[str, object], resumed: bool
) -> None:
    base = tmp_path_factory.mktemp("trees")
    for name in ("workspace/top", "stage/upper/top"):
        (base / name).mkdir(parents=True)
    lay(base / "workspace/top", old)
    lay(base / "stage/upper/top", new)
    wanted = tree(base / "stage/upper/top")
    os.setxattr(base / "stage/upper/top", "user.overlay.opaque", b"y")
    delta = scan(str(base / "stage/upper"), str(base / "workspace"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(commit, "_FEW_NEW", 1)
        for known in (None if resumed else delta, None):  # the second time nothing is left to do
            applied = apply(base / "stage", Jail(str(base / "workspace")), manifest(delta), delta=known)
            assert applied.conflicts == [] and tree(base / "workspace/top") == wanted


def lay(folder: Path, what: dict[str, object]) -> None:
    for name, inner in what.items():
        if isinstance(inner, dict):
            (folder / name).mkdir()
            lay(folder / name, inner)
        else:
            (folder / name).write_text(str(inner))


def test_new_folders_are_grouped_with_everything_in_them() -> None:
    def item(path: str, before: str | None, after: str | None) -> PathIntent:
        return PathIntent(path, before, after)

    ab = item("a/b", None, FOLDER), item("a/b/c", None, FOLDER), item("a/b/c/d", None, "1")
    e = (item("e", None, FOLDER),)
    others = item("a/bc", None, "2"), item("f", FOLDER, FOLDER), item("f/g", None, "3")
    assert new_folders([*ab, others[0], *e, *others[1:]]) == [list(ab), list(e)]
