"""Contents that were read once are kept for undo without a second read, and only if they are what is replaced."""

import time
from pathlib import Path

import pytest

from anycowork.checkpoints.capture import ImageReader, PackTarget, path_of
from anycowork.checkpoints.commit_images import CommitImages
from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.restore_preview import preview_restore
from anycowork.checkpoints.unkept_folders import UnkeptFolders
from anycowork.domain.snapshots import PathImage, Restore, Undo, absent
from anycowork.sandbox.commit import delta as delta_module
from anycowork.sandbox.commit.committer import CommitOutcome, apply
from anycowork.sandbox.commit.delta import Delta, manifest
from anycowork.sandbox.commit.delta_scan import scan
from anycowork.workspace.folder import Folder
from support.checkpoints import CHAT, recorded
from support.spec import proves

FILES = ("a.txt", "d/b.txt", "d/c.txt")


class Place:
    """A workspace and a layer above it that changes every file and removes none."""

    def __init__(self, folder: Path) -> None:
        self.root, self.stage = folder / "root", folder / "stage"
        for path in FILES:
            for base, text in ((self.root, "old"), (self.stage / "upper", "new")):
                (base / path).parent.mkdir(parents=True, exist_ok=True)
                (base / path).write_text(f"{text} {path}\n")
        self.folder, self.pack = Folder(str(self.root)), Pack(folder / "pack")

    def scanned(self) -> Delta:
        return scan(str(self.stage / "upper"), str(self.root))

    def scanned_when_old(self) -> Delta:
        ends = time.monotonic() + 30
        while len((delta := self.scanned()).replaced.files) < len(FILES):
            assert time.monotonic() < ends, "the files stayed too young"
        return delta

    def images(self, delta: Delta) -> list[PathImage]:
        found = CommitImages(self.folder, manifest(delta), UnkeptFolders(self.folder, ()), delta.replaced.files)
        assert found.needs == sum((self.root / path).stat().st_size for path in FILES)
        return found.taken(PackTarget(self.pack, "t", max_bytes=1 << 20))

    def plainly_read(self) -> list[PathImage]:
        with ImageReader(self.folder) as reader:
            return [reader.image(path_of(path)) for path in FILES]

    def commit(self, delta: Delta) -> CommitOutcome:
        return apply(self.stage, self.folder.jail, manifest(delta), delta=delta)


@proves("SNAP-1")
def test_images_from_the_scan_are_those_that_reading_again_would_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path)
    (place.root / "a.txt").chmod(0o755)
    delta = place.scanned_when_old()

    def reads(*_: object) -> None:
        raise AssertionError("a content that is known was read again")

    with monkeypatch.context() as patched:
        patched.setattr(ImageReader, "_file", reads)
        found = place.images(delta)
    assert found == place.plainly_read()
    assert [place.pack.read(image.hash or "") for image in found] == [(place.root / p).read_bytes() for p in FILES]


@pytest.mark.parametrize(
    ("limit", "value"), [("MOST_REMEMBERED", 12), ("LARGEST_REMEMBERED", 4), ("_CLOCK_STEP", 3600 * 10**9)]
)
def test_what_was_not_remembered_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    """Beyond a limit of memory, and of files so young that their times cannot tell a later change."""
    monkeypatch.setattr(delta_module, limit, value)
    place = Place(tmp_path)
    delta = place.scanned()
    assert len(delta.replaced.files) < 2
    assert place.images(delta) == place.plainly_read()


@proves("SNAP-5/3")
def test_a_file_changed_after_the_scan_is_not_replaced(tmp_path: Path) -> None:
    place = Place(tmp_path)
    delta = place.scanned_when_old()
    before = place.images(delta)
    (place.root / "d/b.txt").write_text("a person's own\n")
    assert place.commit(delta).conflicts == ["d/b.txt"]
    assert (place.root / "d/b.txt").read_text() == "a person's own\n"
    assert (place.root / "d/c.txt").read_text() == "new d/c.txt\n"
    assert [place.pack.read(image.hash or "") for image in before] == [f"old {path}\n".encode() for path in FILES]


def test_a_mode_that_a_person_sets_after_the_scan_is_not_lost(tmp_path: Path) -> None:
    place = Place(tmp_path)
    delta = place.scanned_when_old()
    (place.root / "d/b.txt").chmod(0o700)
    assert place.commit(delta).conflicts == ["d/b.txt"]
    assert (place.root / "d/b.txt").stat().st_mode & 0o777 == 0o700


async def test_what_changed_after_a_preview_is_kept_as_it_is_now(tmp_path: Path) -> None:
    pack = Pack(tmp_path / "pack")
    async with recorded(tmp_path, few_paths=1, pack=pack) as server:
        folder = Folder(str(server.root))
        for path in FILES:
            (server.root / path).parent.mkdir(exist_ok=True)
            (server.root / path).write_text("left by a command")
        with ImageReader(folder) as reader:
            undos = [Undo(absent(path), reader.image(path_of(path))) for path in FILES]
        seen = previewed_when_old(folder, pack, undos, most_remembered=1 << 20)
        (server.root / "d/b.txt").write_text("a person's own, newer")
        before = await server.snapshots.before_restore(Restore("r1", CHAT, "s1"), folder, seen)
        with ImageReader(folder) as reader:
            assert list(before.images) == [reader.image(path_of(path)) for path in FILES]
        assert await server.snapshots.contents(before.images[1]) == b"a person's own, newer"
        assert await server.snapshots.contents(before.images[2]) == b"left by a command"


def previewed_when_old(folder: Folder, pack: Pack, undos: list[Undo], *, most_remembered: int) -> list[Undo]:
    """Looks until the files are old enough to be recognised by their times."""
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        found = preview_restore(folder, pack, undos, most_remembered=most_remembered).undos
        if all(undo.seen for undo in found):
            return list(found)
    raise AssertionError("the files stayed too young")


def test_a_preview_remembers_no_more_than_it_may(tmp_path: Path) -> None:
    place = Place(tmp_path)
    undos = [Undo(absent(image.path), image) for image in place.plainly_read()]
    for most, remembered in ((0, 0), (10, 1), (1 << 20, 3)):
        found = previewed_when_old(place.folder, place.pack, undos, most_remembered=most)
        assert sum(undo.seen is not None and undo.seen.content is not None for undo in found) == remembered
