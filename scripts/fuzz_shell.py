"""Compares the analyser of commands with bash on a million random texts, in chunks that can be resumed: `make fuzz-shell`.

Each chunk is made from its number, so a failure can be run again: `scripts/fuzz_shell.py --first 4711 --chunks 1`.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
sys.path.insert(0, str(ROOT / "tests"))

from support.bash_differential import CHUNK, compare  # noqa: E402  # the path is set above

STATE = ROOT / "build" / "fuzz-shell.json"
CHUNKS = 1_000


def main() -> int:
    """Answers 1 if bash ran something that the analyser had not seen."""
    wanted = _arguments()
    state = _state() if wanted.first is None else {"next": wanted.first, "made": 0, "ran": 0}
    last = wanted.chunks if wanted.first is None else wanted.first + wanted.chunks
    while state["next"] < last:
        seed = state["next"]
        with tempfile.TemporaryDirectory() as folder:
            found = compare(seed, Path(folder))
        for text, ran in found.missed:
            sys.stdout.write(f"chunk {seed}: {text!r} runs {ran}\n")
        if found.missed:
            return 1
        state = {"next": seed + 1, "made": state["made"] + found.made, "ran": state["ran"] + found.ran}
        if wanted.first is None:
            STATE.parent.mkdir(exist_ok=True)
            STATE.write_text(json.dumps(state))
    sys.stdout.write(
        f"{state['made']:,} texts made, {state['ran']:,} understood and run by bash: nothing ran unseen.\n"
    )
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS, help=f"how many chunks of {CHUNK:,} texts")
    parser.add_argument("--first", type=int, help="begin at this chunk, and keep no state")
    return parser.parse_args()


def _state() -> dict[str, int]:
    return json.loads(STATE.read_text()) if STATE.exists() else {"next": 0, "made": 0, "ran": 0}


if __name__ == "__main__":
    raise SystemExit(main())
