"""The server as people run it: a child process on a data folder, which may be killed at any moment and started again.

`with child_server(fork_server, tmp_path, model_url=model.base_url) as server:` then `async with server.connect() as client:`; `server.kill()`.
"""

import json
import os
import resource
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import aiohttp

from support.cli_process import TIMEOUT, WHOLE_PROCESS, CommandLine
from support.fork_server import ForkedServer, ForkServer
from support.live_server import TOKEN, Caller, new_session
from support.stored import put_fresh_database
from support.syscall_gate import Gate

_PAUSE = 0.01  # between two looks at another process, which has no event for us to wait for


class ChildServer:
    """One data folder and one workspace; at most one process at a time. `log` is all that it ever printed."""

    def __init__(self, fork_server: ForkServer, cli: CommandLine, *, gate: Path | None = None) -> None:
        self.cli = cli
        self.data = cli.data
        self.workspace = cli.workspace
        self.url = ""
        self._fork_server = fork_server
        self._gate = gate
        self._log = cli.home / "server.log"
        self._process: ForkedServer | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server does not run"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    def start(self, *, port: int = 0) -> None:
        """Returns when it answers requests; on a free port unless told."""
        self._process = self.starting(port=port)
        self.url = self._announced_url()

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def starting(self, *, port: int = 0) -> ForkedServer:
        """One more process on the same folders, whatever becomes of it."""
        words = ["serve", "--port", str(port), "--data-dir", str(self.data), "--workspace", str(self.workspace)]
        return self._fork_server.fork(
            [*words, "--token", TOKEN, "--no-open"],
            cwd=self.workspace,
            env=self.cli.environ(),
            log=self._log,
            gate=self._gate,
        )

    def kill(self) -> None:
        """SIGKILL: nothing of it runs another instruction."""
        os.kill(self.pid, signal.SIGKILL)
        self._reap(TIMEOUT)

    def restart(self) -> None:
        self.kill()
        self.start()

    def terminate(self) -> int:
        """SIGTERM, as a service manager sends it. The exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self._reap(WHOLE_PROCESS)

    def limit_file_size(self, limit: int | None) -> None:
        """No file of the server may grow beyond this: writing there fails, as it does on a full disk. None lifts it."""
        soft = resource.RLIM_INFINITY if limit is None else limit
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (soft, resource.RLIM_INFINITY))

    def close(self) -> None:
        if self._process is not None:
            self.kill()

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Caller]:
        """A person who finds the server again after each restart."""
        async with new_session() as session:
            yield _ReconnectingClient(self, session)

    def _announced_url(self) -> str:
        assert self._process is not None
        until = time.monotonic() + WHOLE_PROCESS
        while time.monotonic() < until:
            if self._process.is_over():
                raise AssertionError(f"The server ended:\n{self.log}")
            try:
                info = json.loads((self.data / "server.json").read_text())
            except FileNotFoundError:
                info = {}
            if info.get("pid") == self._process.pid:  # a killed one may have left its own behind
                return str(info["url"])
            time.sleep(_PAUSE)
        raise AssertionError(f"The server did not start:\n{self.log}")

    def _reap(self, seconds: float) -> int:
        assert self._process is not None
        code = self._process.wait(seconds)
        self._process = None
        return code


class _ReconnectingClient(Caller):
    def __init__(self, server: ChildServer, session: aiohttp.ClientSession) -> None:
        self._server = server
        self.session = session

    @property
    def url(self) -> str:  # type: ignore[override]  # it moves with every start
        return self._server.url


@contextmanager
def child_server(
    fork_server: ForkServer,
    tmp_path: Path,
    *,
    model_url: str,
    files: dict[str, str] | None = None,
    gate: Gate | None = None,
    port: int = 0,
) -> Iterator[ChildServer]:
    """A running server, gone at the end. With a gate, its system calls pass through that. On a held port it can be started again at the
    same address."""
    server = ChildServer(fork_server, CommandLine(tmp_path, model_url), gate=gate.path if gate else None)
    for name, text in (files or {}).items():
        (server.workspace / name).write_text(text)
    server.data.mkdir(mode=0o700, exist_ok=True)
    put_fresh_database(server.data)
    try:
        server.start(port=port)
        yield server
    finally:
        server.close()
