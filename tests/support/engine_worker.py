"""A worker process for tests of the engine: each step of a run appends to a log, and is kept as done in a folder, as a journal would.

python -m support.engine_worker URL NAME FOLDER HUNG_SECONDS
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from anycowork.domain.engine import Park, RunSegment
from anycowork.domain.messages import Json
from anycowork.engine.dbos_engine import DbosEngine


class LoggedSteps:
    """Appends `begin`, `end` and `lost` lines: what, run, step, worker, epoch. A step waits while the folder has a file `hold-RUN-STEP`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    async def run(self, segment: RunSegment) -> Json | Park:
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
    engine = DbosEngine(url, name=name, poll_seconds=0.1, hung_seconds=hung_seconds)
    engine.register("steps", LoggedSteps(folder, name).run)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await engine.start()
    (folder / f"ready-{name}").touch()
    await stop.wait()
    await engine.aclose(grace=0.0)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], Path(sys.argv[3]), float(sys.argv[4])))
