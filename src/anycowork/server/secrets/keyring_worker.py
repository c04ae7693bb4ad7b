"""The child process that talks to the operating system's keyring. One JSON object in, one out; secrets stand in neither arguments nor logs.

A keyring may wait for a person for ever, or for a bus that is dead: only a process can be ended then. Run as
`python -I -m anycowork.server.secrets.keyring_worker`.
"""

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

# Stores of operating systems and desktops. Others keep plain text, nothing, or their own password.
REAL = {
    "keyring.backends.SecretService": "Secret Service",
    "keyring.backends.libsecret": "libsecret",
    "keyring.backends.kwallet": "KWallet",
    "keyring.backends.macOS": "macOS Keychain",
    "keyring.backends.Windows": "Windows Credential Locker",
}


def main() -> int:
    sys.stdout.write(json.dumps(answer(json.loads(sys.stdin.buffer.read()))))  # noqa: TID251  # our own process wrote it
    return 0


def answer(request: dict[str, object]) -> dict[str, object]:
    """`do` is set (`keys`: name to secret), get or delete (`names`), or name. `fault` in the answer says that nothing can be kept here."""
    from keyring.errors import KeyringError, PasswordDeleteError

    backend = _real_backend()
    if backend is None:
        return {"fault": "there is no keyring of the operating system here"}
    title, service = REAL[type(backend).__module__], str(request["service"])
    keys, names = request.get("keys"), request.get("names")
    try:
        if isinstance(keys, dict):
            for name, secret in keys.items():
                backend.set_password(service, name, secret)
                if backend.get_password(service, name) != secret:
                    return {"fault": f"{title} does not give back what it was given"}
        elif isinstance(names, list) and request["do"] == "get":
            return {"title": title, "keys": {name: backend.get_password(service, name) for name in names}}
        elif isinstance(names, list):
            for name in names:
                try:
                    backend.delete_password(service, name)
                except PasswordDeleteError:
                    continue  # it is not there
    except (KeyringError, OSError, RuntimeError) as error:
        return {"fault": f"{title} refused ({type(error).__name__})"}
    return {"title": title}


def _real_backend() -> "KeyringBackend | None":
    import keyring

    chosen = keyring.get_keyring()
    several = getattr(chosen, "backends", None)  # of the one that asks several in turn
    candidates = list(several) if isinstance(several, list) else [chosen]
    return next((candidate for candidate in candidates if type(candidate).__module__ in REAL), None)


if __name__ == "__main__":
    sys.exit(main())
