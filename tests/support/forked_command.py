"""`anycowork …` as a real process without the seconds that importing the program takes: forked from a process that has imported it.

`ForkedCommand` is a `Popen` whose child comes from that process. The child gets the pipes, the folder and the environment of the call,
enters by `anycowork.cli.main.main`, and ends with its exit code. Run as a program, this file is the parent; it has one thread, and ends
when the tests that started it do.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn  # requests and answers are JSON

_REQUEST_BYTES = 2**20
_INHERITED = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGTERM,
)  # a process that is started ignores those that its starter ignores
_PAUSE = 0.005  # between two looks at a process that is not a child of this one


class ForkedCommand(subprocess.Popen[str]):
    """`ForkedCommand(words, cwd=…, env=…, stdin=…, stdout=…, stderr=…, text=True)`: the words are those after `anycowork`."""

    def _execute_child(self, args: list[str], *given: Any, **named: Any) -> None:
        cwd, env = given[4:6]
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite = given[9:15]
        ignored = [each for each in _INHERITED if signal.getsignal(each) is signal.SIG_IGN]
        request = {"words": args, "cwd": os.fspath(cwd), "env": dict(env), "ignored": ignored}
        files = [own if theirs == -1 else theirs for own, theirs in enumerate((p2cread, c2pwrite, errwrite))]
        self._parent = _parent()
        self.pid = self._parent.fork(request, files)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None:
            self.returncode = self._parent.exit_code(self.pid)
        return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """The process and its status as `waitpid` has it; its first number is 0 while it runs."""
        while (code := self._parent.exit_code(self.pid)) is None:
            if wait_flags & os.WNOHANG:
                return 0, 0
            time.sleep(_PAUSE)
        return self.pid, -code if code < 0 else code << 8


class _Parent:
    """The process that has imported the program, and the line to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._line = ours
        self._lock = threading.Lock()
        self._codes: dict[int, int] = {}
        atexit.register(self._end)

    def ask(self, request: Mapping[str, object], files: list[int] | None = None) -> int:
        with self._lock:
            socket.send_fds(self._line, [json.dumps(request).encode()], files or [])
            return int(json.loads(self._line.recv(_REQUEST_BYTES)))

    def fork(self, request: Mapping[str, object], files: list[int]) -> int:
        pid = self.ask(request, files)
        self._codes.pop(pid, None)  # of an earlier process: the system gives numbers again
        return pid

    def exit_code(self, pid: int) -> int | None:
        """None while it runs; negative for a signal."""
        if pid not in self._codes and self.ask({"ended": pid}):
            self._codes[pid] = self.ask({"code": pid})
        return self._codes.get(pid)

    def _end(self) -> None:
        self._line.close()
        self._process.wait()


@cache
def _parent() -> _Parent:
    return _Parent()


# --- the parent process


def _next_command(line: socket.socket) -> dict[str, Any]:
    """Answers requests, and returns in each forked child with what that one is to do."""
    codes: dict[int, int] = {}
    while True:
        data, files, _, _ = socket.recv_fds(line, _REQUEST_BYTES, 3)
        if not data:
            os._exit(0)  # the tests have ended, and nothing here is worth finalising
        request = json.loads(data)
        if "ended" in request:
            found, status = os.waitpid(request["ended"], os.WNOHANG)
            if found:
                codes[found] = os.waitstatus_to_exitcode(status)
            answer = int(bool(found))
        elif "code" in request:
            answer = codes.pop(request["code"])
        elif (answer := os.fork()) == 0:
            line.close()
            for own, theirs in enumerate(files):
                os.dup2(theirs, own)
                os.close(theirs)
            return dict(request)
        for file in files:
            os.close(file)
        line.send(json.dumps(answer).encode())


def _become(request: dict[str, Any]) -> None:
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    for each in _INHERITED:
        default = signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL
        signal.signal(each, signal.SIG_IGN if each in request["ignored"] else default)
    sys.argv = ["anycowork", *request["words"]]
    # As a new interpreter opens them: what they are, a pipe, a file or a terminal, decides how they write.
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)  # type: ignore[misc]  # final, but this is a new process
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", closefd=False)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)  # type: ignore[misc]


def _run_as_command() -> NoReturn:
    """Runs the command, and ends as an interpreter does, but for freeing what was imported: that takes longer than most commands."""
    from anycowork.cli.main import main

    code: object = None
    try:
        main()
    except SystemExit as end:
        code = end.code
    except BaseException as error:  # noqa: BLE001  # as the interpreter reports what nobody caught
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    if not isinstance(code, int | None):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"Exception ignored in: {sys.stdout!r}\n{type(error).__name__}: {error}\n")
        code = 120
    sys.stderr.flush()
    os._exit(code or 0)


def _import_program() -> None:
    package = importlib.import_module("anycowork.cli")
    for module in pkgutil.iter_modules(package.__path__, "anycowork.cli."):
        importlib.import_module(module.name)
    for name in ("anycowork.app", "anycowork.acp.command", "anycowork.acp.agent", "uvloop"):
        importlib.import_module(name)


if __name__ == "__main__":
    from support.shared_scans import scan_once
    from support.unsynced import leave_out_syncs

    _import_program()
    scan_once()
    leave_out_syncs()
    gc.freeze()  # a forked process need not copy what the collector would touch
    _become(_next_command(socket.socket(fileno=int(sys.argv[1]))))
    _run_as_command()
