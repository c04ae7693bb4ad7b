"""A JSON file of the data folder that only its owner can read."""

import json
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from anycowork.config.secure_files import OWNER_ONLY_FILE, write_private_file
from anycowork.domain.errors import StorageFault

T = TypeVar("T")


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
