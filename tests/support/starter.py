"""A program of its own that starts sandboxes as the server does, to be killed at it: `python starter.py HOW FOLDER BWRAP COMMAND`.

`call` runs one command as the tool does. `held_back` holds it back, says so, and does not let it go. `again N` forks N servers, each of
which runs the command and is killed at some moment of about the time that an empty one takes.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from anycowork.sandbox.bubblewrap import HOME
from anycowork.workspace.jail import Jail
from support.tool_workspace import ToolWorkspace


def bench_in(folder: Path, bwrap: str) -> ToolWorkspace:
    for name in ("workspace", "outside"):
        (folder / name).mkdir(exist_ok=True)
    bench = ToolWorkspace(folder / "workspace", folder / "outside")
    bench.sandbox._bwrap = bwrap
    return bench


async def held_back(bench: ToolWorkspace, command: str) -> None:
    root = str(bench.root)
    async with bench.sandbox.begin(Jail(root)) as transaction:
        with bench.sandbox.launch(command, root, transaction.stage, cache_kept=False, held_back=True) as launch:
            launch.status.watch()
            process = subprocess.Popen(
                launch.argv, stdin=launch.stdin, pass_fds=launch.fds, env={}, cwd="/", start_new_session=True
            )
            first, _ = await launch.status.started()
            # Named before it is woken; from its first mount on it is awake, and goes no further than the latch.
            while HOME not in Path(f"/proc/{first}/mountinfo").read_text():
                await asyncio.sleep(0.005)
            sys.stdout.write("held\n")
            sys.stdout.flush()
            process.wait()


def again(bench: ToolWorkspace, command: str, times: int) -> None:
    moments = random.Random(8484)
    asyncio.run(call(bench, ":"))  # so that everything is loaded and furnished
    began = time.monotonic()
    os.waitpid(forked(bench, ":"), 0)
    took = time.monotonic() - began
    for _ in range(times):
        server = forked(bench, command)
        time.sleep(moments.uniform(0, took))
        os.kill(server, signal.SIGKILL)
        os.waitpid(server, 0)


def forked(bench: ToolWorkspace, command: str) -> int:
    server = os.fork()
    if server == 0:
        asyncio.run(call(bench, command))
        os._exit(0)
    return server


async def call(bench: ToolWorkspace, command: str) -> None:
    await bench.call("execute_command", command=command)


def main(how: str, folder: str, bwrap: str, command: str) -> None:
    bench = bench_in(Path(folder), bwrap)
    match how.split():
        case ["call"]:
            asyncio.run(call(bench, command))
        case ["held_back"]:
            asyncio.run(held_back(bench, command))
        case ["again", times]:
            again(bench, command, int(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
