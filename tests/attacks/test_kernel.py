"""Attempts with the door, the jail and the tools' own checks out of the way: what is left is the kernel's word.

Every attempt is also made on a thread that nobody holds, where it succeeds: so it is the holding that stops it.
"""

import asyncio
import errno
import os
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from anycowork.domain.errors import ToolFault
from anycowork.domain.roles import Role
from anycowork.permissions.roles import BUILT_IN
from anycowork.workspace.folder import Folder
from anycowork.workspace.landlock import Access, landlock_abi
from anycowork.workspace.landlock_threads import changing, is_held, reading
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

pytestmark = pytest.mark.skipif(not is_held(Access.REFER), reason="this kernel does not offer Landlock")

REFUSALS = {errno.EACCES, errno.EPERM, errno.EXDEV}
ROLES = {role.name: role.permissions for role in BUILT_IN}
READERS = [Role.PLANNER, Role.REVIEWER, Role.COMMANDER, Role.TESTER]


def set_up(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "empty").mkdir()
    (folder / "old").write_text("old")
    (folder / "other").write_text("other")


def opened(path: Path, flags: int, *, dir_fd: int | None = None) -> None:
    os.close(os.open(path, flags, 0o600, dir_fd=dir_fd))


def through_a_folder_held_open(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        opened(Path("old"), os.O_WRONLY, dir_fd=fd)
    finally:
        os.close(fd)


def through_the_descriptor_of_a_reader(folder: Path) -> None:
    fd = os.open(folder / "old", os.O_RDONLY)
    try:
        opened(Path(f"/proc/self/fd/{fd}"), os.O_WRONLY)
    finally:
        os.close(fd)


def on_a_thread_of_its_own(folder: Path) -> None:
    failed: list[OSError] = []

    def write() -> None:
        try:
            opened(folder / "old", os.O_WRONLY)
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]


def by_a_program(folder: Path) -> None:
    subprocess.run(["/bin/sh", "-c", "echo new > old"], cwd=folder, check=True, timeout=60)


def unnamed(folder: Path) -> None:
    opened(folder, os.O_TMPFILE | os.O_WRONLY)


@dataclass(frozen=True)
class Attempt:
    name: str
    do: Callable[[Path], object]

    def __str__(self) -> str:
        return self.name


CHANGES_OF_WHAT_IS_THERE = [
    Attempt("open to write", lambda at: opened(at / "old", os.O_WRONLY)),
    Attempt("open to read and write", lambda at: opened(at / "old", os.O_RDWR)),
    Attempt("open to append", lambda at: opened(at / "old", os.O_WRONLY | os.O_APPEND)),
    Attempt("open and empty", lambda at: opened(at / "old", os.O_WRONLY | os.O_TRUNC)),
    Attempt("open to read and empty", lambda at: opened(at / "old", os.O_RDONLY | os.O_TRUNC)),
    Attempt("truncate", lambda at: os.truncate(at / "old", 1)),
    Attempt("unlink", lambda at: (at / "old").unlink()),
    Attempt("rmdir", lambda at: (at / "empty").rmdir()),
    Attempt("rename", lambda at: (at / "old").rename(at / "new")),
    Attempt("rename into another folder", lambda at: (at / "old").rename(at / "sub/new")),
    Attempt("rename over another file", lambda at: (at / "other").rename(at / "old")),
    Attempt("rename a folder", lambda at: (at / "sub").rename(at / "new")),
    Attempt("a folder held open", through_a_folder_held_open),
    Attempt("a reader's descriptor", through_the_descriptor_of_a_reader),
    Attempt("a thread of its own", on_a_thread_of_its_own),
    Attempt("a program", by_a_program),
]
NEW_KINDS = [
    Attempt("symlink", lambda at: (at / "new").symlink_to("old")),
    Attempt("pipe", lambda at: os.mkfifo(at / "new")),
    Attempt("a file without a name", unnamed),
]
NEW_THINGS = [
    Attempt("create", lambda at: opened(at / "new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)),
    Attempt("create to read", lambda at: opened(at / "new", os.O_RDONLY | os.O_CREAT)),
    Attempt("mkdir", lambda at: (at / "new").mkdir()),
    Attempt("hard link", lambda at: (at / "new").hardlink_to(at / "old")),
    Attempt("hard link into another folder", lambda at: (at / "sub/new").hardlink_to(at / "old")),
]
ATTEMPTS = [*CHANGES_OF_WHAT_IS_THERE, *NEW_KINDS, *NEW_THINGS]
each_attempt = pytest.mark.parametrize("attempt", ATTEMPTS, ids=str)
anywhere = pytest.mark.parametrize("where", ["inside", "outside"])


@pytest.fixture
def furnished(bench: ToolWorkspace) -> ToolWorkspace:
    set_up(bench.root)
    set_up(bench.outside)
    return bench


def folder_at(bench: ToolWorkspace, where: str) -> Path:
    return bench.root if where == "inside" else bench.outside


async def refused(bench: ToolWorkspace, role: str, attempt: Attempt, at: Path) -> bool:
    """Whether the kernel stops this role's thread from doing it, and nothing at all has changed."""
    before = tree(bench.root), tree(bench.outside)
    try:
        await changing(Folder(str(bench.root)), ROLES[role], lambda: attempt.do(at))
    except OSError as error:
        assert error.errno in REFUSALS
        assert (tree(bench.root), tree(bench.outside)) == before
        return True
    return False


@each_attempt
@anywhere
async def test_on_a_thread_that_nobody_holds_the_attempt_succeeds(
    furnished: ToolWorkspace, attempt: Attempt, where: str
) -> None:
    try:
        await asyncio.to_thread(attempt.do, folder_at(furnished, where))
    except OSError as error:
        pytest.fail(f"stopped by something else than the holding: {error}")


@proves("PER-4", "ROL-5/1")
@each_attempt
@anywhere
async def test_a_planner_changes_nothing_anywhere(furnished: ToolWorkspace, attempt: Attempt, where: str) -> None:
    assert await refused(furnished, Role.PLANNER, attempt, folder_at(furnished, where))


@proves("PER-4")
@each_attempt
async def test_looking_changes_nothing_whatever_the_role(furnished: ToolWorkspace, attempt: Attempt) -> None:
    before = tree(furnished.root)
    with pytest.raises(OSError) as caught:
        await reading(lambda: attempt.do(furnished.root))
    assert caught.value.errno in REFUSALS and tree(furnished.root) == before


@proves("ROL-5/4")
@pytest.mark.parametrize("attempt", [*CHANGES_OF_WHAT_IS_THERE, *NEW_KINDS], ids=str)
async def test_a_designer_changes_nothing_that_is_there(furnished: ToolWorkspace, attempt: Attempt) -> None:
    assert await refused(furnished, Role.DESIGNER, attempt, furnished.root)


@proves("ROL-5/2")
@each_attempt
@pytest.mark.parametrize("role", [Role.DESIGNER, Role.ACTOR])
async def test_a_role_that_changes_files_does_so_in_its_workspace_alone(
    furnished: ToolWorkspace, role: str, attempt: Attempt
) -> None:
    assert await refused(furnished, role, attempt, furnished.outside)


@pytest.mark.parametrize("role", [Role.DESIGNER, Role.ACTOR])
async def test_nothing_is_carried_over_the_workspaces_edge(furnished: ToolWorkspace, role: str) -> None:
    out = Attempt("link out", lambda at: (at / "stolen").hardlink_to(furnished.root / "old"))
    into = Attempt("link in", lambda at: (furnished.root / "planted").hardlink_to(at / "old"))
    for attempt in (out, into):
        assert await refused(furnished, role, attempt, furnished.outside)


@pytest.mark.skipif(landlock_abi() < 4, reason="this kernel's Landlock does not know the network")
async def test_a_held_thread_reaches_no_network(bench: ToolWorkspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        for work in (lambda: socket.create_connection(address, 5), lambda: socket.create_server(("127.0.0.1", 0))):
            with pytest.raises(PermissionError):
                await changing(Folder(str(bench.root)), ROLES[Role.ACTOR], lambda work=work: work().close())
        await asyncio.to_thread(lambda: socket.create_connection(address, 5).close())


# --- the tools themselves, with a call that was prepared for somebody who may

CALLS: list[tuple[str, dict[str, JsonValue]]] = [
    ("create_file", {"path": "sub/new", "content": "new"}),
    ("create_file", {"path": "further/new", "content": "new"}),
    ("update_file", {"path": "old", "edits": [{"find": "old", "replace": "new"}]}),
    ("move_file", {"path": "old", "to": "sub/moved"}),
    ("move_file", {"path": "sub", "to": "moved"}),
    ("delete_file", {"path": "old"}),
    ("delete_file", {"path": "empty"}),
]


@proves("PER-4")
@pytest.mark.parametrize("tool, parameters", CALLS)
@pytest.mark.parametrize("role", READERS)
async def test_a_tool_that_gets_past_the_gate_is_stopped_by_the_kernel(
    furnished: ToolWorkspace, role: str, tool: str, parameters: dict[str, JsonValue]
) -> None:
    before = tree(furnished.root)
    prepared = await furnished.prepare(tool, None, **parameters)
    with pytest.raises(ToolFault, match="operating system does not allow"):
        await furnished.run(prepared, furnished.tool_context(permissions=ROLES[role]))
    assert tree(furnished.root) == before
    await furnished.run(prepared)  # who may, can
    assert tree(furnished.root) != before


@proves("ROL-5/4")
@pytest.mark.parametrize("tool, parameters", [call for call in CALLS if call[0] != "create_file"])
async def test_a_designer_past_the_gate_can_still_only_create(
    furnished: ToolWorkspace, tool: str, parameters: dict[str, JsonValue]
) -> None:
    before = tree(furnished.root)
    prepared = await furnished.prepare(tool, None, **parameters)
    with pytest.raises(ToolFault, match="operating system does not allow"):
        await furnished.run(prepared, furnished.tool_context(permissions=ROLES[Role.DESIGNER]))
    after = tree(furnished.root)
    # A file that may be made and not written is made, empty, before its opening is refused: creating is what a designer may.
    assert {name: after.get(name) for name in before} == before


@proves("ROL-5/4")
@pytest.mark.parametrize("path", ["new.md", "sub/new.md", "docs/deep/new.md"])
async def test_a_designer_creates_files_and_their_folders(furnished: ToolWorkspace, path: str) -> None:
    await furnished.call(
        "create_file", furnished.tool_context(permissions=ROLES[Role.DESIGNER]), path=path, content="# New\n"
    )
    assert (furnished.root / path).read_text() == "# New\n"
    assert (furnished.root / path).stat().st_nlink == 1
