import os
import socket
from pathlib import Path

import pytest

from anycowork.domain.errors import FileMissing, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.workspace.jail import Jail
from anycowork.workspace.paths import WorkspacePath
from support.spec import proves


@pytest.fixture(params=[True, False], ids=["openat2", "walk"])
def jail(request: pytest.FixtureRequest, tmp_path: Path) -> Jail:
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("inside")
    (tmp_path / "secret").write_text("outside")
    return Jail(str(root), use_openat2=request.param)


def read(jail: Jail, path: str) -> str:
    with jail.regular_file(jail.place(path)) as (fd, _):
        return os.read(fd, 100).decode()


def link(jail: Jail, name: str, target: str) -> None:
    Path(jail.root, name).symlink_to(target)


def test_a_file_is_read_by_relative_and_absolute_path(jail: Jail) -> None:
    assert read(jail, "a/b/file") == read(jail, f"{jail.root}/a/b/file") == "inside"


def test_links_that_stay_inside_are_followed_and_named_by_where_they_lead(jail: Jail) -> None:
    link(jail, "relative", "a/b")
    link(jail, "absolute", f"{jail.root}/a")
    link(jail, "chain", "absolute/../relative/file")
    assert jail.place("relative/file") == jail.place("chain") == WorkspacePath(("a", "b", "file"))
    assert read(jail, "chain") == read(jail, "absolute/b/file") == "inside"


@proves("TOOL-3")
@pytest.mark.parametrize("target", ["../secret", "/etc", "a/../../secret", "/proc/self/root/etc"])
def test_links_that_lead_out_are_refused(jail: Jail, target: str) -> None:
    link(jail, "out", target)
    link(jail, "chained", "out")
    for path in ("out", "chained", "out/passwd"):
        with pytest.raises(OutsideWorkspace):
            read(jail, path)


def test_links_in_a_circle_are_refused(jail: Jail) -> None:
    link(jail, "one", "two")
    link(jail, "two", "one")
    with pytest.raises(OutsideWorkspace, match="loop"):
        read(jail, "one")


@proves("TOOL-3")
def test_a_link_swapped_in_after_resolving_is_not_followed(jail: Jail) -> None:
    file, folder = jail.place("a/b/file"), jail.place("a/b")
    Path(jail.root, "a/b").rename(Path(jail.root, "a/old"))
    link(jail, "a/b", "/etc")
    with pytest.raises(StateChanged), jail.regular_file(file):
        pass
    with pytest.raises(StateChanged), jail.folder(folder):
        pass


def test_what_was_swapped_since_it_was_seen_is_not_read(jail: Jail) -> None:
    """The look came before; what is opened is still a regular file at that very place, or nothing."""
    root = Path(jail.root)
    (root / "folder").mkdir()
    (root / "folder/a.txt").write_text("mine")
    place = jail.place("folder/a.txt")
    seen = jail.stat(place)
    with jail.regular_file(place, seen=seen) as (fd, found):
        assert os.read(fd, 10) == b"mine" and found.st_ino == seen.st_ino
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("secret")
    (root / "folder").rename(root / "gone")
    (root / "folder").symlink_to(outside)
    with pytest.raises(StateChanged), jail.regular_file(place, seen=seen):
        pass
    (root / "folder").unlink()
    (root / "folder").mkdir()
    (root / "folder/a.txt").symlink_to(outside / "a.txt")
    with pytest.raises((StateChanged, WrongKind)), jail.regular_file(place, seen=seen):
        pass
    (root / "folder/a.txt").unlink()
    os.mkfifo(root / "folder/a.txt")
    with pytest.raises(WrongKind), jail.regular_file(place, seen=seen):
        pass


def test_the_root_is_held_by_descriptor(jail: Jail, tmp_path: Path) -> None:
    Path(jail.root).rename(tmp_path / "moved")
    Path(jail.root).symlink_to("/etc")
    assert read(jail, "a/b/file") == "inside"


def test_only_regular_files_are_read(jail: Jail, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(Path(jail.root, "pipe"))
    monkeypatch.chdir(jail.root)  # the address of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        for path in ("pipe", "s", "a", "."):
            with pytest.raises(WrongKind):
                read(jail, path)


def test_what_is_missing_is_said_to_be_missing(jail: Jail) -> None:
    assert jail.stat(jail.place("a/nothing")) is None
    assert jail.stat(jail.place("a/b/file/deeper")) is None
    with pytest.raises(FileMissing):
        read(jail, "a/nothing/x")
    with pytest.raises(ToolFault):
        read(jail, "a/b/file/x")


def test_folders_are_made_where_they_are_missing_and_never_through_a_link(jail: Jail) -> None:
    jail.make_folders(WorkspacePath(("a", "new", "deep")))
    assert Path(jail.root, "a/new/deep").is_dir()
    link(jail, "out", "/tmp")
    with pytest.raises(ToolFault):
        jail.make_folders(WorkspacePath(("out", "made")))
    with pytest.raises(WrongKind):
        jail.make_folders(WorkspacePath(("a", "b", "file", "made")))
