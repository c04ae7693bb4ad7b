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
    async with recorded(folder) as house:
        (house.root / "d").mkdir()
        (house.root / "d" / "e.txt").write_text("to begin with\n")
        (house.root / ".git").mkdir()
        history = []
        for step in steps:
            now = whole(house.root)
            before = await _step(house, *step)
            if before is not None:
                history.append((before, now))
        if not history:
            return
        latest = whole(house.root)
        (house.root / ".git" / "index").write_text("the user's own")
        before, was = history[chosen % len(history)]
        answer = await house.restore(before)
        assert whole(house.root) == was and not answer.done.conflicts
        assert answer.undo_snapshot is not None
        await house.restore(answer.undo_snapshot)
        assert whole(house.root) == latest
        assert (house.root / ".git" / "index").read_text() == "the user's own"


async def _step(house: Recorded, verb: str, name: str, given: str | bytes) -> str | None:
    """The id of the snapshot before it; None if it could not be done."""
    match verb, given:
        case (("create_file" | "update_file"), str()):
            parameters = {"path": name, "content": given}
        case "move_file", str():
            parameters = {"path": name, "to": given}
        case "delete_file", _:
            parameters = {"path": name}
        case _, bytes():
            if _impossible(house.root / name, verb):
                return None
            return (await house.change([name], lambda: _command(house.root / name, verb, given))).id
    if verb == "update_file":
        house.bench.read.clear()
        if (house.root / name).is_file():
            await house.bench.call("read_file", path=name)
    if not await house.call(verb, **parameters):
        return None
    listed, _ = await house.database.store.snapshots_page(CHAT, limit=2)
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
    async with recorded(tmp_path) as house:
        (house.root / "d").mkdir()
        odd = os.fsencode(house.root / "d") + b"/\xff\xfe.txt"
        Path(os.fsdecode(odd)).write_text("odd")
        was = whole(house.root)
        before = await house.change(["d"], lambda: shutil.rmtree(house.root / "d"))
        answer = await house.restore(before)
        assert whole(house.root) == was and "d/\\xff\\xfe.txt" in answer.to_json()["restored"]


@proves("SNAP-2", "SNAP-3")
async def test_a_large_binary_file_is_streamed_and_comes_back(tmp_path: Path) -> None:
    pack = Pack(tmp_path / "data" / "snapshots", segment_bytes=1 << 16, own_file_bytes=1 << 14)
    async with recorded(tmp_path, pack=pack) as house:
        data = os.urandom(3_000_000)
        (house.root / "big.bin").write_bytes(data)
        before = await house.change(["big.bin"], (house.root / "big.bin").unlink)
        await house.restore(before)
        assert (house.root / "big.bin").read_bytes() == data


@proves("SNAP-3")
async def test_content_that_is_kept_already_is_not_kept_twice(tmp_path: Path) -> None:
    async with recorded(tmp_path) as house:
        for n in range(5):
            (house.root / f"{n}.bin").write_bytes(b"\0same" * 10_000)
        size = 0
        for n in range(5):
            await house.change([f"{n}.bin"], (house.root / f"{n}.bin").unlink)
            grown = house.snapshots._pack.size - size
            size += grown
            assert n == 0 or grown < 1_000


async def test_a_damaged_content_is_found_before_anything_is_changed(tmp_path: Path) -> None:
    async with recorded(tmp_path) as house:
        for name in ("a.txt", "b.txt"):
            (house.root / name).write_text(f"content of {name}")
        first = await house.change(["a.txt"], (house.root / "a.txt").unlink)
        await house.change(["b.txt"], (house.root / "b.txt").unlink)
        (pack,) = (tmp_path / "data" / "snapshots").glob("*.pack")
        pack.write_bytes(pack.read_bytes().replace(b"content of b.txt", b"CONTENT of b.txt"))
        with pytest.raises(SnapshotDamaged, match=r"b\.txt"):
            await house.restore(first)
        assert list(house.root.iterdir()) == []
        await house.restore(first, paths=("a.txt",))
        assert (house.root / "a.txt").read_text() == "content of a.txt"


@proves("SNAP-3")
async def test_pruning_keeps_what_newer_snapshots_need(tmp_path: Path) -> None:
    async with recorded(tmp_path, quota=60_000) as house:
        taken = []
        for n in range(12):
            (house.root / "a.bin").write_bytes(bytes([0, n]) * 5_000)
            taken.append(await house.change(["a.bin"], (house.root / "a.bin").unlink))
        with pytest.raises(SnapshotPruned):
            await house.restore(taken[0])
        await house.restore(taken[-1])
        assert (house.root / "a.bin").read_bytes() == bytes([0, 11]) * 5_000
        assert house.snapshots._pack.size <= 60_000


async def test_more_than_the_quota_is_refused_and_nothing_is_pruned_for_it(tmp_path: Path) -> None:
    async with recorded(tmp_path, quota=20_000) as house:
        (house.root / "a.txt").write_text("small")
        (house.root / "big.bin").write_bytes(b"\0" * 30_000)
        before = await house.change(["a.txt"], (house.root / "a.txt").unlink)
        with pytest.raises(NotKept, match="snapshot_quota_bytes"):
            await house.begin(["big.bin"])
        await house.restore(before)
        assert (house.root / "a.txt").read_text() == "small"


async def test_a_file_is_not_put_where_a_folder_with_other_things_stands(tmp_path: Path) -> None:
    async with recorded(tmp_path) as house:
        target = house.root / "a"
        target.write_text("a file")
        before = await house.change(["a"], target.unlink)
        target.mkdir()
        (target / "mine").write_text("the user's")
        with pytest.raises(RestoreConflict) as refused:
            await house.restore(before, overwrite=("a",))
        assert list(refused.value.conflicts) == ["a"] and (target / "mine").read_text() == "the user's"
