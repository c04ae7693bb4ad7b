"""Ensures one server per data folder: the lock, `server.json` with its address, and its token.

The lock decides: the system releases it with the process, so a leftover `server.json` misleads nobody.
"""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from anycowork.config.secure_files import OWNER_ONLY_FILE, make_private_folder, write_private_file
from anycowork.domain.errors import Conflict, Invalid, StorageFault
from anycowork.domain.people import is_person_token
from anycowork.domain.values import value

LOCK_FILE = "lock"
SERVER_FILE = "server.json"
TOKEN_FILE = "token"

# A call of `running_server` holds the lock briefly; a server that starts at that time retries for this long.
_LOCK_WAIT_SECONDS = 0.5
# A server that was killed while it started a program leaves its lock to that program's process, until it is loaded.
_DEAD_HOLDER_WAIT_SECONDS = 20.0
_PAUSE_SECONDS = 0.01


class AlreadyRunning(Conflict):
    code = "already_running"


class ServerInfo(BaseModel):
    """Where a server listens, as written in `server.json`. It does not contain the token."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pid: int
    url: str
    host: str
    port: int
    started_at: str
    version: str


@value
class DataFolderLock:
    """A data folder that this process holds exclusively."""

    data_dir: Path

    def announce(self, info: ServerInfo) -> None:
        """Publishes where this server listens; call it when requests are answered, not before."""
        write_private_file(self.data_dir / SERVER_FILE, info.model_dump_json(indent=2).encode() + b"\n")


@contextmanager
def lock_data_folder(data_dir: Path) -> Iterator[DataFolderLock]:
    """Makes this process the folder's only server until the block ends. Raises: AlreadyRunning, StorageFault."""
    make_private_folder(data_dir)
    lock = _open_lock(data_dir)
    server_file = data_dir / SERVER_FILE
    try:
        if not _try_lock(lock, wait_seconds=_LOCK_WAIT_SECONDS) and (
            _holder_lives(lock) or not _try_lock(lock, wait_seconds=_DEAD_HOLDER_WAIT_SECONDS)
        ):
            raise AlreadyRunning(_describe_holder(data_dir))
        os.pwrite(lock, b"%-20d\n" % os.getpid(), 0)
        server_file.unlink(missing_ok=True)  # left by a server that was killed
        try:
            yield DataFolderLock(data_dir)
        finally:
            server_file.unlink(missing_ok=True)
    finally:
        os.close(lock)


def running_server(data_dir: Path) -> ServerInfo | None:
    """Returns the folder's server if it is running and ready; None if there is none, or it has not announced itself yet."""
    return _announced(data_dir) if is_locked(data_dir) else None


def is_locked(data_dir: Path) -> bool:
    """Tells whether a running process holds this data folder, ready or not. Raises: StorageFault if that cannot be checked."""
    try:
        if not (data_dir / LOCK_FILE).exists():
            return False
    except PermissionError:
        raise StorageFault(
            f"{data_dir} belongs to another user. Change its owner, or choose another --data-dir."
        ) from None
    lock = _open_lock(data_dir)
    try:
        return not _try_lock(lock, wait_seconds=0)
    finally:
        os.close(lock)


def load_or_create_token(data_dir: Path, configured: SecretStr | None) -> SecretStr:
    """Returns the token of this data folder: the given one, else the stored one, else a new one. Stores it readable by the owner only.

    Raises: Invalid for the token of a person: whoever has it would be the owner.
    """
    if configured is not None and is_person_token(configured.get_secret_value()):
        raise Invalid(
            "The setting 'token' holds the token of a person, which cannot be the server's own. Unset ANYCOWORK_TOKEN to start a server; "
            "commands with it need a server that runs."
        )
    if configured is None and (stored := stored_token(data_dir)) is not None:
        (data_dir / TOKEN_FILE).chmod(OWNER_ONLY_FILE)
        return stored
    token = configured or SecretStr(secrets.token_urlsafe(32))
    write_private_file(data_dir / TOKEN_FILE, token.get_secret_value().encode() + b"\n")
    return token


def stored_token(data_dir: Path) -> SecretStr | None:
    """Raises: StorageFault if there is one that cannot be read."""
    path = data_dir / TOKEN_FILE
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StorageFault(
            f"The token in {path} cannot be read. Delete the file; the next start creates a new one."
        ) from error
    return SecretStr(text) if text else None


def _open_lock(data_dir: Path) -> int:
    path = data_dir / LOCK_FILE
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, OWNER_ONLY_FILE)
    except OSError as error:
        raise StorageFault(
            f"{path} cannot be opened ({error.strerror}). Change its owner, or choose another --data-dir."
        ) from error


def _try_lock(lock: int, *, wait_seconds: float) -> bool:
    until = time.monotonic() + wait_seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True


def _holder_lives(lock: int) -> bool:
    """Tells whether the process that took the lock is still there; yes if nobody can say."""
    try:
        os.kill(int(os.pread(lock, 20, 0)), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OverflowError, OSError):
        pass
    return True


def _describe_holder(data_dir: Path) -> str:
    info = _announced(data_dir)
    holder = f"at {info.url} (pid {info.pid})" if info else "and is just starting"
    return (
        f"A server already uses the data folder {data_dir}, {holder}. "
        "Open that one, stop it first, or choose another --data-dir."
    )


def _announced(data_dir: Path) -> ServerInfo | None:
    try:
        return ServerInfo.model_validate_json((data_dir / SERVER_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
