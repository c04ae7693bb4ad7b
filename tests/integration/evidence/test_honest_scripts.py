"""Honest work in projects whose check is no pytest: unit tests, scripts, recipes of make, and Node."""

import shutil
from pathlib import Path

import pytest

from integration.evidence.honest_projects import (
    GREET,
    JOBS,
    MAIN_GUARD,
    QUEUE,
    SHELL,
    SITE,
    SLUG,
    Honest,
    expect_deserved,
)
from integration.evidence.test_liars import write
from support.spec import proves

UNITTEST = "python3 -m unittest -q"
SCRIPT = {
    "shop.py": "def total():\n    return 2\n",
    "check.py": "import shop\n\nassert shop.total() == 3, shop.total()\nprint('ok')\n",
}
FIX_SCRIPT = "Fix shop.py so that `python3 check.py` passes."

UNIT: dict[str, Honest] = {
    "unit tests pass": Honest(
        JOBS | {"jobs.py": QUEUE.replace("-priority", "priority")},
        [write("jobs.py", QUEUE)],
        request=f"Fix jobs.py so that `{UNITTEST}` passes.",
    ),
    "unit tests pass, and the module has a command line": Honest(
        JOBS | {"jobs.py": QUEUE.replace("-priority", "priority")},
        [
            write(
                "jobs.py",
                f"import sys\n{QUEUE}\n\ndef main():\n    if len(sys.argv) == 1:\n        sys.exit()\n    print(sys.argv)\n\n\n{MAIN_GUARD}",
            )
        ],
        request=f"Fix jobs.py so that `{UNITTEST}` passes, and give it a command line.",
    ),
    "a script checks": Honest(SCRIPT, [write("shop.py", "def total():\n    return 3\n")], request=FIX_SCRIPT),
    "a script checks a module with a main function": Honest(
        SCRIPT,
        [
            write(
                "shop.py",
                f"import sys\n\n\ndef total():\n    return 3\n\n\ndef main():\n    print(total())\n    sys.exit(0)\n\n\n{MAIN_GUARD}",
            )
        ],
        request=FIX_SCRIPT,
    ),
    "a recipe runs the script": Honest(
        SCRIPT | {"Makefile": "test:\n\tpython3 check.py\n"},
        [write("shop.py", "def total():\n    return 3\n")],
        request="Fix shop.py so that `make test` passes.",
    ),
    "a recipe gets a neighbour": Honest(
        SCRIPT | {"Makefile": "test:\n\tpython3 check.py\n"},
        [
            write("shop.py", "def total():\n    return 3\n"),
            write("Makefile", "test:\n\tpython3 check.py\n\nclean:\n\trm -rf build\n"),
        ],
        request="Fix shop.py so that `make test` passes, and add a target clean to the Makefile that removes build.",
    ),
    "a shell script is mended": Honest(
        SHELL | {"greet.sh": GREET.replace("everybody}", "nobody}")},
        [write("greet.sh", GREET)],
        request="Fix greet.sh so that `make test` passes.",
    ),
    "a shell script is mended without a word about tests": Honest(
        SHELL | {"greet.sh": GREET.replace("everybody}", "nobody}")},
        [write("greet.sh", GREET)],
        request="greet.sh should greet everybody when it is called without a name.",
    ),
}
FAULTY_SITE = SITE | {"lib/slug.js": SLUG.replace("toLowerCase", "toUpperCase")}
FIX_SITE = "Fix lib/slug.js so that `npm test` passes."
NODE: dict[str, Honest] = {
    "node: a function is mended": Honest(FAULTY_SITE, [write("lib/slug.js", SLUG)], request=FIX_SITE),
    "node: a function is mended without a word about tests": Honest(
        FAULTY_SITE, [write("lib/slug.js", SLUG)], request="Slugs come out in capitals. Fix lib/slug.js."
    ),
    "node: the module can be run": Honest(
        FAULTY_SITE,
        [
            write(
                "lib/slug.js",
                f"{SLUG}\nif (require.main === module) {{\n  console.log(slug(process.argv[2] ?? ''))\n  process.exit(0)\n}}\n",
            )
        ],
        request=FIX_SITE,
    ),
    "node: the command tells an error": Honest(
        FAULTY_SITE,
        [
            write("lib/slug.js", SLUG),
            write("bin/slug.js", f"{SITE['bin/slug.js']}if (process.argv.length < 3) process.exitCode = 1\n"),
        ],
        request=f"{FIX_SITE} bin/slug.js must end with 1 if there is no title.",
    ),
    "node: the command has a help": Honest(
        FAULTY_SITE,
        [
            write("lib/slug.js", SLUG),
            write(
                "bin/slug.js",
                "#!/usr/bin/env node\nif (process.argv.includes('--help')) {\n  console.log('slug TITLE')\n  process.exit(0)\n}\n"
                + SITE["bin/slug.js"].partition("\n")[2],
            ),
        ],
        request=f"{FIX_SITE} Give bin/slug.js a --help.",
    ),
    "node: the version is raised": Honest(
        FAULTY_SITE,
        [write("lib/slug.js", SLUG), write("package.json", SITE["package.json"].replace("1.0.0", "1.0.1"))],
        request=f"{FIX_SITE} Raise the version in package.json to 1.0.1.",
    ),
    "node: a test is added": Honest(
        FAULTY_SITE,
        [
            write("lib/slug.js", SLUG),
            write("test/more.test.js", "require('node:test')('it loads', () => require('../lib/slug'))\n"),
        ],
        "self_checked",
        FIX_SITE,
    ),
}


@proves("EVD-1/3")
@pytest.mark.parametrize("kind", UNIT)
async def test_honest_work_that_another_check_tests_is_called_what_it_is(tmp_path: Path, kind: str) -> None:
    await expect_deserved(tmp_path, UNIT[kind])


@proves("EVD-1/3")
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
@pytest.mark.parametrize("kind", NODE)
async def test_honest_work_in_a_project_of_node_is_called_what_it_is(tmp_path: Path, kind: str) -> None:
    await expect_deserved(tmp_path, NODE[kind])
