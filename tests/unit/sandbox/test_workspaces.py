import asyncio
from pathlib import Path

import pytest

from anycowork.domain.errors import BadWorkspace
from anycowork.sandbox.workspaces import Workspaces, check_root, under_a_root
from support.spec import proves


class Leases:
    def __init__(self) -> None:
        self.taken: list[str] = []

    async def take(self, root: str) -> int:
        self.taken.append(root)
        return len(self.taken)


async def test_open_gives_the_real_folder_and_refuses_what_is_none(tmp_path: Path) -> None:
    workspaces: Workspaces = Workspaces(Leases().take)
    (tmp_path / "real").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real/inner").mkdir()
    assert workspaces.open(str(tmp_path / "real")).root == str(tmp_path / "real")
    for bad in ("missing", "file", "a\0b", "link", "link/inner", "real/../real"):
        with pytest.raises(BadWorkspace):
            workspaces.open(str(tmp_path / bad))


@proves("TOOL-3")
async def test_one_writer_at_a_time_under_whatever_name_the_folder_goes(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    leases = Leases()
    workspaces = Workspaces(leases.take)
    inside, most, waiting = 0, 0, asyncio.Event()

    async def write(name: str) -> None:
        nonlocal inside, most
        async with workspaces.writing(str(tmp_path / name)):
            inside += 1
            most = max(most, inside)
            waiting.set()
            for _ in range(10):
                await asyncio.sleep(0)
            inside -= 1

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        for name in ("real", "link", "real", "link"):
            tasks.create_task(write(name))
    assert most == 1 and leases.taken == [str(tmp_path / "real")] * 4


async def test_writers_of_different_folders_are_inside_together(tmp_path: Path) -> None:
    workspaces = Workspaces(Leases().take)
    barrier = asyncio.Barrier(2)

    async def write(name: str) -> None:
        (tmp_path / name).mkdir()
        async with workspaces.writing(str(tmp_path / name)):
            await barrier.wait()

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        tasks.create_task(write("a"))
        tasks.create_task(write("b"))
    assert barrier.n_waiting == 0


@proves("TOOL-3")
@pytest.mark.parametrize("first", ["a", "a/b"])
async def test_a_folder_and_one_inside_it_are_never_written_in_together(tmp_path: Path, first: str) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "ab").mkdir()
    workspaces = Workspaces(Leases().take)
    second = "a/b" if first == "a" else "a"
    order: list[str] = []

    async def write(name: str) -> None:
        async with workspaces.writing(str(tmp_path / name)):
            order.append(name)

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks, workspaces.writing(str(tmp_path / first)):
        waiting = [tasks.create_task(write(name)) for name in (second, "ab")]
        await waiting[1]  # a neighbour whose name begins alike is not held up
        assert order == ["ab"]
    assert order == ["ab", second]


@proves("TOOL-3")
async def test_who_gives_up_waiting_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    workspaces = Workspaces(Leases().take)

    async def write(name: str) -> None:
        async with workspaces.writing(str(tmp_path / name)):
            pass

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        async with workspaces.writing(str(tmp_path / "a/b")):
            outer = tasks.create_task(write("a"))
            await asyncio.sleep(0)
            last = tasks.create_task(write("a/b"))
            await asyncio.sleep(0)
            outer.cancel()
        await last
    assert outer.cancelled()


async def test_a_writer_that_fails_or_is_cancelled_lets_the_next_one_in(tmp_path: Path) -> None:
    workspaces = Workspaces(Leases().take)
    with pytest.raises(RuntimeError):
        async with workspaces.writing(str(tmp_path)):
            raise RuntimeError
    async with asyncio.timeout(60), workspaces.writing(str(tmp_path)) as epoch:
        assert epoch == 2


@proves("TOOL-3")
def test_the_root_the_home_and_everything_around_the_data_folder_are_no_workspaces(tmp_path: Path) -> None:
    home, data, good = tmp_path / "home", tmp_path / "home/x/data", tmp_path / "home/project"
    (data / "deep").mkdir(parents=True)
    good.mkdir()
    (home / "sneaky").symlink_to("x/data")
    for bad in (
        "/",
        home,
        data,
        data / "deep",
        home / "x",
        tmp_path,
        home / "sneaky",
        home / "project/..",
        home / "missing",
    ):
        with pytest.raises(BadWorkspace):
            check_root(bad, home=home, data_dir=data)
    assert check_root(good, home=home, data_dir=data) == good
    assert check_root(good, home=home, data_dir=home / "not-made-yet") == good


def test_under_a_root_resolves_links_first(tmp_path: Path) -> None:
    (tmp_path / "root/inner").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "root/out").symlink_to(tmp_path / "other")
    roots = [tmp_path / "root"]
    assert under_a_root(tmp_path / "root", roots) and under_a_root(tmp_path / "root/inner", roots)
    assert not under_a_root(tmp_path / "root/out", roots) and not under_a_root(tmp_path / "root2", roots)
    assert not under_a_root(tmp_path, []) and not under_a_root(tmp_path, roots)


@proves("TOOL-3")
def test_a_root_that_became_a_link_registers_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "other/inner").mkdir(parents=True)
    (tmp_path / "root").symlink_to("other")
    assert not under_a_root(tmp_path / "root", [tmp_path / "root"])
    assert not under_a_root(tmp_path / "other/inner", [tmp_path / "root"])
