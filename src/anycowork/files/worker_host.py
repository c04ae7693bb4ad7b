"""A process that has a worker's libraries loaded, and forks for each file: what a start costs is paid once, and nothing of one file
reaches the next.

It is started with the first file, ends when it is unused for long or when the server is gone, and reads nothing of any file itself.
Run with `-I` and the worker's module; its standard input is the socket to the server.
"""

import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from types import ModuleType
from typing import IO

from anycowork.domain.bounded_json import read_json

SECONDS = 60.0
ANSWER = 4 << 20
_IDLE_SECONDS = 300.0
_LONGEST_REQUEST = 65_536
_BEGUN, _DONE = b"b", b"d"
# Without our environment, and yet with our packages, wherever this Python found them.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from anycowork.files.worker_host import serve; serve(sys.argv[1])"


def read_answer(file: IO[bytes]) -> dict[str, object]:
    """Returns what a worker wrote into the file: a line of JSON and, if there is one, the text behind it. Empty if the line is not a JSON object."""
    file.seek(0)
    line, has_text, text = file.read(ANSWER).partition(b"\n")
    try:
        fields = read_json(line, strict=False)
    except ValueError:
        return {}
    if not isinstance(fields, dict):
        return {}
    return {**fields, "text": text.decode("utf-8", "ignore")} if has_text else {**fields}


class WorkerHost:
    """Runs one worker's module on untrusted files, each in a process of its own. Blocking; several threads may use it at once."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def run(self, data: bytes, *arguments: str) -> dict[str, object]:
        """Returns the worker's answer; its `fault` completes a sentence about the file."""
        with tempfile.TemporaryFile() as content, tempfile.TemporaryFile() as answer:
            content.write(data)
            content.flush()
            for _ in range(2):  # a host that ended because it was unused takes no request
                content.seek(0)
                ending = self._ending_of([*arguments], content.fileno(), answer.fileno())
                if ending:
                    break
            if ending is None:
                return {"fault": "takes too long to read"}
            if not ending.endswith(_DONE):
                return {"fault": "takes too long or too much memory to read"}
            return read_answer(answer)

    def close(self) -> None:
        with self._lock:
            self._end()

    def _ending_of(self, arguments: list[str], content: int, answer: int) -> bytes | None:
        """Returns what the forked process reported: that it began, that it is done; None if it took too long."""
        reader, writer = socket.socketpair()
        with reader:
            with writer, self._lock:
                host = self._connected()
                try:
                    socket.send_fds(host, [json.dumps(arguments).encode()], [content, answer, writer.fileno()])
                except OSError:
                    self._end()
                    return b""
            reader.settimeout(SECONDS)
            report = b""
            try:
                while piece := reader.recv(16):
                    report += piece
            except TimeoutError:
                self._drop(host)
                return None
        if not report:
            self._drop(host)
        return report

    def _drop(self, host: socket.socket) -> None:
        """Ends this host, if no other thread has replaced it."""
        with self._lock:
            if self._socket is host:
                self._end()

    def _connected(self) -> socket.socket:
        if self._socket is not None and self._process is not None and self._process.poll() is None:
            return self._socket
        self._end()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, json.dumps([*filter(None, sys.path)]), self._module],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        self._socket = ours
        return ours

    def _end(self) -> None:
        """Ends the host and the processes that it forked."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            try:
                os.killpg(self._process.pid, 9)
            except (ProcessLookupError, PermissionError):
                pass  # it ended
            self._process.wait()
            self._process = None


# --- in the host's process


def write_answer(output: IO[bytes], fields: dict[str, object], text: bytes | None) -> None:
    """A long text stands behind the JSON: it need not be quoted here and unquoted there."""
    output.write(json.dumps(fields).encode() + (b"" if text is None else b"\n" + text))
    output.flush()


def serve(module: str) -> None:
    import signal

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them here
    worker = importlib.import_module(module)
    gc.freeze()
    gc.disable()  # a forked process reads one file and ends: looking for garbage would cost a fifth more
    requests = socket.socket(fileno=os.dup(0))
    requests.settimeout(_IDLE_SECONDS)
    while True:
        try:
            request, descriptors, _flags, _address = socket.recv_fds(requests, _LONGEST_REQUEST, 3)
        except TimeoutError:
            return
        if not request:
            return
        if os.fork() == 0:
            requests.close()
            _work(worker, json.loads(request), descriptors)  # noqa: TID251  # the server wrote it
        for descriptor in descriptors:
            os.close(descriptor)


def _work(worker: ModuleType, arguments: list[str], descriptors: list[int]) -> None:
    """Never returns: the worker reads standard input and writes standard output, as if it had been started alone."""
    content, answer, report = descriptors
    os.write(report, _BEGUN)
    os.dup2(content, 0)
    os.dup2(answer, 1)
    sys.argv[1:] = arguments
    code = worker.main()
    sys.stdout.flush()
    if code == 0:
        os.write(report, _DONE)
    os._exit(code)
