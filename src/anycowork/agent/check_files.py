"""Finds the files of a check among those that a turn changed: what it runs, what configures it, its tests and what they compare with. Pure."""

import re
import sys
from collections.abc import Sequence
from functools import cached_property

from anycowork.agent.check_evasion import evasion_in
from anycowork.agent.check_recipes import CheckRecipe, TextOf
from anycowork.agent.turn_calls import TurnChange, path_changes
from anycowork.domain.tools import Call
from anycowork.domain.values import value

_MOST_SOURCES = 200
# What configures a check or stands in the way of what it would run.
_CONFIGURES = frozenset({
    "conftest.py", "pyproject.toml", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "setup.cfg", "setup.py", "tox.ini",
    "noxfile.py", "Makefile", "makefile", "GNUmakefile", "package.json", "package-lock.json", "Cargo.toml", "Cargo.lock", "build.rs", "go.mod",
    "go.sum", "go.work", "tsconfig.json", "karma.conf.js", ".coveragerc", "sitecustomize.py", "usercustomize.py", "justfile", "Justfile",
    "requirements.txt", "uv.lock", "poetry.lock", "Pipfile", "Pipfile.lock", ".babelrc", ".cargo", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs",
    "pnpm-workspace.yaml", "yarn.lock", "pnpm-lock.yaml", "bunfig.toml", "deno.json", ".envrc", ".env", ".python-version", ".node-version",
    ".nvmrc", ".tool-versions", "mise.toml", ".mise.toml", "rust-toolchain", "rust-toolchain.toml", "pyvenv.cfg", "pom.xml", "build.gradle",
    "build.gradle.kts", "CMakeLists.txt", "Rakefile", "Gemfile", "Gemfile.lock", ".rspec", "phpunit.xml", "mix.exs", "Taskfile.yml",
})  # fmt: skip
_CONFIGURES_JAVASCRIPT = re.compile(
    r"(?:^|/)(?:jest|vitest|vite|babel|ava|playwright|cypress|webpack|rollup)\.(?:config|setup|workspace)\.\w{1,20}$"
    r"|(?:^|/)\.(?:mocharc|nycrc|c8rc)(?:\.\w{1,20})?$"
)
_SHADOWED = sys.stdlib_module_names | {
    "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py", "hypothesis", "_hypothesis_pytestplugin", "anyio", "xdist", "coverage",
    "pytest_asyncio", "pytest_cov", "pytest_mock", "pytest_timeout", "faker", "typeguard", "exceptiongroup", "tomli", "pygments", "colorama",
}  # fmt: skip
_TEST_NAME = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|fixtures?|testdata|goldens?|expected|__snapshots__)/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_test\.[a-z]+|[^/]*\.(?:test|spec)\.[a-z]+|tests?\.[a-z]+)$"
    r"|(?:^|[/_.-])(?:expected|goldens?|approved)[._-][^/]*$|\.(?:snap|golden|approved|expected)$"
)
_SCRIPT_OF_CHECK = re.compile(
    r"\.(?:sh|bash|zsh|mk)$|(?:^|[/_.-])(?:ci|check|verify|lint|spec|tests?)(?:[/_.-]|s\b|$)", re.I
)
_PROGRAM = re.compile(
    r"(?:^|/)(?:python[\d.]{0,10}|py\.?test|pip\d?|uv|poetry|tox|nox|node|npm|npx|yarn|pnpm|bun|deno|make|gmake|cargo|rustc|go|ruby|java|mvn"
    r"|gradle|sh|bash|zsh|dash|env|test|diff|cmp|grep|cat|git)$"
)
_INLINE_TESTS = re.compile(r"#\[(?:\w{1,60}::)?test\b|#\[cfg\(test\)\]|import\.meta\.vitest")
_SOURCE = re.compile(r"\.(?:pyi?|[cm]?jsx?|[cm]?tsx?|rs|go|java|kt|scala|c|cc|cpp|h|hpp|rb|php|cs|swift)$")
_NAMED_SOURCE = re.compile(r"[\w./-]{1,200}\.(?:py|[cm]?jsx?|tsx?|rs|go|java|kt|rb|php|c|cc|cpp|cs)\b")
_IMPORT_LINE = re.compile(r"^.{0,200}\b(?:import|from|require|use|include)\b.{0,400}", re.M)
_MOST_TESTS = 200
_ENVIRONMENT = re.compile(
    r"(?:^|/)(?:\.venv|venv|node_modules|\.cargo|vendor)(?:/|$)|\.(?:egg|dist)-info/entry_points\.txt$|\.pth$"
)


@value
class CheckScope:
    """What a check is about. `request` names the work. `tests` are the test files of the workspace, each with the path that it leads to if
    it is a link."""

    request: str = ""
    tests: tuple[tuple[str, str], ...] = ()


NO_SCOPE = CheckScope()


@value
class CheckFiles:
    """What the turn changed of a check. `evasive`: other sources that could make it pass without the work, each with how."""

    own: tuple[str, ...] = ()
    evasive: tuple[tuple[str, str], ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.own, *(path for path, _ in self.evasive))

    @property
    def remark(self) -> str:
        if self.own:
            return f"It passed, but the turn changed what it runs: {', '.join(self.own[:5])}."
        return f"It passed, but {'; '.join(f'{path} {how}' for path, how in self.evasive[:5])}."


def is_test_file(path: str) -> bool:
    return _TEST_NAME.search(path) is not None and _SOURCE.search(path) is not None


def steers_checks(path: str) -> bool:
    """Whether a file at this path would decide what a check runs, without being named by it. Not those that may hold keys."""
    name = path.rpartition("/")[2]
    is_module = path.endswith((".py", ".pyc")) and path.partition("/")[0].partition(".")[0] in _SHADOWED
    return (name in _CONFIGURES and not name.startswith(".")) or is_module


def check_files(calls: Sequence[Call], command: str, text_of: TextOf, scope: CheckScope = NO_SCOPE) -> CheckFiles:
    """Return what the turn changed of this check."""
    changes = [change for change in path_changes(calls) if change.is_net]
    if not changes:
        return CheckFiles()
    recipe = CheckRecipe(command, text_of)
    reader = _CheckReader(recipe, text_of, scope)
    own = tuple(c.path for c in changes if _belongs_to(recipe, c) or reader.compares_with(c))
    written = [change.path for change in changes if change.after is not None and change.path not in own]
    evasive = ((path, evasion_in(path, text_of)) for path in written[:_MOST_SOURCES])
    return CheckFiles(own, tuple((path, how) for path, how in evasive if how))


def _belongs_to(recipe: CheckRecipe, change: TurnChange) -> bool:
    path, name = change.path, change.path.rpartition("/")[2]
    if name in _CONFIGURES or any(p.search(path) for p in (_TEST_NAME, _ENVIRONMENT, _CONFIGURES_JAVASCRIPT, _PROGRAM)):
        return True
    module = path.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
    if recipe.words & {path, f"./{path}", name, module} or path in recipe.run or module in recipe.modules:
        return True
    if change.before is None and (path in recipe.targets or _shadows(path, recipe)):
        return True  # make takes it for done, or the check imports it instead of the usual module
    return _SCRIPT_OF_CHECK.search(path) is not None and path in recipe.texts


class _CheckReader:
    """Finds changed files that are not the work but what the check compares it with."""

    def __init__(self, recipe: CheckRecipe, text_of: TextOf, scope: CheckScope) -> None:
        self._recipe = recipe
        self._text_of = text_of
        self._request = scope.request
        self._tests = scope.tests[:_MOST_TESTS]
        self._linked = {target for path, target in scope.tests if target != path}

    def compares_with(self, change: TurnChange) -> bool:
        path = change.path
        if path in self._linked:
            return True
        text = self._text_of(path)
        if (self._recipe.runs_doctests and ">>>" in text) or (_SOURCE.search(path) and _INLINE_TESTS.search(text)):
            return True  # the turn may have changed a test in it
        if change.before is None or not self._tests_or_recipe or path.rpartition("/")[2] in self._request:
            return False
        return self._imports(path) if _SOURCE.search(path) else path.rpartition("/")[2] in self._tests_or_recipe

    @cached_property
    def _tests_or_recipe(self) -> str:
        return "\n".join((self._recipe.texts, *(self._text_of(path) for path, _ in self._tests)))

    def _imports(self, path: str) -> bool:
        """Whether the tests import this source although the request names another one."""
        sources = {_stem(name) for name in _NAMED_SOURCE.findall(self._request) if name not in self._recipe.words}
        return bool(sources) and _stem(path) in self._imported

    @cached_property
    def _imported(self) -> frozenset[str]:
        lines = "\n".join(_IMPORT_LINE.findall(self._tests_or_recipe))
        return frozenset(re.findall(r"\w{1,200}", lines))


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _shadows(path: str, recipe: CheckRecipe) -> bool:
    folder, _, rest = path.partition("/")
    module = rest if rest and folder in recipe.module_folders else path
    return module.partition("/")[0].partition(".")[0] in _SHADOWED
