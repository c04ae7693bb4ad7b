"""Which rule decides a call, and why. Deny beats ask beats allow whatever the order; an allow must cover everything the call touches. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

from anycowork.domain.control_files import is_control_file
from anycowork.domain.errors import Invalid
from anycowork.domain.key_files import is_key_file
from anycowork.domain.network import NETWORK, Destination, read_destination
from anycowork.domain.ports import ANYTHING_INSIDE, NOTHING_HIDDEN, Hidden
from anycowork.domain.rules import EVERYTHING, ChangesDecision, Effect, Rule
from anycowork.domain.tools import PathIntent, ToolSpec
from anycowork.domain.values import value
from anycowork.permissions.patterns import is_literal, require_path_pattern, require_quick
from anycowork.permissions.resources import COMMAND_TOOL, SERVER, AccessedResources
from anycowork.permissions.rule_matcher import RuleMatcher
from anycowork.permissions.shell.parser import ParsedCommand
from anycowork.permissions.shell.warnings import check_command_pattern

# By these names a rule speaks of reading and changing files, whoever does it: a redirection, a command, another tool.
_READ, _CREATE, _UPDATE, _DELETE = "read_file", "create_file", "update_file", "delete_file"
_WRITE = (_CREATE, _UPDATE)


@value
class RuleDecision:
    """`rule` is None where no rule spoke; `why` is a sentence for people."""

    effect: Effect
    rule: Rule | None
    why: str


class RuleIndex:
    """Rules that hold in one place, ready to be asked about any tool."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self._matchers: dict[tuple[str, Effect], RuleMatcher] = {}
        self._hidden: dict[str, Hidden] = {}

    def matcher(self, tool: str, effect: Effect) -> RuleMatcher:
        key = (tool, effect)
        if key not in self._matchers:
            self._matchers[key] = RuleMatcher(r for r in self.rules if r.effect is effect and r.names_tool(tool))
        return self._matchers[key]

    def hidden_from(self, spec: ToolSpec | None = None) -> Hidden:
        """What a rule denies reading, to anyone, so that no tool tells of it; one that looks through folders may be denied more."""
        searches = spec is not None and spec.looks_below and spec.reveals
        if not self.rules:
            return _KEY_FILES_WITHHELD if searches else NOTHING_HIDDEN
        tools = (spec.name, _READ) if spec is not None and spec.looks_below else (_READ,)
        if (known := self._hidden.get(tools[0])) is None:
            matchers = [matcher for name in tools if (matcher := self.matcher(name, Effect.DENY))]
            patterns = tuple(dict.fromkeys(pattern for matcher in matchers for pattern in matcher.patterns))
            known = Hidden(patterns, partial(_any_hides, matchers)) if patterns else NOTHING_HIDDEN
            if searches:
                known = replace(known, withholds=partial(_withholds, _about_key_files(self), tools))
            self._hidden[tools[0]] = known
        return known


_KEY_FILES_WITHHELD = Hidden(withholds=is_key_file)


def decide(touched: AccessedResources, index: RuleIndex, *, default: RuleDecision) -> RuleDecision:
    """`default` is what holds where no rule speaks. No allow rule but a lone `*` lets through a command that is not understood, and that one
    only where no rule denies or asks for anything that such a command may do."""
    if not index.rules and not touched.unanalyzable:
        return default  # as nearly always
    if rule := _hit(touched, index, Effect.DENY):
        return RuleDecision(Effect.DENY, rule, f"The rule '{rule.title()}' denies it.")
    if rule := _hit(touched, index, Effect.ASK):
        return RuleDecision(Effect.ASK, rule, f"The rule '{rule.title()}' asks for it.")
    if rule := _near(touched, index):
        return RuleDecision(
            Effect.ASK, rule, f"It may touch what the rule '{rule.title()}' is about, so a person is asked."
        )
    if touched.unanalyzable and not _allows_all(touched, index):
        return RuleDecision(Effect.ASK, None, f"No rule can allow this command by its words: {touched.unanalyzable}.")
    if rule := _cover(touched, index.matcher(touched.tool, Effect.ALLOW)):
        if beyond := not_allowed(touched, index):
            named = ", ".join(map(str, beyond))
            return RuleDecision(
                Effect.ASK, None, f"The rule '{rule.title()}' allows it, but no rule lets it reach {named}."
            )
        if path := _steering_unnamed(touched, index):
            return RuleDecision(
                Effect.ASK,
                None,
                f"The rule '{rule.title()}' allows it, but '{_legible(path)}' steers tools, editors or agents, and no rule names it.",
            )
        if path := _key_file_unnamed(touched, index):
            return RuleDecision(
                Effect.ASK,
                None,
                f"The rule '{rule.title()}' allows it, but '{_legible(path)}' looks as if it held keys or passwords, and no rule names it.",
            )
        return RuleDecision(Effect.ALLOW, rule, f"The rule '{rule.title()}' allows it.")
    if touched.command is not None and default.effect is Effect.ASK and (doubt := touched.command.doubt):
        return replace(default, why=f"{default.why} Only a rule with exactly these words can allow it: {doubt}.")
    return default


def _allows_all(touched: AccessedResources, index: RuleIndex) -> bool:
    """A lone `*` means every command. A text that is not understood passes with it unless some rule, of words or of files, might mind."""
    if index.matcher(touched.tool, Effect.ALLOW).everything is None:
        return False
    return all(rule.effect is Effect.ALLOW or rule.tool == NETWORK for rule in index.rules)


def _key_file_unnamed(touched: AccessedResources, index: RuleIndex) -> str | None:
    """The first key file that the call would show and that no rule names: whoever allows a folder does not think of it."""
    keys = [path for path in touched.paths if is_key_file(path)] if touched.reveals else []
    if not keys:
        return None
    naming = _about_key_files(index)
    return next((path for path in keys if _withholds(naming, (touched.tool, _READ), path)), None)


def _about_key_files(index: RuleIndex) -> RuleIndex:
    """The rules that allow key files by name: `/.env`, `**/*.pem`, `/.ssh/**`."""
    return RuleIndex([rule for rule in index.rules if rule.effect is Effect.ALLOW and is_key_file(rule.resource)])


def _withholds(naming: RuleIndex, tools: Sequence[str], path: str) -> bool:
    return is_key_file(path) and _about_path(naming, tools, path, Effect.ALLOW) is None


def _steering_unnamed(touched: AccessedResources, index: RuleIndex) -> str | None:
    """The first path that steers others and that no rule allows by its very name; what a command changes is weighed when it has run."""
    if not touched.changes_at_once:
        return None
    steering = (path for path in touched.paths if is_control_file(path))
    return next((path for path in steering if not _names(index, touched.tool, path)), None)


def _names(index: RuleIndex, tool: str, path: str) -> bool:
    """Whether a rule for this very tool allows this very path."""
    literal = RuleIndex([rule for rule in index.rules if rule.tool == tool and is_literal(rule.resource)])
    return literal.matcher(tool, Effect.ALLOW).path(path) is not None


def not_allowed(touched: AccessedResources, index: RuleIndex) -> tuple[Destination, ...]:
    """The destinations that no rule allows."""
    matcher = index.matcher(NETWORK, Effect.ALLOW)
    return tuple(wanted for wanted in touched.network if matcher.reaches(wanted) is None)


def named_literally(touched: AccessedResources, index: RuleIndex) -> tuple[Destination, ...]:
    """The destinations that a rule allows by their very name."""
    matcher = index.matcher(NETWORK, Effect.ALLOW)
    return tuple(wanted for wanted in touched.network if matcher.reaches(wanted, literally=True))


def check_changes(
    changes: Sequence[PathIntent], index: RuleIndex, *, changed_by: str = COMMAND_TOOL
) -> ChangesDecision:
    """What rules say of paths that a command has changed: as if file tools had done it, since it amounts to the same.

    Rules about the tool itself, `changed_by`, hold for what it changed as well.
    """
    asking: ChangesDecision | None = None
    named = set()
    index = RuleIndex([rule for rule in index.rules if _speaks_of_files(rule, changed_by)])
    for item in changes:
        tool, path = _tool_for(item), f"/{item.path}"
        if rule := _about_path(index, (tool, changed_by), path, Effect.DENY):
            return ChangesDecision(Effect.DENY, f"The rule '{rule.title()}' denies changing '{_legible(path)}'.")
        if asking is None and (rule := _about_path(index, (tool, changed_by), path, Effect.ASK)):
            asking = ChangesDecision(Effect.ASK, f"The rule '{rule.title()}' asks for changing '{_legible(path)}'.")
        if _names(index, tool, path):
            named.add(item.path)
    return replace(asking or ChangesDecision(), named=frozenset(named))


def _tool_for(item: PathIntent) -> str:
    if item.after is None:
        return _DELETE
    return _CREATE if item.before is None else _UPDATE


def _about_path(index: RuleIndex, tools: Iterable[str], path: str, effect: Effect) -> Rule | None:
    return _first(index.matcher(tool, effect).path(path) for tool in tools)


def _speaks_of_files(rule: Rule, changed_by: str) -> bool:
    """Not of a command's words; and one that asks for every command was heard before this one ran."""
    if rule.resource == EVERYTHING and rule.names_tool(changed_by):
        return rule.effect is not Effect.ASK
    return rule.tool != COMMAND_TOOL or _names_a_path(rule.resource)


def matches(rule: Rule, touched: AccessedResources) -> bool:
    """Whether this rule alone would decide such a call, if nothing stronger did."""
    index = RuleIndex((rule,))
    if rule.effect is not Effect.ALLOW:
        return _hit(touched, index, rule.effect) is not None
    if len(not_allowed(touched, index)) < len(touched.network):
        return True  # it decides about that much of the call
    if touched.unanalyzable and not _allows_all(touched, index):
        return False
    return _cover(touched, index.matcher(touched.tool, Effect.ALLOW)) is not None


def check_pattern(rule: Rule) -> list[str]:
    """What a person should know before this rule holds. Raises: Invalid for a pattern that means nothing."""
    if rule.tool == NETWORK:
        return _check_destination(rule)
    if rule.resource == EVERYTHING or rule.resource.strip("/") == "**":
        what = "every tool" if rule.tool == EVERYTHING else f"every {rule.tool}"
        return [f"This rule matches everything: {what} on any resource."]
    if rule.tool == COMMAND_TOOL and not _names_a_path(rule.resource):
        return check_command_pattern(rule)
    if rule.tool.endswith("*"):
        require_quick(rule.resource)  # for a tool of files among them it is a path
        return [f"This rule holds for every tool whose name begins with '{rule.tool[:-1]}'."] if rule.tool[:-1] else []
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


def _hit(touched: AccessedResources, index: RuleIndex, effect: Effect) -> Rule | None:
    """A rule that matches any of it."""
    if touched.network and (rule := _first(map(index.matcher(NETWORK, effect).overlaps, touched.network))):
        return rule
    matcher = index.matcher(touched.tool, effect)
    rule = _first(matcher.path(path) for path in (*touched.paths, *touched.reads)) if matcher else None
    if rule is None and touched.other is not None and matcher:
        rule = matcher.other(touched.other) or (matcher.other(touched.unversioned) if touched.unversioned else None)
    if rule is None and effect is Effect.DENY and touched.reveals:
        rule = _first(map(index.matcher(_READ, effect).path, touched.paths))
    if rule is None and effect is Effect.DENY and touched.foreign:
        rule = _first(_hides_all(index, touched.tool, path) for path in touched.paths if path != "/")
    if rule is not None or touched.command is None:
        return rule
    return _hit_command(touched, index, effect)


def _hit_command(touched: AccessedResources, index: RuleIndex, effect: Effect) -> Rule | None:
    command, matcher = touched.command, index.matcher(touched.tool, effect)
    assert command is not None
    if matcher:
        found = matcher.same_text(command) or _first(map(matcher.hits, command.parts))
        if found is None and command.unanalyzable:
            found = matcher.raw(command.raw)
        if found is not None:
            return found
    written = (index.matcher(tool, effect).path(path) for tool in _WRITE for path in touched.paths)
    return _first(written) or _first(map(index.matcher(_READ, effect).path, touched.reads))


def _near(touched: AccessedResources, index: RuleIndex) -> Rule | None:
    """A deny or ask rule that may match what lies below a folder, or words that are only known when the command runs."""
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


def _cover(touched: AccessedResources, matcher: RuleMatcher) -> Rule | None:
    """The rule that allows it, if rules cover every place and every part; several may do so together, then the first is named."""
    if not matcher:
        return None
    if touched.command is not None and (rule := matcher.same_text(touched.command)):
        return rule
    if matcher.everything is None and (
        touched.elsewhere or (touched.command is not None and _is_another_program(touched.command))
    ):
        return None
    found = [matcher.path(path) for path in touched.paths]
    if touched.command is not None:
        found += [matcher.covers(part) for part in touched.command.parts]
    if touched.other is not None:
        found.append(matcher.other(touched.other))
    return found[0] if found and all(found) else None


def _is_another_program(command: ParsedCommand) -> bool:
    """Whether a program is named by a path from a folder that the command itself has chosen."""
    every = (part for top in command.parts for part in top.all())
    return command.moves and any("/" in part.name and not part.name.startswith("/") for part in every)


def _any_hides(matchers: Sequence[RuleMatcher], path: str) -> bool:
    return any(matcher.path(path) for matcher in matchers)


def _hides_all(index: RuleIndex, tool: str, folder: str) -> Rule | None:
    """The first of the rules that together hide whatever may lie in this folder: it would be covered as a whole."""
    matchers = [index.matcher(name, Effect.DENY) for name in (tool, _READ)]
    found = [_first(matcher.path(f"{folder}/{inside}") for matcher in matchers) for inside in ANYTHING_INSIDE]
    return found[0] if all(found) else None


def _first(found: Iterable[Rule | None]) -> Rule | None:
    return next(filter(None, found), None)


def _names_a_path(pattern: str) -> bool:
    """A redirection's file, rather than a program's name with its words."""
    return pattern.startswith("/") and " " not in pattern


def _check_destination(rule: Rule) -> list[str]:
    try:
        meant = read_destination(rule.resource)
    except ValueError as error:
        raise Invalid(
            f"{error}. A rule for the network names a host, as in 'example.org:443' or '*.example.org'.",
            param="resource",
        ) from None
    if rule.effect is Effect.ALLOW and not meant.is_literal and meant.host.count(".") < 2:
        return [f"'{meant}' is very wide: commands could reach nearly any host with it."]
    return []


def _legible(path: str) -> str:
    """A command chooses the names of its files: a new line or a mark of direction in one would say something else than is so."""
    return path if path.isprintable() else path.encode("unicode_escape").decode("ascii")
