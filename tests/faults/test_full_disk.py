"""A disk that really is full, under the snapshots, the pack, a restore and a command's commit: nothing half-written, and it heals.

The disk is a small file system of the test's own, so this needs root; `test_snapshots.py` and `test_disk.py` do without.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from anycowork.checkpoints import restore_preview
from anycowork.checkpoints.pack import Pack
from anycowork.domain.errors import NotEnoughSpace, NotKept, ToolFault
from anycowork.domain.snapshots import ReplacedFile
from anycowork.domain.tools import Intent
from anycowork.sandbox.commit import transaction
from anycowork.sandbox.commit.transaction import CommitFailed
from anycowork.sandbox.layers.private_copy import CannotCopy
from anycowork.sandbox.layers.stage import Layer
from support.checkpoints import Recorded, recorded, whole
from support.disks import as_root, mounted
from support.spec import proves
from support.tool_workspace import ToolWorkspace

pytestmark = as_root
DISK = 1 << 20
LARGE = 300_000


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    point = tmp_path / "disk"
    point.mkdir()
    with mounted(point, "-t", "tmpfs", "-o", f"size={DISK}", "none"):
        yield point


def fill(disk: Path, *, leaving: int = 0) -> Path:
    """Nothing more than `leaving` bytes goes onto the disk until the file is removed again."""
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        free = shutil.disk_usage(disk).free - leaving
        file.write(b"\0" * max(0, free))
    return ballast


def random_file(path: Path, size: int = LARGE) -> bytes:
    data = os.urandom(size)
    path.write_bytes(data)
    return data


# --- keeping


@proves("SNAP-1", "OPS-2")
@pytest.mark.parametrize("own_file_bytes", [1, 1 << 22], ids=["in a file of its own", "appended"])
async def test_what_cannot_be_kept_for_want_of_room_is_not_changed(
    tmp_path: Path, disk: Path, own_file_bytes: int
) -> None:
    pack = Pack(disk / "pack", own_file_bytes=own_file_bytes)
    async with recorded(tmp_path / "server", pack=pack) as server:
        content = random_file(server.root / "large.bin")
        (server.root / "small.txt").write_text("small")
        kept = await server.change(["small.txt"], (server.root / "small.txt").unlink)
        ballast = fill(disk, leaving=LARGE // 2)
        with pytest.raises(NotKept, match=r"No space left on device.* Nothing was changed"):
            await server.begin(["large.bin"])
        assert (server.root / "large.bin").read_bytes() == content
        assert not list((disk / "pack").glob("*.tmp"))
        await server.restore(kept)
        assert (server.root / "small.txt").read_text() == "small", "what was kept before is whole"
        ballast.unlink()
        before = await server.change(["large.bin"], (server.root / "large.bin").unlink)
        await server.restore(before)
        assert (server.root / "large.bin").read_bytes() == content
    again = Pack(disk / "pack", own_file_bytes=own_file_bytes)
    assert all(b"".join(again.chunks(image.hash)) for image in before.images if image.hash)


def test_what_the_disk_gave_up_while_syncing_is_forgotten_and_kept_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = Pack(tmp_path / "pack")
    first = pack.put(b"first")
    pack.sync()
    second = pack.put(b"second")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", _refuse)
        with pytest.raises(OSError, match="No space"):
            pack.sync()
    assert pack.read(first) == b"first" and not pack.has(second)
    assert pack.put(b"second") == second
    pack.sync()
    for opened in (pack, Pack(tmp_path / "pack")):
        assert opened.read(first) == b"first" and opened.read(second) == b"second"


def _refuse(fd: int) -> None:
    raise OSError(28, os.strerror(28))


# --- going back


async def _changed(server: Recorded) -> str:
    """Three files, each replaced by less; the snapshot before them all."""
    first = None
    for name in ("a.bin", "b.bin", "c.bin"):
        random_file(server.root / name, 100_000)
    for name in ("a.bin", "b.bin", "c.bin"):
        before = await server.change([name], lambda name=name: (server.root / name).write_text(f"small {name}"))  # type: ignore[misc]
        first = first or before.id
    assert first is not None
    return first


@pytest.fixture
def server_on_disk(tmp_path: Path, disk: Path) -> Path:
    """A server with only its workspace on the small disk."""
    folder = tmp_path / "server"
    folder.mkdir()
    (disk / "workspace").mkdir()
    return folder


@pytest.fixture
def bound(server_on_disk: Path, disk: Path) -> Iterator[Path]:
    point = server_on_disk / "workspace"
    point.mkdir()
    with mounted(point, "--bind", disk / "workspace"):
        yield server_on_disk


@proves("SNAP-2", "OPS-2")
async def test_a_restore_without_room_is_refused_before_anything_is_touched(disk: Path, bound: Path) -> None:
    async with recorded(bound) as server:
        first = await _changed(server)
        now = whole(server.root)
        ballast = fill(disk, leaving=150_000)
        with pytest.raises(NotEnoughSpace, match=r"no space for the .* bytes .*Nothing was changed.* Free some"):
            await server.restore(first)
        assert whole(server.root) == now
        ballast.unlink()
        await server.restore(first)
        assert {len(content or b"") for _, content in whole(server.root).values()} == {100_000}


@proves("SNAP-2", "OPS-2")
async def test_a_disk_that_fills_during_a_restore_leaves_whole_files_and_the_rest_is_restored_later(
    disk: Path, bound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        restore_preview, "_require_disk_space", lambda folder, undos: None
    )  # somebody fills it after that look
    async with recorded(bound) as server:
        first = await _changed(server)
        small = whole(server.root)
        ballast = fill(disk, leaving=150_000)
        answer = await server.restore(first)
        reasons = answer.done.conflicts or {}
        assert set(answer.done.restored) == {"a.bin"} and set(reasons) == {"b.bin", "c.bin"}
        assert all("No space left on device" in reason for reason in reasons.values())
        now = whole(server.root)
        assert len(now["a.bin"][1] or b"") == 100_000 and {**now, "a.bin": None} == {**small, "a.bin": None}
        ballast.unlink()
        await server.restore(first)
        assert {len(content or b"") for _, content in whole(server.root).values()} == {100_000}


# --- a command's changes

COMMAND = "for i in 1 2 3 4; do head -c 100000 /dev/urandom > new$i; done; echo changed > a.txt"


@pytest.fixture
def bench(tmp_path: Path, disk: Path) -> ToolWorkspace:
    """Workspace on the small disk; what commands write waits on another one."""
    (disk / "a.txt").write_text("old\n")
    (disk / "old").mkdir()
    (disk / "old" / "b.txt").write_text("b\n")
    return ToolWorkspace(disk, tmp_path)


@proves("SNAP-4", "OPS-2")
async def test_a_commit_without_room_is_refused_before_anything_is_written_down(
    bench: ToolWorkspace, disk: Path
) -> None:
    fill(disk, leaving=DISK // 20)  # what is free shall stay so
    before = whole(disk)
    with pytest.raises(ToolFault, match="no room for what the command changed"):
        await bench.call("execute_command", command=COMMAND)
    assert whole(disk) == before and bench.intended == []
    assert list((disk.parent / "data/staging/runs").iterdir()) == []


@proves("SNAP-4", "OPS-2")
async def test_a_disk_that_fills_during_a_commit_leaves_everything_as_it_was_and_keeps_all_that_was_written(
    bench: ToolWorkspace, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "_SPARE", 0)

    async def intend(intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
        fill(disk, leaving=250_000)  # after every look at the room

    before = whole(disk)
    with pytest.raises(CommitFailed, match=r"No space left on device.*none of it was made, and all of it is kept in"):
        await bench.call("execute_command", bench.tool_context(intend=intend), command=f"rm -r old; {COMMAND}")
    found = whole(disk)
    del found["ballast"]
    assert found == before, "no file of it, no folder, no leftover, and what it removed is there"
    [kept] = (disk.parent / "data/staging/kept").iterdir()
    assert {path.name for path in (kept / "upper").iterdir()} >= {"new1", "new2", "new3", "new4"}
    (disk / "ballast").unlink()
    assert (await bench.call("execute_command", command=f"rm -r old; {COMMAND}")).facts["changed"]
    assert (disk / "a.txt").read_text() == "changed\n" and not (disk / "old").exists()
    assert not [path for path in whole(disk) if path.endswith(".tmp")]
    assert (await bench.call("execute_command", command="echo fine")).content == "fine\nexit code 0"


@proves("SNAP-4", "OPS-2")
async def test_a_disk_without_room_for_a_copy_runs_no_command(tmp_path: Path, disk: Path) -> None:
    root = tmp_path / "elsewhere" / "workspace"
    root.mkdir(parents=True)
    random_file(root / "large.bin", 2 * DISK)
    bench = ToolWorkspace(root, tmp_path, layer=Layer.COPY)
    bench.sandbox.staging.folders.private = disk / "staging"
    with pytest.raises(CannotCopy, match="the disk has no room"):
        await bench.call("execute_command", command="touch made")
    assert set(whole(root)) == {"large.bin"} and not list((disk / "staging/runs").iterdir())
