"""The pack gives back what was put, or says that it cannot; whatever a crash or a bad disk did to its files."""

import errno
import hashlib
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anycowork.checkpoints.pack import Damaged, Pack
from anycowork.workspace.packfile import HEADER_BYTES
from support.spec import proves


def pack_in(folder: Path) -> Pack:
    return Pack(folder, segment_bytes=1000, own_file_bytes=500)


def put(pack: Pack, data: bytes, folder: Path) -> str:
    if len(data) < pack.own_file_bytes:
        return pack.put(data)
    source = folder / "source"
    source.write_bytes(data)
    fd = os.open(source, os.O_RDONLY)
    try:
        return pack.put_file(fd, most=10_000)[0]
    finally:
        os.close(fd)


@settings(max_examples=50, deadline=None)
@given(contents=st.lists(st.binary(max_size=700), max_size=20))
def test_what_was_put_is_read_again_also_after_opening_anew(contents: list[bytes]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        pack = pack_in(folder / "pack")
        digests = [put(pack, data, folder) for data in contents]
        pack.sync()
        for opened in (pack, pack_in(folder / "pack")):
            assert [opened.read(digest) for digest in digests] == contents


@settings(max_examples=30, deadline=None)
@given(contents=st.lists(st.binary(max_size=400), max_size=20))
def test_contents_put_together_are_read_again_also_after_opening_anew(contents: list[bytes]) -> None:
    known = [(hashlib.sha256(data).hexdigest(), data) for data in contents]
    with TemporaryDirectory() as name:
        pack = pack_in(Path(name))
        pack.put_all(known)
        pack.put_all(known)
        pack.sync([digest for digest, _ in known])
        for opened in (pack, pack_in(Path(name))):
            assert [opened.read(digest) for digest, _ in known] == contents
            assert opened.size == sum(len(data) + HEADER_BYTES for data in set(contents))


@proves("SNAP-3")
@settings(max_examples=50, deadline=None)
@given(contents=st.lists(st.binary(max_size=700), min_size=1, max_size=20, unique=True), data=st.data())
def test_sweeping_keeps_what_is_needed_and_nothing_else_for_long(contents: list[bytes], data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        pack = pack_in(folder / "pack")
        digests = [put(pack, content, folder) for content in contents]
        kept = set(data.draw(st.lists(st.sampled_from(digests))))
        pack.begin("")
        pack.mark()
        pack.sweep(kept, most=0)
        for opened in (pack, pack_in(folder / "pack")):
            assert {digest for digest in digests if opened.has(digest)} == kept
            assert all(opened.read(digest) in contents for digest in kept)
        assert pack.size <= sum(len(c) + 48 for c, d in zip(contents, digests, strict=True) if d in kept)


def test_what_is_put_during_a_sweep_is_kept_until_it_can_be_recorded(tmp_path: Path) -> None:
    pack = pack_in(tmp_path)
    digest = pack.put(b"not yet recorded", owner="a workspace")
    pack.mark()
    pack.sweep(set(), most=0)
    assert pack.read(digest) == b"not yet recorded"
    pack.begin("a workspace")
    pack.sweep(set(), most=0)
    assert pack.has(digest), "recorded after the sweep's look at what is needed"
    pack.mark()
    pack.sweep(set(), most=0)
    assert not pack.has(digest)


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(1, 400))
def test_a_torn_end_is_dropped_and_the_rest_stays(cut: int) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        pack = pack_in(folder)
        digests = [pack.put(bytes([n]) * 90) for n in range(5)]
        (file,) = folder.glob("*.pack")
        os.truncate(file, file.stat().st_size - cut)
        opened = pack_in(folder)
        whole = [digest for digest in digests if opened.has(digest)]
        assert whole == digests[: len(whole)] and len(whole) == 5 - -(-cut // 138)
        assert [opened.read(digest) for digest in whole] == [bytes([n]) * 90 for n in range(len(whole))]
        again = opened.put(b"new")
        assert pack_in(folder).read(again) == b"new"


@pytest.mark.parametrize("where", [10, 60, 200])
def test_a_changed_byte_costs_one_content_and_never_those_behind_it(tmp_path: Path, where: int) -> None:
    pack = pack_in(tmp_path)
    digests = [pack.put(bytes([n]) * 90) for n in range(5)]
    (file,) = tmp_path.glob("*.pack")
    data = bytearray(file.read_bytes())
    data[where] ^= 0xFF
    file.write_bytes(data)
    opened = pack_in(tmp_path)
    assert file.stat().st_size == len(data), "nothing that may still be good is cut off"
    lost = [digest for digest in digests if not opened.has(digest)]
    assert lost
    if where > 48:
        assert len(lost) == 1
        with pytest.raises(Damaged):
            opened.read(lost[0])
    assert opened.put(bytes([where // 138]) * 90) in digests, "what comes again is kept anew"
    assert opened.read(digests[where // 138]) == bytes([where // 138]) * 90


def test_a_damaged_content_is_said_and_kept_anew_when_it_comes_again(tmp_path: Path) -> None:
    pack = pack_in(tmp_path)
    digest = pack.put(b"x" * 90)
    (file,) = tmp_path.glob("*.pack")
    file.write_bytes(file.read_bytes().replace(b"x", b"y"))
    with pytest.raises(Damaged):
        pack.read(digest)
    pack.put(b"x" * 90)
    assert pack.read(digest) == b"x" * 90


def test_a_pack_whose_folder_was_removed_says_so_and_goes_on_anew(tmp_path: Path) -> None:
    pack = pack_in(tmp_path / "pack")
    pack.put(b"first")
    pack.sync()
    shutil.rmtree(tmp_path / "pack")
    second = pack.put(b"second")
    with pytest.raises(FileNotFoundError):
        pack.sync()
    assert not pack.has(second)
    assert pack.put(b"second") == second
    pack.sync()
    assert pack.read(second) == pack_in(tmp_path / "pack").read(second) == b"second"


def test_only_what_is_named_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    sync = os.fdatasync
    monkeypatch.setattr(os, "fdatasync", lambda fd: (synced.append(fd), sync(fd)))
    pack = pack_in(tmp_path / "pack")
    kept = pack.put(b"what must not be lost")
    pack.sync([kept, None])
    assert len(synced) == 1
    told = pack.put(b"what is only told")
    pack.sync([kept])
    assert len(synced) == 1, "that one is on the disk already"
    pack.sync([kept, told])
    pack.sync()
    assert len(synced) == 2


def test_contents_that_a_failed_sync_gave_up_are_never_reported_as_durable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = Pack(tmp_path)
    digest = pack.put(b"somebody else's")

    def refuse(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as failing:
        failing.setattr(os, "fdatasync", refuse)
        with pytest.raises(OSError, match="Input/output"):
            pack.sync()
    with pytest.raises(OSError, match="given up"):
        pack.sync([digest, None])
    pack.sync([pack.put(b"somebody else's")])
    assert pack.read(digest) == b"somebody else's"
