"""Keys of model providers that a person pasted: a file of the data folder that only its owner can read. Never shown, logged or exported."""

import json
from pathlib import Path

from pydantic import SecretStr, TypeAdapter, ValidationError

from anycowork.config.secure_files import OWNER_ONLY_FILE, write_private_file
from anycowork.domain.errors import StorageFault

KEYS_FILE = "provider-keys.json"
_STORED = TypeAdapter(dict[str, str])


class ProviderKeys:
    """Maps provider names to keys. Read once; a change is durable before it applies. Printing this object never shows a key."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / KEYS_FILE
        self._keys = self._load()

    def find(self, provider: str) -> str | None:
        found = self._keys.get(provider)
        return None if found is None else found.get_secret_value()

    def put(self, provider: str, key: SecretStr) -> None:
        """Raises: StorageFault."""
        self._save({**self._keys, provider: key})

    def remove(self, provider: str) -> None:
        """Raises: StorageFault."""
        if provider in self._keys:
            self._save({name: key for name, key in self._keys.items() if name != provider})

    def _save(self, keys: dict[str, SecretStr]) -> None:
        plain = {name: key.get_secret_value() for name, key in keys.items()}
        write_private_file(self._path, json.dumps(plain, indent=2).encode() + b"\n")
        self._keys = keys

    def _load(self) -> dict[str, SecretStr]:
        """Raises: StorageFault if the file exists and cannot be read: silently forgetting keys would help nobody."""
        try:
            found = _STORED.validate_json(self._path.read_bytes())
            self._path.chmod(OWNER_ONLY_FILE)
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError):
            raise StorageFault(
                f"The model keys in {self._path} cannot be read. Correct the file, or delete it and connect the models again."
            ) from None
        return {name: SecretStr(key) for name, key in found.items()}
