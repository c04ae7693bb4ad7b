"""A restore of many paths: what was seen is not read again, and what somebody changed since is never overwritten."""

import time
from pathlib import Path

import pytest

from anycowork.checkpoints import restore as restoring
from anycowork.checkpoints.capture import ImageReader, PackTarget, path_of
from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.restore import bring_back
from anycowork.checkpoints.restore_preview import preview_restore
from anycowork.domain.events import NewEvent
from anycowork.domain.people import AccessLevel
from anycowork.domain.principals import Principal, PrincipalKind
from anycowork.domain.snapshots import PathImage, PathKind, Undo
from anycowork.domain.values import replace
from anycowork.workspace.folder import Folder
from support.checkpoints import ANN, CHAT, recorded, whole
from support.spec import proves

FILES = 6


def write(root: Path, text: str) -> None:
    for number in range(FILES):
        path = root / f"d{number % 2}/{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{text} {number}")


def images(folder: Folder, content: PackTarget | None = None) -> list[PathImage]:
    paths = [f"d{number % 2}/{number}.txt" for number in range(FILES)]
    with ImageReader(folder, content) as reader:
        return [reader.image(path_of(path)) for path in paths]


def previewed(folder: Folder, pack: Pack, undos: list[Undo]) -> list[Undo]:
    """Looks until the files are old enough to be recognised by their times."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        found = preview_restore(folder, pack, undos).undos
        if all(undo.seen is not None for undo in found):
            return list(found)
    raise AssertionError("the files stayed too young")


@proves("SNAP-2/1")
async def test_a_restore_of_many_files_can_be_undone_and_finds_later_changes(tmp_path: Path) -> None:
    async with recorded(tmp_path, few_paths=2) as server:
        write(server.root, "old")
        (server.root / "gone").mkdir()
        was = whole(server.root)

        def effect() -> None:
            write(server.root, "new")
            (server.root / "gone").rmdir()
            (server.root / "d0/more.txt").write_text("more")

        paths = [*(f"d{number % 2}/{number}.txt" for number in range(FILES)), "gone", "d0/more.txt"]
        before = await server.change(paths, effect)
        now = whole(server.root)
        answer = await server.restore(before)
        assert whole(server.root) == was and not answer.done.conflicts and answer.undo_snapshot is not None
        again = await server.restore(answer.undo_snapshot)
        assert whole(server.root) == now and not again.done.conflicts and again.undo_snapshot is not None
        (server.root / "d1/3.txt").write_text("a person's own")
        preview = (await server.restore(again.undo_snapshot, dry_run=True)).preview
        assert list(preview.conflicts) == ["d1/3.txt"]


@proves("SNAP-5/3")
def test_a_file_changed_between_the_look_and_the_restore_stays_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    folder, pack = Folder(str(root)), Pack(tmp_path / "pack")
    write(root, "old")
    old = images(folder, PackTarget(pack, "t", max_bytes=1 << 20))
    write(root, "new")
    undos = previewed(folder, pack, [Undo(o, n) for o, n in zip(old, images(folder), strict=True)])
    (root / "d0/0.txt").write_text("somebody's")
    (root / "d1/1.txt").chmod(0o600)
    (root / "d0/2.txt").replace(root / "d0/other.txt")
    (root / "d0/2.txt").symlink_to("other.txt")
    done = bring_back(folder, pack, undos)
    assert sorted(done.conflicts or {}) == ["d0/0.txt", "d0/2.txt", "d1/1.txt"]
    assert (root / "d0/0.txt").read_text() == "somebody's" and (root / "d0/other.txt").read_text() == "new 2"
    assert (root / "d1/3.txt").read_text() == "old 3"


def test_what_was_seen_counts_only_for_the_content_that_is_expected(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    folder, pack = Folder(str(root)), Pack(tmp_path / "pack")
    write(root, "old")
    old = images(folder, PackTarget(pack, "t", max_bytes=1 << 20))
    write(root, "new")
    [undo] = previewed(folder, pack, [Undo(old[0], images(folder)[0])])
    wrong = replace(undo, expected=replace(old[0], hash="0" * 64))
    assert list(bring_back(folder, pack, [wrong]).conflicts or {}) == ["d0/0.txt"]
    assert undo.target.kind is PathKind.FILE and (root / "d0/0.txt").read_text() == "new 0"


@proves("SNAP-4")
async def test_a_stopped_restore_is_recorded_and_goes_on_when_it_is_restored_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restoring, "BATCH_PATHS", 2)
    async with recorded(tmp_path, few_paths=2) as server:
        write(server.root, "old")
        (server.root / "d0/0.txt").unlink()
        (server.root / "d0/0.txt").mkdir()
        was = whole(server.root)
        paths = [f"d{number % 2}/{number}.txt" for number in range(FILES)]

        def effect() -> None:
            (server.root / "d0/0.txt").rmdir()
            write(server.root, "new")
            (server.root / "d1/1.txt").unlink()
            (
                server.root / "d1/1.txt"
            ).mkdir()  # it stands in the way of the file, so both go and come before a stop counts

        before = await server.change(paths, effect)
        now = whole(server.root)
        real = restoring._RestoreRun.put_all
        host = Principal("host", PrincipalKind.MCP_HOST, "Host", AccessLevel.ADMIN)
        asked: list[bool] = []

        def stopping(run: object, undos: list[Undo]) -> None:
            real(run, undos)  # type: ignore[arg-type]  # it is one
            asked.append(server.cli.stop(host, CHAT) or server.cli.stop(ANN, CHAT))

        events: list[NewEvent] = []
        monkeypatch.setattr(server.database.journal, "show_event", lambda _, event: events.append(event))
        monkeypatch.setattr(restoring._RestoreRun, "put_all", stopping)
        answer = await server.restore(before)
        assert asked == [True] and answer.done.left == 4 and len(answer.done.restored) == 2
        assert [event.body["restore"] for event in events] == [
            {"snapshot": before.id, "done": done, "total": FILES} for done in (0, 2, 2)
        ]
        assert all(found in (was[path], now[path]) for path, found in whole(server.root).items())
        assert server.cli.stop(ANN, CHAT) is False
        monkeypatch.setattr(restoring._RestoreRun, "put_all", real)
        assert answer.undo_snapshot is not None
        again = await server.restore(before)
        assert again.done.left == 0 and len(again.done.restored) == 4 and whole(server.root) == was
        await server.restore(answer.undo_snapshot)
        assert whole(server.root) == now
