"""Folders of generated files that git ignores are kept as names and hashes: undo removes what was made in them, and says what it left."""

import subprocess
from pathlib import Path

import pytest

from anycowork.checkpoints.unkept_folders import UnkeptFolders
from anycowork.workspace.folder import Folder
from anycowork.workspace.paths import WorkspacePath
from support.checkpoints import recorded
from support.spec import proves

NAMES = ("node_modules", "target")


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True, timeout=30)


def repository(root: Path, files: dict[str, str], ignored: str = "node_modules/\ntarget/\nnotes/\n") -> None:
    git(root, "init", "-q")
    for path, text in {".gitignore": ignored, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def unkept(root: Path, *paths: str, names: tuple[str, ...] = NAMES) -> list[str]:
    folders = UnkeptFolders(Folder(str(root)), names)
    return [path for path in paths if folders.covers(WorkspacePath(tuple(path.split("/"))), is_folder=False)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def test_only_named_folders_that_git_ignores_are_unkept(root: Path) -> None:
    files = ("a.py", "src/target", "src/a.py", "node_modules/x/a.js", "web/node_modules/b.js", "notes/mine.txt", ".env")
    repository(root, dict.fromkeys(files, "x"), "node_modules/\n/notes/\n.env\n")
    assert unkept(root, *files) == ["node_modules/x/a.js", "web/node_modules/b.js"]
    assert unkept(root, *files, names=()) == []
    assert unkept(root, *files, names=("n*",)) == ["node_modules/x/a.js", "web/node_modules/b.js", "notes/mine.txt"]


def test_without_a_repository_everything_is_kept(root: Path) -> None:
    (root / "node_modules").mkdir()
    (root / ".gitignore").write_text("node_modules/\n")
    assert unkept(root, "node_modules/a.js") == []
    (root / ".git").write_text("gitdir: elsewhere\n")
    assert unkept(root, "node_modules/a.js") == []


def test_a_folder_in_which_git_tracks_a_file_is_kept(root: Path) -> None:
    repository(root, {"target/a.txt": "x", "web/target/b.txt": "x", "node_modules/c.js": "x"})
    git(root, "add", "-f", "web/target/b.txt", ".gitignore")
    assert unkept(root, "target/a.txt", "web/target/b.txt", "node_modules/c.js") == [
        "target/a.txt",
        "node_modules/c.js",
    ]
    for version in ("4", "3"):
        git(root, "update-index", "--index-version", version)
        assert unkept(root, "target/a.txt", "web/target/b.txt") == ["target/a.txt"]


def test_a_repository_inside_such_a_folder_is_kept(root: Path) -> None:
    repository(root, {"node_modules/mine/a.js": "x", "node_modules/other/a.js": "x", "sub/target/a": "x"})
    (root / "node_modules/mine/.git").mkdir()
    (root / "sub/.git").write_text("gitdir: elsewhere\n")
    assert unkept(root, "node_modules/mine/a.js", "node_modules/other/a.js", "sub/target/a") == [
        "node_modules/other/a.js"
    ]


def test_an_index_that_cannot_be_read_whole_keeps_everything(root: Path) -> None:
    repository(root, {"target/a.txt": "x", "b.txt": "x"})
    git(root, "add", ".")
    git(root, "update-index", "--split-index")
    assert unkept(root, "target/a.txt") == []
    git(root, "update-index", "--no-split-index")
    assert unkept(root, "target/a.txt") == ["target/a.txt"]
    (root / ".git/index").write_bytes(b"DIRC nonsense")
    assert unkept(root, "target/a.txt") == []


@proves("SNAP-2/1")
@pytest.mark.parametrize("few_paths", [0, 200])
async def test_undo_removes_what_was_made_there_and_says_what_it_left(tmp_path: Path, few_paths: int) -> None:
    async with recorded(tmp_path, few_paths=few_paths, unkept_folders=NAMES) as server:
        repository(server.root, {"a.py": "old", "target/app": "old", "target/gone": "old", "notes/mine": "old"})
        before = await server.command(
            "echo new > a.py; echo new > target/app; echo new > target/made; rm target/gone; echo new > notes/mine"
        )
        assert before is not None
        assert sorted(before.unkept()) == ["target/app", "target/gone"]
        assert {image.path for image in before.images if image.hash and image.kept} == {"a.py", "notes/mine"}
        stored = await server.database.store.snapshots.find(before.chat_id, before.id)
        assert stored is not None and stored.unkept() == ["target/app", "target/gone"]
        answer = await server.restore(before)
        assert sorted(answer.done.unkept) == ["target/app", "target/gone"] and not answer.done.conflicts
        assert answer.to_json()["counts"] == {"restored": 2, "deleted": 1, "kept": 0, "unkept": 2}
        found = {path: (server.root / path).read_text().strip() for path in ("a.py", "target/app", "notes/mine")}
        assert found == {"a.py": "old", "target/app": "new", "notes/mine": "old"}
        assert not (server.root / "target/made").exists() and not (server.root / "target/gone").exists()
        await server.snapshots.forget_unneeded()
        assert answer.undo_snapshot is not None
        await server.restore(answer.undo_snapshot)
        assert (server.root / "target/made").read_text().strip() == "new"


async def test_a_removed_folder_does_not_come_back_empty(tmp_path: Path) -> None:
    async with recorded(tmp_path, unkept_folders=NAMES) as server:
        repository(server.root, {"node_modules/a/b/c.js": "old"})
        before = await server.command("rm -r node_modules; mkdir node_modules; echo new > node_modules/d.js")
        assert before is not None
        answer = await server.restore(before)
        assert answer.done.unkept == ("node_modules/a/b/c.js",) and answer.done.deleted == ("node_modules/d.js",)
        assert list((server.root / "node_modules").iterdir()) == []


async def test_a_change_of_the_file_tools_is_always_kept(tmp_path: Path) -> None:
    async with recorded(tmp_path, unkept_folders=NAMES) as server:
        repository(server.root, {"target/a": "old"})
        before = await server.change(["target/a"], lambda: (server.root / "target/a").write_text("new"))
        assert before.unkept() == []
        await server.restore(before)
        assert (server.root / "target/a").read_text() == "old"
