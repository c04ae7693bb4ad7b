"""Clones the committed tree into an empty folder and shows that `make run` and `make test` set everything up there by themselves.

    python scripts/clean_clone.py           both (`make test-clone`)
    python scripts/clean_clone.py run       only one of them

Needs the network, as a newcomer does. The home folder is an empty one, so that no cache or setting of this machine helps."""

import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONGEST = 3600  # seconds for one target, with everything that it loads
READY = "Ctrl-C"
ADDRESS = "http://127.0.0.1:"
NARROW = "tests/unit/test_make_targets.py"  # of the tests: what is shown is that they can run


def main(wanted: list[str]) -> int:
    shown = {"run": runs, "test": tests}
    with tempfile.TemporaryDirectory(prefix="anycowork-clone-") as folder:
        clone, home = Path(folder) / "clone", Path(folder) / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for target in wanted or list(shown):
            if not shown[target](clone, environment(home)):
                print(f"make {target} does not set up a clean clone", file=sys.stderr)
                return 1
            print(f"make {target} sets up a clean clone and works", flush=True)
    return 0


def environment(home: Path) -> dict[str, str]:
    ours = ("ANYCOWORK_", "OPENAI_", "ANTHROPIC_", "PYTEST_", "PYTHON", "VIRTUAL_ENV", "MAKE", "MFLAGS", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "HOME": str(home)}


def runs(clone: Path, environ: dict[str, str]) -> bool:
    """Starts the server as a newcomer does, waits until it says that it is ready, and asks it."""
    command = ["make", "run", "ARGS=--port 0 --no-open"]
    with subprocess.Popen(
        command, cwd=clone, env=environ, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as made:
        assert made.stdout is not None
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(made.pid, signal.SIGKILL))
        signal.alarm(LONGEST)
        address = ""
        for line in made.stdout:
            print("   ", line, end="", flush=True)
            if ADDRESS in line:
                address = ADDRESS + line.partition(ADDRESS)[2].split("/")[0].split()[0]
            if line.startswith(READY):
                break
        try:
            return bool(address) and healthy(address)
        finally:
            signal.alarm(0)
            os.killpg(made.pid, signal.SIGTERM)


def healthy(address: str) -> bool:
    with urllib.request.urlopen(f"{address}/healthz", timeout=30) as answer:
        return bool(answer.status == 200)


def tests(clone: Path, environ: dict[str, str]) -> bool:
    return subprocess.run(["make", "test", f"ARGS={NARROW}"], cwd=clone, env=environ, timeout=LONGEST).returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
