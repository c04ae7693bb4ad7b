"""Network in the rules: a resource of its own beside the command's words, and deny over ask over allow for each place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.approvals import Risk
from anycowork.domain.errors import Invalid
from anycowork.domain.network import Destination, read_destination, wanted_destinations
from anycowork.domain.roles import Permission
from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Intent, ToolSpec
from anycowork.permissions.resources import AccessedResources, resources_at_commit, resources_of
from anycowork.permissions.risk import assess_risk
from anycowork.permissions.rules import (
    RuleDecision,
    RuleIndex,
    check_pattern,
    decide,
    matches,
    named_literally,
    not_allowed,
)
from support.spec import proves
from support.toolspecs import SPECS

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
DEFAULT = RuleDecision(ASK, None, "No rule covers it.")
CURL = "curl -sS x"
HOSTS = st.sampled_from(
    ["a.example", "b.example", "x.a.example", "*.a.example", "a.example:22", "*.example", "192.0.2.1"]
)
RULES = st.lists(
    st.builds(
        lambda effect, tool, resource: rule(effect, resource, tool),
        st.sampled_from([ALLOW, ASK, DENY]),
        st.sampled_from(["network", "execute_command", "*"]),
        st.one_of(HOSTS, st.sampled_from(["*", CURL, "/src/*", "a.example:443", "curl *"])),
    ),
    max_size=6,
)


def rule(effect: Effect, resource: str, tool: str = "network") -> Rule:
    return Rule(f"{effect}-{tool}-{resource}", tool, resource, effect, RuleScope.GLOBAL)


def reaching(*hosts: str, command: str = CURL) -> AccessedResources:
    network = wanted_destinations(hosts)
    prepared = Prepared("execute_command", {}, f"command:{command}", Intent(command=command), network=network)
    return resources_of(prepared, SPECS["execute_command"], "/w")


def effect(touched: AccessedResources, *rules: Rule) -> Effect:
    return decide(touched, RuleIndex(rules), default=DEFAULT).effect


@proves("APR-2", "APR-3")
def test_a_rule_about_the_words_says_nothing_about_the_network() -> None:
    words = rule(ALLOW, CURL, "execute_command")
    assert effect(reaching(), words) is ALLOW
    assert effect(reaching("a.example"), words) is ASK
    decided = decide(reaching("a.example:443"), RuleIndex((words,)), default=DEFAULT)
    assert "no rule allows it to reach a.example:443" in decided.reason
    assert effect(reaching("a.example"), words, rule(ALLOW, "a.example")) is ALLOW
    assert effect(reaching("a.example"), words, rule(ALLOW, "a.example:443")) is ASK
    assert effect(reaching("a.example", "b.example"), words, rule(ALLOW, "a.example")) is ASK
    assert effect(reaching("a.example"), rule(ALLOW, "a.example")) is ASK, "nor the other way round"


@proves("APR-2")
@pytest.mark.parametrize("denied", ["a.example", "a.example:443", "*.example", "*", "a.example:80"])
def test_a_denied_place_refuses_the_whole_call(denied: str) -> None:
    everything = (rule(ALLOW, "*", "*"), rule(ALLOW, CURL, "execute_command"), rule(ALLOW, "a.example"))
    assert effect(reaching("a.example"), *everything) is ALLOW
    assert effect(reaching("a.example"), *everything, rule(DENY, denied)) is DENY
    assert effect(reaching("a.example"), *everything, rule(ASK, denied)) is ASK
    assert effect(reaching(), *everything, rule(DENY, denied)) is ALLOW, "without network it is nobody's matter"


def test_a_pattern_in_the_call_is_denied_if_it_holds_a_denied_place() -> None:
    assert effect(reaching("*.a.example"), rule(ALLOW, "*", "*"), rule(DENY, "x.a.example")) is DENY


def test_a_path_for_every_tool_allows_no_host_of_that_name() -> None:
    rules = (rule(ALLOW, CURL, "execute_command"), rule(ALLOW, "build", "*"))
    assert effect(reaching("build"), *rules) is ASK


@proves("APR-2")
@given(RULES, HOSTS)
def test_no_list_of_rules_with_a_matching_deny_ever_allows(rules: list[Rule], host: str) -> None:
    touched = reaching(host)
    denied = any(
        item.effect is DENY and item.names_tool("network") and read(item) and read(item).overlaps(place)  # type: ignore[union-attr]
        for item in rules
        for place in touched.network
    )
    if denied:
        assert effect(touched, *rules) is DENY


@proves("APR-2")
@given(RULES, HOSTS)
def test_an_allowed_call_has_every_place_allowed_by_a_rule(rules: list[Rule], host: str) -> None:
    touched = reaching(host)
    if effect(touched, *rules) is ALLOW:
        assert not_allowed(touched, RuleIndex(rules)) == ()
        for place in touched.network:
            assert any(item.effect is ALLOW and read(item) and read(item).covers(place) for item in rules)  # type: ignore[union-attr]


def read(item: Rule) -> Destination | None:
    try:
        return read_destination(item.resource)
    except ValueError:
        return None


def test_only_a_literal_rule_names_a_place() -> None:
    touched = reaching("db.internal:5432")
    for resource, named in (("db.internal:5432", True), ("db.internal", True), ("*.internal", False), ("*", False)):
        assert bool(named_literally(touched, RuleIndex((rule(ALLOW, resource),)))) is named
    assert named_literally(touched, RuleIndex((rule(ALLOW, "*", "*"), rule(ASK, "db.internal")))) == ()


def test_a_rule_for_the_network_must_name_a_host() -> None:
    for resource in ("https://a.example", "/src/*", "127.1", "git status"):
        with pytest.raises(Invalid, match="A rule for the network names a host"):
            check_pattern(rule(ALLOW, resource))
    assert check_pattern(rule(ALLOW, "a.example:443")) == []
    assert "very wide" in check_pattern(rule(ALLOW, "*"))[0]
    assert "very wide" in check_pattern(rule(ALLOW, "*.com"))[0]


@proves("APR-7")
def test_past_calls_with_network_are_found_by_its_rules() -> None:
    past = resources_at_commit("execute_command", None, {"command": CURL, "network": ["a.example"]}, None, "/w")
    assert past is not None
    assert matches(rule(DENY, "a.example"), past) and matches(rule(ALLOW, "*.example"), past)
    assert not matches(rule(DENY, "b.example"), past)


@proves("APR-3")
def test_network_makes_a_call_risky_and_is_named() -> None:
    spec = ToolSpec("execute_command", "", "", frozenset({Permission.EXECUTE_COMMANDS}), {}, contained=True)
    call = Call("1", "2", "3", "4", 0, "execute_command", {})
    assert assess_risk(spec, call, "command:make")[0] is Risk.MEDIUM
    risk, reasons = assess_risk(spec, call, "command:true", wanted_destinations(["a.example:443"]))
    assert risk is Risk.HIGH and any("a.example:443" in reason for reason in reasons)


def test_a_reason_that_names_hosts_or_paths_replaces_the_general_one() -> None:
    spec = ToolSpec("execute_command", "", "", frozenset({Permission.EXECUTE_COMMANDS}), {}, contained=True)
    call = Call("1", "2", "3", "4", 0, "execute_command", {})

    def reasons(hosts: list[str], changed: list[str]) -> list[str]:
        command = "command:curl a.example > AGENTS.md"
        _, texts = assess_risk(spec, call, command, wanted_destinations(hosts), changed=changed)
        return [text for text in texts if "network" in text or "send data" in text or "controls tools" in text]

    general = ["It may use the network.", "It names a file that controls tools, editors or agents."]
    assert reasons([], []) == general
    assert reasons(["a.example:443"], ["/AGENTS.md"]) == [
        "It can send data to a.example:443, and receive instructions from there.",
        "It changes what controls tools, editors or agents: AGENTS.md.",
    ]
