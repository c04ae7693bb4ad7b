"""A task reaches nothing but its own layer and what lies beneath it, by no path, no command and no entry that it makes in it."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from anycowork.domain.errors import AnyCoworkError, BadWorkspace, ToolFault
from support.attempts import Attempts
from support.spec import proves
from support.task_places import KINDS, LAYERS, TaskPlaces
from support.tool_workspace import tree

SECRET = "of somebody else"


@pytest.fixture(params=KINDS)
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TaskPlaces]:
    found = TaskPlaces(tmp_path, request.param)
    found.write("a.txt", "a\n")
    found.write("sub/b.txt", "b\n")
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    yield found


@proves("JOB-10", "SEC-4")
async def test_file_tools_of_a_task_reach_nothing_but_what_it_sees(places: TaskPlaces, attempts: Attempts) -> None:
    other = await places.create()
    await places.call(other, "create_file", path="secret.txt", content=SECRET)
    held, upper = places.folder(other).jail, Path(other).parent / "upper"
    links = {
        "to_outside": places.base / "outside",
        "to_other": upper,
        "to_descriptor": f"/proc/self/fd/{held.fd}",
        "to_root": "/proc/self/root" + str(places.base / "outside"),
        "up": "../outside",
    }
    for name, target in links.items():
        (places.root / name).symlink_to(target)
    (places.root / "hard").hardlink_to(places.base / "outside" / "secret.txt")
    task = await places.create()
    outside, before, others = dict(tree(places.base / "outside")), dict(tree(places.root)), places.tree(other)
    roots = {name: name for name in (*links, "..", "../..")} | {
        "its layer": str(upper),
        "its name": other,
        "its descriptor": f"/proc/self/fd/{held.fd}",
        "through the root of the process": f"/proc/{os.getpid()}/root{upper}",
    }

    async def attempt(name: str) -> None:
        case = roots[name]
        shown = ""
        for tool, more in (
            ("read_file", {"path": f"{case}/secret.txt"}),
            ("list_directory", {"path": case}),
            ("create_file", {"path": f"{case}/evil.txt", "content": "x"}),
            ("delete_file", {"path": f"{case}/secret.txt"}),
            ("move_file", {"path": f"{case}/secret.txt", "to": "mine.txt"}),
            ("move_file", {"path": "a.txt", "to": f"{case}/a.txt"}),
            ("grep", {"pattern": "somebody", "path": case}),
        ):
            try:
                shown += (await places.call(task, tool, **more)).content
            except AnyCoworkError as refused:
                assert SECRET not in refused.message
        assert SECRET not in shown and "secret.txt" not in shown, shown

    await attempts.each(roots, attempt)
    assert (dict(tree(places.base / "outside")), places.tree(other)) == (outside, others)
    await places.call(task, "read_file", path="hard")
    with contextlib.suppress(AnyCoworkError):  # in a copy it is a file of its own
        await places.call(task, "update_file", path="hard", edits=[{"find": "of", "replace": "x"}])
    await places.run(task, "echo x > hard")
    assert (places.base / "outside" / "secret.txt").read_text() == SECRET
    assert dict(tree(places.root)) == before


MADE_BY_HAND = {
    "a whiteout": "os.mknod('w', stat.S_IFCHR, 0); os.mknod('sub/w', stat.S_IFCHR, 0)",
    "a whiteout in place of a file": "os.unlink('a.txt'); os.mknod('a.txt', stat.S_IFCHR, 0)",
    "an opaque folder": "os.setxattr('sub', 'user.overlay.opaque', b'y')",
    "an opaque folder of its own": "os.mkdir('own'); os.setxattr('own', 'user.overlay.opaque', b'y')",
    "a redirected folder": "os.mkdir('own'); os.setxattr('own', 'user.overlay.redirect', b'/../../../../outside')",
    "a file of another": "open('own', 'w'); os.setxattr('own', 'user.overlay.metacopy', b''); os.setxattr('own', 'user.overlay.redirect', b'/x')",
    "a device of a disk": "os.mknod('disk', stat.S_IFBLK | 0o666, os.makedev(254, 0))",
    "a device of memory": "os.mknod('memory', stat.S_IFCHR | 0o666, os.makedev(1, 1))",
    "a program that runs as its owner": "open('run', 'w').write('x'); os.chmod('run', 0o6755)",
    "a link out": "os.symlink('/', 'out'); os.symlink('../../../../..', 'up')",
    "a pipe and a socket": "os.mkfifo('pipe'); import socket; socket.socket(socket.AF_UNIX).bind('socket')",
    "a closed folder": "os.mkdir('closed'); open('closed/f', 'w').write('f'); os.chmod('closed', 0)",
    "a name that is no text": "open(b'\\xff', 'w')",
    "another mount": "import ctypes; libc = ctypes.CDLL(None); libc.unshare(0x10020000); libc.mount(b'none', b'sub', b'tmpfs', 0, None)",
    "the layers by name": "print([open(f'{top}/{name}').read() for top, _, names in os.walk('/') for name in names if name == 'secret.txt'])",
    "the layers in the list of mounts": "print([os.listdir(path) for line in open('/proc/self/mountinfo') for path in line.replace(':', ' ')"
    ".replace(',', ' ').replace('=', ' ').split() if path.startswith('/') and 'copies' in path and os.path.isdir(path)])",
}


@proves("JOB-10", "SEC-4")
async def test_nothing_that_a_tasks_command_makes_gets_out_of_its_layer(places: TaskPlaces, attempts: Attempts) -> None:
    other = await places.create()
    await places.call(other, "create_file", path="secret.txt", content=SECRET)
    outside, before, others = dict(tree(places.base / "outside")), dict(tree(places.root)), places.tree(other)

    async def attempt(case: str) -> None:
        task = await places.create()
        shown = (
            await places.run(task, f'/usr/bin/python3 -c "import os, stat; {MADE_BY_HAND[case]}"; echo mine > mine.txt')
        ).content
        seen = places.tree(task)
        assert SECRET not in shown and "secret.txt" not in str(seen), shown
        assert "special" not in seen.values(), "no device, pipe or whiteout is an entry of it"
        modes = [path.lstat().st_mode for path in Path(places.folder_path(places.folder(task))).rglob("*")]
        assert not any(mode & (stat.S_ISUID | stat.S_ISGID) for mode in modes if not stat.S_ISDIR(mode))
        try:
            later = await places.create(task)  # whatever lies in the layer now lies beneath another one
        except ToolFault:
            assert places.of_kind != LAYERS, "only a copy cannot be made of what nobody may read"
            return
        assert places.tree(later) == seen
        assert SECRET not in (await places.run(later, "cat * sub/* own/* 2> /dev/null")).content
        for one in (later, task):
            await places.tasks.remove(one)

    await attempts.each(MADE_BY_HAND, attempt)
    assert (dict(tree(places.base / "outside")), dict(tree(places.root)), places.tree(other)) == (
        outside,
        before,
        others,
    )


@proves("JOB-10", "SEC-4")
async def test_layer_whose_folders_were_replaced_by_links_is_not_mounted(tmp_path: Path, attempts: Attempts) -> None:
    """Only who may write in the data folder can do that, or a person in the folder above the workspace."""
    places = TaskPlaces(tmp_path, LAYERS)
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)

    async def attempt(name: str) -> None:
        task = await places.create()
        places.workspaces.mounts.end(task)
        replaced = places.root if name == "workspace" else Path(task).parent / name
        replaced.rename(aside := replaced.with_name("aside"))
        replaced.symlink_to(tmp_path / "outside")
        with pytest.raises(BadWorkspace):
            places.folder(task)
        replaced.unlink()
        aside.rename(replaced)
        assert "secret.txt" not in places.tree(task)

    await attempts.each(["upper", "work", "view", "workspace"], attempt)
    assert sorted(dict(tree(tmp_path / "outside"))) == ["secret.txt"]


@proves("JOB-10")
async def test_jail_of_a_task_that_is_over_leads_nowhere(tmp_path: Path) -> None:
    """Its descriptor has a number that another file could get."""
    places = TaskPlaces(tmp_path, LAYERS)
    task = await places.create()
    context = places.context(task)
    await places.tasks.remove(task)
    opened = [os.open(tmp_path, os.O_RDONLY) for _ in range(8)]
    try:
        for tool, path in (("read_file", "workspace/a.txt"), ("create_file", "workspace/evil.txt")):
            with pytest.raises(AnyCoworkError):
                await places.bench.call(tool, context, path=path, **({"content": "x"} if tool == "create_file" else {}))
    finally:
        for fd in opened:
            os.close(fd)
    assert list(places.root.iterdir()) == []


async def test_nothing_in_a_layer_is_started_or_has_a_device(tmp_path: Path) -> None:
    """The server itself goes into a layer by its descriptor: what a task makes there must be no more than content."""
    places = TaskPlaces(tmp_path, LAYERS)
    flags = os.fstatvfs(places.folder(await places.create()).jail.fd).f_flag
    for forbidden in (os.ST_NOSUID, os.ST_NODEV, os.ST_NOEXEC):
        assert flags & forbidden


PLANTED = {
    "a link instead of the folder": "rm -r sub; ln -s {outside} sub",
    "a link instead of the file": "ln -sf {outside}/secret.txt sub/b.txt",
    "a link to the folder above": "rm -r sub; ln -s .. sub",
    "a link in the removed folder": "mkdir -p sub/in; ln -s {outside} sub/in/out; ln -s {outside}/secret.txt sub/in/file",
    "a loop of links": "rm -r sub; ln -s sub sub",
    "a pipe instead of the file": "rm sub/b.txt; mkfifo sub/b.txt || true",
    "a closed folder": "chmod 000 sub || true",
}


@proves("JOB-10", "SEC-4")
async def test_keeping_what_a_task_sees_follows_nothing_that_it_has_planted(tmp_path: Path, attempts: Attempts) -> None:
    """Whoever changes the workspace writes into the tasks' layers first, with the server's rights."""
    places = TaskPlaces(tmp_path, LAYERS)
    places.write("sub/b.txt", "b\n")
    (outside := tmp_path / "outside").joinpath("secret.txt").write_text(SECRET)

    def state() -> tuple[object, ...]:
        found = ((path, path.lstat()) for path in (outside, outside / "secret.txt", places.root, places.root / "sub"))
        times = [(str(path), seen.st_mtime_ns, seen.st_ctime_ns, seen.st_mode) for path, seen in found]
        return times, dict(tree(outside)), dict(tree(places.root))

    before = state()

    async def attempt(case: str) -> None:
        task = await places.create()
        await places.run(task, PLANTED[case].format(outside=outside))
        seen = places.tree(task)
        await places.workspaces.layers.hold(
            str(places.root), ["sub", "sub/b.txt", "sub/new/n.txt", "sub/in/out/secret.txt", "link/x"], ["sub"]
        )
        await places.workspaces.layers.hide(str(places.root), ["secret.txt"])
        assert state() == before and SECRET not in str(places.tree(task)), "nothing outside the layer was touched"
        assert places.tree(task) == seen
        await places.tasks.remove(task)

    await attempts.each(PLANTED, attempt)
