"""Does a snapshot cost what changed, or what the workspace holds?

Around one `update_file`: images before, rows and event with the intent, images and diff after, rows and event with the result; the
tool's own work is left out. Beside it the shadow repository that others keep: `git add -A` and `git write-tree` with a warm index.
"""

import asyncio
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvloop

from anycowork.chats.files.rollback import RollbackRequest
from anycowork.chats.files.rollback_service import RollbackService
from anycowork.checkpoints.pack import Pack
from anycowork.checkpoints.snapshots import Snapshots
from anycowork.domain import event_factory
from anycowork.domain.chats import Chat, ChatConfig
from anycowork.domain.journal import AddChat, Change
from anycowork.domain.roles import Permission
from anycowork.domain.snapshots import Snapshot
from anycowork.domain.tool_ports import CommitSession, ToolContext
from anycowork.domain.tools import Call, Intent
from anycowork.sandbox.layers.stage import Staging
from anycowork.sandbox.sandbox import Sandbox
from anycowork.sandbox.workspaces import Workspaces
from anycowork.server.clock import SystemClock
from anycowork.server.machine import find_bubblewrap
from anycowork.server.uvicorn_server import tune_gc
from anycowork.store.sql.database import Database
from anycowork.store.sqlite.database import open_store
from anycowork.tools.execute_command import ExecuteCommand
from anycowork.tools.toolbox import built_in_tools
from anycowork.workspace.folder import Folder
from measuring import Ground, Leg, NotMeasured
from workplace import PERSON

QUESTION = (
    "CPU around one update of a file of 3.5 KB, of a command that changes three files, and of taking changes back"
)
UPDATES = 200
COMMANDS = 20
TEXT = "".join(f"def answer_{n}(question: str) -> str:\n    return question.upper()\n\n" for n in range(52))


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with ground.fresh("trees") as folder:
        small, large = _tree(folder / "1k", 1_000), _tree(folder / "100k", 100_000)
        yield {
            "update_1k": partial(_around_updates, ground, small),
            "update_100k": partial(_around_updates, ground, large),
            "shadow_git_1k": _ShadowGit(folder / "1k.git", small).snapshot,
            "shadow_git_100k": _ShadowGit(folder / "100k.git", large).snapshot,
            "command_100k": partial(_around_commands, ground, large),
            "two_shadow_git_100k": _ShadowGit(folder / "100k.git", large).two_snapshots,
            "restore_10_files": partial(_restore, ground, large, 10),
            "restore_100_files": partial(_restore, ground, large, 100),
        }


def _tree(root: Path, count: int) -> Path:
    """Twenty files to a folder; one of 3.5 KB to work on, the others small: a snapshot by walking looks at each, whatever its size."""
    for start in range(0, count, 20):
        folder = root / f"{start // 1000:03d}" / f"{start:06d}"
        folder.mkdir(parents=True)
        for number in range(start, min(start + 20, count)):
            (folder / f"file{number}.py").write_text(f"number = {number}\n")
    (root / "worked_on.py").write_text(TEXT)
    return root


# --- ours


def _around_updates(ground: Ground, tree: Path) -> dict[str, float]:
    with ground.fresh("data") as data:
        return _run(_updates(data, tree))


async def _updates(data: Path, tree: Path) -> dict[str, float]:
    """What the rows cost is the difference to the same changes without them: the call itself is recorded in any case."""
    spent, plain = [], []
    tool, tool_context = (
        built_in_tools(None, 60.0).find("update_file"),
        ToolContext(Folder(str(tree)), frozenset(Permission)),
    )
    assert tool is not None
    async with _Keeping(data, tree) as keeping:
        for number in range(UPDATES):
            (tree / "worked_on.py").write_text(TEXT)
            edit = {"find": "def answer_7(", "replace": f"def answer_{number}_of_7("}
            prepared = await tool.prepare({"path": "worked_on.py", "edits": [edit]}, tool_context)
            call, started = _call(), time.process_time()
            before = await keeping.before(call, prepared.touched)
            spent.append(time.process_time() - started)
            await tool.run(prepared, tool_context)
            started = time.process_time()
            await keeping.after(before)
            spent[-1] += time.process_time() - started
            started = time.process_time()
            await keeping.record(_call())
            await keeping.record(_call())
            plain.append(time.process_time() - started)
    return {"cpu_ms": (sum(spent) - sum(plain)) / UPDATES * 1000}


def _around_commands(ground: Ground, tree: Path) -> dict[str, float]:
    """All of a command that changes three files: sandbox, shell, delta, check, images, commit. Nothing is taken off."""
    found = find_bubblewrap()
    if found is None or not (found.works and found.overlay):
        raise NotMeasured("there is no bubblewrap that works here and knows --overlay")
    with ground.fresh("data") as data:
        sandbox = Sandbox(found.path, Staging(data / "staging", data / "shared"))
        return _run(_commands(data, tree, ExecuteCommand(timeout=lambda: 60.0, sandbox=sandbox)))


class _SnapshotCommit(CommitSession):
    """Takes a snapshot before the commit, and nothing else."""

    def __init__(self, keeping: "_Keeping", taken: list[Snapshot]) -> None:
        self._keeping = keeping
        self._taken = taken

    async def intend(self, intent: Intent) -> None:
        self._taken.append(await self._keeping.before(_call(), [item.path for item in intent.paths]))


async def _commands(data: Path, tree: Path, tool: ExecuteCommand) -> dict[str, float]:
    async with _Keeping(data, tree) as keeping:
        for number in range(COMMANDS + 1):
            if number == 1:  # a server's first command makes what all others use
                started = _cpu()
            taken: list[Snapshot] = []

            commit = _SnapshotCommit(keeping, taken)
            tool_context = ToolContext(Folder(str(tree)), frozenset(Permission), commit=commit)
            command = (
                f"for file in worked_on.py 000/000000/file1.py 000/000020/file21.py; do echo '# {number}' > $file; done"
            )
            await tool.run(await tool.prepare({"command": command}, tool_context), tool_context)
            for before in taken:
                await keeping.after(before)
            if len(taken) != 1:
                raise AssertionError("the command changed nothing")
        return {"cpu_ms": (_cpu() - started) / COMMANDS * 1000}


def _run(work: Coroutine[None, None, dict[str, float]]) -> dict[str, float]:
    tune_gc()
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:  # as the server runs
        return runner.run(work)


def _restore(ground: Ground, tree: Path, changed: int) -> dict[str, float]:
    with ground.fresh("data") as data:
        return _run(_restore_now(data, tree, changed))


async def _restore_now(data: Path, tree: Path, changed: int) -> dict[str, float]:
    targets = sorted(str(path.relative_to(tree)) for path in (tree / "000").rglob("*.py"))[:changed]
    async with _Keeping(data, tree) as keeping:
        first = None
        for path in targets:
            before = await keeping.before(_call(), [path])
            first = first or before
            (tree / path).write_text("changed = True\n")
            await keeping.after(before)
        assert first is not None
        started = time.process_time()
        answer = await keeping.cli.restore(PERSON, CHAT, first.id, RollbackRequest())
        spent = time.process_time() - started
    if len(answer.done.restored) != changed:
        raise AssertionError("not every file came back")
    return {"cpu_ms": spent * 1000, "cpu_ms_per_file": spent * 1000 / changed}


CHAT = "bench"
_CLOCK = SystemClock()


def _call() -> Call:
    return Call(_CLOCK.new_id(), CHAT, "turn", "batch", 0, "update_file", {})


class _Keeping:
    """The server's own parts around a tree, as the tool runner uses them."""

    def __init__(self, data: Path, tree: Path) -> None:
        self._database: Database = open_store(data / "anycowork.db", _CLOCK, lambda record: None)
        workspaces = Workspaces(lambda root: self._database.leases.take(root, owner="bench", seconds=60))
        self._snapshots = Snapshots(
            Pack(data / "snapshots"),
            self._database.retention,
            _CLOCK,
            quota_bytes=1 << 31,
            layers=workspaces.layers,
        )
        self._tree = tree
        self._folder = Folder(str(tree))
        store = self._database.store
        self.cli = RollbackService(
            journal=self._database.journal,
            store=store,
            workspaces=workspaces,
            snapshots=self._snapshots,
            clock=_CLOCK,
        )

    async def __aenter__(self) -> "_Keeping":
        chat = Chat(CHAT, "Bench", str(self._tree), ChatConfig("actor"), created_at=_CLOCK.now())
        await self._database.journal.write(Change(CHAT, (AddChat(chat, PERSON.label()),)))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.aclose()

    async def before(self, call: Call, paths: Sequence[str]) -> Snapshot:
        taken = await self._snapshots.before(call, self._folder, paths)
        await self.record(call, taken)
        return taken

    async def after(self, before: Snapshot) -> None:
        taken = await self._snapshots.after(before, self._folder)
        assert taken is not None
        await self.record(_call(), taken)

    async def record(self, call: Call, *taken: Snapshot) -> None:
        """As the tool runner records a call's intent, and later its result."""
        await self._database.journal.write(
            Change(CHAT, (call, *taken), (event_factory.tool_call(call), *map(event_factory.snapshot, taken)))
        )


# --- what others do


class _ShadowGit:
    """A repository beside the workspace; its index is warm after the first snapshot, which is not counted."""

    def __init__(self, repository: Path, tree: Path) -> None:
        self._repository = repository
        self._tree = tree
        self._count = 0

    def snapshot(self) -> dict[str, float]:
        if shutil.which("git") is None:
            raise NotMeasured("git is not installed")
        if not self._repository.exists():
            self._git("init", "-q")
            self._take()
        self._count += 1
        (self._tree / "worked_on.py").write_text(TEXT + f"# {self._count}\n")
        started = _cpu_of_children()
        self._take()
        return {"cpu_ms": (_cpu_of_children() - started) * 1000}

    def two_snapshots(self) -> dict[str, float]:
        """Before a command and after it: nobody else can say what it changed."""
        return {"cpu_ms": self.snapshot()["cpu_ms"] + self.snapshot()["cpu_ms"]}

    def _take(self) -> None:
        self._git("add", "-A")
        self._git("write-tree")

    def _git(self, *words: str) -> None:
        place = {"GIT_DIR": str(self._repository), "GIT_WORK_TREE": str(self._tree), "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(
            ["git", *words], check=True, capture_output=True, cwd=self._tree, env={**os.environ, **place}, timeout=600
        )


def _cpu() -> float:
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return spent.ru_utime + spent.ru_stime + _cpu_of_children()


def _cpu_of_children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
