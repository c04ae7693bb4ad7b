"""Pasted keys in a real keyring of the operating system: GNOME's Secret Service on a session bus of the test's own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.spec import proves

NEEDED = ("dbus-run-session", "gnome-keyring-daemon")
SECONDS = 90.0
# Unlocks a new keyring, waits until it answers, and ends it with the session.
SESSION = """
printf password | gnome-keyring-daemon --foreground --unlock --components=secrets >/dev/null 2>&1 &
keyring=$!
"$@"
code=$?
kill "$keyring"
exit "$code"
"""
CHILD = """
import json, sys, time
from pathlib import Path
from pydantic import SecretStr
from anycowork.server.secrets.keyring_client import SystemKeyring
from anycowork.server.secrets.provider_keys import ProviderKeys

url = "https://models.example.org/v1"
keyring = SystemKeyring("anycowork-test", seconds=60)
ends = time.monotonic() + 60
while keyring.state().title is None and time.monotonic() < ends:
    time.sleep(0.1)
folder = Path(sys.argv[1])
ProviderKeys(folder, keyring).put("office", SecretStr("sk-secret-0123456789"), url)
again = ProviderKeys(folder, keyring)
found = again.find("office", url)
files = [path.name for path in Path.home().parent.rglob("*") if path.is_file() and b"sk-secret" in path.read_bytes()]
again.remove("office")
print(json.dumps({"title": keyring.state().title, "found": found, "files": files, "removed": keyring.get(["office"]) == {}}))
"""


@proves("MOD-1")
@pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason=f"needs {' and '.join(NEEDED)}")
def test_a_pasted_key_is_kept_in_the_secret_service_and_in_no_file_of_ours(tmp_path: Path) -> None:
    home, data, runtime = tmp_path / "home", tmp_path / "data", tmp_path / "run"
    for folder in (home, data, runtime):
        folder.mkdir(mode=0o700)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "LANG": "C.UTF-8"}
    child = [sys.executable, "-c", CHILD, str(data)]
    done = subprocess.run(
        ["dbus-run-session", "--", "sh", "-c", SESSION, "sh", *child],
        env=environment,
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer == {"title": "Secret Service", "found": "sk-secret-0123456789", "files": [], "removed": True}
    assert list(home.rglob("*.keyring")), "the keyring wrote its own file"
