"""Matches the rules of one tool and one effect quickly: by exact path, by one regex for all patterns, by command words. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from anycowork.domain.network import NETWORK, Destination, read_destination
from anycowork.domain.rules import EVERYTHING, Rule
from anycowork.domain.values import value
from anycowork.permissions.patterns import is_literal, loose_matcher, may_lie_below, names_something, path_regex, plain
from anycowork.permissions.shell.parser import ParsedCommand, parse
from anycowork.permissions.shell.wrappers import CommandPart, InnerExecution, launched, takes_orders, without_folder

Words = tuple[str, ...]
_TAIL = " *"
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,-")


@value
class CommandPattern:
    """A command pattern of a rule. `words` is None if it is not one simple command; then only exactly the same text matches."""

    text: str
    words: Words | None
    tail: bool


@lru_cache(maxsize=8192)
def command_pattern(text: str) -> CommandPattern:
    tail = text.endswith(_TAIL)
    fixed = text.removesuffix(_TAIL) if tail else text
    if all(word and _PLAIN.issuperset(word) for word in fixed.split(" ")):
        return CommandPattern(text, tuple(fixed.split()), tail)  # fast path: no need to parse each of a thousand rules
    parsed = parse(fixed)
    only = parsed.parts[0] if len(parsed.parts) == 1 and not parsed.writes and not parsed.reads else None
    words = only.words if only is not None and only.known == len(only.words) else None
    return CommandPattern(text, words, tail)


class RuleMatcher:
    """Answers which rule matches a path, a destination or a command."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self.everything = next((rule for rule in self._rules if rule.resource == EVERYTHING), None)

    def __bool__(self) -> bool:
        return bool(self._rules)

    @property
    def patterns(self) -> tuple[str, ...]:
        return tuple(rule.resource for rule in self._rules)

    # --- paths

    def path(self, path: str) -> Rule | None:
        if self.everything is not None:
            return self.everything
        wanted = plain(path)
        if (rule := self._paths.literal.get(wanted)) is not None:
            return rule
        for folder in _folders(wanted):
            if (globs := self._paths.globs.get(folder)) is not None and (rule := globs.match(wanted)) is not None:
                return rule
        return None

    def below(self, folder: str) -> Rule | None:
        """Return a rule that something in this folder may match."""
        return next((rule for rule in self._rules if may_lie_below(rule.resource, folder)), None)

    def other(self, resource: str) -> Rule | None:
        return self.everything or next((rule for rule in self._rules if _text_matches(rule.resource, resource)), None)

    # --- destinations

    def overlaps(self, wanted: Destination) -> Rule | None:
        """Return a rule that covers part of this destination or all of it."""
        return next((rule for rule, meant in self._destinations if meant.overlaps(wanted)), None)

    def reaches(self, wanted: Destination, *, literally: bool = False) -> Rule | None:
        """Return a rule that covers the whole destination. A rule for every tool is about paths, unless its resource is `*`."""
        for rule, meant in self._destinations:
            for_network = rule.tool == NETWORK or rule.resource == EVERYTHING
            if for_network and meant.covers(wanted) and (meant.is_literal or not literally):
                return rule
        return None

    # --- commands

    def covers(self, part: CommandPart) -> Rule | None:
        """Return the rule that allows this part and every command that it runs."""
        if self.everything is not None:
            return self.everything
        if any(one.whole_text_only for one in part.all()):
            return None
        if part.known == len(part.words) and (rule := self._commands.exact.get(part.words)) is not None:
            return rule
        for length in range(min(part.known, self._commands.longest), 0, -1):
            rule = self._commands.tails.get(part.words[:length])
            if rule is not None and self._covers_rest(part, length):
                return rule
        if part.inner_execution is InnerExecution.UNCHANGED and part.inside:
            covering = [self.covers(inner) for inner in part.inside]
            return covering[0] if all(covering) else None
        return None

    def _covers_rest(self, part: CommandPart, length: int) -> bool:
        """Whether ` *` may cover the words from here on, and every inner command is allowed or named."""
        if any(one.until >= length for one in part.uncovered):
            return False
        if length <= part.at:
            return all(self.covers(inner) for inner in part.inside)
        return all(not inner.whole_text_only and self._covers_rest(inner, length - part.at) for inner in part.inside)

    def hits(self, part: CommandPart) -> Rule | None:
        """Return the rule that this part, or a command that it runs, certainly matches."""
        if self.everything is not None:
            return self.everything
        for words in (part.words, without_folder(part.words)):
            if part.known == len(words) and (rule := self._commands.exact.get(words)) is not None:
                return rule
            for length in range(min(part.known, self._commands.longest), 0, -1):
                if (rule := self._commands.tails.get(words[:length])) is not None:
                    return rule
        return next(filter(None, map(self.hits, part.inside)), None)

    def may_hit(self, part: CommandPart) -> Rule | None:
        """Return a rule that this part could match: by words that are known only when it runs, by words after unknown options, by
        a program that it launches, or by an option that may run any program."""
        if part.known < len(part.words):
            for words in (part.words, without_folder(part.words)):
                certain = words[: part.known]
                for fixed, rule in self._commands.every:
                    if fixed[: len(certain)] == certain:
                        return rule
        if self._commands.every and (found := self._behind_options(part) or self._launched(part)):
            return found
        return next(filter(None, map(self.may_hit, part.inside)), None)

    def _behind_options(self, part: CommandPart) -> Rule | None:
        """Match `git -C . push` as a push. It is not known for every program which options take a value, so any words may be between."""
        name, *words = without_folder(part.words) or ("",)
        if not words or not words[0].startswith(("-", "+")):
            return None
        named = (one for word in words for one in self._commands.by_two.get((name, word), ()))
        return next((rule for fixed, rule in named if _in_order(fixed[1:], words)), None)

    def _launched(self, part: CommandPart) -> Rule | None:
        if takes_orders(part) or any(one.is_known for one in part.uncovered):
            return self._commands.every[0][1]
        return next(filter(None, map(self._commands.by_program.get, launched(part))), None)

    def same_text(self, command: ParsedCommand) -> Rule | None:
        return self.everything or self._commands.texts.get(command.text)

    def raw(self, words: Words) -> Rule | None:
        """Return a rule whose words appear in sequence in a command that cannot be analyzed: the best possible comparison."""
        if self.everything is not None:
            return self.everything
        bare = tuple(without_folder((word,))[0] for word in words)
        for at, word in enumerate(bare):
            for fixed, rule in self._commands.by_first.get(word, ()):
                if bare[at : at + len(fixed)] == fixed:
                    return rule
        return None

    @property
    def about_words(self) -> Rule | None:
        """The first rule with a command pattern."""
        return self._commands.every[0][1] if self._commands.every else None

    # --- built on first use: rules of file tools never load the shell grammar

    @cached_property
    def _paths(self) -> "_Paths":
        literal: dict[str, Rule] = {}
        below: dict[str, list[Rule]] = {}
        for rule in self._rules:
            pattern = plain(rule.resource)
            if is_literal(rule.resource):
                literal.setdefault(pattern, rule)
            elif names_something(rule.resource):
                below.setdefault(_folder_of(pattern), []).append(rule)
        return _Paths(literal, {folder: _Globs(rules) for folder, rules in below.items()})

    @cached_property
    def _destinations(self) -> list[tuple[Rule, Destination]]:
        found = []
        for rule in self._rules:
            try:
                found.append((rule, read_destination(rule.resource)))
            except ValueError:
                continue  # a pattern for other tools, such as a path
        return found

    @cached_property
    def _commands(self) -> "_Commands":
        found = _Commands()
        for rule in self._rules:
            pattern = command_pattern(rule.resource)
            if not pattern.tail:
                found.texts.setdefault(pattern.text, rule)
            if pattern.words:
                (found.tails if pattern.tail else found.exact).setdefault(pattern.words, rule)
                found.every.append((pattern.words, rule))
                found.by_program.setdefault(pattern.words[0], rule)
                found.by_first.setdefault(pattern.words[0], []).append((pattern.words, rule))
                found.longest = max(found.longest, len(pattern.words))
                found.by_two.setdefault(pattern.words[:2], []).append((pattern.words, rule))
        return found


@value
class _Paths:
    """Path rules, indexed by the folder that their pattern begins with, so that a path is compared only with rules above it."""

    literal: dict[str, Rule]
    globs: dict[str, "_Globs"]


class _Globs:
    """Many patterns as one regex; the number of the matching group identifies the rule. Loose patterns are matched one by one."""

    def __init__(self, rules: list[Rule]) -> None:
        matchers = [(rule, loose_matcher(rule.resource)) for rule in rules]
        self._loose = [(rule, matcher) for rule, matcher in matchers if matcher is not None]
        self._rules = [rule for rule, matcher in matchers if matcher is None]

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile("|".join(f"({path_regex(rule.resource)})" for rule in self._rules), re.DOTALL)

    def match(self, path: str) -> Rule | None:
        found = self._regex.fullmatch(path) if self._rules else None
        if found and found.lastindex:
            return self._rules[found.lastindex - 1]
        return next((rule for rule, matcher in self._loose if matcher.matches(path)), None)


def _folder_of(pattern: str) -> str:
    """Return the folders that the pattern begins with, without wildcards: `a/b/` of `a/b/c*`."""
    fixed = min((at for at in (pattern.find("*"), pattern.find("?")) if at >= 0), default=len(pattern))
    folder = pattern[: pattern.rfind("/", 0, fixed) + 1]
    return "" if "//" in folder or folder.startswith("/") else folder


def _folders(path: str) -> Iterator[str]:
    """`a/b/c` lies in ``, `a/` and `a/b/`."""
    yield ""
    at = path.find("/")
    while at >= 0:
        yield path[: at + 1]
        at = path.find("/", at + 1)


@dataclass(slots=True)
class _Commands:
    exact: dict[Words, Rule] = field(default_factory=dict)
    tails: dict[Words, Rule] = field(default_factory=dict)
    texts: dict[str, Rule] = field(default_factory=dict)
    every: list[tuple[Words, Rule]] = field(default_factory=list)
    by_program: dict[str, Rule] = field(default_factory=dict)
    by_two: dict[Words, list[tuple[Words, Rule]]] = field(default_factory=dict)
    by_first: dict[str, list[tuple[Words, Rule]]] = field(default_factory=dict)
    longest: int = 0


def _in_order(wanted: Words, words: Iterable[str]) -> bool:
    """Whether the wanted words appear among these words, in the same order."""
    left = iter(words)
    return all(word in left for word in wanted)


def _text_matches(pattern: str, resource: str) -> bool:
    """Match a pattern with `*`. Text between two `*` is taken at its first place: a later one is never better."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == resource
    *middle, last = others
    if not resource.startswith(first):
        return False
    at = len(first)
    for part in middle:
        found = resource.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(resource) - len(last) >= at and resource.endswith(last)
