"""What a task changed is written whole or not at all, whatever is in the way of it, and its job always ends."""

import asyncio
import fcntl
import os
import random
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.jobs import approved, by_task, plan, report
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import Reply, call
from support.spec import proves

Json = dict[str, Any]
SECONDS = 60.0
MOST_QUESTIONS = 8
PATHS = ("top.txt", "a/new.txt", "a/deep/er.txt", "b/old.txt", "b/more.txt", "c/old.txt")
OLD = ("b/old.txt", "c/old.txt", "c/other.txt")
_GETFLAGS, _SETFLAGS, _IMMUTABLE = 0x80086601, 0x40086602, 0x10


def _somebody_elses(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("somebody's\n")


def _folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)
    (path / "inside.txt").write_text("inside\n")


def _pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def _linked_parent(path: Path) -> None:
    """The folder above leads out of the workspace now."""
    if path.parent.name.startswith("scene") or path.parent.is_symlink():
        return
    outside = path.parents[2] / "outside"
    outside.mkdir(exist_ok=True)
    if path.parent.exists():
        path.parent.rename(path.parent.with_name(f"{path.parent.name}.moved"))
    path.parent.parent.mkdir(exist_ok=True)
    path.parent.symlink_to(outside)


def _file_for_parent(path: Path) -> None:
    if path.parent.name.startswith("scene") or path.parent.exists():
        return
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.write_text("a file\n")


def _repository(path: Path) -> None:
    """Git would take the folder above for a repository: nothing of ours is ever written there."""
    if path.parent.name.startswith("scene"):
        return
    for name in ("objects", "refs"):
        (path.parent / name).mkdir(parents=True, exist_ok=True)
    (path.parent / "HEAD").write_text("ref: refs/heads/main\n")
    (path.parent / "config").write_text("[core]\n")


def _immutable(path: Path) -> None:
    """The nearest thing there is can be neither changed nor removed, even by root. Not every file system can."""
    while not path.exists():
        path = path.parent
    if path.name.startswith("scene"):
        return
    with suppress(OSError):
        set_flags(path, _IMMUTABLE)


def _read_only(path: Path) -> None:
    if path.parent.exists() and not path.parent.is_symlink():
        path.parent.chmod(0o500)


OBSTACLES: tuple[Callable[[Path], None], ...] = (
    *(_somebody_elses, _folder, _pipe, _linked_parent, _file_for_parent, _repository, _immutable, _read_only),
)


def set_flags(path: Path, flags: int) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.ioctl(fd, _SETFLAGS, flags.to_bytes(8, "little"))
    finally:
        os.close(fd)


Tree = dict[str, tuple[int, str | bytes | None]]


def tree(folder: Path) -> Tree:
    def state(path: Path) -> tuple[int, str | bytes | None]:
        mode = path.lstat().st_mode
        content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if stat.S_ISREG(mode) else None
        return mode, content

    return {str(path.relative_to(folder)): state(path) for path in sorted(folder.rglob("*"))}


class Late:
    """Puts something in the way between the last look and the first write of a merge."""

    def __init__(self, server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
        snapshots = server.server.services.rollback._snapshots
        self.plant: Callable[[], None] | None = None
        restore = snapshots.restore

        async def planted_first(*given: Any) -> Any:
            plant, self.plant = self.plant, None
            if plant is not None:
                plant()
            return await restore(*given)

        monkeypatch.setattr(snapshots, "restore", planted_first)


@proves("JOB-10")
async def test_merge_is_all_or_none_and_the_job_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with live_server(tmp_path) as server:
        late = Late(server, monkeypatch)
        rule = {"tool": "*", "resource": "*", "effect": "allow", "scope": "global"}
        await server.ask("POST", "/rules", rule, expect=201)
        ends = [await _merge(server, late, seed) for seed in range(30)]
        assert set(ends) == {"completed", "failed"}


async def _merge(server: LiveServer, late: Late, seed: int) -> str:
    chosen = random.Random(seed)
    folder = server.workspace / f"scene{seed}"
    folder.mkdir()
    for name in OLD:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("old\n")
    written = chosen.sample(PATHS, chosen.randint(2, len(PATHS)))
    hold, chat = asyncio.Event(), await server.chat(workspace=str(folder))
    script = " && ".join(f"mkdir -p $(dirname {name}) && echo task > {name}" for name in written)
    removed = chosen.random() < 0.5
    script += " && rm c/other.txt" if removed else ""
    server.model.mind = by_task({"t": [call("execute_command", command=script), Reply(report("ok"), hold=hold)]})
    step = {"id": "t", "action": "write", "commands": [script]}
    asked = len(server.model.requests)
    job = await approved(server, chat, plan=plan(step), parallel=2, on_failure="ask")
    await server.model.asked(asked + 2)
    in_the_way = [
        partial(chosen.choice(OBSTACLES), folder / name)
        for name in chosen.sample(written, chosen.randint(1, min(2, len(written))))
    ]
    trees: list[Tree] = []

    def plant() -> None:
        for obstacle in in_the_way:
            with suppress(OSError):  # of two that exclude each other
                obstacle()
        trees.append(tree(folder))

    if chosen.random() < 0.5:
        late.plant = plant
    else:
        plant()
    hold.set()
    try:
        done, choices = await _ended(server, chat, job["id"], chosen)
        after = tree(folder)
    finally:
        for path in (folder, *folder.rglob("*")):
            if not path.is_symlink() and not stat.S_ISFIFO(path.lstat().st_mode):
                with suppress(OSError):
                    set_flags(path, 0)
    if done["status"] == "completed":
        left = [name for name in written if after.get(name, (0, None))[1] != b"task\n"]
        assert set(left) <= {path for path, choice in choices if choice == "workspace"}, (seed, left, choices)
        assert not removed or "c/other.txt" not in after
    else:
        assert after == trees[0], (seed, done["error"], choices)
        assert any(task["error"] for task in done["tasks"]), "the task says why"
    return str(done["status"])


async def _ended(
    server: LiveServer, chat: LiveChat, job_id: str, chosen: random.Random
) -> tuple[Json, list[tuple[str, str]]]:
    """Answers whatever the job asks until it ends. Returns it, and which version was chosen for which path."""
    choices: list[tuple[str, str]] = []
    answered: set[str] = set()
    async with asyncio.timeout(SECONDS):
        while (job := await server.ask("GET", f"/jobs/{job_id}"))["status"] not in ("completed", "failed"):
            asked = [each for each in await chat.of_type("question") if each["id"] not in answered]
            if not asked:
                await asyncio.sleep(0.02)
                continue
            question = asked[0]
            answered.add(question["id"])
            assert len(answered) <= MOST_QUESTIONS, [each["content"][:200] for each in await chat.of_type("question")]
            conflict = question["payload"].get("conflict")
            value = chosen.choice(("task", "workspace")) if conflict else "stop"
            choices += [(conflict["path"], value)] if conflict else []
            await server.ask("POST", f"{chat.path}/questions/{question['id']}/answer", {"value": value})
    return job, choices
