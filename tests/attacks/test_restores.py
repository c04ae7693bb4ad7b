"""Attempts to make a restore write, delete or read outside, touch git, hang, or be wished for by someone who may not."""

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from anycowork.chats.files.rollback import RollbackRequest
from anycowork.domain.chats import Chat, ChatConfig
from anycowork.domain.errors import NotAllowed, NotKept, OutsideWorkspace, RestoreConflict, ToolFault
from anycowork.domain.journal import AddChat, Change
from anycowork.domain.people import AccessLevel
from anycowork.domain.principals import Principal, PrincipalKind
from anycowork.domain.values import replace
from anycowork.store.sql.snapshots import from_stored, to_stored
from support.checkpoints import ANN, CHAT, recorded, whole
from support.spec import proves
from support.stored import CLOCK


@proves("SNAP-2", "TOOL-3")
async def test_a_folder_replaced_by_a_link_leads_no_restore_outside(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        (server.root / "d").mkdir()
        (server.root / "d" / "a.txt").write_text("old")
        before = await server.change(["d/a.txt"], lambda: (server.root / "d" / "a.txt").write_text("new"))
        (server.root / "d").rename(server.root / "elsewhere")
        (server.bench.outside / "a.txt").write_text("new")
        (server.root / "d").symlink_to(server.bench.outside)
        for requested in ({}, {"overwrite": ("d/a.txt", "d")}):
            with pytest.raises(RestoreConflict):
                await server.restore(before, **requested)
        assert (server.bench.outside / "a.txt").read_text() == "new"


@proves("SNAP-2", "TOOL-3")
async def test_a_file_replaced_by_a_link_is_replaced_itself_never_its_target(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        (server.root / "a.txt").write_text("old")
        before = await server.change(["a.txt"], lambda: (server.root / "a.txt").write_text("new"))
        (server.bench.outside / "secret").write_text("new")
        (server.root / "a.txt").unlink()
        (server.root / "a.txt").symlink_to(server.bench.outside / "secret")
        with pytest.raises(RestoreConflict):
            await server.restore(before)
        await server.restore(before, overwrite=("a.txt",))
        assert (server.root / "a.txt").read_text() == "old" and not (server.root / "a.txt").is_symlink()
        assert (server.bench.outside / "secret").read_text() == "new"


@proves("SNAP-2", "TOOL-3")
async def test_a_file_replaced_by_a_hard_link_is_replaced_by_name_only(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        (server.root / "a.txt").write_text("old")
        before = await server.change(["a.txt"], lambda: (server.root / "a.txt").write_text("new"))
        (server.bench.outside / "other").write_text("new")
        (server.root / "a.txt").unlink()
        os.link(server.bench.outside / "other", server.root / "a.txt")
        await server.restore(before)
        assert (server.root / "a.txt").read_text() == "old"
        assert (server.bench.outside / "other").read_text() == "new"


@proves("SNAP-2")
async def test_a_pipe_in_the_place_of_a_file_neither_hangs_nor_is_replaced(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        (server.root / "a.txt").write_text("old")
        before = await server.change(["a.txt"], (server.root / "a.txt").unlink)
        os.mkfifo(server.root / "a.txt")
        for requested in ({}, {"overwrite": ("a.txt",)}):
            with pytest.raises(RestoreConflict, match=r"a\.txt"):
                await server.restore(before, **requested)
        assert (server.root / "a.txt").is_fifo()


async def test_a_pipe_is_never_imaged(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        (server.root / "d").mkdir()
        os.mkfifo(server.root / "d" / "pipe")
        with pytest.raises(ToolFault, match="pipe"):
            await server.begin(["d"])


@proves("SNAP-2/6", "TOOL-3")
@pytest.mark.parametrize("path", ["../outside/planted", "/../../planted", ".git/config", "d/.GIT/hooks/x", "a/../../x"])
async def test_a_forged_row_reaches_nothing_outside_nor_git(tmp_path: Path, path: str) -> None:
    async with recorded(tmp_path) as server:
        (server.root / ".git").mkdir()
        (server.root / "d").mkdir()
        (server.root / "a.txt").write_text("planted")
        before = await server.change(["a.txt"], (server.root / "a.txt").unlink)
        await server.database.writer.run(lambda connection: _forge(connection, path))
        was, outside = whole(server.root), whole(tmp_path / "outside")
        try:
            await server.restore(before, overwrite=(path,))
        except (RestoreConflict, OutsideWorkspace):
            pass
        assert whole(server.root) == was and list((server.root / ".git").iterdir()) == []
        assert whole(tmp_path / "outside") == outside and not (tmp_path / "planted").exists()
        assert not (tmp_path / "x").exists() and list((server.root / "d").iterdir()) == []


def _forge(connection: sqlite3.Connection, path: str) -> None:
    for id_, stored in connection.execute("SELECT id, images FROM snapshots").fetchall():
        images = [replace(image, path=path) for image in from_stored(stored)]
        connection.execute("UPDATE snapshots SET images = ? WHERE id = ?", (to_stored(images), id_))


@proves("SNAP-3")
async def test_a_huge_sparse_file_is_refused_by_its_size_without_being_read(tmp_path: Path) -> None:
    async with recorded(tmp_path, quota=1_000_000) as server:
        with (server.root / "huge.bin").open("wb") as file:
            file.truncate(1 << 42)
        with pytest.raises(NotKept):
            await server.begin(["huge.bin"])
        assert server.snapshots._pack.size == 0


async def test_the_root_and_paths_that_climb_out_are_never_imaged(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        (server.bench.outside / "secret").write_text("secret")
        assert (await server.begin([".", "/"])).images == ()
        with pytest.raises(OutsideWorkspace):
            await server.begin(["../outside/secret"])


@proves("SNAP-2")
@pytest.mark.parametrize("kind", [PrincipalKind.CLIENT_KEY, PrincipalKind.MCP_HOST, PrincipalKind.WORKER])
async def test_only_a_person_goes_back(tmp_path: Path, kind: PrincipalKind) -> None:
    async with recorded(tmp_path) as server:
        (server.root / "a.txt").write_text("old")
        before = await server.change(["a.txt"], lambda: (server.root / "a.txt").write_text("new"))
        with pytest.raises(NotAllowed):
            await server.cli.restore(Principal("x", kind, "X", AccessLevel.ADMIN), CHAT, before.id, RollbackRequest())
        assert (server.root / "a.txt").read_text() == "new"


@proves("SNAP-2", "SNAP-5/3")
@pytest.mark.parametrize("then", [None, "ours again"])
async def test_a_restore_names_what_another_chat_changed_before_it_is_lost(tmp_path: Path, then: str | None) -> None:
    async with recorded(tmp_path) as server:
        (server.root / "a.txt").write_text("old")
        (server.root / "b.txt").write_text("old")
        before = await server.change(["a.txt"], lambda: (server.root / "a.txt").write_text("mine"))
        await server.change(["b.txt"], lambda: (server.root / "b.txt").write_text("mine"))
        other = Chat("c2", "Another chat", str(server.root), ChatConfig("actor"), created_at=CLOCK.now())
        await server.database.journal.write(Change("c2", (AddChat(other, ANN.label()),)))
        await server.change(["a.txt"], lambda: (server.root / "a.txt").write_text("theirs"), chat_id="c2")
        if then:
            await server.change(["a.txt"], lambda: (server.root / "a.txt").write_text(then))
        looked = await server.restore(before, dry_run=True)
        assert "another chat" in (looked.done.conflicts or {})["a.txt"] and "b.txt" not in (looked.done.conflicts or {})
        with pytest.raises(RestoreConflict, match=r"a\.txt"):
            await server.restore(before)
        assert (server.root / "a.txt").read_text() == (then or "theirs") and (
            server.root / "b.txt"
        ).read_text() == "mine"
        await server.restore(before, overwrite=("a.txt",))
        assert (server.root / "a.txt").read_text() == "old"


@proves("SNAP-2", "SNAP-5/3")
async def test_no_command_decides_that_its_own_victims_are_not_kept(tmp_path: Path) -> None:
    """Only what git ignored and did not track before the command goes unkept, and only in folders that a person listed."""
    async with recorded(tmp_path, unkept_folders=("target",)) as server:
        for folder in ("target", "src", "build/target"):
            (server.root / folder).mkdir(parents=True)
            (server.root / folder / "mine.txt").write_text("by hand")
        for words in (["init", "-q"], ["add", "-f", "target"]):
            subprocess.run(["git", *words], cwd=server.root, check=True, timeout=30)
        for attempt in (
            "echo 'build/' > .gitignore; echo lost > build/target/mine.txt",
            "echo 'build/' > .gitignore; rm -r build",
            "printf '*\n' > build/target/.gitignore; echo lost > build/target/mine.txt",
            "printf '*\n' > .gitignore; git rm -rq --cached .; echo lost > target/mine.txt",
            "printf '*\n' > .gitignore; rm -r target; mv src target",
        ):
            was = whole(server.root)
            before = await server.command(attempt)
            assert before is not None and before.unkept() == [], attempt
            await server.restore(before, overwrite=(".gitignore",))
            assert whole(server.root) == was, attempt
        assert await server.command("printf '*\n' > .gitignore; git rm -rq --cached .") is not None
        then = await server.command("echo lost > src/mine.txt; echo lost > build/mine.txt")
        assert then is not None and then.unkept() == []  # ignored by now, and still no folder that a person listed
