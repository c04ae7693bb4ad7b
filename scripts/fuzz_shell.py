"""Compares the analyser of commands with bash on a million random texts, in chunks that can be resumed: `make fuzz-shell`.

Each chunk is made from its number, so a failure can be run again: `scripts/fuzz_shell.py --first 4711 --chunks 1`.
"""

import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
sys.path.insert(0, str(ROOT / "tests"))

from support.bash_differential import CHUNK, Compared, compare  # noqa: E402  # the path is set above

STATE = ROOT / "build" / "fuzz-shell.json"
CHUNKS = 100
# The state counts chunks of one generator: texts of another one are other texts.
GENERATOR = 2


def main() -> int:
    """Answers 1 if bash ran something that the analyser had not seen."""
    wanted = _arguments()
    state = _state() if wanted.first is None else _state_at(wanted.first)
    last = wanted.chunks if wanted.first is None else wanted.first + wanted.chunks
    with ProcessPoolExecutor(wanted.workers) as workers:
        seeds = range(state["next"], last)
        for seed, found in zip(seeds, workers.map(_compare_chunk, seeds), strict=True):
            for text, ran in found.missed:
                sys.stdout.write(f"chunk {seed}: {text!r} runs {ran}\n")
            if found.missed:
                workers.shutdown(cancel_futures=True)
                return 1
            state |= {"next": seed + 1, "made": state["made"] + found.made, "ran": state["ran"] + found.ran}
            if wanted.first is None:
                STATE.parent.mkdir(exist_ok=True)
                STATE.write_text(json.dumps(state))
    sys.stdout.write(
        f"{state['made']:,} texts made, {state['ran']:,} understood and run by bash: nothing ran unseen.\n"
    )
    return 0


def _compare_chunk(seed: int) -> Compared:
    with tempfile.TemporaryDirectory() as folder:
        return compare(seed, Path(folder))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=CHUNKS, help=f"how many chunks of {CHUNK:,} texts")
    parser.add_argument("--first", type=int, help="begin at this chunk, and keep no state")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="how many chunks are compared at a time")
    return parser.parse_args()


def _state() -> dict[str, int]:
    stored: dict[str, int] = json.loads(STATE.read_text()) if STATE.exists() else {}
    return stored if stored.get("generator") == GENERATOR else _state_at(0)


def _state_at(chunk: int) -> dict[str, int]:
    return {"generator": GENERATOR, "next": chunk, "made": 0, "ran": 0}


if __name__ == "__main__":
    raise SystemExit(main())
