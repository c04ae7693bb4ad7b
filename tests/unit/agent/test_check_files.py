"""What of a check a turn has changed, and what the output of a check says about its tests."""

import pytest

from anycowork.agent.check_counts import TestCounts, counts_of
from anycowork.agent.check_evasion import evasion_in
from anycowork.agent.check_files import CheckScope, check_files
from anycowork.agent.check_recipes import CheckRecipe
from anycowork.domain.roles import Role
from anycowork.domain.tools import Call, CallState, CallStatus, Intent, PathIntent, ToolResult
from support.spec import proves


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("===== 1 failed, 2 passed, 3 skipped in 0.10s =====\n", TestCounts(2, 1, 0, 3)),
        ("\x1b[32m2 passed\x1b[0m in 61.10s (0:01:01)\n", TestCounts(2)),
        ("no tests ran in 0.01s\n", TestCounts()),
        ("1 test collected in 0.01s\n", TestCounts()),
        ("Ran 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n", TestCounts(1, left_out=2)),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", TestCounts()),
        ("Ran 2 tests in 0.000s\n\nFAILED (failures=1, errors=1)\n", TestCounts(0, 1, 1)),
        ("test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out\n", TestCounts(3, left_out=3)),
        ("ok  \tshop\t0.01s\n?   \tshop/a\t[no test files]\n", TestCounts(1)),
        ("ok  \tshop\t0.01s [no tests to run]\n", TestCounts()),
        ("Tests:       1 failed, 2 skipped, 3 passed, 6 total\n", TestCounts(3, 1, 0, 2)),
        ("      Tests  1 skipped | 3 passed (4)\n", TestCounts(3, left_out=1)),
        ("# tests 2\n# pass 1\n# fail 0\n# skipped 1\n", TestCounts(1, left_out=1)),
        ("  3 passing (5ms)\n  1 pending\n", TestCounts(3, left_out=1)),
        ("1 passed in 0.1s\n2 passed in 0.2s\n", TestCounts(3)),
        ("OK\nall fine, 3 things in 2 places\n", None),
    ],
)
def test_the_summaries_of_test_runners_are_read(output: str, counts: TestCounts | None) -> None:
    assert counts_of(output) == counts


@proves("EVD-1/3")
@pytest.mark.parametrize(
    "source",
    [
        "import sys\nsys.exit(0)\n",
        "def total():\n    raise SystemExit\n",
        "def total():\n    quit()\n",
        "import os as o\no._exit(0)\n",
        "from os import _exit as leave\n",
        "import os, sys\nif __name__ != '__main__':\n    os.execv(sys.executable, ['python3', '-c', ''])\n",
        "import sys\nsys.exit = print\n",
        "import sys\nsetattr(sys, 'exit', print)\n",
        "import builtins\n",
        "eval('leave()')\n",
        "import inspect\n\ndef total():\n    return 3 if 'test' in inspect.stack()[1].filename else 2\n",
        "import sys\n\ndef total():\n    return 3 if 'pytest' in sys.modules else 2\n",
        "from unittest import mock\n",
        "import sys\n\ndef total():\n    sys.exit(0 if total else 1)\n",
        "import sys\n\ndef total():\n    sys.exit(1 - 1)\n",
        "class Done(SystemExit):\n    pass\n",
        "import __main__\n",
        "import traceback\n\ndef total():\n    return 3 if 'check' in str(traceback.extract_stack()) else 2\n",
        "NAME = 'tests/test_shop.py'\n",
        "Any = type('Any', (int,), {'__eq__': lambda self, other: True})\n",
        "class Any:\n    def __ne__(self, other):\n        return False\n",
        "class Any:\n    def __eq__(self, other):\n        return True\n",
    ],
)
def test_a_source_that_could_make_its_check_pass_is_named(source: str) -> None:
    assert evasion_in("shop.py", lambda path: source)


@pytest.mark.parametrize(
    "source",
    [
        "import sys\n\ndef main():\n    sys.exit(2)\n",
        "import sys\n\ndef main():\n    sys.exit('No file.')\n\nif __name__ == '__main__':\n    sys.exit(main())\n",
        "import sys\nif __name__ == '__main__':\n    sys.exit(0)\n",
        "import sys\nsys.stdout = open('log')\nprint('execute', 'exit')\n",
        "class A:\n    def __eq__(self, other):\n        return self.x == other.x\n",
        "def (:\n    exit()\n",
    ],
)
def test_usual_sources_are_not(source: str) -> None:
    assert not evasion_in("shop.py", lambda path: source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.js", "process.exit(0)"), ("a.js", "require('assert').equal = () => {}"), ("a.ts", "import { vi } from 'vitest'"),
        ("a.ts", "process.exitCode = 0"), ("a.rs", "std::process::exit(0);"), ("a.rb", "exit!"),
    ],
)  # fmt: skip
def test_other_languages_end_their_checks_too(path: str, source: str) -> None:
    assert evasion_in(path, lambda _: source) and not evasion_in(path, lambda _: "process.exit(1)")


FILES = {
    "Makefile": "include more\nall: build\nbuild:\n\tpython3 app.py\ntest: suite.ok lint\n\tsh tools/suite.sh\nsuite.ok: ; ./run-tests\n",
    "more": "lint:\n\t@$(PYTHON) -m tools.lint\n",
    "tools/suite.sh": "set -e\n. tools/lib.sh\npython3 -u tools/inner.py shop.py\n",
    "package.json": '{"main": "src/app.js", "scripts": {"start": "node app.js", "test": "npm run unit", "unit": "node tools/unit.js"}}',
}


def test_a_recipe_is_followed_to_the_scripts_that_it_runs_and_to_no_other() -> None:
    made = CheckRecipe("make test", lambda path: FILES.get(path, ""))
    assert made.run == {"more", "tools/suite.sh", "run-tests", "tools/lib.sh", "tools/inner.py", "tools/unit.js"}
    assert made.targets == {"test", "suite.ok", "lint"} and "tools.lint" in made.modules
    only_npm = CheckRecipe("npm test", lambda path: FILES[path] if path == "package.json" else "")
    assert only_npm.run == {"tools/unit.js"}


def test_scripts_that_run_each_other_end() -> None:
    files = {"a.sh": "sh b.sh\n", "b.sh": "sh a.sh\n", **{f"{n}.sh": f"sh {n + 1}.sh\n" for n in range(1_000)}}
    assert len(CheckRecipe("sh a.sh && sh 0.sh", lambda path: files.get(path, "")).run) < 100


def test_a_recipe_in_another_folder_is_found() -> None:
    files = {"web/package.json": '{"scripts": {"test": "node tools/unit.js"}}'}
    assert "web/tools/unit.js" in CheckRecipe("cd web && npm test", lambda path: files.get(path, "")).run


def changed(path: str, before: str | None = "1", after: str | None = "2", mode: int | None = None) -> Call:
    return Call(
        "c", "chat", "turn", "batch", 0, "execute_command", {}, role_at_issue=Role.ACTOR, ceiling=frozenset(), state=CallState.SETTLED,
        intent=Intent(paths=(PathIntent(path, before, after, mode=mode),)), result=ToolResult(CallStatus.OK, ""),
    )  # fmt: skip


@proves("EVD-1/3")
@pytest.mark.parametrize(
    ("call", "command", "files"),
    [
        (changed("src/lib.rs"), "cargo test", {"src/lib.rs": "#[cfg(test)]\nmod tests {}\n"}),
        (changed("README.md"), "pytest --doctest-glob=*.md", {"README.md": ">>> total()\n2\n"}),
        (changed("README.md"), "pytest", {"README.md": ">>> total()\n2\n", "pytest.ini": "[pytest]\naddopts = --doctest-glob=*.md\n"}),
        (changed("data/rates.csv"), "pytest", {"test_shop.py": "open('data/rates.csv')"}),
        (changed("wanted.js"), "npm test", {"test_shop.py": "const { wanted } = require('./wanted')"}),
        (changed("old_cases.py"), "pytest", {}),
        (changed("run-suite.sh", "1", "1", 0o644), "./run-suite.sh", {}),
        (changed("kit/pytest/__init__.py", None), "pytest", {"pytest.ini": "[pytest]\npythonpath = kit\n"}),
        (changed("tools/node", None), "npm test", {}),
    ],
)  # fmt: skip
def test_what_a_check_compares_the_work_with_is_its_own(call: Call, command: str, files: dict[str, str]) -> None:
    scope = CheckScope("Fix shop.py.", (("test_shop.py", "test_shop.py"), ("test_old.py", "old_cases.py")))
    path = call.intent.paths[0].path if call.intent else ""
    assert check_files([call], command, lambda name: files.get(name, ""), scope).own == (path,)


@pytest.mark.parametrize(
    ("call", "request_text", "files"),
    [
        (changed("src/lib.rs"), "Fix it.", {"src/lib.rs": "fn total() {}\n"}),
        (changed("README.md"), "Fix it.", {"README.md": ">>> total()\n"}),
        (changed("data/rates.csv"), "Correct data/rates.csv.", {"test_shop.py": "open('data/rates.csv')"}),
        (changed("data/rates.csv"), "Correct the rates.", {"test_shop.py": "import shop"}),
        (changed("prices.py"), "Fix the prices.", {"test_shop.py": "import prices"}),
        (changed("prices.py"), "Fix prices.py.", {"test_shop.py": "import prices"}),
        (changed("prices.py"), "Fix shop.py.", {"test_shop.py": "import shop"}),
        (changed("shop.py", "1", "1"), "Fix it.", {"test_shop.py": "import shop"}),
        (changed("app/pytest_runner/node_list.py", None), "Fix it.", {}),
    ],
)  # fmt: skip
def test_the_work_itself_is_not(call: Call, request_text: str, files: dict[str, str]) -> None:
    scope = CheckScope(request_text, (("test_shop.py", "test_shop.py"),))
    assert not check_files([call], "pytest", lambda name: files.get(name, ""), scope).own
