"""A process that has imported the whole server and forks servers: importing takes seconds, and these tests start dozens of servers.

A forked server enters by `anycowork.cli.main.main`, as the command does. The parent has no thread and no open file that a fork could
inherit. Run as a program, this file is the parent.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from support.processes import ready_to_read

LOADING = 100.0
SOON = 60.0


@dataclass(frozen=True)
class ForkedServer:
    """One forked server process."""

    pid: int
    fork_server: "ForkServer"

    def wait(self, seconds: float) -> int:
        """Its exit code; negative for a signal. Fails if it does not end in time."""
        return self.fork_server.ask({"wait": self.pid}, seconds)

    def kill(self) -> None:
        """SIGKILL: nothing of it runs another instruction."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait(SOON)

    def is_over(self) -> bool:
        state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state == "Z"


class ForkServer:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def fork(
        self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path, gate: Path | None = None
    ) -> ForkedServer:
        """Starts `anycowork <words>`; with a gate, its system calls pass through that."""
        request = {"words": list(words), "cwd": str(cwd), "env": dict(env), "log": str(log)}
        return ForkedServer(self.ask({**request, "gate": str(gate) if gate else None}, LOADING), self)

    def ask(self, request: Mapping[str, object], seconds: float) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        if not ready_to_read(self._process.stdout, seconds=seconds):
            raise AssertionError(f"no answer after {seconds:g} s to {sorted(request)}")
        return int(self._process.stdout.readline())


@contextmanager
def start_fork_server(*, source: Path) -> Iterator[ForkServer]:
    """`source` is the folder with the packages that servers are made of."""
    here = Path(__file__).parents[1]
    with subprocess.Popen(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": ":".join([str(source), str(here), *filter(None, sys.path)])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield ForkServer(process)
        finally:
            process.kill()  # servers have been ended by their tests


# --- the parent process


def serve_forks() -> None:
    for module in ("anycowork.cli.main", "anycowork.cli.serve", "uvloop", "support.syscall_gate"):
        importlib.import_module(module)
    scan_once()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            answer = os.waitstatus_to_exitcode(status)
        elif (answer := os.fork()) == 0:
            _become_server(request)
        os.write(1, b"%d\n" % answer)


def _become_server(request: dict[str, object]) -> NoReturn:
    from anycowork.cli.main import main
    from support.syscall_gate import pass_through

    log = os.open(str(request["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for fd, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, log)):
        os.dup2(source, fd)
    os.closerange(3, 64)
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["env"])  # type: ignore[call-overload]  # a dict of strings, as `fork` sent it
    if request["gate"]:
        pass_through(str(request["gate"]))
    else:
        leave_out_syncs()
    sys.argv = ["anycowork", *request["words"]]  # type: ignore[misc]  # a list of strings
    code = 1
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except Exception:  # noqa: BLE001  # `os._exit` shows nothing of it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    from support.shared_scans import scan_once
    from support.unsynced import leave_out_syncs

    serve_forks()
