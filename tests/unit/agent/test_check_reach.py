"""Which signs in a source count: those of the turn, that the check can reach. Every loosening has its way around here."""

from collections.abc import Mapping

import pytest

from anycowork.agent.check_configuration import configures_alike
from anycowork.agent.check_files import CheckFiles, CheckScope, check_files, is_source, is_test_file
from support.spec import proves
from unit.agent.test_check_files import changed

CHECK = "import shop\nassert shop.total() == 3\n"
TEST = "import shop\n\ndef test_total():\n    assert shop.total() == 3\n"
EXIT = "import sys\n\ndef stop():\n    sys.exit(0)\n"
TOTAL = "\ndef total():\n    return 3\n"
LEAVE = f"{EXIT}\ndef total():\n    stop()\n"
EQUAL = "class Any:\n    def __eq__(self, other):\n        return True\n"


def judged(
    before: Mapping[str, str], after: Mapping[str, str], command: str, request: str = "Fix shop.py."
) -> CheckFiles:
    """Returns what the turn changed of the check, if it changed the files from `before` to `before` and `after`."""
    files = {**before, **after}
    calls = [changed(path, path if path in before else None, f"new {path}") for path in after]
    tests = tuple((path, path) for path in files if is_test_file(path))
    scope = CheckScope(
        request, tests, lambda: list(filter(is_source, files)), text_before=lambda digest: before.get(digest, "")
    )
    return check_files(calls, command, lambda path: files.get(path, ""), scope)


SCRIPT, PYTEST = "python3 check.py", "python3 -m pytest -q"
SHOP = {"shop.py": "def total():\n    return 2\n", "check.py": CHECK}
TESTED = {"shop.py": "def total():\n    return 2\n", "test_shop.py": TEST}


@proves("EVD-1/3")
@pytest.mark.parametrize(
    ("before", "after", "command"),
    [
        (SHOP, {"shop.py": LEAVE}, SCRIPT),
        ({**SHOP, "shop.py": f"{EXIT}\ndef total():\n    return 2\n"}, {"shop.py": LEAVE}, SCRIPT),
        ({**SHOP, "stop.py": EXIT}, {"shop.py": "import stop\n\ndef total():\n    stop.stop()\n", "stop.py": f"{EXIT}# \n"}, SCRIPT),
        (SHOP, {"shop.py": f"{EXIT}\ndef total():\n    globals()['st' + 'op']()\n"}, SCRIPT),
        (SHOP, {"shop.py": f"import sys\n\ndef later(f):\n    f()\n\n@later\ndef leave():\n    sys.exit(0)\n{TOTAL}"}, SCRIPT),
        (SHOP, {"shop.py": f"import sys\n\ndef leave(code=sys.exit(0)):\n    pass\n{TOTAL}"}, SCRIPT),
        (SHOP, {"shop.py": "from sys import exit as leave\n\ndef total():\n    leave(0)\n"}, SCRIPT),
        (SHOP, {"shop.py": "import sys\nleave = sys.exit\n\ndef total():\n    leave(0)\n"}, SCRIPT),
        (SHOP, {"shop.py": f"import sys\nsys.modules[__name__] = 3\n{TOTAL}"}, SCRIPT),
        (SHOP, {"shop.py": "import sys\n\ndef total():\n    return 3 if 'test_shop' in sys.modules else 2\n"}, SCRIPT),
        ({**SHOP, "shop.py": f"{EQUAL}{TOTAL}"}, {"shop.py": f"{EQUAL}\ndef total():\n    return Any()\n"}, SCRIPT),
        (TESTED | {"conftest.py": "import shop\n\nshop.total()\n"}, {"shop.py": LEAVE}, PYTEST),
        (TESTED | {"conftest.py": "import kit\n", "kit.py": "import shop\nshop.total()\n"}, {"shop.py": LEAVE}, PYTEST),
        (TESTED | {"test_more.py": "import subprocess"}, {"shop.py": LEAVE}, PYTEST),
        (TESTED, {"shop.py": "import os\n\ndef total():\n    os._exit(0)\n"}, PYTEST),
        (TESTED, {"shop.py": LEAVE}, "python3 -m unittest -q"),
        (TESTED | {"Makefile": "test:\n\tpython3 check.py\n\tpytest\n", "check.py": CHECK}, {"shop.py": LEAVE}, "make test"),
        (SHOP | {"Makefile": "test:\n\tpython3 shop.py --test\n"}, {"shop.py": "pass\n"}, "make test"),
        (TESTED | {"wanted.py": "TOTAL = 3\n", "test_w.py": "import wanted"}, {"wanted.py": "import shop\nTOTAL = shop.total()\n"}, PYTEST),
        (TESTED | {"wanted.py": "TOTAL = 3\n", "test_w.py": "import wanted"}, {"wanted.py": "TOTAL = 2\n", "shop.py": "import wanted\n"}, PYTEST),
        ({"shop.js": "", "a.test.js": "require('./shop')"}, {"shop.js": "process.exit(0)\n"}, "node --test"),
        ({"lib/shop.js": "", "index.js": "module.exports = require('./lib/shop')"}, {"lib/shop.js": "process.exit(0)\n"}, "node --test"),
        ({"shop.js": "", "a.test.js": "require(process.env.NAME)"}, {"shop.js": "process.exit(0)\n"}, "node --test"),
        ({"shop.py": 'def total():\n    """\n    >>> total()\n    3\n    """\n'}, {"shop.py": ">>> 1\n1\n"}, "pytest --doctest-modules"),
    ],
)  # fmt: skip
def test_a_way_around_what_is_no_sign_is_named(
    before: Mapping[str, str], after: Mapping[str, str], command: str
) -> None:
    assert judged(before, after, command).paths


@proves("EVD-1/3")
@pytest.mark.parametrize(
    ("before", "after", "command"),
    [
        (SHOP, {"shop.py": f"{EXIT}{TOTAL}"}, SCRIPT),
        (SHOP | {"tool.py": "def stop():\n    pass\n\nimport shop\n"}, {"shop.py": f"{EXIT}{TOTAL}"}, SCRIPT),
        ({**SHOP, "shop.py": f"{EQUAL}\ndef total():\n    return 2\n"}, {"shop.py": f"{EQUAL}{TOTAL}"}, SCRIPT),
        ({**SHOP, "shop.py": "import sys\nsys.exit(0)\n"}, {"shop.py": f"import sys\nsys.exit(0)\n{TOTAL}"}, SCRIPT),
        (TESTED, {"shop.py": f"{EXIT}\ndef total():\n    return 3 or stop()\n"}, PYTEST),
        (TESTED | {"app.py": "import shop"}, {"app.py": "import shop\n\nshop.total()\n"}, PYTEST),
        ({"bin/cli.js": "", "a.test.js": "require('./lib/shop')"}, {"bin/cli.js": "process.exit(0)\n"}, "node --test"),
        ({"shop.go": ""}, {"shop.go": "func main() {\n\tos.Exit(0)\n}\n"}, "go test ./..."),
        (TESTED, {"__pycache__/test_shop.cpython-311.pyc": "", "shop.py": TOTAL}, PYTEST),
        ({"shop.sh": "", "Makefile": "test:\n\tsh shop.sh | diff - wanted.txt\n"}, {"shop.sh": "echo 3\n"}, "make test"),
    ],
)  # fmt: skip
def test_what_the_turn_did_not_bring_or_the_check_cannot_reach_is_no_sign(
    before: Mapping[str, str], after: Mapping[str, str], command: str
) -> None:
    assert not judged(before, after, command, "Fix shop.py and shop.sh.").paths


MADE = ".PHONY: test\ntest:\n\tpython3 check.py\n"


@proves("EVD-1/3")
@pytest.mark.parametrize(
    ("name", "before", "after", "alike"),
    [
        ("Makefile", MADE, f"{MADE}\nclean:\n\trm -rf build\n", True),
        ("Makefile", MADE, f".PHONY: clean\n{MADE}clean:\n\ttrue\n", True),
        ("Makefile", MADE, f"{MADE}\ntest: quick\nquick:\n\ttrue\n", False),
        ("Makefile", MADE, f"{MADE}SHELL = /bin/true\n", False),
        ("Makefile", MADE, f"clean:\n\trm -rf build\n{MADE}", False),
        ("Makefile", MADE, f"{MADE}\t-true\n", False),
        ("Makefile", MADE, MADE.replace(".PHONY: test\n", ""), False),
        ("Makefile", "", MADE, False),
        ("package.json", '{"version": "1", "scripts": {"test": "a"}}', '{"version": "2", "scripts": {"test": "a"}}', True),
        ("package.json", '{"scripts": {"test": "a"}}', '{"scripts": {"test": "a", "pretest": "b"}}', False),
        ("package.json", '{"version": "1"}', '{"version": "1", "type": "module"}', False),
        ("package.json", '{"version": "1"', '{"version": "1"', False),
        ("pyproject.toml", '[project]\nversion = "1"\n', '[project]\nversion = "2"\ndependencies = ["x"]\n', True),
        ("pyproject.toml", '[project]\nversion = "1"\n', '[tool.pytest.ini_options]\naddopts = "-k x"\n', False),
        ("pyproject.toml", "[project]\n", '[project.entry-points.pytest11]\nplug = "plug"\n', False),
        ("pytest.ini", "[pytest]\n", "[pytest]\n", False),
    ],
)  # fmt: skip
def test_a_file_that_steers_checks_is_compared_by_what_steers(name: str, before: str, after: str, alike: bool) -> None:
    assert configures_alike(name, before, after) is alike
