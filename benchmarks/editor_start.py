"""What does `anycowork acp` cost until it has answered `initialize`? An editor waits for it."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from resource import RUSAGE_CHILDREN, getrusage

from measuring import Ground, Leg, environment_of_ours

QUESTION = "What `anycowork acp` costs until `initialize` is answered"
_INITIALIZE = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}) + "\n"


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    answering = ["-m", "anycowork.cli.main", "acp", "--data-dir", str(ground.folder / "data")]
    _cost(answering, _INITIALIZE)  # compiles what is not compiled yet
    yield {
        "initialize": lambda: _cost(answering, _INITIALIZE),
        "sdk": lambda: _cost(["-c", "import acp"]),
        "nothing": lambda: _cost(["-c", "pass"]),
    }


def _cost(words: list[str], piped: str = "") -> dict[str, float]:
    before = getrusage(RUSAGE_CHILDREN)
    ran = subprocess.run(
        [sys.executable, *words],
        input=piped,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=environment_of_ours(),
    )
    after = getrusage(RUSAGE_CHILDREN)
    assert not piped or '"protocolVersion":1' in ran.stdout
    return {"cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}
