"""Decides which rule applies to a call, and why. Deny beats ask beats allow, in any order; an allow rule must cover everything
the call accesses. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

from anycowork.domain.errors import Invalid
from anycowork.domain.network import NETWORK, Destination, read_destination
from anycowork.domain.path_class import is_control_file, is_key_file
from anycowork.domain.ports import ANYTHING_INSIDE, NOTHING_HIDDEN, HiddenPathRules
from anycowork.domain.rules import EVERYTHING, SERVER, ChangesDecision, Effect, Rule
from anycowork.domain.tools import PathIntent, ToolSpec
from anycowork.domain.values import value
from anycowork.permissions.command_risk import words_of
from anycowork.permissions.patterns import is_literal, require_path_pattern, require_quick
from anycowork.permissions.resources import COMMAND_TOOL, AccessedResources, from_root
from anycowork.permissions.rule_matcher import RuleMatcher, check_command_pattern
from anycowork.permissions.shell.parsed_command import ParsedCommand

# Rules use these tool names for reading and changing files, whatever does it: a redirection, a command, another tool.
_READ, _CREATE, _UPDATE, _DELETE = "read_file", "create_file", "update_file", "delete_file"
_WRITE = (_CREATE, _UPDATE)


@value
class RuleDecision:
    """The effect of the rules on a call. `rule` is None if no rule applied; `reason` is a sentence for people. `key_file` is set if the
    call asks only because no rule names this key file."""

    effect: Effect
    rule: Rule | None
    reason: str
    key_file: str | None = None


class RuleIndex:
    """The rules that apply in one chat, with a cached matcher for each tool and effect."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._matchers: dict[tuple[str, Effect], RuleMatcher] = {}
        self._hidden: dict[str, HiddenPathRules] = {}

    def matcher(self, tool: str, effect: Effect) -> RuleMatcher:
        key = (tool, effect)
        if key not in self._matchers:
            self._matchers[key] = RuleMatcher(r for r in self.rules if r.effect is effect and r.names_tool(tool))
        return self._matchers[key]

    def hidden_from(self, spec: ToolSpec | None = None) -> HiddenPathRules:
        """Returns what rules forbid to read, or asks about, so that no tool reveals it. A rule for reading is about every tool that
        reads; rules about a tool that searches folders are included. Key files that no rule names are withheld as well.
        """
        if not self.rules:
            return _KEY_FILES_WITHHELD
        tools = (spec.name, _READ) if spec is not None and spec.looks_below else (_READ,)
        if (hidden := self._hidden.get(tools[0])) is None:
            hiding, asking = (self._path_rules(tools, effect) for effect in (Effect.DENY, Effect.ASK))
            naming = _about_key_files(self)
            hidden = HiddenPathRules(
                patterns=hiding.patterns,
                hides=hiding.hides,
                withholds=partial(_withholds_or_asks, naming, tools, asking.hides),
                asking=asking.patterns,
                asks=asking.hides,
            )
            self._hidden[tools[0]] = hidden
        return hidden

    def _path_rules(self, tools: Sequence[str], effect: Effect) -> HiddenPathRules:
        """Returns the patterns of the rules with this effect, and what they match. A rule that asks about everything asks before the call:
        it covers nothing, or no command could run after a person allowed it."""
        rules = [rule for name in tools for rule in self.rules if rule.effect is effect and rule.names_tool(name)]
        rules = [rule for rule in rules if rule.arguments is None]
        matching = [rule for rule in rules if effect is Effect.DENY or not _is_everything(rule.resource)]
        patterns = tuple(dict.fromkeys(rule.resource for rule in matching))
        return HiddenPathRules(patterns, partial(_any_hides, [RuleMatcher(matching)])) if patterns else NOTHING_HIDDEN


_KEY_FILES_WITHHELD = HiddenPathRules(withholds=is_key_file)


def decide(touched: AccessedResources, index: RuleIndex, *, default: RuleDecision) -> RuleDecision:
    """Decides a call by the rules; `default` applies if no rule does.

    Only a lone `*` can allow a command that cannot be analyzed, and only if no rule denies or asks for anything it may do.
    """
    if not index.rules and not touched.unanalyzable:
        return default  # the usual case
    if rule := _matching_rule(touched, index, Effect.DENY):
        return RuleDecision(Effect.DENY, rule, f"The rule '{rule.title()}' denies it.")
    if rule := _matching_rule(touched, index, Effect.ASK):
        return RuleDecision(Effect.ASK, rule, f"The rule '{rule.title()}' asks a person.")
    if rule := _possibly_matching_rule(touched, index):
        return RuleDecision(
            Effect.ASK, rule, f"It may access what the rule '{rule.title()}' covers, so a person is asked."
        )
    if touched.unanalyzable and not _allows_all(touched, index):
        return RuleDecision(Effect.ASK, None, f"No rule can allow this command by its words: {touched.unanalyzable}.")
    if rule := _covering_rule(touched, index.matcher(touched.tool, Effect.ALLOW)):
        if beyond := not_allowed(touched, index):
            destinations = ", ".join(map(str, beyond))
            return RuleDecision(
                Effect.ASK, None, f"The rule '{rule.title()}' allows it, but no rule allows it to reach {destinations}."
            )
        if path := _control_file_unnamed(touched, index):
            return RuleDecision(
                Effect.ASK,
                None,
                f"The rule '{rule.title()}' allows it, but '{_legible(path)}' controls tools, editors or agents, and no rule names it.",
            )
        if path := _key_file_unnamed(touched, index):
            return RuleDecision(
                Effect.ASK,
                None,
                f"The rule '{rule.title()}' allows it, but '{_legible(path)}' looks as if it holds keys or passwords, and no rule names it.",
                key_file=path,
            )
        return RuleDecision(Effect.ALLOW, rule, f"The rule '{rule.title()}' allows it.")
    if touched.command is not None and default.effect is Effect.ASK and (reason := touched.command.uncovered_reason):
        return replace(default, reason=f"{default.reason} Only a rule with exactly these words can allow it: {reason}.")
    return default


def _allows_all(touched: AccessedResources, index: RuleIndex) -> bool:
    """Whether a lone `*` allows a command that cannot be analyzed: only if no rule, for commands or files, denies or asks."""
    if index.matcher(touched.tool, Effect.ALLOW).everything is None:
        return False
    return all(rule.effect is Effect.ALLOW or rule.tool == NETWORK for rule in index.rules)


def _key_file_unnamed(touched: AccessedResources, index: RuleIndex) -> str | None:
    """Returns the first key file that the call would show and that no rule names: a rule for a folder is not meant to include it."""
    shown_paths = (*(touched.paths if touched.reveals else ()), *touched.reads, *touched.key_files)
    keys = [path for path in shown_paths if is_key_file(path)]
    if not keys:
        return None
    naming = _about_key_files(index)
    return next((path for path in keys if _withholds(naming, (touched.tool, _READ), path)), None)


def _about_key_files(index: RuleIndex) -> RuleIndex:
    """Returns the rules that allow key files by name: `/.env`, `**/*.pem`, `/.ssh/**`."""
    return RuleIndex([rule for rule in index.rules if rule.effect is Effect.ALLOW and is_key_file(rule.resource)])


def _withholds(naming: RuleIndex, tools: Sequence[str], path: str) -> bool:
    return is_key_file(path) and _about_path(naming, tools, path, Effect.ALLOW) is None


def _withholds_or_asks(naming: RuleIndex, tools: Sequence[str], asks: Callable[[str], bool], path: str) -> bool:
    return asks(path) or _withholds(naming, tools, path)


def _is_everything(pattern: str) -> bool:
    return pattern.strip("/") in (EVERYTHING, "**")


def _control_file_unnamed(touched: AccessedResources, index: RuleIndex) -> str | None:
    """Returns the first control file that no rule allows by its exact path. Changes of a command are checked after it has run."""
    if not touched.changes_at_once:
        return None
    control_files = (path for path in touched.paths if is_control_file(path))
    return next((path for path in control_files if not _names(index, touched.tool, path)), None)


def _names(index: RuleIndex, tool: str, path: str) -> bool:
    """Whether a rule for exactly this tool allows exactly this path."""
    return _literal(index, tool).matcher(tool, Effect.ALLOW).path(path) is not None


def _literal(index: RuleIndex, tool: str) -> RuleIndex:
    return RuleIndex([rule for rule in index.rules if rule.tool == tool and is_literal(rule.resource)])


def not_allowed(touched: AccessedResources, index: RuleIndex) -> tuple[Destination, ...]:
    """Returns the destinations that no rule allows."""
    matcher = index.matcher(NETWORK, Effect.ALLOW)
    return tuple(destination for destination in touched.network if matcher.reaches(destination) is None)


def named_literally(touched: AccessedResources, index: RuleIndex) -> tuple[Destination, ...]:
    """Returns the destinations that a rule allows by their exact name."""
    matcher = index.matcher(NETWORK, Effect.ALLOW)
    return tuple(destination for destination in touched.network if matcher.reaches(destination, literally=True))


def check_changes(
    changes: Sequence[PathIntent], index: RuleIndex, *, changed_by: str = COMMAND_TOOL
) -> ChangesDecision:
    """Applies the rules to paths that a command has changed, as if file tools had changed them.

    Rules about the tool itself, `changed_by`, apply to its changes as well.
    """
    asking: ChangesDecision | None = None
    literal_paths = set()
    index = RuleIndex([rule for rule in index.rules if _is_about_files(rule, changed_by)])
    if not index.rules:
        return ChangesDecision()
    literal = {tool: _literal(index, tool) for tool in (_DELETE, _CREATE, _UPDATE)}
    for item in changes:
        tool, path = _tool_for(item), f"/{item.path}"
        if rule := _about_path(index, (tool, changed_by), path, Effect.DENY):
            return ChangesDecision(Effect.DENY, f"The rule '{rule.title()}' denies changing '{_legible(path)}'.")
        if asking is None and (rule := _about_path(index, (tool, changed_by), path, Effect.ASK)):
            asking = ChangesDecision(Effect.ASK, f"The rule '{rule.title()}' asks before changing '{_legible(path)}'.")
        if literal[tool].matcher(tool, Effect.ALLOW).path(path) is not None:
            literal_paths.add(item.path)
    return replace(asking or ChangesDecision(), named=frozenset(literal_paths))


def _tool_for(item: PathIntent) -> str:
    if item.after is None:
        return _DELETE
    return _CREATE if item.before is None else _UPDATE


def _about_path(index: RuleIndex, tools: Iterable[str], path: str, effect: Effect) -> Rule | None:
    return _first(index.matcher(tool, effect).path(path) for tool in tools)


def _is_about_files(rule: Rule, changed_by: str) -> bool:
    """Whether the rule applies to changed files. Command patterns do not; a rule that asks for every command was applied before the run."""
    if rule.resource == EVERYTHING and rule.names_tool(changed_by):
        return rule.effect is not Effect.ASK
    return rule.tool != COMMAND_TOOL or _names_a_path(rule.resource)


def matches(rule: Rule, touched: AccessedResources) -> bool:
    """Whether this rule alone would decide such a call, if no stronger rule applied."""
    index = RuleIndex((rule,))
    if rule.effect is not Effect.ALLOW:
        return _matching_rule(touched, index, rule.effect) is not None
    if len(not_allowed(touched, index)) < len(touched.network):
        return True  # it decides at least about a destination of the call
    if touched.unanalyzable and not _allows_all(touched, index):
        return False
    return _covering_rule(touched, index.matcher(touched.tool, Effect.ALLOW)) is not None


def check_pattern(rule: Rule) -> list[str]:
    """Returns warnings to show before this rule is saved. Raises: Invalid for a pattern that has no meaning."""
    if rule.tool == NETWORK:
        return _check_destination(rule)
    if rule.resource == EVERYTHING or rule.resource.strip("/") == "**":
        tools = "every tool" if rule.tool == EVERYTHING else f"every {rule.tool}"
        return [f"This rule matches everything: {tools} on any resource."]
    if rule.tool == COMMAND_TOOL and not _names_a_path(rule.resource):
        return check_command_pattern(rule)
    if rule.tool.endswith("*"):
        require_quick(rule.resource)  # for file tools among them the resource is a path
        return [f"This rule applies to every tool whose name begins with '{rule.tool[:-1]}'."] if rule.tool[:-1] else []
    if rule.resource.startswith(SERVER):
        require_quick(rule.resource)
        return _check_server_tool(rule)
    require_path_pattern(rule.resource)
    return []


def _check_server_tool(rule: Rule) -> list[str]:
    """A rule that allows names what the server said of the tool, or holds whatever the server says."""
    if rule.effect is not Effect.ALLOW or "#" in rule.resource:
        return []
    if "*" in rule.resource:
        return ["This rule holds whatever the server says of its tools, also after they changed."]
    return ["This rule matches no call: name the version after '#', as the approval proposes it, or end it with '*'."]


def _matching_rule(touched: AccessedResources, index: RuleIndex, effect: Effect) -> Rule | None:
    """Returns a rule that matches any resource of the call."""
    if touched.network and (rule := _first(map(index.matcher(NETWORK, effect).overlaps, touched.network))):
        return rule
    matcher = index.matcher(touched.tool, effect)
    rule = _first(matcher.path(path) for path in (*touched.paths, *touched.reads)) if matcher else None
    if rule is None and touched.other is not None and matcher:
        names = (touched.other, touched.unversioned)
        rule = _first(matcher.other(name, touched.arguments) for name in names if name)
    if rule is None and touched.reveals:
        rule = _first(map(index.matcher(_READ, effect).path, touched.paths))
    if rule is None and touched.key_files:
        rule = _first(map(index.matcher(_READ, effect).path, touched.key_files))
    if rule is None and effect is Effect.DENY and touched.foreign:
        rule = _first(_hides_all(index, touched.tool, path) for path in touched.paths if path != "/")
    if rule is not None or touched.command is None:
        return rule
    return _rule_matching_command(touched, index, effect)


def _rule_matching_command(touched: AccessedResources, index: RuleIndex, effect: Effect) -> Rule | None:
    command, matcher = touched.command, index.matcher(touched.tool, effect)
    assert command is not None
    if matcher:
        matching_rule = matcher.same_text(command) or _first(map(matcher.hits, command.parts))
        if matching_rule is None and command.unanalyzable:
            matching_rule = matcher.raw(command.raw)
        if matching_rule is not None:
            return matching_rule
    written = (index.matcher(tool, effect).path(path) for tool in _WRITE for path in touched.paths)
    reading = index.matcher(_READ, effect)
    rule = _first(written) or _first(map(reading.path, touched.reads))
    return rule or (_rule_asking_for_words(touched, reading) if effect is Effect.ASK and reading else None)


def _rule_asking_for_words(touched: AccessedResources, reading: RuleMatcher) -> Rule | None:
    """Returns a rule that asks before a path is read that is a word of the command, or the folder that a word names."""
    if (asks_always := next((rule for rule in reading.rules if _is_everything(rule.resource)), None)) is not None:
        return asks_always
    assert touched.command is not None
    paths = [from_root(word, touched.root) for word in words_of(touched.command) if word not in ("", ".", "/")]
    return _first(reading.path(path) or reading.path(f"{path}/{ANYTHING_INSIDE[0]}") for path in paths)


def _possibly_matching_rule(touched: AccessedResources, index: RuleIndex) -> Rule | None:
    """Returns a deny or ask rule that may match something below a folder, or words that are known only when the command runs."""
    for effect in (Effect.DENY, Effect.ASK):
        matcher = index.matcher(touched.tool, effect)
        if not matcher:
            continue
        rule = _first(map(matcher.below, touched.below))
        if rule is None and touched.command is not None:
            rule = _first(map(matcher.may_hit, touched.command.parts))
            if rule is None and touched.unanalyzable:
                rule = matcher.about_words
        if rule is not None:
            return rule
    return None


def _covering_rule(touched: AccessedResources, matcher: RuleMatcher) -> Rule | None:
    """Returns the allow rule if rules cover every path and every part of the command. If several together do, returns the first."""
    if not matcher:
        return None
    if touched.command is not None and (rule := matcher.same_text(touched.command)):
        return rule
    if matcher.everything is None and (
        touched.elsewhere or (touched.command is not None and _is_another_program(touched.command))
    ):
        return None
    covering_rules = [matcher.path(path) for path in touched.paths]
    if touched.command is not None:
        covering_rules += [matcher.covers(part) for part in touched.command.parts]
    if touched.other is not None:
        covering_rules.append(matcher.other(touched.other, touched.arguments))
    return covering_rules[0] if covering_rules and all(covering_rules) else None


def _is_another_program(command: ParsedCommand) -> bool:
    """Whether a program is named by a relative path after the command itself has changed folders."""
    every = (part for top in command.parts for part in top.all())
    return command.moves and any("/" in part.name and not part.name.startswith("/") for part in every)


def _any_hides(matchers: Sequence[RuleMatcher], path: str) -> bool:
    return any(matcher.path(path) for matcher in matchers)


def _hides_all(index: RuleIndex, tool: str, folder: str) -> Rule | None:
    """Returns the first of the rules that together hide everything in this folder, so that the folder is hidden as a whole."""
    matchers = [index.matcher(name, Effect.DENY) for name in (tool, _READ)]
    hiding_rules = [_first(matcher.path(f"{folder}/{inside}") for matcher in matchers) for inside in ANYTHING_INSIDE]
    return hiding_rules[0] if all(hiding_rules) else None


def _first(rules: Iterable[Rule | None]) -> Rule | None:
    return next(filter(None, rules), None)


def _names_a_path(pattern: str) -> bool:
    """Whether the pattern is the file of a redirection, not a program with its arguments."""
    return pattern.startswith("/") and " " not in pattern


def _check_destination(rule: Rule) -> list[str]:
    try:
        destination = read_destination(rule.resource)
    except ValueError as error:
        raise Invalid(
            f"{error}. A rule for the network names a host, as in 'example.org:443' or '*.example.org'.",
            param="resource",
        ) from None
    if rule.effect is Effect.ALLOW and not destination.is_literal and destination.host.count(".") < 2:
        return [f"'{destination}' is very wide: commands could reach nearly any host with it."]
    return []


def _legible(path: str) -> str:
    """Escapes unprintable characters: a command chooses its file names, and a newline or a direction mark could falsify the message."""
    return path if path.isprintable() else path.encode("unicode_escape").decode("ascii")
