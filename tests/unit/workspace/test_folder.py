import hashlib
import os
import stat
import threading
from pathlib import Path

import pytest

from anycowork.domain.errors import FileExists, FileMissing, OutsideWorkspace, StateChanged, ToolFault, WrongKind
from anycowork.workspace import folder as folder_module
from anycowork.workspace.folder import Folder
from support.spec import proves


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path))


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_file_hash_is_sha256_of_a_regular_file_and_none_otherwise(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 3_000_000)
    (tmp_path / "d").mkdir()
    assert folder.file_hash("f") == sha(b"x" * 3_000_000)
    assert folder.file_hash("d") is folder.file_hash("none") is folder.file_hash("none/deeper") is None
    with pytest.raises(OutsideWorkspace):
        folder.file_hash("../f")


def test_create_makes_folders_and_leaves_nothing_else_behind(folder: Folder, tmp_path: Path) -> None:
    folder.create(folder.writable("new/deep/f.txt"), b"hello")
    assert (tmp_path / "new/deep/f.txt").read_bytes() == b"hello"
    assert [p.name for p in (tmp_path / "new/deep").iterdir()] == ["f.txt"]
    assert (tmp_path / "new/deep/f.txt").stat().st_nlink == 1


@proves("TOOL-3")
@pytest.mark.parametrize("with_renameat2", [True, False])
def test_of_many_creators_of_one_file_exactly_one_succeeds(
    folder: Folder, tmp_path: Path, with_renameat2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_renameat2:
        monkeypatch.setattr(folder_module, "rename_without_replacing", _not_here)
    barrier, wins = threading.Barrier(8), []

    def create(number: int) -> None:
        barrier.wait(60)
        try:
            folder.create(folder.writable("same"), b"%d" % number)
            wins.append(number)
        except FileExists:
            pass

    threads = [threading.Thread(target=create, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    assert len(wins) == 1 and (tmp_path / "same").read_bytes() == b"%d" % wins[0]
    assert [p.name for p in tmp_path.iterdir()] == ["same"]


def _not_here(*_: object) -> None:
    raise OSError(38, "not here")


def test_replace_keeps_the_mode_but_not_setuid(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_bytes(b"old")
    (tmp_path / "run.sh").chmod(0o4751)
    folder.replace(folder.writable("run.sh"), b"new", expected=sha(b"old"))
    assert (tmp_path / "run.sh").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o751


def test_replace_is_refused_if_the_content_is_another(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"the user's own edit")
    with pytest.raises(StateChanged):
        folder.replace(folder.writable("f"), b"new", expected=sha(b"old"))
    assert (tmp_path / "f").read_bytes() == b"the user's own edit"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


@proves("TOOL-3")
def test_hard_links_and_links_are_not_written(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    os.link(tmp_path / "f", tmp_path / "second-name")
    (tmp_path / "link").symlink_to("f")
    for name in ("f", "link"):
        with pytest.raises(WrongKind):
            folder.replace(folder.writable(name), b"new", expected=sha(b"old"))
    assert (tmp_path / "second-name").read_bytes() == b"old"


@pytest.mark.parametrize("with_renameat2", [True, False])
def test_move_never_overwrites(
    folder: Folder, tmp_path: Path, with_renameat2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_renameat2:
        monkeypatch.setattr(folder_module, "rename_without_replacing", _not_here)
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(FileExists):
        folder.move(folder.writable("a"), folder.writable("b"))
    folder.move(folder.writable("a"), folder.writable("sub/c"))
    assert (
        (tmp_path / "b").read_text() == "b"
        and (tmp_path / "sub/c").read_text() == "a"
        and not (tmp_path / "a").exists()
    )


def test_remove_checks_what_it_removes(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("new")
    (tmp_path / "d" / "e").mkdir(parents=True)
    with pytest.raises(StateChanged):
        folder.remove_file(folder.writable("f"), expected=sha(b"old"))
    with pytest.raises(ToolFault):
        folder.remove_folder(folder.writable("d"))
    folder.remove_file(folder.writable("f"), expected=sha(b"new"))
    folder.remove_folder(folder.writable("d/e"))
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_server_running_as_root_leaves_files_to_the_folders_owner(folder: Folder, tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    folder.create(folder.writable("sub/f"), b"1")
    folder.replace(folder.writable("sub/f"), b"2", expected=sha(b"1"))
    assert {(tmp_path / name).stat().st_uid for name in ("sub", "sub/f")} == {12345}


def test_reading_is_bounded_and_says_so(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert folder.read(folder.jail.place("f"), most=5).data == b"12345"
    with pytest.raises(ToolFault, match="larger"):
        folder.read(folder.jail.place("f"), most=4)
    with pytest.raises(FileMissing):
        folder.read(folder.jail.place("g"), most=4)


def test_overview_is_short_stable_and_leaves_out_what_tools_generate(folder: Folder, tmp_path: Path) -> None:
    assert folder.first_paths(5) == ([], False)
    for path in ("src/a.py", "README.md", ".git/config", "node_modules/x/y.js", "out/big.log", "src/deep/z.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert folder.first_paths(10) == ([".gitignore", "README.md", "src/a.py", "src/deep/z.py"], False)
    assert folder.first_paths(2) == ([".gitignore", "README.md"], True)


def test_list_of_files_names_folders_where_there_are_too_many_to_find_a_file(folder: Folder) -> None:
    for number in range(1_200):
        (Path(folder.root) / f"src/{number:04}").mkdir(parents=True)
        (Path(folder.root) / f"src/{number:04}/a.py").touch()
    listed, has_more = folder.first_paths(5)
    assert len(listed) == 5 and listed[0] == "src/" and all(line.endswith("/") for line in listed) and has_more


def test_leftovers_of_a_killed_write_are_cleared_beside_the_file_and_nothing_else_is(
    folder: Folder, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    kept = ["src/a.py", "src/.anycowork-notes.tmp", "src/mine.tmp", ".anycowork-0123456789abcdef.tmp"]
    for path in (*kept, "src/.anycowork-fedcba9876543210.tmp"):
        (tmp_path / path).write_text("")
    folder.clear_leftovers("src/a.py")
    left = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(left) == sorted(kept)
