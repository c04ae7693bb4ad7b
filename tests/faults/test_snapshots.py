"""Snapshots and restores when the process dies between any two writes, or the disk takes no more."""

import asyncio
import os
import resource
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from anycowork.domain.errors import NotKept
from anycowork.workspace import syscalls
from support.checkpoints import CHAT, Recorded, recorded, whole
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves

WRITES = ("rename", "unlink", "pwrite", "fsync", "fdatasync", "symlink", "mkdir", "rmdir", "fchmod", "ftruncate")


def dies_at(number: int, *, torn: bool = False) -> None:
    """From now on this process ends just before its write of this number; `torn` if half of the bytes are written by then."""
    left = [number]

    def counted(write: Callable[..., object]) -> Callable[..., object]:
        def or_die(*given: object, **named: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                if torn and len(given) > 1 and isinstance(given[1], bytes | memoryview):
                    write(given[0], given[1][: len(given[1]) // 2], *given[2:], **named)
                os._exit(9)
            return write(*given, **named)

        return or_die

    for name in WRITES:
        setattr(os, name, counted(getattr(os, name)))
    syscalls.rename_without_replacing = counted(syscalls.rename_without_replacing)  # type: ignore[assignment]  # a write too


def in_a_child(work: Callable[[], object]) -> int:
    """The exit code: 9 if it died as told, 0 if it came to its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


async def prepared(folder: Path) -> None:
    """Some changes of every kind, to be taken back."""
    async with recorded(folder) as server:
        root = server.root
        (root / "a.txt").write_text("old")
        (root / "d").mkdir()
        (root / "d" / "e.txt").write_text("in d")
        (root / "link").symlink_to("a.txt")
        await server.change(["a.txt"], lambda: (root / "a.txt").write_text("new"))
        await server.change(["d"], lambda: shutil.rmtree(root / "d"))
        await server.change(["link"], (root / "link").unlink)
        await server.change(
            ["made/new.txt"], lambda: ((root / "made").mkdir(), (root / "made/new.txt").write_text("n"))
        )


async def restore_first(folder: Path) -> None:
    async with recorded(folder) as server:
        listed, _ = await server.database.store.snapshots.page(CHAT, limit=50)
        await server.restore(listed[0])


def each_death(tmp_path: Path, work: Callable[[Path], object], *, torn: bool = False) -> list[Path]:
    """The folders in which the work died at its first, second, … write; the last one came to its end."""
    asyncio.run(prepared(tmp_path / "template"))
    folders = []
    for number in range(200):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "template", folder, symlinks=True)
        _move_records(folder, tmp_path / "template")

        def run(folder: Path = folder, number: int = number) -> None:
            dies_at(number, torn=torn)
            work(folder)

        code = in_a_child(run)
        folders.append(folder)
        if code == 0:
            return folders
        assert code == 9
    raise AssertionError("it never came to an end")


def _move_records(folder: Path, template: Path) -> None:
    """The copied workspace is another folder: the records follow it."""
    connection = sqlite3.connect(folder / "data" / "anycowork.db")
    for table, column in (("snapshots", "workspace"), ("chats", "workspace"), ("workspaces", "root")):
        connection.execute(
            f"UPDATE {table} SET {column} = ? WHERE {column} = ?",
            (str(folder / "workspace"), str(template / "workspace")),
        )
    connection.commit()
    connection.close()


@pytest.fixture(scope="module")
def killed_restores(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The template, and the folders of `each_death` of a restore. Shared: work on copies."""
    base = tmp_path_factory.mktemp("killed")
    return [base / "template", *each_death(base, lambda folder: asyncio.run(restore_first(folder)))]


def copied(folder: Path, to: Path) -> Path:
    target = to / folder.name
    shutil.copytree(folder, target, symlinks=True)
    _move_records(target, folder)
    return target


@proves("SNAP-2")
def test_a_restore_killed_between_any_two_writes_leaves_the_old_or_the_new_tree(
    tmp_path: Path, killed_restores: list[Path]
) -> None:
    template, *killed = killed_restores
    folders = [copied(folder, tmp_path) for folder in killed]
    old, new = whole(template / "workspace"), whole(folders[-1] / "workspace")
    assert len(folders) > 15 and set(new) == {"a.txt", "d", "d/e.txt", "link"}
    outcomes = []
    for folder in folders:
        said = asyncio.run(_settled(folder))
        outcomes.append(whole(folder / "workspace"))
        assert outcomes[-1] in (old, new), folder.name
        assert len(said) == (outcomes[-1] == new) and all(
            "restored" in words or "as it was" in words for words in said
        ), folder.name
    assert old in outcomes, "before it was written down nothing had happened"
    assert new in outcomes[:-1], "once it was written down it is finished"


async def _settled(folder: Path) -> list[str]:
    """The next start; what was said of restores."""
    async with recorded(folder) as server:
        assert await server.database.store.snapshots.unfinished_restores() == []
        assert await server.database.store.audit.verify_chat(CHAT) is None
        told = [message.content for message in await server.database.store.messages.all(CHAT)]
    return [words.removeprefix("Files were restored to an earlier state: ").rstrip(".") for words in told]


@proves("SNAP-2")
def test_what_a_person_changes_after_a_restore_was_killed_anywhere_stays_and_is_told(
    tmp_path: Path, killed_restores: list[Path]
) -> None:
    template, *killed = killed_restores
    folders = [copied(folder, tmp_path) for folder in killed]
    old, new = whole(template / "workspace"), whole(folders[-1] / "workspace")
    finished = 0
    for folder in folders[:-1]:
        (folder / "workspace" / "a.txt").write_text("the person's own")
        said = asyncio.run(_settled(folder))
        found = whole(folder / "workspace")
        assert found["a.txt"][1] == b"the person's own", folder.name
        rest = {path: what for path, what in found.items() if path != "a.txt"}
        begun = rest == {path: what for path, what in new.items() if path != "a.txt"}
        assert begun or rest == {path: what for path, what in old.items() if path != "a.txt"}, folder.name
        assert len(said) == begun and all("'a.txt'" in words or "left unchanged" not in words for words in said)
        finished += any("1 left unchanged ('a.txt': it is not as it was left" in words for words in said)
    assert finished > 5, "a conflict was met, left alone and told"


def test_a_restore_that_cannot_be_finished_holds_no_start_up_and_is_tried_again(
    tmp_path: Path, killed_restores: list[Path]
) -> None:
    _, *folders = killed_restores
    begun = copied(next(folder for folder in folders[:-1] if _is_unfinished(folder)), tmp_path)
    pack = next((begun / "data" / "snapshots").glob("*.pack"))
    aside = pack.rename(begun / "aside")

    async def start() -> int:
        async with recorded(begun) as server:
            return len(await server.database.store.snapshots.unfinished_restores())

    assert asyncio.run(start()) == 1, "its contents are gone, and it waits"
    aside.rename(pack)
    assert asyncio.run(start()) == 0
    assert whole(begun / "workspace") == whole(folders[-1] / "workspace")


def _is_unfinished(folder: Path) -> bool:
    with sqlite3.connect(folder / "data" / "anycowork.db") as connection:
        rows = connection.execute("SELECT moment FROM snapshots").fetchall()
    connection.close()
    moments = [moment for (moment,) in rows]
    return moments.count("meant") > 0 and moments.count("before") > moments.count("after")


async def test_what_a_person_changed_before_a_killed_restore_is_settled_stays(tmp_path: Path) -> None:
    await prepared(tmp_path)

    def killed() -> None:
        async def begin_only() -> None:
            async with recorded(tmp_path) as server:
                server.snapshots.restore = _die  # type: ignore[method-assign]  # the moment between intent and effect
                listed, _ = await server.database.store.snapshots.page(CHAT, limit=50)
                await server.restore(listed[0])

        asyncio.run(begin_only())

    assert await asyncio.to_thread(in_a_child, killed) == 9
    (tmp_path / "workspace" / "a.txt").write_text("the person's own")
    async with recorded(tmp_path) as server:
        assert (server.root / "a.txt").read_text() == "the person's own"
        assert (server.root / "d" / "e.txt").read_text() == "in d", "the rest was finished"
        told = (await server.database.store.messages.all(CHAT))[-1]
        assert told.payload is not None and told.payload["restore"]["conflicts"] == ["a.txt"]


async def _die(*_: object) -> object:
    os._exit(9)


@proves("SNAP-3")
@pytest.mark.parametrize("torn", [False, True], ids=["between writes", "within a write"])
def test_a_pack_killed_anywhere_opens_again_and_keeps_what_was_recorded(tmp_path: Path, torn: bool) -> None:
    async def more_changes(folder: Path) -> None:
        async with recorded(folder) as server:
            root = server.root
            await server.change(["a.txt"], lambda: (root / "a.txt").write_text("newer"))
            await server.change(["made"], lambda: shutil.rmtree(root / "made"))

    folders = each_death(tmp_path, lambda folder: asyncio.run(more_changes(folder)), torn=torn)
    assert len(folders) > 4
    for folder in folders:
        asyncio.run(restore_first_wherever(folder))
        assert set(whole(folder / "workspace")) >= {"a.txt", "d", "d/e.txt", "link"}, folder.name
        assert (folder / "workspace" / "a.txt").read_text() == "old"


async def restore_first_wherever(folder: Path) -> None:
    """A call that was killed has no `after` here: nobody settled its turn, so its paths are named on purpose."""
    async with recorded(folder) as server:
        listed, _ = await server.database.store.snapshots.page(CHAT, limit=50)
        await server.restore(listed[0], overwrite=("a.txt", "made", "made/new.txt"))


def test_a_full_disk_fails_the_change_cleanly_and_the_pack_goes_on(tmp_path: Path) -> None:
    async def work() -> None:
        async with recorded(tmp_path) as server:
            (server.root / "small.txt").write_text("small")
            (server.root / "large.bin").write_bytes(b"\0large" * 100_000)
            (server.root / "own.bin").write_bytes(os.urandom(5_000_000))
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))  # as if the disk ended there
            await _refused(server, "large.bin")
            await _refused(server, "own.bin")
            before = await server.change(["small.txt"], (server.root / "small.txt").unlink)
            await server.restore(before)
            assert (server.root / "small.txt").read_text() == "small"
            assert list((tmp_path / "data" / "snapshots").glob("*.tmp")) == []

    assert in_a_child(lambda: asyncio.run(work())) == 0


async def _refused(server: Recorded, path: str) -> None:
    with pytest.raises(NotKept, match="Nothing was changed"):
        await server.begin([path])
    assert (server.root / path).exists()


@proves("SNAP-1")
async def test_a_call_whose_images_cannot_be_kept_is_not_made_and_the_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "snapshots").write_text("a file where a folder should be")
    replies = [
        call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]),
        call("read_file", path="a.txt"),
    ]
    async with live_server(tmp_path, replies=[*replies, "It could not be kept."], files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        await chat.send("change it")
        await chat.decide()
        result = (await chat.results())[0]
        assert result["status"] == "error" and result["error"]["code"] == "not_kept"
        assert (client.workspace / "a.txt").read_text() == "1\n"


@proves("SNAP-1")
async def test_a_call_ended_by_a_crash_can_be_undone_like_any_other(tmp_path: Path) -> None:
    async with live_server(tmp_path, files={"a.txt": "1\n"}) as client:
        chat = await client.chat()
        client.model.replies[:] = [call("update_file", path="a.txt", edits=[{"find": "1", "replace": "2"}]), "Done."]
        await chat.send("change it")
        await chat.decide()
    _forget_the_end(tmp_path / "data" / "anycowork.db")
    async with live_server(tmp_path) as client:
        listed = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        assert [each["moment"] for each in listed] == ["before", "after"], "looked at again when it was settled"
        await client.ask("POST", f"{chat.path}/snapshots/{listed[0]['id']}/restore", {}, expect=200)
        assert (client.workspace / "a.txt").read_text() == "1\n"


def _forget_the_end(database: Path) -> None:
    """As if the server had died after the effect and before its result."""
    connection = sqlite3.connect(database)
    connection.execute("DELETE FROM snapshots WHERE moment = 'after'")
    connection.execute("UPDATE calls SET state = 'intent', result = NULL")
    connection.execute("UPDATE turns SET state = 'running', reason = NULL")
    connection.execute("UPDATE chats SET state = 'running'")
    connection.commit()
    connection.close()
