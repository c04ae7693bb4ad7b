"""A `hooks.json` and the answers of hooks are read so that nothing in them allows more."""

import json

import pytest

from anycowork.domain.hooks import Hook, HookDecision, HookEvent, read_hooks, read_outcome
from support.spec import proves

PRE, POST = HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE


def answer(**specific: str) -> bytes:
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **specific}}).encode()


def test_commands_are_read_by_event_and_what_is_not_run_is_told() -> None:
    groups = {
        "PreToolUse": [{"matcher": "Bash|Write", "hooks": [{"type": "command", "command": "check", "timeout": 900}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "x"}]}],
        "PostToolUse": [{"hooks": [{"type": "prompt", "command": "x"}]}],
    }
    hooks, problems = read_hooks(json.dumps({"hooks": groups, "more": 1}), "hooks.json")
    assert hooks == [Hook(PRE, "check", "hooks.json", "Bash|Write", 60.0)]
    assert "no such event" in problems[0] and "'prompt' are not run" in problems[1]
    assert read_hooks("{", "hooks.json")[1] and read_hooks('{"hooks": []}', "hooks.json")[1]


@pytest.mark.parametrize(
    ("matcher", "tool", "looks"),
    [
        ("", "grep", True),
        ("*", "grep", True),
        ("Bash", "execute_command", True),
        ("Write|Edit", "update_file", True),
        ("Write", "grep", False),
        ("delete_file", "delete_file", True),
        ("mcp__files__.*", "files__save", True),
        ("(a+)+$", "a" * 40, False),
    ],
)
def test_a_matcher_names_tools_and_is_no_regular_expression(matcher: str, tool: str, looks: bool) -> None:
    assert Hook(PRE, "x", "hooks.json", matcher).looks_at(tool) is looks


@proves("HOOK-1/3")
@pytest.mark.parametrize(
    ("exit_code", "output", "decision"),
    [
        (0, b"", HookDecision.NOTHING),
        (0, b"all good", HookDecision.NOTHING),
        (2, b"", HookDecision.DENY),
        (1, b"", HookDecision.ASK),
        (-9, b"", HookDecision.ASK),
        (0, answer(permissionDecision="allow"), HookDecision.NOTHING),
        (0, answer(permissionDecision="ask"), HookDecision.ASK),
        (0, answer(permissionDecision="deny"), HookDecision.DENY),
        (0, b'{"decision": "block"}', HookDecision.DENY),
        (0, b'{"decision": "approve"}', HookDecision.NOTHING),
        (0, b'{"decision": ["x"]}', HookDecision.ASK),
        (0, b"{not json", HookDecision.ASK),
        (0, b'{"a":' * 100_000, HookDecision.ASK),
        (2, answer(permissionDecision="allow"), HookDecision.DENY),
    ],
)
def test_an_answer_denies_or_asks_and_never_allows(exit_code: int, output: bytes, decision: HookDecision) -> None:
    assert read_outcome(PRE, exit_code, output, b"reason").decision is decision


def test_a_failure_after_a_call_changes_nothing() -> None:
    outcome = read_outcome(POST, 1, b"", b"")
    assert outcome.decision is HookDecision.NOTHING and outcome.failed


def test_words_are_bounded_and_hold_no_control_characters() -> None:
    outcome = read_outcome(PRE, 0, answer(additionalContext="a\x1b[2J" + "b" * 100_000), b"")
    assert "\x1b" not in outcome.added_text and len(outcome.added_text) == 2_000


@proves("HOOK-1/1")
@pytest.mark.parametrize("event", HookEvent)
def test_a_hook_of_every_event_looks_at_what_its_matcher_names(event: HookEvent) -> None:
    always = event in (HookEvent.USER_PROMPT_SUBMIT, HookEvent.STOP)
    assert Hook(event, "x", "hooks.json").looks_at("startup")
    assert Hook(event, "x", "hooks.json", "startup|manual").looks_at("startup")
    assert Hook(event, "x", "hooks.json", "Bash").looks_at("startup") is always


@proves("HOOK-1/3")
@pytest.mark.parametrize("event", HookEvent)
def test_no_answer_at_any_event_allows_and_checks_are_taken_whole_or_not_at_all(event: HookEvent) -> None:
    checks = ["make test", " ", "a\nb", "x" * 1_001, *["more"] * 20]
    output = json.dumps(
        {"decision": "approve", "hookSpecificOutput": {"permissionDecision": "allow", "checks": checks}}
    )
    outcome = read_outcome(event, 0, output.encode(), b"")
    assert outcome.decision is HookDecision.NOTHING and outcome.checks == ("make test", *["more"] * 6)


@pytest.mark.parametrize(
    ("event", "words"), [(HookEvent.SESSION_START, "all good"), (HookEvent.USER_PROMPT_SUBMIT, "all good"), (PRE, "")]
)
def test_plain_output_adds_words_where_the_common_form_has_it_so(event: HookEvent, words: str) -> None:
    assert read_outcome(event, 0, b"all good\n", b"").added_text == words
    assert read_outcome(POST, 2, b"", b"Format it.").added_text == "Format it.", "the model reads why"
