"""Tells whether a changed file still configures checks as before: a raised version, a listed dependency or another target of make do not
change what a check runs. The same for tests inside a source. Pure."""

import re
import tomllib
from collections.abc import Mapping

from anycowork.domain.bounded_json import read_json
from anycowork.domain.patterns import late_pattern

_NOT_RUN = frozenset({
    "version", "description", "keywords", "author", "contributors", "license", "homepage", "bugs", "repository", "funding", "private",
    "dependencies", "devDependencies", "peerDependencies", "optionalDependencies",
})  # fmt: skip
_LONGEST_PROJECT = 200_000  # characters
_MOST_DOTS = 200  # of one line
_RECIPE_LINE = late_pattern(r"\t|\s{0,20}#|\s{0,200}$")
_NEW_TARGET = late_pattern(r"([\w-]{1,100}):(?![:=])[\w\s./-]{0,500}$")
_PHONY = late_pattern(r"\.PHONY:([\w\s.-]{0,500})$")
_EXAMPLE = late_pattern(r"^[ \t]{0,60}>>>")


def configures_alike(name: str, before: str, after: str) -> bool:
    """Whether a file of this name steers checks as it did before. False if that cannot be told."""
    if not before or not after:
        return False
    if name == "package.json":
        return _steering_package(before) == _steering_package(after) is not None
    if name == "pyproject.toml":
        return _steering_project(before) == _steering_project(after) is not None
    return name in ("Makefile", "makefile", "GNUmakefile") and _only_adds_targets(before, after)


def tests_inside(text: str, inline: re.Pattern[str]) -> list[str]:
    """Returns the examples of docstrings, and the rest of the source from its first inline test on."""
    examples: list[str] = []
    is_example = False
    for line in text.split("\n"):
        is_example = bool(line.strip(" \t\"'")) and (is_example or _EXAMPLE.match(line) is not None)
        examples += [line.strip()] if is_example else []
    first = inline.search(text)
    return examples + ([text[first.start() :]] if first else [])


def _steering_package(text: str) -> Mapping[str, object] | None:
    try:
        manifest = read_json(text, strict=False)
    except ValueError:
        return None
    return {key: part for key, part in manifest.items() if key not in _NOT_RUN} if isinstance(manifest, dict) else None


def _steering_project(text: str) -> Mapping[str, object] | None:
    if len(text) > _LONGEST_PROJECT or any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
        return None  # the parser takes the square of the dots, and what it makes of them cannot be compared
    try:
        settings = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    project = settings.pop("project", {})
    entry_points = project.get("entry-points") if isinstance(project, dict) else project
    return {**settings, "entry-points": entry_points}


def _only_adds_targets(before: str, after: str) -> bool:
    """Whether the turn wrote only new targets, below what was there."""
    old, new = _rules(before), _rules(after)
    if new[: len(old)] != old or not _phony(before) <= _phony(after):
        return False
    added = new[len(old) :]
    targets = [target[1] for line in added if (target := _NEW_TARGET.match(line))]
    is_known = not set(re.findall(r"[\w-]+", "\n".join(old))).isdisjoint(targets)
    if not added or not _NEW_TARGET.match(added[0]):
        return not added
    return not is_known and all(_RECIPE_LINE.match(line) or _NEW_TARGET.match(line) for line in added)


def _rules(text: str) -> list[str]:
    """Returns the lines without those that declare targets as phony, and without blank ones."""
    return [line.rstrip() for line in text.split("\n") if line.strip() and not _PHONY.match(line)]


def _phony(text: str) -> set[str]:
    declared = (_PHONY.match(line) for line in text.split("\n"))
    return {name for line in declared if line for name in line[1].split()}
