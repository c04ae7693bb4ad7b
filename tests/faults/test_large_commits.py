"""A server killed in the middle of a commit or a restore of many files: afterwards it is finished, and every file is either old or new.

`make test-large` runs the same with 5,000 files and more kills.
"""

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from anycowork.checkpoints import restore as restoring
from anycowork.checkpoints.capture import ImageReader, PackTarget, path_of, touched
from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.restore import bring_back, clear_leftovers
from anycowork.domain.ports import RolledForward
from anycowork.domain.snapshots import PathImage, Undo
from anycowork.domain.tools import Intent
from anycowork.sandbox.commit import entries
from anycowork.sandbox.commit.transaction import Transaction, finish
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.layers.staging_folders import runner_for
from anycowork.workspace import syscalls
from anycowork.workspace.folder import Folder
from anycowork.workspace.jail import Jail
from support.spec import proves

FILES = int(os.environ.get("ANYCOWORK_LARGE_FILES", "600"))
KILLS = int(os.environ.get("ANYCOWORK_LARGE_KILLS", "4"))
STEPS = ("rename", "mkdir", "unlink", "fchmod", "write", "symlink")
KILLED = 9


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Does the work in a child that ends, without any tidying up, before its `step`-th change of the disk. False if there were fewer."""
    pid = os.fork()
    if pid == 0:  # no thread of the parent exists here, and the work needs none
        left = [step]

        def counting(real: Callable[..., object]) -> Callable[..., object]:
            def counted(*given: object, **named: object) -> object:
                left[0] -= 1
                if left[0] == 0:
                    os._exit(KILLED)
                return real(*given, **named)

            return counted

        for name in STEPS:
            setattr(os, name, counting(getattr(os, name)))
        counted_rename = counting(syscalls.rename_without_replacing)
        for module in (entries, syscalls):
            module.rename_without_replacing = counted_rename  # type: ignore[attr-defined]  # counted too
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == KILLED


def steps(count: int) -> list[int]:
    """Where it is killed: at the first change, and at others all over the work, the same in every run."""
    return [1, *sorted(random.Random(17).sample(range(2, count), KILLS - 1))]


def name_of(number: int) -> str:
    return f"src/{number // 20:04d}/{number}.txt"


def filled(root: Path) -> None:
    for number in range(FILES):
        path = root / name_of(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"old {number}\n")


def staged(root: Path, staging: Staging) -> tuple[Transaction, Intent]:
    """As a command would have left it: every second file changed, every third removed, and as many new ones in a new folder."""
    transaction = Transaction(staging.open(runner_for(str(root))), Jail(str(root)), staging)
    upper = transaction.stage.upper
    for number in range(FILES):
        path = upper / name_of(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        if number % 2 == 0:
            path.write_text(f"new {number}\n")
        elif number % 3 == 0:
            os.mknod(path, 0o020000, 0)
        made = upper / f"made/{number % 7}/{number}.txt"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(f"made {number}\n")
    transaction.look()
    return transaction, transaction.intent("x")


def contents(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


@proves("SNAP-4")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the whiteouts of an overlay")
def test_a_large_commit_killed_anywhere_is_finished_afterwards(tmp_path: Path) -> None:
    for step in steps(FILES * 2 // 3):
        base = tmp_path / str(step)
        root, staging = base / "workspace", Staging(base / "data/staging", base / "data/shared")
        filled(root)
        before = contents(root)
        transaction, intent = staged(root, staging)
        wanted = {f"made/{number % 7}/{number}.txt": f"made {number}\n" for number in range(FILES)}
        for number in range(FILES):
            if number % 2 == 0:
                wanted[name_of(number)] = f"new {number}\n"
            elif number % 3 != 0:
                wanted[name_of(number)] = f"old {number}\n"
        assert killed_at(step, transaction.commit)
        for path, found in contents(root).items():
            assert ".tmp" in path or found in (before.get(path), wanted.get(path))
        assert finish(staging, Jail(str(root)), intent) == RolledForward()
        assert contents(root) == wanted and intent.staged is not None and not Path(intent.staged).exists()


@proves("SNAP-4")
def test_a_large_restore_killed_anywhere_is_finished_afterwards(tmp_path: Path) -> None:
    for step in steps(FILES):
        base = tmp_path / str(step)
        root, pack = base / "workspace", Pack(base / "pack")
        filled(root)
        before = contents(root)
        undos = undone(Folder(str(root)), pack, partial(change, root))
        changed = contents(root)
        assert killed_at(step, partial(bring_back, Folder(str(root)), pack, undos))
        for path, found in contents(root).items():
            assert ".tmp" in path or found in (before.get(path), changed.get(path))
        again = Pack(base / "pack")  # as the next start does it: what is as wanted is done, the rest is looked at again
        clear_leftovers(Folder(str(root)), (undo.path for undo in undos))
        now = images(Folder(str(root)), [undo.path for undo in undos])
        left = [
            Undo(undo.target, found) for undo, found in zip(undos, now, strict=True) if not found.same_as(undo.target)
        ]
        assert all(
            found.same_as(undo.expected)
            for undo, found in zip(undos, now, strict=True)
            if undo in left and undo.expected
        )
        done = bring_back(Folder(str(root)), again, left)
        assert not done.conflicts and contents(root) == before


def change(root: Path) -> None:
    for number in range(0, FILES, 2):
        (root / name_of(number)).write_text(f"changed {number}\n")
    for number in range(1, FILES, 6):
        (root / name_of(number)).unlink()


def undone(folder: Folder, pack: Pack, effect: Callable[[], None]) -> list[Undo]:
    paths = [name_of(number) for number in range(FILES)]
    with ImageReader(folder, PackTarget(pack, "test", 1 << 30)) as reader:
        was = [reader.image_of(seen) for seen in touched(folder, paths)]
    pack.sync()
    effect()
    now = images(folder, [image.path for image in was])
    return [Undo(old, new) for old, new in zip(was, now, strict=True) if not old.same_as(new)]


def images(folder: Folder, paths: list[str]) -> list[PathImage]:
    with ImageReader(folder) as reader:
        return [reader.image(path_of(path)) for path in paths]


@proves("SNAP-4")
def test_a_file_that_somebody_changes_between_writing_and_renaming_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, pack = tmp_path / "workspace", Pack(tmp_path / "pack")
    filled(root)
    undos = undone(Folder(str(root)), pack, partial(change, root))
    touched_now = root / name_of(4)

    def synced(fd: int) -> None:
        touched_now.write_text("the person's\n")

    monkeypatch.setattr(restoring, "sync_file_system", synced)
    done = bring_back(Folder(str(root)), pack, undos)
    assert list(done.conflicts or {}) == [name_of(4)] and touched_now.read_text() == "the person's\n"
    assert not list(root.rglob("*.tmp")) and len(done.restored) == len(undos) - 1
