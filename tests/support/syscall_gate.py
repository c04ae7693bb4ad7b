"""A gate for a server's system calls: syncs and renames pass, until the test names one that shall be held."""

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from support.syncwatch import RENAMES, SYNCS, HeldCall, SyncWatch, hand_over

TIMEOUT = 60.0
_LOOK = 0.05  # seconds between two looks whether the test is over


class Gate:
    """A held call stays held until it is released, or its process is dead."""

    def __init__(self, path: Path, listener: socket.socket) -> None:
        self.path = path
        self._listener = listener
        self._stopping = threading.Event()
        self._reached = threading.Event()
        self._released = threading.Event()
        self._wanted: Callable[[HeldCall], bool] | None = None

    def hold(self, wanted: Callable[[HeldCall], bool]) -> None:
        """The first call that fits does not happen until `release`."""
        self._reached.clear()
        self._released.clear()
        self._wanted = wanted

    @property
    def is_held(self) -> bool:
        """Whether the call has come and waits."""
        return self._reached.is_set()

    def wait_until_held(self) -> None:
        assert self._reached.wait(TIMEOUT), "the call to be held never came"

    def release(self) -> None:
        self._released.set()

    def watch(self) -> None:
        """Each server that starts; one that was killed may have left children whose calls still come through here."""
        self._listener.settimeout(_LOOK)
        while not self._stopping.is_set():
            try:
                server, _ = self._listener.accept()
            except TimeoutError:
                continue
            with server:
                watch = SyncWatch.received_from(server)
            threading.Thread(target=self._serve, args=(watch,), name="syscall-gate", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()
        self._released.set()

    def _serve(self, server: SyncWatch) -> None:
        poll = select.poll()
        poll.register(server.listener, select.POLLIN)
        while not self._stopping.is_set():
            ready = poll.poll(1000 * _LOOK)
            if any(mask & select.POLLHUP for _, mask in ready):
                break  # the process is gone
            if ready:
                self._answer_one(server)
        server.close()

    def _answer_one(self, server: SyncWatch) -> None:
        try:
            call = server.next()
        except (FileNotFoundError, ProcessLookupError):
            return  # it died meanwhile
        if self._wanted is not None and self._wanted(call):
            self._wanted = None
            self._reached.set()
            self._released.wait()
        server.let_go(call)


@contextmanager
def syscall_gate(folder: Path) -> Iterator[Gate]:
    """Give it to `child_server`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(folder / "gate"))
        listener.listen()
        gate = Gate(folder / "gate", listener)
        watcher = threading.Thread(target=gate.watch, name="syscall-gate")
        watcher.start()
        try:
            yield gate
        finally:
            gate.stop()
            watcher.join(TIMEOUT)


def pass_through(path: str) -> None:
    """From now on the calls of this process pass through the gate at this path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as test:
        test.connect(path)
        hand_over(test, (*SYNCS, *RENAMES))


def to_log(call: HeldCall) -> bool:
    """A commit of the database."""
    return call.name in SYNCS and call.path.name.endswith("-wal")


def rename_to(name: str) -> Callable[[HeldCall], bool]:
    return lambda call: call.name in RENAMES and call.path.name == name


def sync_of(folder: Path) -> Callable[[HeldCall], bool]:
    real = folder.resolve()
    return lambda call: call.name in SYNCS and call.path == real
