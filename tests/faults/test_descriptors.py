"""A process that has no descriptor left, at any step of a commit, a scan or a restore: nothing is lost, and the reason is named."""

import gc
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from anycowork.checkpoints import snapshots
from anycowork.checkpoints.pack import Pack
from anycowork.domain.errors import ToolFault
from anycowork.domain.tools import CallStatus
from anycowork.sandbox.commit import transaction
from anycowork.sandbox.commit.transaction import CommitFailed
from support.checkpoints import recorded, whole
from support.nested_repositories import WHO, make_repositories
from support.spec import proves
from support.tool_workspace import ToolWorkspace, tree

_PATH = os.O_PATH | os.O_CLOEXEC


@contextmanager
def descriptors_left(number: int) -> Iterator[None]:
    """The process can open that many more, and no other, until the block ends."""
    held = [os.open("/", _PATH) for _ in range(number)]
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    filled = [os.open("/", _PATH)]
    while filled[-1] < highest:
        filled.append(os.open("/", _PATH))
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (filled[-1] + 1, hard))
    for fd in held:
        os.close(fd)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        for fd in filled:
            os.close(fd)


@pytest.fixture
def bench(tmp_path: Path) -> ToolWorkspace:
    for name in ("workspace", "outside"):
        (tmp_path / name).mkdir()
    return ToolWorkspace(tmp_path / "workspace", tmp_path / "outside")


COMMAND = (
    "for f in src/*/*.txt; do echo new >> $f; done; rm -r gone; mkdir -p made/deep; "
    "for i in 1 2 3 4 5 6 7 8 9; do echo made > made/deep/$i; done; rm b; mkdir b; echo in > b/inner; ln -s a link"
)


def _fill(bench: ToolWorkspace) -> None:
    for number in range(60):
        bench.write(f"src/{number % 5}/{number}.txt", "old\n")
    for number in range(3):
        bench.write(f"gone/deep/{number}.txt", "old\n")
    bench.write("b", "b\n")


def _starved(work: Callable[..., object], left: int) -> Callable[..., object]:
    def starved(*given: object, **more: object) -> object:
        with descriptors_left(left):
            return work(*given, **more)

    return starved


@proves("SNAP-4", "OPS-2")
@pytest.mark.parametrize("left", range(8))
async def test_commit_without_descriptors_is_made_whole_or_not_at_all(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    """It must not say that somebody else changed the files."""
    _fill(bench)
    before = tree(bench.root)
    with monkeypatch.context() as patched:
        patched.setattr(transaction, "apply", _starved(transaction.apply, left))
        try:
            await bench.call("execute_command", command=COMMAND)
            assert left > 1 and tree(bench.root)["src/0/0.txt"] == b"old\nnew\n"
            return
        except CommitFailed as failed:
            assert (
                "The system refused what the command changed (Too many open files): none of it was made"
                in failed.message
            )
    assert tree(bench.root) == before
    [kept] = (bench.root.parent / "data/staging/kept").iterdir()
    assert tree(kept / "upper")["made/deep/9"] == b"made\n"
    assert (await bench.call("execute_command", command=COMMAND)).status is CallStatus.OK


@proves("SNAP-4", "OPS-2")
@pytest.mark.parametrize("left", range(8))
async def test_scan_without_descriptors_keeps_nothing_and_says_why(
    bench: ToolWorkspace, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    _fill(bench)
    before = tree(bench.root)
    with monkeypatch.context() as patched:
        patched.setattr(transaction.Transaction, "look", _starved(transaction.Transaction.look, left))
        result = await bench.call("execute_command", command=COMMAND)
    if result.status is CallStatus.OK:
        assert left > 2 and tree(bench.root)["src/0/0.txt"] == b"old\nnew\n"
        return
    assert "could not be read (Too many open files" in result.content and "'None'" not in result.content
    assert tree(bench.root) == before


@proves("SNAP-4", "OPS-2")
@pytest.mark.parametrize("few_paths", [200, 1], ids=["few", "many"])
@pytest.mark.parametrize("step", ["preview_restore", "bring_back"])
@pytest.mark.parametrize("left", range(6))
async def test_restore_without_descriptors_loses_no_kept_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: int, few_paths: int, step: str
) -> None:
    async with recorded(tmp_path, few_paths=few_paths) as server:
        _fill(server.bench)
        was = whole(server.root)
        before = await server.command(COMMAND)
        assert before is not None
        with monkeypatch.context() as patched:
            patched.setattr(snapshots, step, _starved(getattr(snapshots, step), left))
            try:
                answer = await server.restore(before)
                assert all("Too many open files" in reason for reason in (answer.done.conflicts or {}).values())
            except ToolFault as fault:
                assert "Too many open files" in fault.message and step == "preview_restore"
        await server.snapshots.forget_unneeded()
        answer = await server.restore(before)
        assert not answer.done.conflicts and whole(server.root) == was


@proves("SNAP-4", "OPS-2")
def test_content_that_cannot_be_opened_now_is_not_forgotten(tmp_path: Path) -> None:
    """A sweep would delete it for good."""
    pack = Pack(tmp_path / "pack", own_file_bytes=100)
    contents = [b"small", b"large" * 100]
    digests = [pack.put(contents[0])]
    (tmp_path / "large").write_bytes(contents[1])
    with (tmp_path / "large").open("rb") as file:
        digests.append(pack.put_file(file.fileno(), most=1_000)[0])
    pack.sync()
    for digest in digests:
        with descriptors_left(0), pytest.raises(OSError, match="Too many open files"):
            pack.read(digest)
    pack.sweep(set(digests), most=1_000)
    assert [pack.read(digest) for digest in digests] == contents


@contextmanager
def many_open(number: int) -> Iterator[None]:
    """As in a server with that many connections."""
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(most, 2 * number), hard), hard))
    opened = [os.open("/", _PATH) for _ in range(number)]
    try:
        yield
    finally:
        for fd in opened:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def open_below(folder: Path) -> list[str]:
    """Where this process's descriptors lead to, of those that lead into the folder."""
    targets: list[str] = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one that lists them
            targets.append(str(link.readlink()))
    return sorted(target for target in targets if target.startswith(str(folder)))


@proves("OPS-2")
async def test_a_command_runs_beside_more_descriptors_than_select_takes(bench: ToolWorkspace) -> None:
    with many_open(1_100):
        result = await bench.call("execute_command", command="echo here > made; cat made")
    assert result.status is CallStatus.OK and result.content.startswith("here"), result.content
    assert (bench.root / "made").read_text() == "here\n"


async def test_commands_and_restores_leave_no_descriptor_open_until_a_garbage_collection(tmp_path: Path) -> None:
    async with recorded(tmp_path) as server:
        make_repositories(server.root, tmp_path / "upstream")
        before = await server.command("echo 1 > new")  # what is opened once for all
        assert before is not None
        await server.restore(before)
        gc.collect()
        gc.disable()
        try:
            opened = open_below(tmp_path)
            for number in range(3):
                before = await server.command(
                    f"{WHO} echo {number}x | tee new sub/a.txt; cd sub && git commit -qam {number}"
                )
                assert before is not None
                assert (await server.restore(before)).done.restored == ("sub/a.txt",)
            assert open_below(tmp_path) == opened
        finally:
            gc.enable()
