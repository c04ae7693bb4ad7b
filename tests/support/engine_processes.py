"""Worker processes of the distributed engine for tests, and the log of what they did."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).parents[1]
TIMEOUT = 90.0
HUNG_SECONDS = 8.0  # as people have it: a worker that gets no CPU for some seconds is not hung


@contextmanager
def worker(url: str, name: str, folder: Path, *, inside: tuple[str, ...] = ()) -> Iterator["subprocess.Popen[bytes]"]:
    """`inside` is a command that runs it on another machine."""
    command = [sys.executable, "-m", "support.engine_worker", url, name, str(folder), str(HUNG_SECONDS)]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS.parent / 'src'}:{TESTS}"}
    process = subprocess.Popen([*inside, *command], cwd=TESTS, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(TIMEOUT):
        while not condition():
            await asyncio.sleep(0.05)


def logged(folder: Path, what: str, run: str = "") -> list[list[str]]:
    """Returns the lines of the log, in order: what, run, step, worker, epoch."""
    lines = [line.split() for line in (folder / "log").read_text().splitlines()] if (folder / "log").exists() else []
    return [line for line in lines if line[0] == what and (not run or line[1] == run)]
