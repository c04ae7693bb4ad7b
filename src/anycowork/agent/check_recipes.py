"""Finds what a check runs: the scripts that its command names, the recipes of make and npm behind it, and the scripts that these run. Pure."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from posixpath import normpath

from anycowork.agent.check_texts import TextOf
from anycowork.domain.patterns import late_pattern
from anycowork.domain.values import mutable_value

_MOST_FILES = 40
_MOST_FOLDERS = 50
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_RUNNERS = (*_MAKEFILES, "package.json", "justfile", "Justfile", "tox.ini", "noxfile.py")
_SHELL = ("sh", "bash", "zsh", "mk")
_OTHER_FOLDER = late_pattern(r"(?:\bcd|-C|--prefix|--directory)[\s=]{1,20}([\w./-]{1,300})")
_RUN_BY_PROGRAM = late_pattern(
    r"(?:^|[\s;&|('\"`@+-])"
    r"(?:python[\d.]{0,10}|\$[({]\w{1,60}[)}]|sh|bash|zsh|dash|node|ruby|perl|php|source|\.|exec)[ \t]{1,20}"
    r"(?:-(?!m\b)\w{1,30}[ \t]{1,20}){0,8}([\w.][\w./-]{0,300})",
    re.M,
)
_RUN_ITSELF = late_pattern(
    r"(?:^[ \t]{0,40}[@+-]{0,4}|[;&|][ \t]{0,40})((?:\./)?[\w-][\w./-]{0,300}/[\w.-]{1,300}|\./[\w.-]{1,300})", re.M
)
_RUN_AS_MODULE = late_pattern(r"\s-m[ \t]{1,20}([\w.]{1,300})")
_MODULE_FOLDERS = late_pattern(r"(?:PYTHONPATH|pythonpath)[\"']?\s{0,20}[:?+]?=\s{0,20}([^\n;]{1,300})")
_PYTEST_SETTINGS = ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
_RULE = late_pattern(r"^([^\s:=#][^:=#]*)::?(?!=)([^=#;]*)(;.*)?$")
_INCLUDE = late_pattern(r"^[-s]?include[ \t]{1,20}([^\n]{1,2000})", re.M)
_PATTERN = late_pattern(r"(?<![\w./*-])[\w./-]{0,100}\*[\w./*-]{0,100}")
_SCRIPT = late_pattern(r'"([\w:.-]{1,100})"\s{0,20}:\s{0,20}"((?:[^"\\]|\\.){0,990})"')


class CheckRecipe:
    """`words` are those of the command, `texts` all that was read, `run` the files and `modules` that it runs, `targets` what make makes
    for it. `module_folders`: beside the root, where it finds modules by their bare names."""

    def __init__(self, command: str, text_of: TextOf) -> None:
        self.words = frozenset(re.split(r"[\s'\"=;&|]+", command))
        self.run: set[str] = set()
        self.modules: set[str] = set()
        self.targets: set[str] = set()
        self._text_of = text_of
        self._folders = ("", *_other_folders(command))
        self.texts = self._read(command)
        self._patterns = tuple(dict.fromkeys(_PATTERN.findall(self.texts)))[:_MOST_FILES]
        settings = "\n".join((command, self.texts, *map(text_of, _PYTEST_SETTINGS)))
        self.runs_doctests = "doctest" in settings
        module_folders = (
            name for listed in _MODULE_FOLDERS.findall(settings) for name in re.findall(r"[\w-]{1,100}", listed)
        )
        self.module_folders = frozenset(module_folders)

    def names(self, path: str) -> bool:
        """Whether a recipe or a script names this file, by itself or by a pattern."""
        return path in self.texts or any(fnmatchcase(path, pattern.removeprefix("./")) for pattern in self._patterns)

    def _read(self, command: str) -> str:
        names = [word.removeprefix("./") for word in self.words if "." in word and not word.startswith(("-", "/"))]
        queue = [*self._runs(command), *(f"{folder}{name}" for folder in self._folders for name in (*_RUNNERS, *names))]
        texts: dict[str, str] = {}
        for path in queue:
            if path not in texts and len(texts) < _MOST_FILES:
                texts[path] = self._text_of(path)
                run = self._runs(self._recipe_of(path, texts[path])) if texts[path] else []
                self.run.update(run)
                queue += run
        return "\n".join(texts.values())

    def _runs(self, recipe: str) -> list[str]:
        self.modules.update(_RUN_AS_MODULE.findall(recipe))
        paths = [*_RUN_BY_PROGRAM.findall(recipe), *_RUN_ITSELF.findall(recipe)]
        folders = dict.fromkeys((*self._folders, *_other_folders(recipe)))
        return [normpath(f"{folder}{path}") for path in paths for folder in folders]

    def _recipe_of(self, path: str, text: str) -> str:
        """Returns what of this file is run as commands."""
        name = path.rpartition("/")[2]
        if name in _MAKEFILES:
            return self._recipes_of_make(text)
        if name == "package.json":
            return "\n".join(_scripts(text, self.words))
        suffix = name.rpartition(".")[2] if "." in name else ""
        is_other_program = not suffix and re.match(r"#![^\n]{0,200}(?:python|node|ruby|perl)", text)
        return text if suffix in _SHELL or (not suffix and not is_other_program) or name == "tox.ini" else ""

    def _recipes_of_make(self, text: str) -> str:
        included = list(dict.fromkeys(path for line in _INCLUDE.findall(text)[:_MOST_FILES] for path in line.split()))
        self.run.update(included)
        rules = _rules("\n".join((text, *map(self._text_of, included[:_MOST_FILES]))))
        goals = [target for target in rules if target in self.words] or [t for t in rules if not t.startswith(".")][:1]
        lines: list[str] = []
        for target in goals:
            if target in rules and target not in self.targets:
                self.targets.add(target)
                for rule in rules[target]:
                    lines += rule.recipe
                    goals += rule.prerequisites
                    rule.recipe, rule.prerequisites = [], []  # once, however many targets it has
        return "\n".join(lines)


def _other_folders(text: str) -> list[str]:
    """Returns the folders that it changes into."""
    return list(dict.fromkeys(f"{normpath(folder)}/" for folder in _OTHER_FOLDER.findall(text)))[:_MOST_FOLDERS]


@mutable_value
class _Rule:
    """A rule of a makefile, which several targets may have."""

    prerequisites: list[str]
    recipe: list[str]


def _rules(text: str) -> dict[str, list[_Rule]]:
    """Returns each target of a makefile with its rules."""
    rules: dict[str, list[_Rule]] = {}
    current = _Rule([], [])
    for line in text.replace("\\\n", " ").split("\n"):
        if line.startswith("\t"):
            current.recipe.append(line)
        elif rule := _RULE.match(line):
            current = _Rule(rule[2].replace("|", " ").split(), [rule[3][1:]] if rule[3] else [])
            for target in dict.fromkeys(rule[1].split()):
                rules.setdefault(target, []).append(current)
    return rules


def _scripts(text: str, script_names: Iterable[str]) -> Iterator[str]:
    """Returns the scripts of a package.json with these names, of `test`, and of those that they run in turn."""
    scripts = dict(_SCRIPT.findall(text))
    names = ["test", *script_names]
    for name in names:
        for script in (scripts.pop(f"{when}{name}", None) for when in ("pre", "", "post")):
            if script is not None:
                names += script.split()
                yield script
