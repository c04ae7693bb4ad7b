"""The order in which test files are given to the workers: dear ones early, folders mixed, tests/unit last.

A worker takes whole files (`--dist loadfile`), so a dear file that comes last leaves the other cores idle until it is done; xdist's own
order, most tests first, does just that (`--no-loadscope-reorder` turns it off). Files of one folder load the machine in the same way,
browsers above all, so each folder is spread evenly over the run.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction

# CPU seconds of a test of this folder on average, in milliseconds so that all is exact. Only their proportions matter.
_TEST_COST = {"e2e": 4_000, "faults": 2_000, "interop": 1_500, "integration": 400, "contract": 200, "attacks": 150}
_OTHER_COST = 50
# The same for files whose tests cost far more than those beside them.
_FILE_COST = {
    "tests/e2e/test_web_screens.py": 34_000,
    "tests/integration/evidence/test_further_liars.py": 1_100,
    "tests/integration/evidence/test_honest_scripts.py": 1_200,
    "tests/integration/evidence/test_honest_work.py": 1_900,
    "tests/integration/evidence/test_liars.py": 1_000,
    "tests/integration/evidence/test_rarer_liars.py": 1_000,
    "tests/integration/postgres/test_other_server.py": 3_800,
    "tests/integration/tui/test_screen.py": 1_100,
    "tests/integration/tui/test_typing.py": 3_300,
}
_LAST = "unit"


def ordered_files(tests: Mapping[str, int]) -> list[str]:
    """`tests` has the number of tests of each file, named from the project's folder."""
    folders: dict[str, list[str]] = {}
    for name in sorted(tests, key=lambda name: (-_cost(name, tests[name]), name)):
        folders.setdefault(_folder(name), []).append(name)
    places = {name: place for names in folders.values() for name, place in _spread(names, tests)}
    return sorted(tests, key=lambda name: (_folder(name) == _LAST, places[name], -_cost(name, tests[name]), name))


def _spread(names: Iterable[str], tests: Mapping[str, int]) -> list[tuple[str, Fraction]]:
    """How much of the folder's work is done when each file begins."""
    costs = [(name, _cost(name, tests[name])) for name in names]
    whole, done = sum(cost for _, cost in costs), 0
    places = []
    for name, cost in costs:
        places.append((name, Fraction(done, whole)))
        done += cost
    return places


def _folder(name: str) -> str:
    return name.split("/")[1]


def _cost(name: str, count: int) -> int:
    return count * (_FILE_COST.get(name) or _TEST_COST.get(_folder(name), _OTHER_COST))
