"""What a turn writes is looked at when it ends: ten times the text may cost ten times the time, and never holds up the server."""

import time
from collections.abc import Callable, Sequence

import pytest

from anycowork.agent.check_configuration import configures_alike
from anycowork.agent.check_evasion import evasion_in
from anycowork.agent.check_files import CheckScope, check_files
from anycowork.agent.check_recipes import CheckRecipe
from anycowork.agent.check_texts import MOST_TEXT
from anycowork.domain.tools import Call, CallState, CallStatus, Intent, PathIntent, ToolResult
from faults.test_growth import Work, _assert_linear
from support.spec import proves

pytestmark = pytest.mark.usefixtures("only_own_garbage")
LONGEST = 1_000_000  # characters of a file that is read
WORDS = "x = 'abc def'\n"


def _recipe(command: str, **files: str) -> Callable[[], object]:
    texts = {name.replace("_", "."): text for name, text in files.items()}
    return lambda: CheckRecipe(command, lambda path: texts.get(path, ""))


def _changed(paths: Sequence[str], texts: dict[str, str], request: str = "Fix shop.py") -> Callable[[], object]:
    """What the turn changed of a check, after it changed these files; the texts include tests and other sources."""
    intent = Intent(paths=tuple(PathIntent(path, "before", "after") for path in paths))
    call = Call(
        "c", "chat", "turn", "batch", 0, "execute_command", {}, state=CallState.SETTLED, intent=intent, result=ToolResult(CallStatus.OK, "")
    )  # fmt: skip
    tests = tuple((path, path) for path in texts if path.startswith("test_"))
    scope = CheckScope(request, tests, sources=lambda: [path for path in texts if "." in path])
    return lambda: check_files([call], "make test", lambda path: texts.get(path, ""), scope)


def _numbered(count: int, path: str, text: str) -> dict[str, str]:
    return {path.format(number): text for number in range(count)}


def _functions(count: int) -> str:
    return "import sys\n" + "".join(f"def f{number}():\n    sys.exit(0)\n" for number in range(count))


ENTRANCES: dict[str, tuple[Work, tuple[int, ...]]] = {
    "new targets of make": (
        lambda n: lambda: configures_alike("Makefile", "all: x\n" * n, "all: x\n" * n + "".join(f"t{i}:\n" for i in range(n))),
        (300, 3_000, 30_000),
    ),
    "dots of a project": (
        lambda n: lambda: configures_alike("pyproject.toml", "a." * n + "b = 1\n", "a." * n + "b = 1\n"), (100, 1_000, 10_000)
    ),
    "folders of a recipe": (
        lambda n: _recipe("make test", Makefile="test:\n\t" + "".join(f"cd d{i}; python3 x{i}\n\t" for i in range(n))),
        (100, 1_000, 10_000),
    ),
    "includes of a recipe": (lambda n: _recipe("make test", Makefile="include " + "a " * 900, a="x: y\n" * n), (200, 2_000, 20_000)),
    "targets and prerequisites": (
        lambda n: _recipe("make t1", Makefile=f"{' '.join(f't{i}' for i in range(n))}: {'a ' * n}\n" + "\techo\n" * n),
        (1_000, 10_000, 100_000),
    ),
    "data and large tests": (
        lambda n: _changed([f"data/d{i}.json" for i in range(n)], _numbered(50, "test_{}.py", WORDS * 2_000)),
        (100, 1_000, 10_000),
    ),
    "data and a long request": (
        lambda n: _changed([f"data/d{i}.json" for i in range(n)], {"test_a.py": ""}, "Fix shop " * 2_000), (100, 1_000, 10_000)
    ),
    "functions and other sources": (
        lambda n: _changed(["a.py"], {"a.py": _functions(n), **_numbered(50, "o{}.py", "import a\n" + "# f1 f2\n" * 1_000)}),
        (30, 300, 3_000),
    ),
    "functions that others define": (
        lambda n: _changed(["a.py"], {"a.py": _functions(n), **_numbered(20, "o{}.py", "import a\n" * 100 + _functions(n))}),
        (30, 300, 3_000),
    ),
    "sources of JavaScript": (
        lambda n: _changed([f"s{i}.js" for i in range(n)], _numbered(n, "s{}.js", "'a' 'b'\n" * 100 + "process.exit(0)\n")), (15, 150, 1_500)
    ),
    "sources that tests import": (
        lambda n: _changed([f"s{i}.py" for i in range(n)], {**_numbered(n, "s{}.py", "import os\n" * 20), "test_a.py": "import s1\n" * n}),
        (60, 600, 6_000),
    ),
}  # fmt: skip


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_ten_times_the_work_takes_about_ten_times_as_long(entrance: str) -> None:
    prepared, sizes = ENTRANCES[entrance]
    _assert_linear(prepared, sizes)


@proves("EVD-1/3")
def test_more_text_than_is_looked_at_is_told_and_proves_nothing() -> None:
    files = {"shop.py": "x = 1\n", **_numbered(MOST_TEXT // LONGEST + 1, "test_{}.py", "#" * LONGEST)}
    found = _changed(["shop.py"], files)()
    assert [how for _, how in getattr(found, "evasive")] == ["holds more text than is looked at"]  # noqa: B009


LINES = {
    "short lines": "a=1\n",
    "one list": "a,",
}


@proves("EVD-1/3")
@pytest.mark.parametrize("line", LINES)
def test_a_long_source_is_parsed_by_a_process_of_its_own(line: str) -> None:
    """The parser lets no other thread run while it works: a second of it would be one of the whole server."""
    lines = LINES[line] * ((LONGEST - 100) // len(LINES[line]))
    source = "import sys\nsys.exit(0)\n" + (f"x=[{lines}]\n" if line == "one list" else lines)
    began = time.thread_time()
    assert evasion_in("shop.py", lambda path: source)
    assert time.thread_time() - began < 1.0


@proves("EVD-1/3")
@pytest.mark.parametrize("count", [100, 1_500, 3_000, 7_000])
@pytest.mark.parametrize(
    "source",
    [
        "import sys\nx = {sum}\nsys.exit(0)\n",
        "setattr(a, {names}, 1)\n",
        "class Any:\n def __eq__(self, other):\n  return {sum}\n",
    ],
)
def test_a_deep_source_is_never_taken_for_one_without_a_sign(count: int, source: str) -> None:
    """Python imports what its parser for Python cannot walk."""
    text = source.format(sum="+".join(["1"] * count), names="+".join(["'x'"] * count))
    assert evasion_in("shop.py", lambda path: text)


@proves("EVD-1/3")
def test_a_long_source_is_told_as_a_short_one() -> None:
    long = "# a line\n" * 10_000
    ends = "import sys\n\ndef total():\n    sys.exit(0)\n"
    assert evasion_in("shop.py", lambda path: f"{ends}{long}") == evasion_in("shop.py", lambda path: ends) != ""
    assert evasion_in("shop.py", lambda path: f"def existing():\n    pass\n{long}") == ""
