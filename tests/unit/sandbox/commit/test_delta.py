"""The upper layer as a delta: made by a real overlay, and by hand where a command could not make it."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.domain.path_class import PathClass, class_of
from anycowork.sandbox.commit.committer import apply
from anycowork.sandbox.commit.delta import UnusableDelta, manifest
from anycowork.sandbox.commit.delta_check import CommitBlockerKind, find_blocker
from anycowork.sandbox.commit.delta_scan import scan
from anycowork.sandbox.layers.layer_sync import seal
from anycowork.workspace.jail import Jail
from support.tool_workspace import EVERYTHING, tree


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    for name in ("root", "stage/upper"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "stage"


@pytest.fixture
def root(stage: Path) -> Path:
    return stage.parent / "root"


def put(folder: Path, path: str, content: str = "x") -> Path:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)
    return target


def committed(stage: Path, root: Path) -> list[str]:
    """Commits what is in the upper layer; the conflicts."""
    delta = scan(str(stage / "upper"), str(root))
    seal(stage / "upper", delta)
    return apply(stage, Jail(str(root)), manifest(delta)).conflicts


def test_only_what_is_different_is_a_change(stage: Path, root: Path) -> None:
    for folder in (root, stage / "upper"):
        put(folder, "same", "1")
        put(folder, "d/same", "2")
        (folder / "link").symlink_to("same")
    put(root, "other", "old")
    put(stage / "upper", "other", "new")
    put(stage / "upper", "e/new")
    told = [(change.verb, change.place.path) for change in scan(str(stage / "upper"), str(root)).changes]
    assert told == [("created", "e"), ("created", "e/new"), ("modified", "other")]


def test_a_change_of_mode_alone_is_a_change_and_setuid_is_not(stage: Path, root: Path) -> None:
    put(root, "a").chmod(0o644)
    put(stage / "upper", "a").chmod(0o755)
    put(stage / "upper", "b").chmod(0o6755)
    assert committed(stage, root) == []
    assert [stat.S_IMODE((root / name).stat().st_mode) for name in ("a", "b")] == [0o755, 0o755]


def test_pipes_are_left_out_and_told(stage: Path, root: Path) -> None:
    os.mkfifo(stage / "upper/p")
    delta = scan(str(stage / "upper"), str(root))
    assert not delta and [place.path for place in delta.skipped] == ["p"]


def test_a_file_with_other_names_is_told_and_the_others_keep_their_content(stage: Path, root: Path) -> None:
    put(root, "a", "old")
    os.link(root / "a", root / "b")
    put(stage / "upper", "a", "new")
    assert [place.path for place in scan(str(stage / "upper"), str(root)).split] == ["a"]
    assert committed(stage, root) == [] and tree(root) == {"a": b"new", "b": b"old"}


def test_a_commit_follows_no_link_on_its_way(stage: Path, root: Path) -> None:
    outside = stage.parent / "outside"
    outside.mkdir()
    put(root, "d/old")
    put(stage / "upper", "d/new")
    delta = scan(str(stage / "upper"), str(root))
    (root / "d/old").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(outside)
    assert apply(stage, Jail(str(root)), manifest(delta)).conflicts == ["d/new"]
    assert list(outside.iterdir()) == []


def test_a_link_planted_in_the_upper_layer_is_not_followed_either(stage: Path, root: Path) -> None:
    outside = stage.parent / "outside"
    put(outside, "new", "secret")
    put(stage / "upper", "d/new")
    delta = scan(str(stage / "upper"), str(root))
    (stage / "upper/d/new").unlink()
    (stage / "upper/d").rmdir()
    (stage / "upper/d").symlink_to(outside)
    assert "d/new" in apply(stage, Jail(str(root)), manifest(delta)).conflicts
    assert (outside / "new").read_text() == "secret" and not (root / "d/new").exists()


def test_a_name_taken_at_the_last_moment_is_not_overwritten(stage: Path, root: Path) -> None:
    put(stage / "upper", "new", "command")
    delta = scan(str(stage / "upper"), str(root))
    put(root, "new", "person")
    assert apply(stage, Jail(str(root)), manifest(delta)).conflicts == ["new"]
    assert (root / "new").read_text() == "person"


def test_too_many_changes_are_refused(stage: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anycowork.sandbox.commit.delta_scan.MOST_PATHS", 10)
    for number in range(11):
        put(stage / "upper", str(number))
    with pytest.raises(UnusableDelta, match="more than 10 paths"):
        scan(str(stage / "upper"), str(root))


@pytest.mark.parametrize("forged", [False, True])
def test_a_change_underneath_is_seen_by_ctime_whatever_its_mtime(stage: Path, root: Path, forged: bool) -> None:
    target = put(root, "a", "old")
    mounted_at = target.stat().st_ctime_ns + 1
    put(stage / "upper", "a", "command")

    def blocker() -> CommitBlockerKind | None:
        found = find_blocker(
            scan(str(stage / "upper"), str(root)),
            permissions=EVERYTHING,
            is_named=lambda path: False,
            mounted_at=mounted_at,
            upper=stage / "upper",
            root=str(root),
        )
        return found.kind if found else None

    assert blocker() is None
    while target.stat().st_ctime_ns < mounted_at:
        target.write_text("person")
    if forged:
        os.utime(target, ns=(1, 1))
    assert blocker() is CommitBlockerKind.CONFLICT


def test_a_new_path_conflicts_if_its_folder_changed_meanwhile(stage: Path, root: Path) -> None:
    put(root, "d/a")
    put(stage / "upper", "d/new")
    delta = scan(str(stage / "upper"), str(root))
    [change] = delta.changes
    assert change.newest == (root / "d").stat().st_mtime_ns


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".git/config", PathClass.NEVER),
        ("a/b/.git/hooks/x", PathClass.NEVER),
        (".git/config.worktree", PathClass.NEVER),
        (".git/index", PathClass.PLAIN),
        (".git/objects/info/packs", PathClass.PLAIN),
        (".github/workflows/x.yml", PathClass.ASKED),
        (".github/ISSUE_TEMPLATE.md", PathClass.PLAIN),
        ("src/.vscode/settings.json", PathClass.ASKED),
        ("docs/Claude.md", PathClass.ASKED),
        ("src/config", PathClass.PLAIN),
    ],
)
def test_paths_are_classed_by_name_at_any_depth(path: str, expected: PathClass) -> None:
    assert class_of(tuple(path.split("/"))) is expected


NAMES = st.sampled_from(["a", "b", "c", "é", "with blank"])
CONTENT = st.sampled_from(["", "1", "2"])
TREES = st.recursive(CONTENT, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8)
FOLDERS = st.dictionaries(NAMES, TREES, max_size=4)
Tree = dict[str, object]


def lay(folder: Path, what: Tree) -> None:
    for name, inner in what.items():
        if isinstance(inner, dict):
            (folder / name).mkdir()
            lay(folder / name, inner)
        else:
            (folder / name).write_text(str(inner))


@settings(deadline=None)  # it writes to the disk, which others use too
@given(old=FOLDERS, new=FOLDERS)
def test_a_commit_makes_of_any_tree_any_other_and_twice_is_once(
    tmp_path_factory: pytest.TempPathFactory, old: Tree, new: Tree
) -> None:
    """An opaque upper layer stands for the whole new tree."""
    base = tmp_path_factory.mktemp("trees")
    for name in ("root", "root/top", "stage", "stage/upper", "stage/upper/top"):
        (base / name).mkdir()
    lay(base / "root/top", old)
    lay(base / "stage/upper/top", new)
    wanted = tree(base / "stage/upper/top")
    os.setxattr(base / "stage/upper/top", "user.overlay.opaque", b"y")
    plan = manifest(scan(str(base / "stage/upper"), str(base / "root")))
    assert apply(base / "stage", Jail(str(base / "root")), plan).conflicts == []
    assert tree(base / "root/top") == wanted
    assert apply(base / "stage", Jail(str(base / "root")), plan).conflicts == []
    assert tree(base / "root/top") == wanted
