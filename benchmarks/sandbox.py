"""What does a sandbox cost a command? `true` as a plain child process, and as a transaction in the sandbox, over an overlay and on a copy.

Everything is counted: the stage, bubblewrap and what it starts, reading the delta, and the end of the stage. CPU of the children too.
"""

import asyncio
import resource
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import uvloop

from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import ToolContext
from anycowork.sandbox.layers.stage import Layer, Staging
from anycowork.sandbox.sandbox import Sandbox
from anycowork.server.machine import find_bubblewrap
from anycowork.tools.child_process import ChildLimits, run_child
from anycowork.tools.execute_command import ExecuteCommand
from anycowork.workspace.folder import Folder
from measuring import Ground, Leg, NotMeasured

QUESTION = "CPU of one command, its processes included"
COMMANDS = 40
_PLAIN = ["/bin/bash", "--noprofile", "--norc", "-c", "--", "true"]


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    with ground.fresh("sandbox") as folder:
        root = folder / "workspace"
        for number in range(100):
            (root / f"{number % 10}").mkdir(parents=True, exist_ok=True)
            (root / f"{number % 10}" / f"{number}.py").write_text(f"number = {number}\n")
        yield {
            "plain": partial(_plain, root),
            "overlay": partial(_contained, folder / "data", root, Layer.OVERLAY, "true"),
            "overlay_one_change": partial(_contained, folder / "data", root, Layer.OVERLAY, "echo $RANDOM > 1/1.py"),
            "copy_of_100_files": partial(_contained, folder / "data", root, Layer.COPY, "true"),
        }


def _plain(root: Path) -> dict[str, float]:
    async def commands() -> None:
        for _ in range(COMMANDS):
            await run_child(_PLAIN, cwd=str(root), env={}, bounds=ChildLimits(seconds=10, output=1000))

    return _spent(commands())


def _contained(data: Path, root: Path, layer: Layer, command: str) -> dict[str, float]:
    found = find_bubblewrap()
    if found is None or not found.works or (layer is Layer.OVERLAY and not found.overlay):
        raise NotMeasured("there is no bubblewrap that works here and knows --overlay")
    tool = ExecuteCommand(
        timeout=lambda: 10.0, sandbox=Sandbox(found.path, Staging(data, data / "shared"), layer=layer)
    )

    async def commands() -> None:
        for _ in range(COMMANDS):
            tool_context = ToolContext(Folder(str(root)), frozenset(Permission))
            prepared = await tool.prepare({"command": command}, tool_context)
            result = await tool.run(prepared, tool_context)
            if result.facts["exit_code"] != 0 or result.facts["layer"] != layer:
                raise NotMeasured(result.content)

    _run(_once(tool, root))  # what a server does at its first command only
    return _spent(commands())


async def _once(tool: ExecuteCommand, root: Path) -> None:
    tool_context = ToolContext(Folder(str(root)), frozenset(Permission))
    await tool.run(await tool.prepare({"command": "true"}, tool_context), tool_context)


def _spent(work: Coroutine[None, None, None]) -> dict[str, float]:
    before = _cpu()
    _run(work)
    return {"cpu_ms": (_cpu() - before) / COMMANDS * 1000}


def _run(work: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=uvloop.Loop) as runner:  # as the server runs
        runner.run(work)


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
