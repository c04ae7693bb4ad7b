"""Files that only their owner may read: the data folder, tokens, settings. Writes are atomic."""

import json
import os
import tempfile
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from anycowork.domain.errors import StorageFault

OWNER_ONLY_FOLDER = 0o700
OWNER_ONLY_FILE = 0o600
T = TypeVar("T")


def make_private_folder(folder: Path) -> None:
    """Creates the folder so that only its owner has access. Raises: StorageFault."""
    try:
        folder.mkdir(mode=OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            _require_own(folder)
            folder.chmod(OWNER_ONLY_FOLDER)
    except (FileExistsError, NotADirectoryError) as error:
        raise StorageFault(
            f"The folder {folder} cannot be created: there is a file of that name. Choose another with --data-dir."
        ) from error
    except OSError as error:
        raise StorageFault(f"The folder {folder} cannot be used ({_reason(error)}). {_WAY_OUT}") from error


def write_private_file(path: Path, content: bytes) -> None:
    """Replaces the file atomically and durably, in a folder that only its owner has access to. Raises: StorageFault."""
    make_private_folder(path.parent)
    replace_file(path, content)


def replace_file(path: Path, content: bytes) -> None:
    """Replaces the file atomically and durably; a reader sees the old content or the new. Raises: StorageFault."""
    try:
        _replace(path, content)
    except OSError as error:
        raise StorageFault(f"{path} could not be written ({_reason(error)}). {_WAY_OUT}") from error


def _require_own(folder: Path) -> None:
    """Refuses a folder of others: closing somebody's home or /tmp would do harm.

    Raises: StorageFault unless the folder is empty or already ours.
    """
    names = {entry.name for entry in folder.iterdir()}
    if names and not names & _OURS:
        raise StorageFault(
            f"The folder {folder} contains other files and other users have access to it, so it is not used as a data folder. "
            "Name a new or an empty one with --data-dir."
        )


_OURS = {"anycowork.db", "config.toml", "token", "plugins", "models", "workflows", "roles"}
_WAY_OUT = "Make it writable for you, free some space, or choose another folder with --data-dir."


def _replace(path: Path, content: bytes) -> None:
    # mkstemp opens with 0600 whatever the umask, so the content is never readable by others.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there; the rename is durable without that
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


class PrivateJsonFile(Generic[T]):
    """`content` and `way_out` are for the message about a file that cannot be read. Blocking."""

    def __init__(self, path: Path, adapter: TypeAdapter[T], *, content: str, way_out: str) -> None:
        self._path = path
        self._adapter = adapter
        self._unreadable = f"{content} in {path} cannot be read. {way_out}"

    def read(self) -> T | None:
        """Returns what is stored; None without a file. Raises: StorageFault if the file is there and cannot be read."""
        try:
            stored = self._adapter.validate_json(self._path.read_bytes())
            self._path.chmod(OWNER_ONLY_FILE)
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            raise StorageFault(self._unreadable) from None
        return stored

    def write(self, stored: object) -> None:
        """Raises: StorageFault."""
        write_private_file(self._path, json.dumps(stored, indent=2).encode() + b"\n")
