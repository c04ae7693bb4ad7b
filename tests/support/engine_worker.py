"""A worker process for tests of the engine: each step of a run appends to a log, and is kept as done in a folder, as a journal would.
A worker that loses its session joins again as a new one, as `anycowork worker` does.

python -m support.engine_worker URL NAME FOLDER HUNG_SECONDS
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from anycowork.domain.errors import StorageFault
from anycowork.domain.messages import Json
from anycowork.engine.run_table import ParkUntil, RunSegment
from support.engine_sessions import engine_session

MOST_RUNS = 4


class LoggedSteps:
    """Appends `begin`, `end` and `lost` lines: what, run, step, worker, epoch. A step waits while the folder has a file `hold-RUN-STEP`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    async def run(self, segment: RunSegment) -> Json | ParkUntil:
        steps = int(str(segment.payload["steps"]))
        for step in range(steps):
            done = self._folder / f"done-{segment.run_id}-{step}"
            if done.exists():
                continue
            self._log("begin", segment, step)
            try:
                while (self._folder / f"hold-{segment.run_id}-{step}").exists():
                    await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                self._log("lost", segment, step)
                raise
            done.touch()
            self._log("end", segment, step)
        return {"worker": self._name, "attempt": segment.attempt}

    def _log(self, what: str, segment: RunSegment, step: int) -> None:
        line = f"{what} {segment.run_id} {step} {self._name} {segment.epoch}\n".encode()
        fd = os.open(self._folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(fd, line)
        os.close(fd)


async def work(url: str, name: str, folder: Path, hung_seconds: float) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    handlers = {"steps": LoggedSteps(folder, name).run}
    while not stop.is_set():
        try:
            async with engine_session(
                url, handlers, name=name, most_runs=MOST_RUNS, hung_seconds=hung_seconds
            ) as session:
                (folder / f"ready-{name}").touch()
                ends = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(session.lost.wait())]
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
                for end in ends:
                    end.cancel()
        except StorageFault:
            await asyncio.sleep(0.2)  # until the database is back


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])))
