"""Pasted keys go to the operating system's keyring if there is one that answers; else to the file, and nothing hangs."""

import json
import socket
import sys
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError, PasswordSetError
from pydantic import SecretStr

from anycowork.cli.diagnostics import _key_storage
from anycowork.server.secrets import keyring_worker
from anycowork.server.secrets.keyring_client import SystemKeyring
from anycowork.server.secrets.provider_keys import KEYS_FILE, ProviderKeys
from support.spec import proves

KEY, URL = "sk-secret-0123456789", "https://models.example.org/v1"
# Answers as the worker does, and keeps what it is given in a file beside it; `locked` beside it makes it refuse.
VAULT = """
import json, pathlib, sys
here = pathlib.Path(__file__).parent
request = json.load(sys.stdin)
file = here / "vault.json"
kept = json.loads(file.read_text()) if file.exists() else {}
if (here / "locked").exists():
    print(json.dumps({"fault": "locked"})); sys.exit()
kept |= request.get("keys") or {}
if request["do"] == "delete":
    kept = {name: key for name, key in kept.items() if name not in request["names"]}
file.write_text(json.dumps(kept))
print(json.dumps({"title": "Vault", "keys": kept}))
"""


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SystemKeyring:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
    (tmp_path / "vault.py").write_text(VAULT)
    return SystemKeyring("test", worker=(sys.executable, "-I", str(tmp_path / "vault.py")), seconds=60)


def in_vault(tmp_path: Path) -> dict[str, str]:
    return json.loads((tmp_path / "vault.json").read_text())


@proves("MOD-1")
def test_a_key_goes_to_the_keyring_moves_there_from_the_file_and_is_removed_from_both(
    tmp_path: Path, vault: SystemKeyring
) -> None:
    file = tmp_path / KEYS_FILE
    file.write_text(json.dumps({"old": {"key": "sk-old", "origin": None}}))
    keys = ProviderKeys(tmp_path, vault)
    keys.put("office", SecretStr(KEY), URL)
    assert in_vault(tmp_path) == {"office": KEY, "old": "sk-old"}
    assert KEY not in file.read_text() and "sk-old" not in file.read_text()
    again = ProviderKeys(tmp_path, vault)
    assert (again.find("office", URL), again.find("old", URL)) == (KEY, "sk-old")
    assert again.find("office", "https://elsewhere.example.org/") is None, "the host still counts"
    again.remove("office")
    assert in_vault(tmp_path) == {"old": "sk-old"} and "office" not in file.read_text()


@proves("MOD-1")
def test_a_keyring_that_refuses_leaves_keys_in_the_owners_file(tmp_path: Path, vault: SystemKeyring) -> None:
    keys = ProviderKeys(tmp_path, vault)
    keys.put("kept", SecretStr("sk-kept"), URL)
    (tmp_path / "locked").touch()
    locked = ProviderKeys(tmp_path, vault)
    assert locked.find("kept", URL) is None
    locked.put("office", SecretStr(KEY), URL)
    file = tmp_path / KEYS_FILE
    assert KEY in file.read_text() and file.stat().st_mode & 0o777 == 0o600
    (tmp_path / "locked").unlink()
    assert ProviderKeys(tmp_path, vault).find("kept", URL) == "sk-kept", "what lay in the keyring was not forgotten"


@pytest.mark.skipif(sys.platform != "linux", reason="the bus is Linux's")
def test_a_dead_bus_and_a_silent_one_end_in_the_file_in_bounded_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    assert "D-Bus" in SystemKeyring("test").state().fault
    assert KEYS_FILE in _key_storage(tmp_path).detail
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "bus"))
        silent.listen()
        for address in ("/nonexistent", tmp_path / "bus"):
            monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={address}")
            keys = ProviderKeys(tmp_path, SystemKeyring("test", seconds=2))
            keys.put("office", SecretStr(KEY), URL)
            assert keys.find("office", URL) == KEY and KEY in (tmp_path / KEYS_FILE).read_text()


class Wallet(KeyringBackend):
    priority = 1
    __module__ = "keyring.backends.SecretService"  # as that of a desktop

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def set_password(self, service: str, username: str, password: str) -> None:
        if username == "refused":
            raise PasswordSetError
        self.kept[service, username] = password

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError


def test_the_worker_uses_only_keyrings_of_operating_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    wallet = Wallet()
    monkeypatch.setattr(keyring, "get_keyring", lambda: wallet)
    ask = keyring_worker.answer
    assert ask({"do": "set", "service": "s", "keys": {"a": KEY}}) == {"title": "Secret Service"}
    assert ask({"do": "get", "service": "s", "names": ["a", "b"]})["keys"] == {"a": KEY, "b": None}
    assert ask({"do": "delete", "service": "s", "names": ["a", "b"]}) == {"title": "Secret Service"}
    assert wallet.kept == {} and "fault" in ask({"do": "set", "service": "s", "keys": {"refused": KEY}})
    monkeypatch.setattr(Wallet, "__module__", "keyrings.alt.file")
    assert "fault" in ask({"do": "set", "service": "s", "keys": {"a": KEY}}) and wallet.kept == {}
