"""Programs in the sandbox that talk over their pipes: how one is started, what it prints, and that nothing of it is left."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from anycowork.domain.values import value
from anycowork.sandbox.bubblewrap import HOME
from anycowork.sandbox.layers.stage import DEVICES
from anycowork.sandbox.network.dialer import NetworkReport
from anycowork.workspace import landlock

LONGEST_LINE = 4_000_000
_MOST_LOGGED = 200
_LAST_WORDS_SECONDS = 2.0
_SCRATCH = ("/tmp", HOME, "/dev/shm", "/dev/pts", *(f"/dev/{name}" for name in DEVICES))
# What to run and its environment come as the first line of stdin: a secret among them must not stand in a process list.
# Held to its scratch folders first: a pipe in the workspace takes what is written into it, however read-only the mount is.
_START = """
import json, os, sys
if len(sys.argv) > 1:
    own = {'__name__': 'landlock'}
    exec(open(sys.argv[1]).read(), own)
    own['write_only_in'](sys.argv[2].split(':'), apart_from=os.getcwd())
line = b''
while not line.endswith(b'\\n'):
    piece = os.read(0, 1)
    if not piece:
        sys.exit(1)
    line += piece
told = json.loads(line)
os.environ.update(told['env'])
os.execv(told['argv'][0], told['argv'])
"""


def start_words(*, is_confined: bool) -> str:
    """The command for the sandbox's shell. `is_confined`: it sees a workspace, and may write into its scratch folders alone."""
    rules = [str(Path(landlock.__file__).resolve()), ":".join(_SCRATCH)] if is_confined else []
    return "exec " + shlex.join([str(Path(sys.executable).resolve()), "-I", "-S", "-B", "-c", _START, *rules])


def starter_paths() -> list[str]:
    """Returns what the starter itself reads: our Python, and the module that confines it."""
    return [str(Path(sys.base_prefix).resolve()), str(Path(landlock.__file__).resolve())]


def first_line(argv: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """Returns what the starter reads before it becomes the program."""
    return json.dumps({"argv": [*argv], "env": dict(environment)}).encode() + b"\n"


class LineLog:
    """The last lines that a server printed besides the protocol. `network` is what the newest of its starts reached and was refused."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_MOST_LOGGED)
        self.network = NetworkReport()

    def add(self, line: bytes) -> None:
        text = "".join(c if c.isprintable() else " " for c in line[:500].decode(errors="replace")).strip()
        if text:
            self._lines.append(text)

    def lines(self) -> list[str]:
        return list(self._lines)


@contextmanager
def started_process(
    argv: Sequence[str], *, env: Mapping[str, str], fds: tuple[int, ...]
) -> Iterator["subprocess.Popen[bytes]"]:
    """The program with pipes, which `open_pipes` closes; at the end it and its group are gone."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env),
        cwd="/",
        pass_fds=fds,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended
        process.wait()


@value
class ProcessPipes:
    """What the process prints, and what it reads."""

    output: asyncio.StreamReader
    writer: asyncio.StreamWriter


@asynccontextmanager
async def open_pipes(
    process: "subprocess.Popen[bytes]",
    lines: LineLog,
    *,
    longest_line: int = LONGEST_LINE,
    may_pass: Callable[[], bool] = lambda: True,
) -> AsyncIterator[ProcessPipes]:
    """The pipes of a started process; what it prints on stderr is logged while it `may_pass`. They are closed at the end."""
    output, errors = asyncio.StreamReader(limit=longest_line), asyncio.StreamReader(limit=65_536)
    connecting = asyncio.ensure_future(_connect_pipes(process, output, errors))
    noting = asyncio.ensure_future(log_lines(errors, lines, may_pass))
    try:
        yield ProcessPipes(output, (await asyncio.shield(connecting)).writer)
    finally:
        try:
            if output.at_eof():  # it ended: what it printed last says why
                await asyncio.wait([noting], timeout=_LAST_WORDS_SECONDS)
        finally:
            noting.cancel()
            (await _done(connecting)).close()


@value
class _PipeTransports:
    out: asyncio.ReadTransport
    err: asyncio.ReadTransport
    writer: asyncio.StreamWriter

    def close(self) -> None:
        self.out.close()
        self.err.close()
        if self.writer.transport.get_write_buffer_size():
            self.writer.transport.abort()  # `close` would keep the pipe open for what was not written yet
        else:
            self.writer.close()  # also if it was lost already: `abort` fails then


async def _connect_pipes(
    process: "subprocess.Popen[bytes]", output: asyncio.StreamReader, errors: asyncio.StreamReader
) -> _PipeTransports:
    """Never cancelled: a loop that is stopped between two of them leaves a pipe open."""
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    loop = asyncio.get_running_loop()
    out, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(output), process.stdout)
    err, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(errors), process.stderr)
    into, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
    return _PipeTransports(out, err, asyncio.StreamWriter(into, flow, None, loop))


async def _done(connecting: "asyncio.Future[_PipeTransports]") -> _PipeTransports:
    """Waits even if it is cancelled: that is a matter of two rounds of the loop."""
    while not connecting.done():
        try:
            await asyncio.wait([connecting])
        except asyncio.CancelledError:
            continue  # the caller is on its way out already
    return connecting.result()


async def log_lines(errors: asyncio.StreamReader, lines: LineLog, may_pass: Callable[[], bool] = lambda: True) -> None:
    """Others have their turn after each piece."""
    while piece := await errors.read(4096):
        for line in piece.split(b"\n") if may_pass() else ():
            lines.add(line)
        await asyncio.sleep(0)
