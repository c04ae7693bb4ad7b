"""Matches the rules of one tool and one effect quickly: by exact path, by one regex for all patterns, by command words. Pure."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cached_property, lru_cache

from anycowork.domain.errors import Invalid
from anycowork.domain.fixed_arguments import as_json
from anycowork.domain.network import NETWORK, Destination, read_destination
from anycowork.domain.rules import EVERYTHING, Effect, Rule
from anycowork.domain.tools import Parameters
from anycowork.domain.values import mutable_value, value
from anycowork.permissions.patterns import is_literal, loose_matcher, may_lie_below, names_something, path_regex, plain
from anycowork.permissions.shell.options import uncovered_words, verbs
from anycowork.permissions.shell.parsed_command import CommandPart, InnerExecution, ParsedCommand
from anycowork.permissions.shell.parser import parse
from anycowork.permissions.shell.shellwords import Word
from anycowork.permissions.shell.wrappers import launched, takes_orders, without_folder

Words = tuple[str, ...]
_TAIL = " *"
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,-")
# fmt: off
_RUN_ANYTHING = frozenset({
    "bash", "sh", "zsh", "dash", "env", "sudo", "doas", "xargs", "find", "python", "python3", "node", "perl",
    "ruby", "eval", "make", "ssh", "docker", "npx", "uvx", "awk",
})


@value
class CommandPattern:
    """A command pattern of a rule. `fixed_words` is None if it is not one simple command; then only exactly the same text matches."""

    text: str
    fixed_words: Words | None
    tail: bool


@lru_cache(maxsize=8192)
def command_pattern(text: str) -> CommandPattern:
    tail = text.endswith(_TAIL)
    fixed = text.removesuffix(_TAIL) if tail else text
    if all(word and _PLAIN.issuperset(word) for word in fixed.split(" ")):
        return CommandPattern(text, tuple(fixed.split()), tail)  # fast path: no need to parse each of a thousand rules
    parsed = parse(fixed)
    only = parsed.parts[0] if len(parsed.parts) == 1 and not parsed.writes and not parsed.reads else None
    fixed_words = only.argv if only is not None and only.certain_count == len(only.argv) else None
    return CommandPattern(text, fixed_words, tail)


class RuleMatcher:
    """Answers which rule matches a path, a destination or a command."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        given_rules = tuple(rules)
        self._with_arguments = [rule for rule in given_rules if rule.arguments is not None]
        self._rules = given_rules if not self._with_arguments else tuple(r for r in given_rules if r.arguments is None)
        self.everything = next((rule for rule in self._rules if rule.resource == EVERYTHING), None)

    def __bool__(self) -> bool:
        return bool(self._rules or self._with_arguments)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that fix no arguments."""
        return self._rules

    @property
    def patterns(self) -> tuple[str, ...]:
        return tuple(rule.resource for rule in self._rules)

    # --- paths

    def path(self, path: str) -> Rule | None:
        if self.everything is not None:
            return self.everything
        normalized = plain(path)
        if (rule := self._paths.literal.get(normalized)) is not None:
            return rule
        for folder in _folders(normalized):
            if (globs := self._paths.globs.get(folder)) is not None and (rule := globs.match(normalized)) is not None:
                return rule
        return None

    def below(self, folder: str) -> Rule | None:
        """Returns a rule that something in this folder may match."""
        return next((rule for rule in self._rules if may_lie_below(rule.resource, folder)), None)

    def other(self, resource: str, arguments: Parameters | None = None) -> Rule | None:
        """Returns a rule for a resource that is neither a path nor a command; `arguments` are those of a server's tool."""
        rule = self.everything or next((rule for rule in self._rules if _text_matches(rule.resource, resource)), None)
        if rule is not None or not self._with_arguments or arguments is None:
            return rule
        return self._arguments.match(resource, arguments)

    # --- destinations

    def overlaps(self, destination: Destination) -> Rule | None:
        """Returns a rule that covers part of this destination or all of it."""
        return next(
            (rule for rule, rule_destination in self._destinations if rule_destination.overlaps(destination)), None
        )

    def reaches(self, destination: Destination, *, literally: bool = False) -> Rule | None:
        """Returns a rule that covers the whole destination. A rule for every tool is about paths, unless its resource is `*`."""
        for rule, rule_destination in self._destinations:
            for_network = rule.tool == NETWORK or rule.resource == EVERYTHING
            if for_network and rule_destination.covers(destination) and (rule_destination.is_literal or not literally):
                return rule
        return None

    # --- commands

    def covers(self, part: CommandPart) -> Rule | None:
        """Returns the rule that allows this part and every command that it runs."""
        if self.everything is not None:
            return self.everything
        if any(inner_part.whole_text_only for inner_part in part.all()):
            return None
        if part.certain_count == len(part.argv) and (rule := self._commands.exact.get(part.argv)) is not None:
            return rule
        for length in range(min(part.certain_count, self._commands.longest), 0, -1):
            rule = self._commands.tails.get(part.argv[:length])
            if rule is not None and self._covers_rest(part, length):
                return rule
        if part.inner_execution is InnerExecution.UNCHANGED and part.inside:
            covering = [self.covers(inner) for inner in part.inside]
            return covering[0] if all(covering) else None
        return None

    def _covers_rest(self, part: CommandPart, length: int) -> bool:
        """Whether ` *` may cover the words from here on, and every inner command is allowed or named."""
        if any(uncovered.until >= length for uncovered in part.uncovered):
            return False
        if length <= part.inner_start:
            return all(self.covers(inner) for inner in part.inside)
        return all(
            not inner.whole_text_only and self._covers_rest(inner, length - part.inner_start) for inner in part.inside
        )

    def hits(self, part: CommandPart) -> Rule | None:
        """Returns the rule that this part, or a command that it runs, certainly matches."""
        if self.everything is not None:
            return self.everything
        for argv in (part.argv, without_folder(part.argv)):
            if part.certain_count == len(argv) and (rule := self._commands.exact.get(argv)) is not None:
                return rule
            for length in range(min(part.certain_count, self._commands.longest), 0, -1):
                if (rule := self._commands.tails.get(argv[:length])) is not None:
                    return rule
        return next(filter(None, map(self.hits, part.inside)), None)

    def may_hit(self, part: CommandPart) -> Rule | None:
        """Returns a rule that this part could match: by words that are known only when it runs, by words after unknown options, by
        a program that it launches, or by an option that may run any program."""
        if part.certain_count < len(part.argv):
            for argv in (part.argv, without_folder(part.argv)):
                certain = argv[: part.certain_count]
                for fixed, rule in self._commands.every:
                    if fixed[: len(certain)] == certain:
                        return rule
        if self._commands.every and (matching_rule := self._behind_options(part) or self._launched(part)):
            return matching_rule
        return next(filter(None, map(self.may_hit, part.inside)), None)

    def _behind_options(self, part: CommandPart) -> Rule | None:
        """Matches `git -C . push` as a push. It is not known for every program which options take a value, so any words may be between."""
        name, *arguments = without_folder(part.argv) or ("",)
        if not arguments or not arguments[0].startswith(("-", "+")):
            return None
        candidates = (candidate for word in arguments for candidate in self._commands.by_two.get((name, word), ()))
        return next((rule for fixed, rule in candidates if _in_order(fixed[1:], arguments)), None)

    def _launched(self, part: CommandPart) -> Rule | None:
        if takes_orders(part) or any(uncovered.is_known for uncovered in part.uncovered):
            return self._commands.every[0][1]
        return next(filter(None, map(self._commands.by_program.get, launched(part))), None)

    def same_text(self, command: ParsedCommand) -> Rule | None:
        return self.everything or self._commands.texts.get(command.text)

    def raw(self, raw_words: Words) -> Rule | None:
        """Returns a rule whose words appear in sequence in a command that cannot be analyzed: the best possible comparison."""
        if self.everything is not None:
            return self.everything
        bare = tuple(without_folder((word,))[0] for word in raw_words)
        for start, word in enumerate(bare):
            for fixed, rule in self._commands.by_first.get(word, ()):
                if bare[start : start + len(fixed)] == fixed:
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
    def _arguments(self) -> "_ArgumentRules":
        return _ArgumentRules(self._with_arguments)

    @cached_property
    def _destinations(self) -> list[tuple[Rule, Destination]]:
        destinations = []
        for rule in self._rules:
            try:
                destinations.append((rule, read_destination(rule.resource)))
            except ValueError:
                continue  # a pattern for other tools, such as a path
        return destinations

    @cached_property
    def _commands(self) -> "_Commands":
        index = _Commands()
        for rule in self._rules:
            pattern = command_pattern(rule.resource)
            if not pattern.tail:
                index.texts.setdefault(pattern.text, rule)
            if pattern.fixed_words:
                (index.tails if pattern.tail else index.exact).setdefault(pattern.fixed_words, rule)
                index.every.append((pattern.fixed_words, rule))
                index.by_program.setdefault(pattern.fixed_words[0], rule)
                index.by_first.setdefault(pattern.fixed_words[0], []).append((pattern.fixed_words, rule))
                index.longest = max(index.longest, len(pattern.fixed_words))
                index.by_two.setdefault(pattern.fixed_words[:2], []).append((pattern.fixed_words, rule))
        return index


@value
class _Paths:
    """Path rules, indexed by the folder that their pattern begins with, so that a path is compared only with rules above it."""

    literal: dict[str, Rule]
    globs: dict[str, "_Globs"]


class _ArgumentRules:
    """Rules that fix arguments, indexed by the names that they fix: one lookup for each set of names, however many values there are."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_names: dict[Words, dict[Words, list[Rule]]] = {}
        for rule in rules:
            assert rule.arguments is not None
            by_values = self._by_names.setdefault(rule.arguments.names, {})
            by_values.setdefault(rule.arguments.values, []).append(rule)

    def match(self, resource: str, arguments: Parameters) -> Rule | None:
        texts = {name: as_json(argument) for name, argument in arguments.items()}
        for names, by_values in self._by_names.items():
            if not texts.keys() >= set(names):
                continue
            for rule in by_values.get(tuple(texts[name] for name in names), ()):
                if rule.admits(arguments) and _text_matches(rule.resource, resource):
                    return rule
        return None


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
        match = self._regex.fullmatch(path) if self._rules else None
        if match and match.lastindex:
            return self._rules[match.lastindex - 1]
        return next((rule for rule, matcher in self._loose if matcher.matches(path)), None)


def _folder_of(pattern: str) -> str:
    """Returns the folders that the pattern begins with, without wildcards: `a/b/` of `a/b/c*`."""
    fixed = min(
        (position for position in (pattern.find("*"), pattern.find("?")) if position >= 0), default=len(pattern)
    )
    folder = pattern[: pattern.rfind("/", 0, fixed) + 1]
    return "" if "//" in folder or folder.startswith("/") else folder


def _folders(path: str) -> Iterator[str]:
    """`a/b/c` lies in ``, `a/` and `a/b/`."""
    yield ""
    slash = path.find("/")
    while slash >= 0:
        yield path[: slash + 1]
        slash = path.find("/", slash + 1)


@mutable_value
class _Commands:
    exact: dict[Words, Rule] = field(default_factory=dict)
    tails: dict[Words, Rule] = field(default_factory=dict)
    texts: dict[str, Rule] = field(default_factory=dict)
    every: list[tuple[Words, Rule]] = field(default_factory=list)
    by_program: dict[str, Rule] = field(default_factory=dict)
    by_two: dict[Words, list[tuple[Words, Rule]]] = field(default_factory=dict)
    by_first: dict[str, list[tuple[Words, Rule]]] = field(default_factory=dict)
    longest: int = 0


def _in_order(expected: Words, argv: Iterable[str]) -> bool:
    """Whether the wanted words appear among these words, in the same order."""
    remaining = iter(argv)
    return all(word in remaining for word in expected)


def _text_matches(pattern: str, resource: str) -> bool:
    """Matches a pattern with `*`. Text between two `*` matches at its first position: a later one is never better."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == resource
    *middle, last = others
    if not resource.startswith(first):
        return False
    position = len(first)
    for part in middle:
        start = resource.find(part, position)
        if start < 0:
            return False
        position = start + len(part)
    return len(resource) - len(last) >= position and resource.endswith(last)


# fmt: on


def check_command_pattern(rule: Rule) -> list[str]:
    """Returns warnings about this rule. Raises: Invalid for a pattern that has no meaning."""
    pattern = command_pattern(rule.resource)
    if pattern.tail and not pattern.fixed_words:
        raise Invalid(
            f"'{rule.resource[:80]}' ends in ' *', but the part before it is not one simple command; write it like 'git log *'.",
            param="resource",
        )
    if pattern.fixed_words is None:
        return ["This rule matches only exactly the same text, because it is more than one simple command."]
    if rule.effect is Effect.ALLOW and pattern.tail and pattern.fixed_words[-1].rsplit("/", 1)[-1] in _RUN_ANYTHING:
        return [f"'{pattern.fixed_words[-1]}' can run any program, so this rule allows nearly everything."]
    return _warn_of_options(pattern) if rule.effect is Effect.ALLOW and pattern.tail else []


def _warn_of_options(pattern: CommandPattern) -> list[str]:
    argv = [Word(word, certain=True) for word in (*(pattern.fixed_words or ()), "operand")]
    name = argv[0].value
    if any(uncovered.until >= len(argv) - 1 for uncovered in uncovered_words(name, argv)):
        return [
            f"This rule matches only '{' '.join(pattern.fixed_words or ())}' itself, because more words may run any program."
        ]
    if name not in verbs():
        return [
            f"The options of '{name}' are not known: ' *' covers its operands, and options that the rule does not name ask."
        ]
    return []
