"""What a person does to the same files while a command's changes are scanned, recorded and made, or while a restore writes. Nothing is lost."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest

from anycowork.checkpoints import restore as restoring
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.snapshots import ReplacedFile, RestorePreview, Snapshot
from anycowork.domain.tools import CallStatus, Intent
from anycowork.sandbox.commit import delta_scan
from support.checkpoints import ANN, CHAT, recorded
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

FAR_AWAY = 7_258_118_400  # the year 2200
LARGE = 1 << 17  # bytes: more than a scan remembers of a file


@pytest.fixture
def bench(tmp_path: Path) -> ToolWorkspace:
    for name in ("workspace", "outside"):
        (tmp_path / name).mkdir()
    return ToolWorkspace(tmp_path / "workspace", tmp_path / "outside")


@proves("SNAP-5/3")
@pytest.mark.parametrize("edit", ["edits a file", "adds a file"])
@pytest.mark.parametrize("command", ["rm -r src", "rm -r src; echo now a file > src"])
async def test_what_a_person_does_deep_in_a_folder_that_is_about_to_be_removed_stays(
    bench: ToolWorkspace, command: str, edit: str
) -> None:
    for number in range(40):
        bench.write(f"src/deep/{number}.txt", "old\n")
    path = "src/deep/7.txt" if edit == "edits a file" else "src/deep/new.txt"

    async def intend(intent: Intent, replaced: Mapping[str, ReplacedFile]) -> None:
        bench.write(path, "a person's own words\n")  # everything is kept for undo by now

    context = bench.tool_context(intend=intend)
    result = await bench.call("execute_command", context, command=command)
    assert result.status is CallStatus.ERROR and "somebody changed it at that very moment: 'src'" in result.content
    assert "Changed" not in result.content and result.facts["files"] == []
    found = tree(bench.root)
    assert found.pop(path) == b"a person's own words\n" and len(found) == 2 + 40 - (edit == "edits a file")
    assert not [name for name in found if name.endswith(".tmp")]


@proves("SNAP-5/3")
@pytest.mark.parametrize(
    "command", ["tr a b < large > l; cat l > large; rm l", "rm large", "rm large; ln -s else large"]
)
async def test_a_file_that_a_person_edits_while_it_is_scanned_is_a_conflict(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    bench.write("large", "a" * LARGE)
    hash_of, edits = delta_scan.hash_of, iter([True])

    def slow_hash(fd: int, size: int) -> str:
        if next(edits, False):
            (bench.root / "large").write_text("p" * LARGE)  # in place, as many editors do
        return hash_of(fd, size)

    monkeypatch.setattr(delta_scan, "hash_of", slow_hash)
    result = await bench.call("execute_command", command=command)
    assert result.status is CallStatus.ERROR and "somebody else changed what it changed too: 'large'" in result.content
    assert tree(bench.root) == {"large": b"p" * LARGE}


@proves("SNAP-5/3")
async def test_a_small_file_that_a_person_edits_between_looking_and_reading_is_left_alone(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mine.txt", "other.txt"):
        bench.write(name, "old\n")
    both_marks, edits = delta_scan._both_marks, iter([True])

    def late_marks(staged: int, size: int, lower: int, old_size: int) -> tuple[str, str, bytes | None]:
        if next(edits, False):
            (bench.root / "mine.txt").write_text("own\n")  # as long as before: only its time tells
        return both_marks(staged, size, lower, old_size)

    monkeypatch.setattr(delta_scan, "_both_marks", late_marks)
    result = await bench.call("execute_command", command="echo new > mine.txt; echo new > other.txt")
    assert result.status is CallStatus.ERROR and "somebody changed it at that very moment: 'mine.txt'" in result.content
    assert tree(bench.root) == {"mine.txt": b"own\n", "other.txt": b"new\n"}


@proves("TOOL-4")
@pytest.mark.parametrize("when", [0, FAR_AWAY])
async def test_times_of_1970_and_2200_are_no_conflict(bench: ToolWorkspace, when: int) -> None:
    bench.write("src/old.txt", "old\n")
    for place in ("src/old.txt", "src", "."):
        os.utime(bench.root / place, (when, when))
    result = await bench.call("execute_command", command="echo new > src/new.txt; echo new > src/old.txt; mkdir -p a/b")
    assert result.status is CallStatus.OK
    assert tree(bench.root) == {
        "a": "folder",
        "a/b": "folder",
        "src": "folder",
        "src/new.txt": b"new\n",
        "src/old.txt": b"new\n",
    }


@proves("SNAP-4")
@pytest.mark.parametrize("kind", ["file", "link"])
@pytest.mark.parametrize("few", [True, False], ids=["few files", "many files"])
async def test_what_a_person_makes_where_a_restore_is_about_to_write_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: bool, kind: Literal["file", "link"]
) -> None:
    async with recorded(tmp_path) as server:
        number = 3 if few else 60
        (server.root / "swapped").write_text("was a file\n")
        for each in range(number):
            (server.root / f"{each}.txt").write_text("old\n")
        before = await server.command("rm *.txt swapped; mkdir swapped; echo in > swapped/inner")
        assert before is not None
        write = restoring._RestoreRun._write  # a person acts after each content was written

        def and_a_person(self: object, parent: int, name: str, target: object, **more: object) -> None:
            write(self, parent, name, target, **more)  # type: ignore[arg-type]
            for path in ("swapped", "1.txt"):
                place = server.root / path
                if not place.exists() and not place.is_symlink():
                    place.write_text("a person's\n") if kind == "file" else place.symlink_to("elsewhere")

        monkeypatch.setattr(restoring._RestoreRun, "_write", and_a_person)
        answer = await server.restore(before)
        assert {"1.txt", "swapped"} <= set(answer.done.conflicts or {})
        found = tree(server.root)
        assert {found.pop("swapped"), found.pop("1.txt")} == {b"a person's\n" if kind == "file" else "-> elsewhere"}
        assert len(found) == number - 1 and set(found.values()) == {b"old\n"}


@proves("TOOL-4")
async def test_a_stop_while_files_are_kept_for_undo_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise everything that a large command wrote would stay in the data folder until the next start."""
    before_commit, reached = Snapshots.before_commit, asyncio.Event()

    async def slowly(self: Snapshots, *given: object, **more: object) -> Snapshot:
        await before_commit(self, *given, **more)  # type: ignore[arg-type]
        reached.set()
        return await asyncio.Future()

    monkeypatch.setattr(Snapshots, "before_commit", slowly)
    replies = [call("execute_command", command="echo new > a.txt; mkdir made; touch made/b"), "Done."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "old\n"}) as client:
        chat = await client.chat()
        rule = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", body=rule, expect=201)
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            turn = tasks.create_task(chat.send("change it"))
            await reached.wait()
            await client.ask("POST", f"{chat.path}/stop", {})
            await turn
        [result] = await chat.results()
        assert result["status"] == "cancelled" and tree(client.workspace) == {"a.txt": b"old\n"}
        [runs] = [folder for folder in tmp_path.rglob("runs") if folder.is_dir()]
        assert list(runs.iterdir()) == []


@proves("SNAP-4")
async def test_a_restore_that_is_stopped_while_it_looks_at_the_files_changes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preview, reached, go_on = Snapshots.preview, asyncio.Event(), asyncio.Event()

    async def slowly(self: Snapshots, *given: object, **more: object) -> RestorePreview:
        reached.set()
        await go_on.wait()
        return await preview(self, *given, **more)  # type: ignore[arg-type]

    async with recorded(tmp_path) as server:
        (server.root / "a.txt").write_text("old\n")
        before = await server.command("echo new > a.txt; echo made > b.txt")
        assert before is not None
        monkeypatch.setattr(Snapshots, "preview", slowly)
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            restore = tasks.create_task(server.restore(before))
            await reached.wait()
            assert server.cli.stop(ANN, CHAT)
            go_on.set()
        assert restore.result().done.left == 2 and not restore.result().done.deleted
        assert tree(server.root) == {"a.txt": b"new\n", "b.txt": b"made\n"}
        assert not server.cli.stop(ANN, CHAT)
        again = await server.restore(before)
        assert again.done.left == 0 and tree(server.root) == {"a.txt": b"old\n"}
