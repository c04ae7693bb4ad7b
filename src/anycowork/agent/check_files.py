"""Finds the files of a check among those that a turn changed: what it runs, what configures it, its tests and what they compare with. Pure."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from posixpath import dirname, normpath

from anycowork.agent.check_configuration import configures_alike, tests_inside
from anycowork.agent.check_evasion import LITERAL, Reach, evasion_in
from anycowork.agent.check_recipes import CheckRecipe
from anycowork.agent.check_texts import CheckTexts, TextOf, file_names, imported, word_counts
from anycowork.agent.turn_calls import TurnChange, path_changes
from anycowork.domain.evidence import THE_WORKSPACE
from anycowork.domain.patterns import late_pattern
from anycowork.domain.tools import Call
from anycowork.domain.values import value

_MOST_CHANGED = 200
_LONGEST_REQUEST = 100_000  # characters
MOST_SOURCES = 1_000
"""Sources of a workspace that are read for what they name."""
# What configures a check or stands in the way of what it would run.
_CONFIGURES = frozenset({
    "conftest.py", "pyproject.toml", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "setup.cfg", "setup.py", "tox.ini",
    "noxfile.py", "Makefile", "makefile", "GNUmakefile", "package.json", "package-lock.json", "Cargo.toml", "Cargo.lock", "build.rs", "go.mod",
    "go.sum", "go.work", "tsconfig.json", "karma.conf.js", ".coveragerc", "sitecustomize.py", "usercustomize.py", "justfile", "Justfile",
    "uv.lock", "poetry.lock", "Pipfile", "Pipfile.lock", ".babelrc", ".cargo", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs",
    "pnpm-workspace.yaml", "yarn.lock", "pnpm-lock.yaml", "bunfig.toml", "deno.json", ".envrc", ".env", ".python-version", ".node-version",
    ".nvmrc", ".tool-versions", "mise.toml", ".mise.toml", "rust-toolchain", "rust-toolchain.toml", "pyvenv.cfg", "pom.xml", "build.gradle",
    "build.gradle.kts", "CMakeLists.txt", "Rakefile", "Gemfile", "Gemfile.lock", ".rspec", "phpunit.xml", "mix.exs", "Taskfile.yml",
})  # fmt: skip
_CONFIGURES_JAVASCRIPT = late_pattern(
    r"(?:^|/)(?:jest|vitest|vite|babel|ava|playwright|cypress|webpack|rollup)\.(?:config|setup|workspace)\.\w{1,20}$"
    r"|(?:^|/)\.(?:mocharc|nycrc|c8rc)(?:\.\w{1,20})?$"
)
_SHADOWED = sys.stdlib_module_names | {
    "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "py", "hypothesis", "_hypothesis_pytestplugin", "anyio", "xdist", "coverage",
    "pytest_asyncio", "pytest_cov", "pytest_mock", "pytest_timeout", "faker", "typeguard", "exceptiongroup", "tomli", "pygments", "colorama",
}  # fmt: skip
_TEST_NAME = late_pattern(
    r"(?:^|/)(?:tests?|__tests__|specs?|testing|fixtures?|testdata|goldens?|expected|__snapshots__)/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_test\.[a-z]+|[^/]*\.(?:test|spec)\.[a-z]+|tests?\.[a-z]+)$"
)
_REFERENCE_NAME = late_pattern(
    r"(?:^|[/_.-])(?:expected|goldens?|approved)[._-][^/]*$|\.(?:snap|golden|approved|expected)$"
)
_SCRIPT_OF_CHECK = late_pattern(
    r"\.(?:sh|bash|zsh|mk)$|(?:^|[/_.-])(?:ci|check|verify|lint|spec|tests?)(?:[/_.-]|s\b|$)", re.I
)
_PROGRAM = late_pattern(
    r"(?:^|/)(?:python[\d.]{0,10}|py\.?test|pip\d?|uv|poetry|tox|nox|node|npm|npx|yarn|pnpm|bun|deno|make|gmake|cargo|rustc|go|ruby|java|mvn"
    r"|gradle|sh|bash|zsh|dash|env|test|diff|cmp|grep|cat|git)$"
)
_INLINE_TESTS = late_pattern(r"#\[(?:\w{1,60}::)?test\b|#\[cfg\(test\)\]|import\.meta\.vitest")
_SOURCE = late_pattern(r"\.(?:pyi?|[cm]?jsx?|[cm]?tsx?|rs|go|java|kt|scala|c|cc|cpp|h|hpp|rb|php|cs|swift)$")
_NAMED_SOURCE = late_pattern(r"[\w./-]{1,200}\.(?:py|[cm]?jsx?|tsx?|rs|go|java|kt|rb|php|c|cc|cpp|cs)\b")
_MOST_TESTS = 200
_STARTS_PROCESSES = late_pattern(
    r"\b(?:subprocess|[Pp]open|os\.(?:system|fork|spawn\w{0,5})|runpy|multiprocessing|ProcessPoolExecutor|child_process|spawn)\b"
)
_PLUGINS = late_pattern(r"\bpytest_plugins\b|-p[ =]{0,4}(?!no:)[a-z_]")
_LISTS_FOLDERS = late_pattern(r"\b(?:glob|iglob|rglob|listdir|scandir|iterdir|walk|readdir|readdirSync)\b")
_LANGUAGES = {"py": "python", "pyc": "python", "so": "python", "ts": "typescript", "tsx": "typescript"} | dict.fromkeys(
    ("js", "cjs", "mjs", "jsx", "node"), "javascript"
)
_LOADS_ANY = late_pattern(r"\b(?:require|import)\(\s{0,20}[^\"'`\s)]")
_ENVIRONMENT = late_pattern(
    r"(?:^|/)(?:\.venv|venv|node_modules|\.cargo|vendor)(?:/|$)|\.(?:egg|dist)-info/entry_points\.txt$|\.pth$"
)


@value
class CheckScope:
    """What a check is about. `request` names the work. `tests` are the test files of the workspace, each with the path that it leads to if
    it is a link. `sources` finds all its sources; `text_before` reads what a file held before the turn by its hash."""

    request: str = ""
    tests: tuple[tuple[str, str], ...] = ()
    sources: Callable[[], Sequence[str]] = tuple
    text_before: Callable[[str], str] = lambda digest: ""


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
    return is_source(path) and (_TEST_NAME.search(path) is not None or path.rpartition("/")[2] == "conftest.py")


def is_source(path: str) -> bool:
    return _SOURCE.search(path) is not None


def steers_checks(path: str) -> bool:
    """Whether a file at this path would decide what a check runs, without being named by it. Not those that may hold keys."""
    name = path.rpartition("/")[2]
    is_module = path.endswith((".py", ".pyc")) and path.partition("/")[0].partition(".")[0] in _SHADOWED
    return (name in _CONFIGURES and not name.startswith(".")) or is_module


def check_files(calls: Sequence[Call], command: str, text_of: TextOf, scope: CheckScope = NO_SCOPE) -> CheckFiles:
    """Returns what the turn changed of this check."""
    changes = [change for change in path_changes(calls) if change.is_net]
    if not changes:
        return CheckFiles()
    texts = CheckTexts(text_of, scope.text_before)
    request = scope.request[:_LONGEST_REQUEST].replace(command, " ")
    reader = _CheckReader(CheckRecipe(command, texts), changes, texts, scope, request=request)
    own = tuple(change.path for change in changes if reader.belongs_to_check(change) or reader.compares_with(change))
    written = [change for change in changes if change.after is not None and change.path not in own][:_MOST_CHANGED]
    evasive = [(change.path, evasion_in(change.path, texts, reader.reach(change))) for change in written]
    if texts.is_spent:
        evasive.append((THE_WORKSPACE, "holds more text than is looked at"))
    return CheckFiles(own, tuple((path, how) for path, how in evasive if how))


class _CheckReader:
    """Tells the files of a check from the work: what it runs, what configures it and what it compares the work with."""

    def __init__(
        self,
        recipe: CheckRecipe,
        changes: Sequence[TurnChange],
        text_of: CheckTexts,
        scope: CheckScope,
        *,
        request: str,
    ) -> None:
        self._recipe = recipe
        self._text_of = text_of
        self._scope = scope
        self._request = request
        self._before = {change.path: change.before for change in changes}
        self._tests = scope.tests[:_MOST_TESTS]
        self._linked = {target for path, target in scope.tests if target != path}
        self._knowing: dict[str, list[str]] = {}  # by a module's path, the texts that know it

    def belongs_to_check(self, change: TurnChange) -> bool:
        recipe, path, name = self._recipe, change.path, change.path.rpartition("/")[2]
        if "__pycache__" in path.split("/"):
            return False  # removed before each check
        if name in _CONFIGURES and not configures_alike(name, self._text_before(path), self._text_of(path)):
            return True
        if any(p.search(path) for p in (_TEST_NAME, _ENVIRONMENT, _CONFIGURES_JAVASCRIPT, _PROGRAM)):
            return True
        module = path.removesuffix(".py").removesuffix("/__main__").replace("/", ".")
        if recipe.words & {path, f"./{path}", name, module} or (change.before is None and path in recipe.targets):
            return True  # the command names it, or make takes it for done
        if change.before is None and change.after != "folder" and self._stands_before(path):
            return True
        is_reference = _REFERENCE_NAME.search(path) or (change.before is None and _shadows(change, recipe))
        if is_reference and not (self._is_requested(path) and is_source(path)):
            return True
        is_run = path in recipe.run or module in recipe.modules
        if not is_run and not (_SCRIPT_OF_CHECK.search(path) and recipe.names(path)):
            return False
        return not (self._is_requested(path) and self._is_compared(path))

    def compares_with(self, change: TurnChange) -> bool:
        path = change.path
        if path in self._linked:
            return True
        text = self._text_of(path) if self._recipe.runs_doctests or is_source(path) else ""
        if (self._recipe.runs_doctests and ">>>" in text) or (is_source(path) and _INLINE_TESTS.search(text)):
            return tests_inside(self._text_before(path), _INLINE_TESTS) != tests_inside(text, _INLINE_TESTS)
        if change.before is None or not self._tests_or_recipe or self._is_requested(path):
            return False
        return self._is_reference(path) if is_source(path) else self._is_read(path)

    def reach(self, change: TurnChange) -> Reach:
        path = change.path
        return Reach(
            before=self._text_before(path),
            is_loaded=lambda: self._is_loaded(path),
            is_named=lambda name: self._is_named(path, name),
            is_named_more=self._is_named_more,
            runs_programs=lambda: self._starts_processes,
            reports_exits=lambda: self._reports_exits,
            check_names=self._check_names,
        )

    def _stands_before(self, path: str) -> bool:
        """Whether a program may take this new file for a module that was there before, and is still."""
        return not _module_names(path, self._recipe.module_folders).isdisjoint(self._modules_before)

    @cached_property
    def _modules_before(self) -> set[tuple[str, str]]:
        paths = (path for path in self._scope.sources() if self._before.get(path, path) is not None)
        return {name for path in paths for name in _module_names(path, self._recipe.module_folders)}

    @cached_property
    def _check_names(self) -> frozenset[str]:
        paths = (*self._recipe.run, *self._recipe.words, *(path for path, _ in self._tests))
        return frozenset(path.rpartition("/")[2] for path in paths if is_source(path))

    def _is_requested(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return name in self._request and bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self._request))

    def _is_compared(self, path: str) -> bool:
        """Whether the recipe compares what this file prints, wherever it names it: it is the work and not the check."""
        lines = [line for line in self._recipe.texts.split("\n") if path in line]
        name = re.escape(path)
        compared = re.compile(rf"(?:\$\(|`)[^)`]{{0,200}}{name}|{name}[^|;&]{{0,200}}\|\s{{0,20}}(?:diff|cmp|grep)\b")
        return bool(lines) and all(compared.search(line[:2_000]) for line in lines)

    def _text_before(self, path: str) -> str:
        """Returns what the file held before the turn; empty if there was none, or it is not known."""
        if path not in self._before:
            return self._text_of(path)
        digest = self._before[path]
        return self._text_of.before(digest) if digest is not None else ""

    # --- what the tests are about

    @cached_property
    def _tests_or_recipe(self) -> str:
        return "\n".join((self._recipe.texts, *(self._text_of(path) for path, _ in self._tests)))

    @cached_property
    def _product(self) -> list[str]:
        """The sources that are neither tests nor run by the check."""
        run = self._recipe.run | self._recipe.words
        return [path for path in self._scope.sources() if not is_test_file(path) and path not in run]

    @cached_property
    def _product_stems(self) -> Counter[str]:
        return Counter(map(_stem, self._product))

    @cached_property
    def _imported_by_tests(self) -> frozenset[str]:
        return imported(self._tests_or_recipe)

    @cached_property
    def _imported_before(self) -> dict[str, frozenset[str]]:
        """What each source of the product imported before the turn."""
        return {path: imported(self._text_before(path)) for path in self._product}

    @cached_property
    def _read_by_tests(self) -> frozenset[str]:
        return file_names(self._tests_or_recipe)

    def _is_read(self, path: str) -> bool:
        """Whether the tests or the recipe name this file, which is no source, or list its folder although the request names a source."""
        folder, _, name = path.rpartition("/")
        if file_names(name) <= self._read_by_tests:
            return True
        is_named = folder.rpartition("/")[2] in self._read_by_tests and not self._is_requested(folder)
        return is_named and bool(self._requested_sources) and self._lists_folders

    @cached_property
    def _lists_folders(self) -> bool:
        return _LISTS_FOLDERS.search(self._tests_or_recipe) is not None

    @cached_property
    def _requested_sources(self) -> set[str]:
        return {_stem(name) for name in _NAMED_SOURCE.findall(self._request) if name not in self._recipe.words}

    def _is_reference(self, path: str) -> bool:
        """Whether the tests import this source although the request names another one, and before the turn it was not part of the rest."""
        if not self._requested_sources or _stem(path) not in self._imported_by_tests:
            return False
        is_used = any(_stem(path) in names for other, names in self._imported_before.items() if other != path)
        other_stems = self._product_stems - Counter([_stem(path)] if path in self._imported_before else [])
        return not is_used and imported(self._text_before(path)).isdisjoint(other_stems)

    # --- what reaches a source

    @cached_property
    def _starts_processes(self) -> bool:
        return _STARTS_PROCESSES.search(self._tests_or_recipe) is not None

    @cached_property
    def _reports_exits(self) -> bool:
        """Whether pytest alone runs the check, and reaches the work only inside tests."""
        recipe = self._recipe
        is_pytest = "pytest" in (recipe.words | recipe.modules) and not recipe.modules - {"pytest"}
        if not is_pytest or self._starts_processes or any(map(self._text_of, recipe.run)):
            return False
        settings = "\n".join(map(self._text_of, ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")))
        if _PLUGINS.search(f"{self._tests_or_recipe}\n{settings}\n{' '.join(recipe.words)}"):
            return False
        names = {name for path in self._product for name in (_stem(path), path.partition("/")[0])}
        return not any(imported(self._text_of(path)) & names for path, _ in self._tests if path.endswith("conftest.py"))

    @cached_property
    def _readers(self) -> list[str]:
        """The sources and the tests."""
        return list(dict.fromkeys((*self._scope.sources(), *(test for test, _ in self._tests))))

    def _is_named(self, path: str, name: str) -> bool:
        """Whether a text that knows this module names its function, or may name any."""
        if len(self._scope.sources()) >= MOST_SOURCES:
            return True  # not all were read
        stem = _stem(path) if not _stem(path).startswith("__") else dirname(path).rpartition("/")[2]
        return any(self._text_of.uses(text, stem, name) for text in self._texts_with(path, stem))

    def _texts_with(self, path: str, stem: str) -> list[str]:
        """Returns the other texts that know the module."""
        if path not in self._knowing:
            texts = (self._recipe.texts, *(self._text_of(other) for other in self._readers if other != path))
            self._knowing[path] = [text for text in texts if stem in text]
        return self._knowing[path]

    def _is_named_more(self, name: str) -> bool:
        return self._named_now[name] > self._named_before[name]

    @cached_property
    def _named_now(self) -> Counter[str]:
        return word_counts(self._text_of(path) for path in self._before if is_source(path))

    @cached_property
    def _named_before(self) -> Counter[str]:
        return word_counts(self._text_before(path) for path in self._before if is_source(path))

    def _is_loaded(self, path: str) -> bool:
        """Whether a source, a test or a recipe names this file of JavaScript, or loads what it does not name. Other languages need no name."""
        if not path.endswith(("js", "ts", "jsx", "tsx")):
            return True
        if _LOADS_ANY.search(self._tests_or_recipe):
            return True
        stem = path.rpartition(".")[0]
        parts = stem.split("/")
        ends = ("/".join(parts[number:]) for number in range(len(parts)))
        names = (f"./{stem}", f"./{stem.removesuffix('/index')}", *ends)
        return any(self._named_files.get(name, set()) - {path} for name in names)

    @cached_property
    def _named_files(self) -> dict[str, set[str]]:
        """The files of JavaScript that are named, relative ones with `./` before their path, and by which files."""
        readers_by_name: dict[str, set[str]] = {}
        for other, text in (*((other, self._text_of(other)) for other in self._readers), ("", self._recipe.texts)):
            for literal in LITERAL.findall(text):
                bare = re.sub(r"\.(?:[cm]?jsx?|[cm]?tsx?)$", "", literal)
                is_relative = bare.startswith(".")
                name = (
                    f"./{normpath(f'{dirname(other)}/{bare}').lstrip('/')}"
                    if is_relative
                    else bare.removeprefix("@/").strip("/")
                )
                readers_by_name.setdefault(name, set()).add(other)
        return readers_by_name


def _module_names(path: str, module_folders: frozenset[str]) -> set[tuple[str, str]]:
    """Returns the names under which programs of its language may load this file."""
    name, _, suffix = path.rpartition(".")
    language = _LANGUAGES.get(suffix)
    if language is None:
        return set()
    name = name.removesuffix("/__init__").removesuffix("/index") if suffix != "so" else name.partition(".")[0]
    top, _, inside = name.partition("/")
    names = (name, inside) if inside and top in module_folders else (name,)
    return {(language, name) for name in names}


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _shadows(change: TurnChange, recipe: CheckRecipe) -> bool:
    """Whether the check may import this new file instead of the usual module. A page in a folder of that name is none."""
    folder, _, path_in_folder = change.path.partition("/")
    module = path_in_folder if path_in_folder and folder in recipe.module_folders else change.path
    top, _, inside = module.partition("/")
    is_module = change.after != "folder" and (not inside or inside.endswith((".py", ".pyc", ".so")))
    return is_module and top.partition(".")[0] in _SHADOWED
