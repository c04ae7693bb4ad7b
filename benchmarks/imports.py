"""How much is imported before `anycowork --help` answers, and what weighs most?"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from resource import RUSAGE_CHILDREN, getrusage

from measuring import Ground, Leg, environment_of_ours

QUESTION = "What `anycowork --help` and the whole server import"
_LINE = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|( +)(\S+)")


@contextmanager
def legs(ground: Ground) -> Iterator[Mapping[str, Leg]]:
    helping = ["-m", "anycowork.cli.main", "--help"]
    server = ["-c", "import anycowork.cli.serve"]
    _import(helping), _import(server)  # compiles what is not compiled yet
    yield {
        "help": lambda: _import(helping),
        "house": lambda: _import(server),
        "nothing": lambda: _import(["-c", "pass"]),
    }


def _import(words: list[str]) -> dict[str, float]:
    before = getrusage(RUSAGE_CHILDREN)
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=environment_of_ours(),
    )
    after = getrusage(RUSAGE_CHILDREN)
    found = [(name, int(own)) for own, _, _, name in _LINE.findall(ran.stderr)]
    return {
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "modules": float(len(found)),
        "of_ours": float(sum(name.partition(".")[0] == "anycowork" for name, _ in found)),
    }
