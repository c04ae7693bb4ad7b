"""Whatever was done, going back gives the very same tree: bytes, modes, links, empty folders."""

import asyncio
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anycowork.checkpoints.pack import Pack
from anycowork.domain.errors import NotKept, RestoreConflict, SnapshotDamaged, SnapshotPruned
from support.checkpoints import CHAT, Recorded, recorded, whole
from support.spec import proves

NAMES = st.sampled_from(["a.txt", "b.bin", "d", "d/e.txt", "d/f", "d/f/g.txt", "l"])
TEXTS = st.text(alphabet="ab é\r\n\t", max_size=20)  # what the tools' own parameters let through
TOOL_STEPS = st.one_of(
    st.tuples(st.just("create_file"), NAMES, TEXTS),
    st.tuples(st.just("update_file"), NAMES, TEXTS),
    st.tuples(st.just("move_file"), NAMES, NAMES),
    st.tuples(st.just("delete_file"), NAMES, st.just("")),
)
COMMAND_STEPS = st.tuples(
    st.sampled_from(["write", "folder", "link", "chmod", "remove"]), NAMES, st.binary(max_size=20)
)


@proves("SNAP-2/1", "SNAP-3")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=st.lists(st.one_of(TOOL_STEPS, COMMAND_STEPS), min_size=1, max_size=8), chosen=st.integers(0, 100))
def test_restoring_after_any_sequence_of_changes_gives_back_the_exact_tree(steps, chosen) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(_any_sequence(Path(folder), steps, chosen))


async def _any_sequence(folder: Path, steps: list[tuple[str, str, str | bytes]], chosen: int) -> None:
    async with recorded(folder) as server:
        (server.root / "d").mkdir()
        (server.root / "d" / "e.txt").write_text("to begin with\n")
        (server.root / ".git").mkdir()
        history = []
        for step in steps:
            now = whole(server.root)
            before = await _step(server, *step)
            if before is not None:
                history.append((before, now))
        if not history:
            return
        latest = whole(server.root)
        (server.root / ".git" / "index").write_text("the user's own")
        before, was = history[chosen % len(history)]
        answer = await server.restore(before)
        assert whole(server.root) == was and not answer.done.conflicts
        assert answer.undo_snapshot is not None
        await server.restore(answer.undo_snapshot)
        assert whole(server.root) == latest
        assert (server.root / ".git" / "index").read_text() == "the user's own"


async def _step(server: Recorded, verb: str, name: str, given: str | bytes) -> str | None:
    """The id of the snapshot before it; None if it could not be done."""
    match verb, given:
        case (("create_file" | "update_file"), str()):
            parameters = {"path": name, "content": given}
        case "move_file", str():
            parameters = {"path": name, "to": given}
        case "delete_file", _:
            parameters = {"path": name}
        case _, bytes():
            if _impossible(server.root / name, verb):
                return None
            return (await server.change([name], lambda: _command(server.root / name, verb, given))).id
    if verb == "update_file":
        server.bench.read.clear()
        if (server.root / name).is_file():
            await server.bench.call("read_file", path=name)
    if not await server.call(verb, **parameters):
        return None
    listed, _ = await server.database.store.snapshots.page(CHAT, limit=2)
    return listed[0].id


def _impossible(path: Path, verb: str) -> bool:
    if any(above.is_symlink() or above.is_file() for above in path.parents):
        return True
    return verb == "chmod" and (path.is_symlink() or not path.exists())


def _command(path: Path, verb: str, data: bytes) -> None:
    """What a shell might do to one path, replacing whatever stands there."""
    if verb == "chmod":
        path.chmod(0o750 if path.is_dir() else 0o640)
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    match verb:
        case "write":
            path.write_bytes(data)
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(os.fsdecode(data.replace(b"\0", b"x")) or "nowhere")


@proves("SNAP-2")
async def test_names_that_are_no_text_come_back_too(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        (server.root / "d").mkdir()
        odd = os.fsencode(server.root / "d") + b"/\xff\xfe.txt"
        Path(os.fsdecode(odd)).write_text("odd")
        was = whole(server.root)
        before = await server.change(["d"], lambda: shutil.rmtree(server.root / "d"))
        answer = await server.restore(before)
        assert whole(server.root) == was and "d/\\xff\\xfe.txt" in answer.to_json()["restored"]


@proves("SNAP-2", "SNAP-3")
async def test_a_large_binary_file_is_streamed_and_comes_back(tmp_path: Path) -> None:
    pack = Pack(tmp_path / "data" / "snapshots", segment_bytes=1 << 16, own_file_bytes=1 << 14)
    async with recorded(tmp_path, pack=pack) as server:
        data = os.urandom(3_000_000)
        (server.root / "big.bin").write_bytes(data)
        before = await server.change(["big.bin"], (server.root / "big.bin").unlink)
        await server.restore(before)
        assert (server.root / "big.bin").read_bytes() == data


@proves("SNAP-3")
async def test_content_that_is_kept_already_is_not_kept_twice(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        for n in range(5):
            (server.root / f"{n}.bin").write_bytes(b"\0same" * 10_000)
        size = 0
        for n in range(5):
            await server.change([f"{n}.bin"], (server.root / f"{n}.bin").unlink)
            grown = server.snapshots._pack.size - size
            size += grown
            assert n == 0 or grown < 1_000


async def test_a_damaged_content_is_found_before_anything_is_changed(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        for name in ("a.txt", "b.txt"):
            (server.root / name).write_text(f"content of {name}")
        first = await server.change(["a.txt"], (server.root / "a.txt").unlink)
        await server.change(["b.txt"], (server.root / "b.txt").unlink)
        (pack,) = (tmp_path / "data" / "snapshots").glob("*.pack")
        pack.write_bytes(pack.read_bytes().replace(b"content of b.txt", b"CONTENT of b.txt"))
        with pytest.raises(SnapshotDamaged, match=r"b\.txt"):
            await server.restore(first)
        assert list(server.root.iterdir()) == []
        await server.restore(first, paths=("a.txt",))
        assert (server.root / "a.txt").read_text() == "content of a.txt"


@proves("SNAP-3")
async def test_pruning_keeps_what_newer_snapshots_need(tmp_path: Path) -> None:
    async with recorded(tmp_path, quota=60_000) as server:
        taken = []
        for n in range(12):
            (server.root / "a.bin").write_bytes(bytes([0, n]) * 5_000)
            taken.append(await server.change(["a.bin"], (server.root / "a.bin").unlink))
        with pytest.raises(SnapshotPruned):
            await server.restore(taken[0])
        await server.restore(taken[-1])
        assert (server.root / "a.bin").read_bytes() == bytes([0, 11]) * 5_000
        assert server.snapshots._pack.size <= 60_000


async def test_more_than_the_quota_is_refused_and_nothing_is_pruned_for_it(tmp_path: Path) -> None:
    async with recorded(tmp_path, quota=20_000) as server:
        (server.root / "a.txt").write_text("small")
        (server.root / "big.bin").write_bytes(b"\0" * 30_000)
        before = await server.change(["a.txt"], (server.root / "a.txt").unlink)
        with pytest.raises(NotKept, match="snapshot_quota_bytes"):
            await server.begin(["big.bin"])
        await server.restore(before)
        assert (server.root / "a.txt").read_text() == "small"


async def test_a_file_is_not_put_where_a_folder_with_other_things_stands(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        target = server.root / "a"
        target.write_text("a file")
        before = await server.change(["a"], target.unlink)
        target.mkdir()
        (target / "mine").write_text("the user's")
        with pytest.raises(RestoreConflict) as refused:
            await server.restore(before, overwrite=("a",))
        assert list(refused.value.conflicts) == ["a"] and (target / "mine").read_text() == "the user's"
