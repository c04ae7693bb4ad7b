"""Threads under Landlock: what each ABI holds, who is held and who is not, and what happens where there is none."""

import asyncio
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anycowork.domain.errors import FileExists, ToolFault
from anycowork.domain.roles import Permission
from anycowork.server.setup.sandbox_setup import set_up_sandbox
from anycowork.workspace import landlock_threads
from anycowork.workspace.folder import Folder
from anycowork.workspace.landlock import NOTHING, Access, Ruleset, handled, landlock_abi
from anycowork.workspace.landlock_threads import access_for, changing, creating, is_held, reading
from support.spec import proves

needs_landlock = pytest.mark.skipif(not is_held(Access.REFER), reason="this kernel does not offer Landlock")
READ = frozenset({Permission.READ_FILES})
DESIGNER = READ | {Permission.CREATE_FILES}
ALL = frozenset(Permission)
AN_ORDINARY_USER = 12345


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    root = tmp_path / "workspace"
    root.mkdir()
    return Folder(str(root))


@pytest.fixture
def new_threads() -> Iterator[None]:
    """For tests that change what threads are made of."""
    landlock_threads._pools.cache_clear()
    yield
    landlock_threads._pools.cache_clear()


def names_in(folder: Folder, path: str) -> list[str]:
    return folder.jail.names(folder.jail.place(path))


def on_a_thread(work: Callable[[], object]) -> OSError | None:
    failed: list[OSError] = []

    def run() -> None:
        try:
            work()
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return failed[0] if failed else None


def test_an_older_kernel_is_asked_only_for_what_it_knows() -> None:
    assert Access.REFER not in handled(1) and Access.MAKE_SYM in handled(1)
    assert Access.REFER in handled(2) and Access.TRUNCATE not in handled(2)
    assert Access.TRUNCATE in handled(3) and Access.IOCTL_DEV not in handled(4)
    assert handled(5) == handled(7) == handled(99)


def test_reading_is_never_taken_away() -> None:
    read_file, read_folder = 1 << 2, 1 << 3
    assert not handled(99) & (read_file | read_folder)


@needs_landlock
@pytest.mark.parametrize("abi", range(1, 8))
def test_the_rules_of_every_abi_hold(tmp_path: Path, abi: int) -> None:
    if abi > landlock_abi():
        pytest.skip("this kernel is older")

    def attempt() -> None:
        Ruleset(NOTHING, -1, abi=abi).restrict_this_thread()
        (tmp_path / "new").write_text("new")

    assert isinstance(on_a_thread(attempt), PermissionError)
    assert not (tmp_path / "new").exists()


def test_permissions_ask_the_kernel_for_no_more_than_their_tools_need() -> None:
    assert access_for(READ) == access_for(READ | {Permission.EXECUTE_COMMANDS}) == NOTHING
    assert not access_for(DESIGNER) & (Access.WRITE_FILE | Access.REMOVE_FILE | Access.REMOVE_DIR | Access.TRUNCATE)
    never = (
        Access.EXECUTE | Access.MAKE_CHAR | Access.MAKE_BLOCK | Access.MAKE_SOCK | Access.MAKE_FIFO | Access.MAKE_SYM
    )
    assert not access_for(ALL) & never


@needs_landlock
@proves("PER-4")
async def test_only_the_tools_own_threads_are_held(folder: Folder) -> None:
    target = Path(folder.root, "new")
    for number in range(40):  # more than the sixteen domains that a thread could stack
        with pytest.raises(PermissionError):
            await reading(lambda: target.write_text("held"))
        await asyncio.to_thread(target.write_text, f"free {number}")
    target.write_text("the loop's own thread is free")
    assert await reading(target.read_text) == "the loop's own thread is free"


@needs_landlock
async def test_one_workspaces_threads_do_not_write_in_another(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = Folder(str(tmp_path / "second"))
    for here, there in ((folder, second), (second, folder)):
        await changing(here, ALL, Path(here.root, "own").touch)
        with pytest.raises(PermissionError):
            await changing(here, ALL, Path(there.root, "others").touch)


@needs_landlock
async def test_more_workspaces_than_pools_all_get_their_threads(tmp_path: Path) -> None:
    roots = [tmp_path / f"workspace {number}" for number in range(landlock_threads._MOST_POOLS + 4)]
    for root in roots * 2:
        root.mkdir(exist_ok=True)
        await changing(Folder(str(root)), ALL, (root / "new").touch)
    assert all((root / "new").exists() for root in roots)


@needs_landlock
@proves("ROL-5/4")
async def test_who_may_only_create_never_overwrites(folder: Folder) -> None:
    place = folder.writable("sub/new")
    await creating(folder, DESIGNER, place, b"first")
    with pytest.raises(FileExists):
        await creating(folder, DESIGNER, place, b"second")
    assert Path(folder.root, "sub/new").read_bytes() == b"first"
    assert names_in(folder, "sub") == ["new"]


@needs_landlock
async def test_a_created_file_has_the_mode_and_owner_of_any_other(folder: Folder) -> None:
    await creating(folder, DESIGNER, folder.writable("by designer"), b"x")
    await creating(folder, ALL, folder.writable("by actor"), b"x")
    one, other = (Path(folder.root, name).stat() for name in ("by designer", "by actor"))
    assert (one.st_mode, one.st_uid, one.st_gid) == (other.st_mode, other.st_uid, other.st_gid)


@needs_landlock
async def test_a_file_system_without_nameless_files_still_holds_creating_to_the_workspace(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    await creating(folder, DESIGNER, folder.writable("sub/new"), b"new")
    assert names_in(folder, "sub") == ["new"]
    with pytest.raises(ToolFault):
        await creating(folder, READ, folder.writable("sub/other"), b"new")
    assert names_in(folder, "sub") == ["new"]


@pytest.mark.usefixtures("new_threads")
async def test_without_landlock_the_tools_work_on_plain_threads(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock_threads, "landlock_abi", lambda: 0)  # a kernel that has none
    assert not is_held()
    await creating(folder, DESIGNER, folder.writable("new"), b"new")
    await changing(folder, ALL, Path(folder.root, "new").unlink)
    assert await reading(lambda: names_in(folder, ".")) == []


@needs_landlock
@pytest.mark.usefixtures("new_threads")
async def test_a_thread_that_cannot_be_held_does_nothing_and_the_next_call_tries_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Path(folder.root, "new")
    with monkeypatch.context() as broken:
        broken.setattr("anycowork.workspace.landlock._RESTRICT_SELF", 100_000)  # a call that no kernel knows
        with pytest.raises(ToolFault, match="refused to restrict"):
            await changing(folder, ALL, target.touch)
    assert not target.exists()
    await changing(folder, ALL, target.touch)
    assert target.exists()


def test_the_level_says_whether_file_tools_are_held(tmp_path: Path) -> None:
    found = set_up_sandbox(tmp_path)
    said = found.enforces if is_held(Access.REFER) else found.does_not
    assert sum("file tools" in line for line in said) == 1
    assert sum("file tools" in line for line in (*found.enforces, *found.does_not)) == 1


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="already an ordinary user: every other test shows it")
@proves("PER-4", "ROL-5/1")
def test_an_ordinary_user_is_held_like_root() -> None:
    root = Path(tempfile.mkdtemp())  # pytest's own folders are root's alone
    try:
        os.chown(root, AN_ORDINARY_USER, AN_ORDINARY_USER)
        told = in_a_child_of_an_ordinary_user(lambda: asyncio.run(tried_by_all_roles(root)))
        assert told == {
            "uid": AN_ORDINARY_USER,
            "free": "done",
            "read": "refused",
            "designer": "refused",
            "all": "done",
        }
        assert (root / "designed").stat().st_uid == AN_ORDINARY_USER
    finally:
        shutil.rmtree(root)


async def tried_by_all_roles(root: Path) -> dict[str, object]:
    folder, target = Folder(str(root)), root / "old"

    async def tried(permissions: frozenset[Permission]) -> str:
        try:
            await changing(folder, permissions, lambda: target.write_text("changed"))
        except PermissionError:
            return "refused"
        return "done"

    target.write_text("old")
    await creating(folder, DESIGNER, folder.writable("designed"), b"new")
    told = {"read": await tried(READ), "designer": await tried(DESIGNER), "all": await tried(ALL)}
    return {"uid": os.geteuid(), "free": "done", **told}


def in_a_child_of_an_ordinary_user(work: Callable[[], object]) -> object:
    """In a forked child: the interpreter itself may lie where that user cannot start it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(AN_ORDINARY_USER)
            os.setuid(AN_ORDINARY_USER)
            landlock_threads._pools.cache_clear()
            os.write(writer, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told)
