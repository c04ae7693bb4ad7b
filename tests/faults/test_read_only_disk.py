"""A disk that the kernel makes read-only in the middle of a commit or a restore, as after an error: it is said, and it heals.

The disk is a small file system of the test's own, so this needs root.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anycowork.checkpoints import restore as restoring
from anycowork.sandbox.commit import entries
from anycowork.sandbox.commit.transaction import CommitFailed
from support.checkpoints import recorded, whole
from support.disks import as_root, mounted
from support.spec import proves

pytestmark = as_root
COMMAND = "for f in *.txt; do echo new >> $f; done; rm -r gone; mkdir made; echo 1 > made/1"


@pytest.fixture
def server_folder(tmp_path: Path) -> Iterator[Path]:
    point = tmp_path / "workspace"
    point.mkdir()
    with mounted(point, "-t", "tmpfs", "-o", "size=8M", "none"):
        yield tmp_path


def remount(point: Path, way: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{way}", str(point)], check=True)


def read_only_at(step: int, point: Path, work: Callable[..., None]) -> Callable[..., None]:
    """Before the step, counted from 0, the disk becomes read-only."""
    left = [step]

    def counted(*given: object, **more: object) -> None:
        if left[0] == 0:
            remount(point, "ro")
        left[0] -= 1
        work(*given, **more)

    return counted


def write_files(root: Path, number: int) -> None:
    for each in range(number):
        (root / f"{each}.txt").write_text("old\n")
    (root / "gone").mkdir()
    (root / "gone/inner.txt").write_text("old\n")


def leftovers(root: Path) -> list[str]:
    return [name for name in whole(root) if ".tmp" in name]


@proves("SNAP-4", "OPS-2")
@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("number", [3, 60], ids=["few", "many"])
async def test_restore_onto_a_disk_that_becomes_read_only_says_so_and_goes_on_later(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, step: int
) -> None:
    async with recorded(server_folder, few_paths=1 if number == 60 else 200) as server:
        write_files(server.root, number)
        was = whole(server.root)
        before = await server.command(COMMAND)
        assert before is not None
        with monkeypatch.context() as patched:
            rename = read_only_at(step, server.root, restoring._RestoreRun._rename)
            patched.setattr(restoring._RestoreRun, "_rename", lambda self, *given: rename(self, *given))
            answer = await server.restore(before)
        reasons = answer.done.conflicts or {}
        assert len(reasons) >= number - step and all("Read-only file system" in reason for reason in reasons.values())
        remount(server.root, "rw")
        answer = await server.restore(before)
        assert not answer.done.conflicts and whole(server.root) == was


@proves("SNAP-4", "OPS-2")
@pytest.mark.parametrize("step", [0, 2])
async def test_commit_onto_a_disk_that_becomes_read_only_keeps_the_rest_and_leaves_nothing_for_good(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    async with recorded(server_folder) as server:
        write_files(server.root, 60)
        with monkeypatch.context() as patched:
            patched.setattr(entries, "rename", read_only_at(step, server.root, entries.rename))
            with pytest.raises(CommitFailed, match=r"Read-only file system\): some are made, the others are kept in"):
                await server.command(COMMAND)
        [kept] = (server_folder / "data/staging/kept").iterdir()
        files = (*server.root.glob("*.txt"), *(kept / "upper").glob("*.txt"))
        assert len({path.name for path in files if path.read_text() == "old\nnew\n"}) == 60, "each is made or kept"
        remount(server.root, "rw")
        assert leftovers(server.root), "what could not be removed then"
        await server.command("echo other > other.txt")
        assert not leftovers(server.root) and (server.root / "other.txt").read_text() == "other\n"
