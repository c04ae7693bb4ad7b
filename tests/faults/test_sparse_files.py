"""Files with holes, as disk images are: neither a checkpoint nor a restore nor a commit onto another disk fills the holes."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.sandbox.layers.stage import Layer
from anycowork.workspace.packfile import write_chunks
from support.checkpoints import recorded
from support.spec import proves
from support.tool_workspace import ToolWorkspace

SIZE = 12 << 20  # less than a command of these tests may write
MOST_ON_DISK = 3 << 20  # the kernel copies a file into a layer by the MB
BLOCK = 1 << 16


def make_sparse(path: Path) -> bytes:
    with path.open("wb") as file:
        file.write(b"begins")
        file.seek(SIZE // 2)
        file.write(b"middle")
        file.truncate(SIZE)
    return path.read_bytes()


def on_disk(path: Path) -> int:
    return path.stat().st_blocks * 512


@pytest.fixture
def far_folder(tmp_path: Path) -> Iterator[Path]:
    """On another file system than the data folder."""
    if not os.access("/dev/shm", os.W_OK) or Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here that everybody may write to")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@proves("SNAP-2/1", "SNAP-3")
@pytest.mark.parametrize("layer", Layer)
@pytest.mark.parametrize("command", ["echo more >> image", "rm image", "echo less > image"])
async def test_holes_stay_holes_in_commit_checkpoint_and_restore(tmp_path: Path, command: str, layer: Layer) -> None:
    async with recorded(tmp_path, layer=layer) as server:
        image = server.root / "image"
        was = make_sparse(image)
        before = await server.command(command)
        assert before is not None and (not image.exists() or on_disk(image) < MOST_ON_DISK)
        kept = [path for path in (tmp_path / "data/snapshots").iterdir() if path.stat().st_size > SIZE]
        assert kept and all(on_disk(path) < MOST_ON_DISK for path in kept)
        await server.restore(before)
        assert image.read_bytes() == was and on_disk(image) < MOST_ON_DISK


@proves("SNAP-3")
async def test_commit_onto_another_disk_keeps_holes(tmp_path: Path, far_folder: Path) -> None:
    bench = ToolWorkspace(far_folder, tmp_path)
    bench.sandbox.staging.folders.private = tmp_path / "staging"
    was = make_sparse(bench.root / "image")
    await bench.call("execute_command", command="echo more >> image; truncate -s 8M new; echo end >> new")
    assert (bench.root / "image").read_bytes() == was + b"more\n" and on_disk(bench.root / "image") < MOST_ON_DISK
    assert (bench.root / "new").read_bytes() == bytes(8 << 20) + b"end\n" and on_disk(bench.root / "new") < MOST_ON_DISK


_PIECES = st.lists(st.tuples(st.booleans(), st.integers(1, 3 * BLOCK)), max_size=6)


@given(_PIECES, st.integers(1, 4 * BLOCK))
def test_whatever_is_zero_the_content_is_the_same(pieces: list[tuple[bool, int]], chunk: int) -> None:
    content = b"".join((b"\1" if filled else b"\0") * size for filled, size in pieces)
    chunk = max(chunk, len(content) // 200)  # tiny chunks of a large file add nothing but writes
    with tempfile.TemporaryFile() as file:
        write_chunks(file.fileno(), (content[at : at + chunk] for at in range(0, len(content), chunk)))
        assert file.read() == content
