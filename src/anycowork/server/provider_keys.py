"""Keys of model providers that a person pasted: a file of the data folder that only its owner can read. Never shown, logged or exported.

A key belongs to the host that the provider had when the key was pasted. Wherever the address is changed, the key is sent nowhere else.
"""

import json
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr, TypeAdapter, ValidationError

from anycowork.config.secure_files import OWNER_ONLY_FILE, write_private_file
from anycowork.domain.errors import StorageFault
from anycowork.domain.values import value

KEYS_FILE = "provider-keys.json"


@value
class ProviderKey:
    """`origin` is the scheme, host and port that it was pasted for; None in files of earlier releases: then it belongs to any."""

    key: SecretStr
    origin: str | None = None


class ProviderKeys:
    """Maps provider names to keys. Read once; a change is durable before it applies. Printing this object never shows a key."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / KEYS_FILE
        self._keys = self._load()

    def find(self, provider: str, address: str | None) -> str | None:
        """Returns the provider's key, if it was pasted for the host of this address."""
        found = self._keys.get(provider)
        if found is None or found.origin not in (None, origin_of(address)):
            return None
        return found.key.get_secret_value()

    def put(self, provider: str, key: SecretStr, address: str | None) -> None:
        """Raises: StorageFault."""
        self._save({**self._keys, provider: ProviderKey(key, origin_of(address))})

    def remove(self, provider: str) -> None:
        """Raises: StorageFault."""
        if provider in self._keys:
            self._save({name: key for name, key in self._keys.items() if name != provider})

    def _save(self, keys: dict[str, ProviderKey]) -> None:
        plain = {name: {"key": one.key.get_secret_value(), "origin": one.origin} for name, one in keys.items()}
        write_private_file(self._path, json.dumps(plain, indent=2).encode() + b"\n")
        self._keys = keys

    def _load(self) -> dict[str, ProviderKey]:
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
        return {name: _read_key(one) for name, one in found.items()}


_STORED = TypeAdapter(dict[str, str | dict[str, str | None]])


def _read_key(stored: str | dict[str, str | None]) -> ProviderKey:
    if isinstance(stored, str):
        return ProviderKey(SecretStr(stored))
    return ProviderKey(SecretStr(stored.get("key") or ""), stored.get("origin"))


def origin_of(address: str | None) -> str:
    """Returns scheme, host and port of an address; empty for a provider without one."""
    parts = urlsplit(address or "")
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}" if parts.hostname else ""
