"""Tells which needs of a call an active skill did not declare. It only holds back: what a skill declared allows nothing. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from anycowork.domain.network import NETWORK
from anycowork.domain.rules import EVERYTHING, Effect, Rule, RuleScope
from anycowork.domain.skills import ActiveSkill, Declared
from anycowork.domain.tools import ToolSpec
from anycowork.permissions.patterns import plain
from anycowork.permissions.resources import COMMAND_TOOL, PAGE_TOOL, AccessedResources
from anycowork.permissions.rules import RuleDecision, RuleIndex, decide

# The names that skills use, each with our tools. Reading the workspace needs no declaration.
_TOOLS = {
    "Bash": (COMMAND_TOOL,),
    "Edit": ("update_file",),
    "MultiEdit": ("update_file",),
    "Write": ("create_file", "update_file"),
    "WebFetch": (PAGE_TOOL,),
    "WebSearch": ("search_web",),
    "Task": ("ask_agent",),
    "Agent": ("ask_agent",),
}
_UNDECLARED = RuleDecision(Effect.ASK, None, "")


def undeclared_needs(skills: Iterable[ActiveSkill], spec: ToolSpec, touched: AccessedResources) -> Iterator[str]:
    """Yields, for each active skill that did not declare all that the call needs, a sentence for the card."""
    if spec.read_only and not spec.web and spec.server is None:
        return
    for skill in skills:
        index = _index(skill.declared)
        if decide(touched, index, default=_UNDECLARED).effect is Effect.ALLOW:
            continue
        but_for_network = decide(replace(touched, network=()), index, default=_UNDECLARED).effect is Effect.ALLOW
        if but_for_network and spec.web and not index.matcher(NETWORK, Effect.ALLOW):
            continue  # it declared the tool, and no hosts
        if but_for_network and touched.network:
            hosts = ", ".join(map(str, touched.network))
            yield f"The skill '{skill.name}' did not declare that it reaches {hosts}."
        else:
            yield f"The skill '{skill.name}' did not declare that it needs this use of '{spec.name}'."


def undeclared_path(skills: Iterable[ActiveSkill], path: str) -> str | None:
    """Returns why a change of this path asks: an active skill declared which paths it changes, and this is none of them."""
    for skill in skills:
        if skill.declared.paths and _index(skill.declared).matcher(_PATH, Effect.ALLOW).path(f"/{plain(path)}") is None:
            return f"The skill '{skill.name}' did not declare that it changes '{path}'."
    return None


_PATH = "skill_path"  # no tool has this name: rules of it stand for the declared paths


@lru_cache(maxsize=256)
def _index(declared: Declared) -> RuleIndex:
    """Returns what was declared as rules, so that one matcher judges commands with pipes and redirections, hosts and paths."""
    rules = [rule for text in declared.tools for rule in _rules(text)]
    rules += [_rule(NETWORK, host) for host in declared.network]
    rules += [_rule(_PATH, f"/{plain(path)}") for path in declared.paths]
    return RuleIndex(rules or [_rule(_PATH, "/")])  # without any rule everything would be as by default


def _rules(text: str) -> Iterator[Rule]:
    name, _, rest = text.partition("(")
    narrowed = rest.removesuffix(")").strip() or EVERYTHING
    for tool in _TOOLS.get(name, (name.removeprefix("mcp__"),)):
        if tool == COMMAND_TOOL and narrowed != EVERYTHING:
            yield _rule(tool, narrowed.removesuffix(":*") + " *" if narrowed.endswith(":*") else narrowed)
        elif tool == PAGE_TOOL and narrowed.startswith("domain:"):
            yield _rule(tool, EVERYTHING)
            yield _rule(NETWORK, narrowed.removeprefix("domain:"))
        elif narrowed == EVERYTHING or tool == PAGE_TOOL:
            yield _rule(tool, EVERYTHING)
        else:
            yield _rule(tool, f"/{plain(narrowed)}")


def _rule(tool: str, resource: str) -> Rule:
    return Rule("", tool, resource, Effect.ALLOW, RuleScope.SESSION)
