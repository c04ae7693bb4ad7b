"""What does a command cost that changes thousands of files, and what does restoring them cost? Beside the same work done plainly.

Our side is one turn of the real agent: sandbox with the command itself, delta, gate, checkpoint, commit, journal and the model's text. The
server has run a command before, which did nothing. Ours runs in a separate process, so that its peak memory can be read. `--size` sets the
number of files [20,000]; `--on` sets the folder, for example one on a tmpfs.
"""

import asyncio
import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvloop

from anycowork.agent.call_recorder import CallRecorder
from anycowork.chats.files.rollback import RollbackRequest
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain.chats import Autonomy, Chat
from anycowork.permissions.gate import Gate
from anycowork.sandbox.commit.transaction import Transaction
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.sandbox import Sandbox
from anycowork.server.machine import find_bubblewrap
from anycowork.store.sql.journal import Journal
from anycowork.tools import command_changes
from anycowork.tools.child_process import SandboxedProgram
from measuring import Ground, Leg, NotMeasured, environment_of_ours
from workplace import PERSON, InstantModel, Workplace, open_workplace

QUESTION = "CPU of a command that changes or makes thousands of files, and of restoring them; peak memory"
FILES = 20_000
_TEXT = "".join(f"def answer_{n}(question: str) -> str:\n    return question.upper()\n\n" for n in range(15))
_APPEND = "shopt -s globstar; for file in src/**/*.py; do echo '# one line more' >> $file; done"
_CREATE = """for folder in $(seq 1 {folders}); do
  mkdir -p made/$folder
  for file in {1..20}; do echo "made = $folder * $file" > made/$folder/$file.js; done
done"""
_PER_FOLDER = 20
_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    size = ground.size or FILES
    yield {
        "append_plain": partial(_plain, ground, size, _APPEND, copied=True),
        "append_ours": partial(_ours, ground, size, "append"),
        "create_plain": partial(_plain, ground, size, _create(size)),
        "create_ours": partial(_ours, ground, size, "create"),
        "restore_git": partial(_git, ground, size),
        "restore_ours": partial(_ours, ground, size, "restore"),
    }


def _create(size: int) -> str:
    return _CREATE.replace("{folders}", str(size // _PER_FOLDER))


def _tree(root: Path, size: int) -> None:
    for number in range(size // _PER_FOLDER):
        folder = root / "src" / f"{number // 50:03d}" / f"{number:05d}"
        folder.mkdir(parents=True)
        for file in range(_PER_FOLDER):
            (folder / f"file{file}.py").write_text(f"number = {number * _PER_FOLDER + file}\n{_TEXT}")


# --- the same work, plainly


def _plain(ground: Ground, size: int, command: str, *, copied: bool = False) -> dict[str, float]:
    """With `copied`, one read and one write of all bytes count too: a change that can be undone needs the old ones."""
    with ground.fresh("plain") as folder:
        _tree(folder, size if copied else 0)
        spent, seconds = _child(["/bin/bash", "-c", command], folder)
        if copied:
            more, longer = _child(["cp", "-r", "src", "copy"], folder)
            spent, seconds = spent + more, seconds + longer
    return {"cpu_ms": spent * 1000, "wall_s": seconds}


def _git(ground: Ground, size: int) -> dict[str, float]:
    with ground.fresh("git") as folder:
        _tree(folder, size)
        git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
            _child([*git, *words], folder)
        _child(["/bin/bash", "-c", _APPEND], folder)
        spent, seconds = _child([*git, "checkout", "-q", "-f", "HEAD", "--", "."], folder)
    return {"cpu_ms": spent * 1000, "wall_s": seconds}


def _child(words: list[str], folder: Path) -> tuple[float, float]:
    started, wall = _cpu_of(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, check=True, cwd=folder, capture_output=True, timeout=1200)
    return _cpu_of(resource.RUSAGE_CHILDREN) - started, time.perf_counter() - wall


# --- ours


def _ours(ground: Ground, size: int, what: str) -> dict[str, float]:
    found = find_bubblewrap()
    if found is None or not (found.works and found.overlay):
        raise NotMeasured("there is no bubblewrap that works here and knows --overlay")
    with ground.fresh("ours") as folder:
        _tree(folder / "workspace", 0 if what == "create" else size)
        words = [sys.executable, __file__, what, str(folder), str(size), found.path]
        done = subprocess.run(words, check=True, capture_output=True, timeout=1800, env=environment_of_ours())
        measured: dict[str, float] = json.loads(done.stdout)
    return measured


async def _turn(what: str, folder: Path, size: int, bwrap: str, phases: "_Phases") -> dict[str, float]:
    script = folder / "workspace/work.sh"
    script.parent.mkdir(exist_ok=True)
    script.write_text("true")
    model = InstantModel(1, "execute_command", {"command": "bash work.sh"})
    sandbox = Sandbox(bwrap, Staging(folder / "staging", folder / "shared"))
    async with open_workplace(folder, model, sandbox=sandbox) as place:
        await place.turn(await _sandboxed_chat(place), 60)  # a server's first command reads lists and makes its /etc
        chat = await _sandboxed_chat(place)
        script.write_text(_create(size) if what == "create" else _APPEND)
        _reap_orphans()
        phases.clear()
        started, wall = _cpu(), time.perf_counter()
        children = _cpu_of(resource.RUSAGE_CHILDREN)
        await place.turn(chat, 1200)
        _reap_orphans()
        if what == "restore":
            first = (await place.rollback.page(chat.id, before=None, limit=10))[0][0]
            phases.clear()
            children = _cpu_of(resource.RUSAGE_CHILDREN)
            started, wall = _cpu(), time.perf_counter()
            answer = await place.rollback.restore(PERSON, chat.id, first.id, RollbackRequest())
            if len(answer.done.restored) != size:
                raise AssertionError("not every file came back")
        spent, seconds = _cpu() - started, time.perf_counter() - wall
        await _require_done(place, chat.id, size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {f"{name}_ms": value * 1000 for name, value in phases.spent.items()}
    told["children_ms"] = (_cpu_of(resource.RUSAGE_CHILDREN) - children) * 1000
    return {"cpu_ms": spent * 1000, "wall_s": seconds, "peak_mb": peak, **told}


async def _sandboxed_chat(place: Workplace) -> Chat:
    chat = await place.open_chat()
    await place.cli.change_chat(PERSON, chat.id, autonomy=Autonomy.SANDBOXED)
    return chat


async def _require_done(place: Workplace, chat_id: str, size: int) -> None:
    found, _ = await place.rollback.page(chat_id, before=None, limit=10)
    if not found or found[-1].files < size:
        raise AssertionError("the command's files were not all changed")


class _Phases:
    """Counts the CPU of the parts of a turn, all threads together: the parts run one after the other."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def clear(self) -> None:
        self.spent.clear()

    def watch(self, owner: object, name: str, phase: str) -> None:
        real: Callable[..., object] = getattr(owner, name)
        if asyncio.iscoroutinefunction(real):

            async def waited(*given: object, **named: object) -> object:
                with self._counted(phase):
                    return await real(*given, **named)

            setattr(owner, name, waited)
            return

        def called(*given: object, **named: object) -> object:
            with self._counted(phase):
                return real(*given, **named)

        setattr(owner, name, called)

    @contextmanager
    def _counted(self, phase: str) -> Iterator[None]:
        started = _cpu()
        try:
            yield
        finally:
            self.spent[phase] = self.spent.get(phase, 0.0) + _cpu() - started


def _watched() -> _Phases:
    phases = _Phases()
    for owner, name, phase in (
        (SandboxedProgram, "run", "command"),
        (Transaction, "look", "scan"),
        (Transaction, "find_blocker", "blocker"),
        (Gate, "check_changes", "rules"),
        (command_changes, "delta_diff", "diff"),
        (Transaction, "intent", "seal"),
        (Transaction, "commit", "commit"),
        (Transaction, "end", "end"),
        (Snapshots, "before", "images_before"),
        (Snapshots, "after", "images_after"),
        (Snapshots, "before_commit", "images_before"),
        (Snapshots, "before_restore", "images_before"),
        (Snapshots, "after_commit", "images_after"),
        (Snapshots, "after_restore", "images_after"),
        (Snapshots, "preview", "preview"),
        (Snapshots, "restore", "write_back"),
        (Journal, "write", "journal"),
        (CallRecorder, "settle", "settle"),
    ):
        phases.watch(owner, name, phase)
    return phases


def _adopt_orphans() -> None:
    """Bubblewrap ends without waiting for the command's first process. Adopted and waited for, its CPU counts as ours."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise NotMeasured("the command's own CPU cannot be counted on this system")


def _reap_orphans() -> None:
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def _cpu() -> float:
    return _cpu_of(resource.RUSAGE_SELF) + _cpu_of(resource.RUSAGE_CHILDREN)


def _cpu_of(who: int) -> float:
    spent = resource.getrusage(who)
    return spent.ru_utime + spent.ru_stime


if __name__ == "__main__":
    _adopt_orphans()
    phases = _watched()
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:  # as the server runs
        found = runner.run(_turn(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4], phases))
    sys.stdout.write(json.dumps(found))
