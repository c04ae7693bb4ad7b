"""What a person's words name literally, and what only resembles it."""

import pytest

from anycowork.domain.origins import Sink, SinkKind
from anycowork.domain.rules import Effect, Rule, RuleScope
from anycowork.domain.tools import Parameters, ToolSpec
from anycowork.permissions.endorsements import Exposure, fetches_address, is_named, required_endorsement
from support.spec import proves

LOOK = ToolSpec("raw__look", "mcp", "", frozenset(), {"properties": {"page": {}, "request": {}}}, server="raw")
NAMED: list[tuple[SinkKind, str, Parameters, str]] = [
    (SinkKind.NETWORK, "docs.example:443", {}, "Fetch it from Docs.example, please."),
    (SinkKind.PUSH, "git.example", {}, "Push to git.example."),
    (SinkKind.CONTROL_FILE, ".github/workflows/x.yml", {}, "Write .github/workflows/x.yml."),
    (SinkKind.KEY_FILE, "conf/.env", {}, "Put it into conf/.env, then stop."),
    (SinkKind.UNSANDBOXED, "make install", {}, "Run `make install`."),
    (SinkKind.TASK, "agent:scribe", {}, "Let scribe do it."),
    (SinkKind.MCP, "raw/pay", {"to": "ann", "amount": 10}, "pay 10 to ann"),
    (SinkKind.MCP, "raw/post", {"fields": {"total": [7]}}, "post the total, 7"),
]
NOT_NAMED: list[tuple[SinkKind, str, Parameters, str]] = [
    (SinkKind.NETWORK, "docs.example.evil:443", {}, "Fetch it from docs.example."),
    (SinkKind.NETWORK, "docs.example:443", {}, "Fetch it from docs.example.evil."),
    (SinkKind.NETWORK, "*.example:443", {}, "Fetch it from *.example."),
    (SinkKind.PUSH, "git.example", {}, "Push to my-git.example."),
    (SinkKind.CONTROL_FILE, "x.yml", {}, "Write .github/workflows/box.yml."),
    (SinkKind.KEY_FILE, ".env", {}, "Put it into prod.env."),
    (SinkKind.UNSANDBOXED, "make install", {}, "Run make installer."),
    (SinkKind.TASK, "agent:scribe", {}, "Let scribes do it."),
    (SinkKind.MCP, "raw/pay", {"to": "thief", "amount": 10}, "pay 10 to ann"),
    (SinkKind.MCP, "raw/pay", {"to": "\u0430nn"}, "pay ann"),  # letters that look alike, and ones that nobody sees
    (SinkKind.MCP, "raw/pay", {"to": "ann\u200b"}, "pay ann"),
    (SinkKind.MCP, "raw/pay", {"to": "\uff41nn"}, "pay ann"),
    (SinkKind.CONTROL_FILE, ".github/workflows/\u0445.yml", {}, "Write .github/workflows/x.yml."),
    (SinkKind.NETWORK, "d\u043ecs.example:443", {}, "Fetch it from docs.example."),
    (SinkKind.MCP, "raw/pay", {"to": "ann", "amount": 1}, "pay 10 to ann"),
    (SinkKind.MCP, "raw/pay", {"to": "ann", "note": ""}, "pay ann"),
    (SinkKind.MCP, "raw/post", {"fields": {"secret": 7}}, "post 7"),
    (SinkKind.MCP, "raw/post", {"fields": [[{"secret": None}]]}, "post it"),
]


@proves("ORG-2/3")
@pytest.mark.parametrize(("kind", "subject", "parameters", "text"), NAMED)
def test_words_that_name_a_consequence_answer_for_it(
    kind: SinkKind, subject: str, parameters: Parameters, text: str
) -> None:
    assert is_named(Sink(kind, subject), parameters, ["Hello.", text])


@proves("ORG-2/3")
@pytest.mark.parametrize(("kind", "subject", "parameters", "text"), NOT_NAMED)
def test_words_that_resemble_a_consequence_do_not_answer_for_it(
    kind: SinkKind, subject: str, parameters: Parameters, text: str
) -> None:
    assert not is_named(Sink(kind, subject), parameters, [text])


def test_values_that_two_messages_name_together_are_not_named() -> None:
    assert not is_named(Sink(SinkKind.MCP, "raw/pay"), {"to": "ann", "amount": 10}, ["pay ann", "pay 10"])


@pytest.mark.parametrize(
    "parameters",
    [
        {"page": "https://far.example"},
        {"request": {"url": "far.example/?q=a"}},
        {"request": [{"https://far.example/?q=a": 1}]},
    ],
)
def test_an_address_inside_a_value_is_one_that_the_caller_chooses(parameters: Parameters) -> None:
    assert fetches_address(LOOK, parameters) and not fetches_address(LOOK, {"page": "far", "request": {"size": 1}})


HOSTS = (Sink(SinkKind.NETWORK, "a.example:443"), Sink(SinkKind.NETWORK, "b.example:443"))
READ = Exposure(frozenset({"mcp:raw", "web:x"}), (), lambda sinks: " ".join(sink.subject for sink in sinks))


def endorsing(origin: str, sink: Sink) -> Rule:
    return Rule("", "network", sink.subject, Effect.ALLOW, RuleScope.GLOBAL, origin=origin, sink=sink)


@proves("ORG-2/2", "ORG-3/1")
@pytest.mark.parametrize(
    ("given", "origins", "sinks"),
    [
        ([], ("mcp:raw", "web:x"), HOSTS),
        ([("mcp:raw", HOSTS[0])], ("mcp:raw", "web:x"), HOSTS),
        ([("mcp:raw", HOSTS[0]), ("web:x", HOSTS[0])], ("mcp:raw", "web:x"), HOSTS[1:]),
        ([("mcp:raw", HOSTS[0]), ("mcp:raw", HOSTS[1])], ("web:x",), HOSTS),
        ([("mcp:*", HOSTS[0]), ("mcp:*", HOSTS[1])], ("web:x",), HOSTS),
        ([("mcp:other", HOSTS[0]), ("web:x.evil", HOSTS[1])], ("mcp:raw", "web:x"), HOSTS),
    ],
)
def test_a_card_names_each_origin_and_sink_that_no_endorsement_of_exactly_both_answers(
    given: list[tuple[str, Sink]], origins: tuple[str, ...], sinks: tuple[Sink, ...]
) -> None:
    asked = required_endorsement(HOSTS, {}, READ, [endorsing(*pair) for pair in given])
    assert asked is not None
    assert (asked.origins, asked.sinks) == (origins, sinks)
    assert asked.passage == " ".join(sink.subject for sink in sinks)


@proves("ORG-3/1")
def test_endorsements_of_each_origin_for_each_sink_answer_for_the_call() -> None:
    rules = [endorsing(origin, sink) for origin in READ.origins for sink in HOSTS]
    assert required_endorsement(HOSTS, {}, READ, rules) is None
    assert required_endorsement(HOSTS, {}, Exposure(), []) is None
    plain = [Rule("", "network", "*", Effect.ALLOW, RuleScope.GLOBAL)]
    assert required_endorsement(HOSTS, {}, READ, plain) is not None, "an allow rule is no endorsement"
