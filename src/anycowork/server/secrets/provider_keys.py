"""Keys of model providers that a person pasted. They are never shown, logged or exported.

They lie in the operating system's keyring, or else in a file of the data folder that only its owner can read.

A key belongs to the host that the provider had when the key was pasted. Wherever the address is changed, the key is sent nowhere else.
"""

import logging
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr, TypeAdapter

from anycowork.config.secure_files import PrivateJsonFile
from anycowork.domain.values import replace, value
from anycowork.server.secrets.keyring_client import SystemKeyring

log = logging.getLogger(__name__)

KEYS_FILE = "provider-keys.json"


@value
class ProviderKey:
    """`origin` is the scheme, host and port that it was pasted for; None in files of earlier releases: then it belongs to any.
    `key` is None if it lies in a keyring that did not answer."""

    key: SecretStr | None
    origin: str | None = None
    in_keyring: bool = False


class ProviderKeys:
    """Maps provider names to keys. Read once; a change is durable before it applies. Printing this object never shows a key.

    The file lists every provider; a key that lies in the keyring is not in it. Blocking.
    """

    def __init__(self, data_dir: Path, keyring: SystemKeyring | None = None) -> None:
        way_out = "Correct the file, or delete it and connect the models again."
        self._file = PrivateJsonFile(data_dir / KEYS_FILE, _STORED, content="The model keys", way_out=way_out)
        self._keyring = keyring or SystemKeyring(service_of(data_dir))
        self._keys = self._load()

    def find(self, provider: str, address: str | None) -> str | None:
        """Returns the provider's key, if it was pasted for the host of this address."""
        stored_key = self._keys.get(provider)
        if stored_key is None or stored_key.key is None or stored_key.origin not in (None, origin_of(address)):
            return None
        return stored_key.key.get_secret_value()

    def values(self) -> list[str]:
        """Returns every key, so that the log can leave them out."""
        return [
            stored_key.key.get_secret_value() for stored_key in list(self._keys.values()) if stored_key.key is not None
        ]

    def put(self, provider: str, key: SecretStr, address: str | None) -> None:
        """Raises: StorageFault."""
        self._save({**self._keys, provider: ProviderKey(key, origin_of(address))})

    def remove(self, provider: str) -> None:
        """Raises: StorageFault."""
        removed = self._keys.get(provider)
        if removed is None:
            return
        self._save({name: key for name, key in self._keys.items() if name != provider})
        if removed.in_keyring and (fault := self._keyring.delete([provider]).fault):
            log.warning("the key of %s may still lie in the keyring: %s", provider, fault)

    def _save(self, keys: dict[str, ProviderKey]) -> None:
        """Moves to the keyring what is not there yet, if there is one; the file takes the rest."""
        new = {
            name: stored_key.key.get_secret_value()
            for name, stored_key in keys.items()
            if stored_key.key and not stored_key.in_keyring
        }
        if new and self._keyring.put(new).title:
            keys = {
                name: replace(stored_key, in_keyring=stored_key.in_keyring or name in new)
                for name, stored_key in keys.items()
            }
        self._file.write({name: _stored(stored_key) for name, stored_key in keys.items()})
        self._keys = keys

    def _load(self) -> dict[str, ProviderKey]:
        """Raises: StorageFault if the file exists and cannot be read: silently forgetting keys would help nobody."""
        keys = {name: _read_key(stored_key) for name, stored_key in (self._file.read() or {}).items()}
        away = [name for name, stored_key in keys.items() if stored_key.in_keyring]
        brought = self._keyring.get(away) if away else {}
        for name in away:
            if name in brought:
                keys[name] = replace(keys[name], key=SecretStr(brought[name]))
            else:
                log.warning(
                    "the key of %s was not found in the keyring; unlock it and restart, or paste it again", name
                )
        return keys


def service_of(data_dir: Path) -> str:
    """Returns the name under which the keyring keeps the keys of this data folder."""
    return f"AnyCowork {data_dir}"


_KEYRING = "keyring"
_STORED = TypeAdapter(dict[str, str | dict[str, str | None]])


def _read_key(stored: str | dict[str, str | None]) -> ProviderKey:
    if isinstance(stored, str):
        return ProviderKey(SecretStr(stored))
    if stored.get("kept_in") == _KEYRING:
        return ProviderKey(None, stored.get("origin"), in_keyring=True)
    return ProviderKey(SecretStr(stored.get("key") or ""), stored.get("origin"))


def _stored(stored_key: ProviderKey) -> dict[str, str | None]:
    if stored_key.in_keyring:
        return {"kept_in": _KEYRING, "origin": stored_key.origin}
    return {"key": stored_key.key.get_secret_value() if stored_key.key else "", "origin": stored_key.origin}


def origin_of(address: str | None) -> str:
    """Returns scheme, host and port of an address; empty for a provider without one."""
    parts = urlsplit(address or "")
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}" if parts.hostname else ""
