"""A server that dies around a command's commit: before the intent nothing happened, after it the commit is finished."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from anycowork.app import start_services
from anycowork.config.settings import Settings
from anycowork.domain.ports import RolledForward
from anycowork.domain.tools import Intent, PathIntent
from anycowork.sandbox.commit import entries
from anycowork.sandbox.commit.transaction import CommitFailed, Transaction, finish
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.workspace import syscalls
from anycowork.workspace.jail import Jail
from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves
from support.tool_workspace import tree

COMMAND = "echo new > a.txt; rm -r old; mkdir -p d/e; echo 1 > d/e/f; ln -s a.txt link; echo x > was; rm was; mkdir was"
BEFORE = {"a.txt": "old\n", "old/x/y": "1", "old/z": "2", "was": "file", "mine": "mine"}
AFTER = {
    "a.txt": b"new\n",
    "d": "folder",
    "d/e": "folder",
    "d/e/f": b"1\n",
    "link": "-> a.txt",
    "mine": b"mine",
    "was": "folder",
}


class Cut(BaseException):
    """The power goes here."""


@pytest.fixture
def staging(tmp_path: Path) -> Staging:
    return Staging(tmp_path / "data/staging", tmp_path / "data/shared")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return furnished(tmp_path / "workspace")


@pytest.fixture
def far_root(tmp_path: Path) -> Iterator[Path]:
    """A workspace on another file system than the data folder; nobody needs to mount anything for it."""
    if not os.access("/dev/shm", os.W_OK) or Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here that everybody may write to")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield furnished(Path(folder, "workspace"))


def furnished(root: Path) -> Path:
    for path, content in BEFORE.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    return root


def intended(root: Path, staging: Staging) -> tuple[Transaction, Intent]:
    """A transaction as a command would have left it, sealed and written down."""
    transaction = Transaction(staging.open(runner_for(str(root))), Jail(str(root)), staging)
    upper = transaction.stage.upper
    (upper / "a.txt").write_text("new\n")
    (upper / "d/e").mkdir(parents=True)
    (upper / "d/e/f").write_text("1\n")
    (upper / "link").symlink_to("a.txt")
    (upper / "was").mkdir()
    (upper / "old").mkdir()
    os.setxattr(upper / "old", "user.overlay.opaque", b"y")
    transaction.look()
    return transaction, transaction.intent(COMMAND)


# Each step of a commit that changes the disk; cut off before the n-th of them.
STEPS = ("rename", "mkdir", "unlink", "fchmod", "fsync", "rmdir")


@pytest.fixture
def cutting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Counts down at every step; at zero the power goes. Steps of others are not counted."""
    left = [-1]

    def counting(real: object) -> object:
        def step(*given: object, **named: object) -> object:
            if left[0] == 0:
                raise Cut
            left[0] -= 1
            return real(*given, **named)  # type: ignore[operator]

        return step

    with monkeypatch.context() as patched:
        for name in STEPS:
            patched.setattr(os, name, counting(getattr(os, name)))
        for module in (entries, syscalls):
            patched.setattr(module, "rename_without_replacing", counting(syscalls.rename_without_replacing))
        yield left


@proves("SNAP-4")
@pytest.mark.parametrize("steps", range(40))
def test_a_commit_cut_off_anywhere_is_finished_afterwards(
    root: Path, staging: Staging, cutting: list[int], steps: int
) -> None:
    transaction, intent = intended(root, staging)
    cutting[0] = steps
    try:
        transaction.commit()
    except Cut:
        pass
    cutting[0] = -1
    assert finish(staging, Jail(str(root)), intent) == RolledForward()
    found = dict(tree(root))
    assert found.pop("old", "folder") == "folder"  # an opaque folder stays, empty
    assert found == AFTER
    assert not list(root.rglob("*.tmp")) and intent.staged is not None and not Path(intent.staged).exists()


@proves("SNAP-4")
@pytest.mark.parametrize("steps", range(48))
def test_a_commit_to_another_file_system_cut_off_anywhere_is_finished_afterwards(
    far_root: Path, staging: Staging, cutting: list[int], steps: int
) -> None:
    test_a_commit_cut_off_anywhere_is_finished_afterwards(far_root, staging, cutting, steps)


@proves("SNAP-4", "OPS-2")
@pytest.mark.parametrize("refused", range(1, 8))
@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.ENOSPC, "disk has no room"), (errno.EDQUOT, "disk has no room"), (errno.EIO, "The disk refused what")],
)
def test_a_disk_that_refuses_before_the_first_move_has_changed_nothing(
    far_root: Path, staging: Staging, monkeypatch: pytest.MonkeyPatch, refused: int, number: int, says: str
) -> None:
    """The n-th thing that is written onto the workspace's disk finds no room: either nothing of it was made, or all of it is."""
    transaction, _ = intended(far_root, staging)
    before, writes = tree(far_root), [0]

    def limited(real: object) -> object:
        def step(*given: object, **named: object) -> object:
            writes[0] += 1
            if writes[0] == refused:
                raise OSError(number, os.strerror(number))
            return real(*given, **named)  # type: ignore[operator]

        return step

    monkeypatch.setattr(entries, "write_all", limited(entries.write_all))
    monkeypatch.setattr(entries, "copy", limited(entries.copy))
    try:
        transaction.commit()
    except CommitFailed as failed:
        assert says in failed.message and "none of it was made, and all of it is kept" in failed.message
        assert tree(far_root) == before
        [kept] = (staging.folders.private / "kept").iterdir()
        assert (kept / "upper/a.txt").read_text() == "new\n"
    else:
        assert writes[0] < refused and {**tree(far_root), "old": "folder"} == {**AFTER, "old": "folder"}


@proves("SNAP-4")
@pytest.mark.parametrize("steps", [0, 4, 9])
def test_what_a_person_changed_after_the_crash_is_a_conflict_and_stays(
    root: Path, staging: Staging, cutting: list[int], steps: int
) -> None:
    transaction, intent = intended(root, staging)
    cutting[0] = steps
    with pytest.raises(Cut):
        transaction.commit()
    cutting[0] = -1
    (root / "a.txt").write_text("the person's\n")
    (root / "link").unlink(missing_ok=True)
    (root / "link").write_text("also the person's\n")
    assert set(finish(staging, Jail(str(root)), intent).conflicts) == {"a.txt", "link"}
    assert (root / "a.txt").read_text() == "the person's\n" and (root / "d/e/f").read_text() == "1\n"
    assert (root / "link").read_text() == "also the person's\n"


@pytest.mark.parametrize("path", ["a.txt", "new.txt"])
def test_a_stage_that_is_not_ours_is_never_used(root: Path, staging: Staging, tmp_path: Path, path: str) -> None:
    """A backup names the stage of the server that it was made of, which may still be there, and need it."""
    planted = tmp_path / "planted/upper"
    planted.mkdir(parents=True)
    (planted / path).write_text("planted")
    before, after = sha256(b"old\n").hexdigest() if path == "a.txt" else None, sha256(b"planted").hexdigest()
    paths = (PathIntent(path, before, after, "file", 0o644),)
    intent = Intent(paths, "x", contained=True, staged=str(planted.parent))
    was = tree(root)
    assert finish(staging, Jail(str(root)), intent).conflicts == (path,)
    assert tree(root) == was and (planted / path).exists()


def test_a_sweep_removes_what_nobody_needs_and_keeps_what_is_kept(root: Path, staging: Staging) -> None:
    transaction, _ = intended(root, staging)
    other, _ = intended(root, staging)
    (other.stage.upper / "d").chmod(0)
    kept = staging.keep(transaction.stage.folder)
    assert staging.sweep() == 1 and kept.is_dir() and not other.stage.folder.exists()


@proves("SNAP-4")
async def test_a_server_killed_after_the_intent_finishes_the_commit_at_its_next_start(tmp_path: Path) -> None:
    """The real server in a child process, killed at the first rename; the next server settles the call."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("old\n")
    child = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", CHILD, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
        capture_output=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()[-2000:]
    assert (workspace / "a.txt").read_text() == "old\n"
    async with start_services(Settings(data_dir=tmp_path / "data", workspace=workspace), token="t") as server:
        [chat], _ = await server.database.store.chats.page(limit=5, cursor=None, q=None)
        results = [m for m in await server.database.store.messages.all(chat.id) if m.role.value == "tool"]
    assert [m.content for m in results] == ["'execute_command' was completed: its changes were finished afterwards."]
    assert (workspace / "a.txt").read_text() == "new\n"
    assert list((tmp_path / "data/staging/runs").iterdir()) == []


CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from anycowork.sandbox.commit import transaction
from support.live_server import live_server
from support.scripted_model import call

def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

transaction.apply = die

async def main(folder):
    async with live_server(folder, replies=[call("execute_command", command="echo new > a.txt")]) as client:
        chat = await client.chat()
        await chat.send("run it")
        [pending] = await chat.approvals()
        decision = {"decisions": [{"id": pending["id"], "decision": "allow_once"}]}
        await client.ask("POST", f"{chat.path}/approvals", decision)
        await asyncio.sleep(30)

asyncio.run(main(Path(sys.argv[1])))
"""


@proves("SNAP-4")
async def test_a_server_that_ends_while_a_command_runs_drops_its_changes(tmp_path: Path) -> None:
    replies = [call("execute_command", command="echo new > a.txt; echo on; sleep 600")]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "old\n"}) as client:
        chat = await client.chat()
        await chat.send("run it")
        [pending] = await chat.approvals()
        await client.ask(
            "POST", f"{chat.path}/approvals", {"decisions": [{"id": pending["id"], "decision": "allow_once"}]}
        )
        async with asyncio.timeout(60):
            # By the staging's own shape: walking everything would meet folders that are just being removed.
            while not list((tmp_path / "data/staging/runs").glob("*/upper/a.txt")):
                await asyncio.sleep(0.01)  # a process in a sandbox: there is no event to wait for
        workspace, chat_id = client.workspace, chat.id
    async with start_services(Settings(data_dir=tmp_path / "data", workspace=workspace), token="t") as server:
        results = [m for m in await server.database.store.messages.all(chat_id) if m.role.value == "tool"]
    assert len(results) == 1 and "none of its changes was kept" in results[0].content
    assert (workspace / "a.txt").read_text() == "old\n"
