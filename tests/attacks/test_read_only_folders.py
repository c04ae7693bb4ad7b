"""Folders that their owner may not write to, as Go's module cache makes them: commands change them, and restores undo that.

For root nothing is read-only; the second run of the attacks is by an ordinary user.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from anycowork.checkpoints.capture import image, path_of
from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.restore import bring_back
from anycowork.domain.snapshots import PathImage, PathKind, Undo
from anycowork.sandbox.commit.transaction import Transaction, finish
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail
from support.checkpoints import recorded, whole
from support.spec import proves


@proves("SNAP-2/1")
@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p mod/deep; echo made > mod/deep/a; chmod 555 mod/deep mod",
        "echo new > src/inner/old.txt; echo new > src/made.txt; chmod 555 src src/inner",
        "chmod 755 closed; echo new > closed/old.txt; rm closed/gone.txt; echo new > closed/made.txt; chmod 555 closed",
        "chmod 755 closed; rm -r closed",
        "chmod 755 closed; rm -r closed; echo a file > closed",
        "rm -r src; mkdir src; echo made > src/made.txt; chmod 500 src",
    ],
    ids=["new", "closed by it", "opened and closed by it", "removed", "replaced by a file", "replaced by a closed one"],
)
@pytest.mark.parametrize("few_paths", [200, 1], ids=["few", "many"])
async def test_read_only_folders_are_committed_and_restored(tmp_path: Path, command: str, few_paths: int) -> None:
    async with recorded(tmp_path, few_paths=few_paths) as server:
        for name in ("src/inner/old.txt", "src/other.txt", "closed/old.txt", "closed/gone.txt"):
            place = server.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("old\n")
        (server.root / "closed").chmod(0o555)
        was = whole(server.root)
        before = await server.command(command)
        assert before is not None and whole(server.root) != was
        answer = await server.restore(before)
        assert not answer.done.conflicts and not answer.done.kept
        assert whole(server.root) == was
        assert stat.S_IMODE((server.root / "closed").stat().st_mode) == 0o555
        assert not [name for name in whole(server.root) if name.endswith(".tmp")]


@proves("SNAP-4")
@pytest.mark.parametrize(("kill", "set_since"), [(0, None), (1, None), (1, 0o750), (2, None), (3, None)])
def test_folder_that_a_killed_commit_opened_is_closed_at_the_next_start(
    tmp_path: Path, kill: int, set_since: int | None
) -> None:
    """Also if nobody finishes the commit, and a mode that a person has set since is theirs."""
    folders = _closed_folders(tmp_path / "workspace")
    staging = Staging(tmp_path / "data/staging", tmp_path / "data/shared")
    root = str(tmp_path / "workspace")
    transaction = Transaction(staging.open(runner_for(root)), Jail(root), staging)
    for name in ("first", "second"):
        (transaction.stage.upper / name).mkdir()
        (transaction.stage.upper / name / "old.txt").write_text("new\n")
        (transaction.stage.upper / name).chmod(0o555)
    transaction.look()
    intent = transaction.intent("a command")
    _killed(transaction.commit, at_rename=kill)
    if set_since is not None:
        (tmp_path / "workspace/first").chmod(set_since)
        folders["first"] = set_since
    Staging(tmp_path / "data/staging", tmp_path / "data/shared").close_left_open()
    assert _modes(tmp_path / "workspace") == folders
    assert not list((tmp_path / "data").rglob("opened-folders*"))
    finish(staging, Jail(root), intent)
    assert _modes(tmp_path / "workspace") == folders
    assert {path.read_text() for path in (tmp_path / "workspace").rglob("old.txt")} == {"new\n"}


@proves("SNAP-4")
@pytest.mark.parametrize("kill", [0, 1, 2])
async def test_folder_that_a_killed_restore_opened_is_closed_at_the_next_start(tmp_path: Path, kill: int) -> None:
    async with recorded(tmp_path) as server:
        folders = _closed_folders(server.root)
    pack = Pack(tmp_path / "data/snapshots")
    digest = pack.put(b"past\n")
    pack.sync()
    folder = Folder(str(server.root))
    undos = [
        Undo(PathImage(path, PathKind.FILE, digest, 0o644, 5), image(folder, path_of(path)))
        for path in ("first/old.txt", "second/old.txt")
    ]
    _killed(lambda: bring_back(folder, pack, undos), at_rename=kill)
    async with recorded(tmp_path):
        assert _modes(server.root) == folders and not list((tmp_path / "data").rglob("opened-folders*"))


def _closed_folders(root: Path) -> dict[str, int]:
    for name in ("first", "second"):
        (root / name).mkdir(parents=True)
        (root / name / "old.txt").write_text("old\n")
        (root / name).chmod(0o555)
    return _modes(root)


def _modes(root: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.iterdir() if path.is_dir()}


def _killed(work: Callable[[], object], *, at_rename: int) -> None:
    """Runs it in a process that ends without any clean-up right before a rename, counted from 0, or after the last."""
    child = os.fork()
    if child == 0:
        left, rename = [at_rename], os.rename

        def counted(*given: object, **more: object) -> None:
            if left[0] == 0:
                os._exit(0)
            left[0] -= 1
            rename(*given, **more)  # type: ignore[arg-type]

        os.rename = counted  # type: ignore[assignment]
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
