"""The operating system's keyring, if there is one that answers in time. The server itself never imports the library (`keyring_worker`)."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from anycowork.domain.bounded_json import read_json
from anycowork.domain.values import value

SECONDS = 10.0
WORKER = (sys.executable, "-I", "-m", "anycowork.server.secrets.keyring_worker")
# Only what leads to the person's own keyring: no key of a model goes to the child.
_NAMES = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CURRENT_DESKTOP", "PYTHON_KEYRING_BACKEND",
    "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP",
)  # fmt: skip


@value
class KeyringState:
    """`title` names the keyring that answers; without one, `fault` says why."""

    title: str | None = None
    fault: str = ""


class SystemKeyring:
    """Keeps secrets of one service under names. Every call is bounded, and blocking."""

    def __init__(self, service: str, *, worker: Sequence[str] = WORKER, seconds: float = SECONDS) -> None:
        self._service = service
        self._worker = worker
        self._seconds = seconds

    def state(self) -> KeyringState:
        return _state(self._ask({"do": "name"}))

    def put(self, keys: Mapping[str, str]) -> KeyringState:
        """With a fault, what was kept before may have been replaced, but nothing may be taken for kept."""
        return _state(self._ask({"do": "set", "keys": dict(keys)}))

    def get(self, names: Sequence[str]) -> dict[str, str]:
        """Returns those that are there; none if the keyring does not answer."""
        keys = self._ask({"do": "get", "names": list(names)}).get("keys")
        return {name: key for name, key in keys.items() if isinstance(key, str)} if isinstance(keys, dict) else {}

    def delete(self, names: Sequence[str]) -> KeyringState:
        return _state(self._ask({"do": "delete", "names": list(names)}))

    def _ask(self, request: Mapping[str, object]) -> dict[str, object]:
        if not _may_have_keyring():
            return {"fault": "there is no session bus (D-Bus) here, so no keyring"}
        try:
            done = subprocess.run(
                self._worker,
                input=json.dumps({**request, "service": self._service}).encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _NAMES if name in os.environ},
                timeout=self._seconds,
                check=True,
            )
            answer = read_json(done.stdout, strict=False)
        except subprocess.TimeoutExpired:
            return {"fault": f"the keyring did not answer within {self._seconds:.0f} seconds; it may be locked"}
        except (OSError, subprocess.CalledProcessError, ValueError):
            return {"fault": "the keyring cannot be used"}
        return dict(answer) if isinstance(answer, dict) else {}


def _may_have_keyring() -> bool:
    """On Linux a keyring is reached over the session bus. Where there is none, nothing is started: neither a child nor a new bus."""
    if sys.platform != "linux":
        return True
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return bool(os.environ.get("DBUS_SESSION_BUS_ADDRESS")) or bool(runtime and Path(runtime, "bus").exists())


def _state(answer: Mapping[str, object]) -> KeyringState:
    title, fault = answer.get("title"), answer.get("fault")
    if isinstance(title, str):
        return KeyringState(title)
    return KeyringState(None, fault if isinstance(fault, str) else "the keyring cannot be used")
