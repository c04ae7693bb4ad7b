"""Keys of model providers that a person pasted: in the operating system's keyring, else in a file of the data folder that only its owner
can read. Never shown, logged or exported.

A key belongs to the host that the provider had when the key was pasted. Wherever the address is changed, the key is sent nowhere else.
"""

import json
import logging
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr, TypeAdapter, ValidationError

from anycowork.config.secure_files import OWNER_ONLY_FILE, write_private_file
from anycowork.domain.errors import StorageFault
from anycowork.domain.values import replace, value
from anycowork.server.keyring_client import SystemKeyring

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
        self._path = data_dir / KEYS_FILE
        self._keyring = keyring or SystemKeyring(service_of(data_dir))
        self._keys = self._load()

    def find(self, provider: str, address: str | None) -> str | None:
        """Returns the provider's key, if it was pasted for the host of this address."""
        found = self._keys.get(provider)
        if found is None or found.key is None or found.origin not in (None, origin_of(address)):
            return None
        return found.key.get_secret_value()

    def values(self) -> list[str]:
        """Returns every key, so that the log can leave them out."""
        return [one.key.get_secret_value() for one in list(self._keys.values()) if one.key is not None]

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
        new = {name: one.key.get_secret_value() for name, one in keys.items() if one.key and not one.in_keyring}
        if new and self._keyring.put(new).title:
            keys = {name: replace(one, in_keyring=one.in_keyring or name in new) for name, one in keys.items()}
        plain = {name: _stored(one) for name, one in keys.items()}
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
        keys = {name: _read_key(one) for name, one in found.items()}
        away = [name for name, one in keys.items() if one.in_keyring]
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


def _stored(one: ProviderKey) -> dict[str, str | None]:
    if one.in_keyring:
        return {"kept_in": _KEYRING, "origin": one.origin}
    return {"key": one.key.get_secret_value() if one.key else "", "origin": one.origin}


def origin_of(address: str | None) -> str:
    """Returns scheme, host and port of an address; empty for a provider without one."""
    parts = urlsplit(address or "")
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}" if parts.hostname else ""
