"""What a reply means: the strict call found anywhere, plans and questions recognised, everything else text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.agent.reply_parser import (
    MAX_CALLS,
    AnswerReply,
    CallsReply,
    PlanReply,
    QuestionReply,
    ReviewReply,
    UnreadableReply,
    claims_success,
    read_reply,
    safe_to_show,
)
from anycowork.domain.plan import Budget, read_plan
from anycowork.domain.question import Severity
from anycowork.domain.roles import OutputFormat
from support.spec import proves

CALL = '{"tool": "read_file", "parameters": {"path": "a.txt"}, "terminate": false}'
PLAN = '{"goal": "tidy up", "steps": [{"action": "look"}, {"action": "sweep", "dependencies": [1]}]}'
QUESTION = '{"type": "question", "question": "Which?", "options": [{"label": "A", "value": "a"}], "default": "a"}'
REVIEW = '{"type": "review", "summary": "fine", "findings": [{"path": "a.py", "severity": "minor", "problem": "long"}]}'


@proves("LOOP-1")
@pytest.mark.parametrize(
    "reply", [CALL, f"  {CALL}\n", f"```json\n{CALL}\n```", f"```\n{CALL}\n```", json.dumps(json.loads(CALL), indent=4)]
)
def test_a_call_is_found_bare_or_fenced_and_is_the_whole_reply(reply: str) -> None:
    reading = read_reply(reply)
    assert isinstance(reading, CallsReply) and reading.whole
    assert [found.tool for found in reading.calls] == ["read_file"]


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@proves("LOOP-1", "LOOP-2")
@given(
    st.fixed_dictionaries(
        {"tool": st.text() | _json, "parameters": st.dictionaries(st.text(), _json, max_size=3) | _json},
        optional={"terminate": st.booleans() | _json, "id": _json, "steps": _json},
    ),
    st.booleans(),
    st.sampled_from(["", " ", "\n\t", "\u00a0", "\0", "}", " and so on"]),
)
def test_a_blank_before_a_reply_changes_nothing_of_what_it_means(call: object, ascii_only: bool, after: str) -> None:
    reply = json.dumps(call, ensure_ascii=ascii_only) + after
    bare, behind_a_blank = read_reply(reply), read_reply(f"\n{reply}")
    assert type(bare) is type(behind_a_blank)
    if isinstance(bare, CallsReply):
        assert repr(bare) == repr(behind_a_blank)


@proves("LOOP-1", "LOOP-9")
@pytest.mark.parametrize(
    "reply", [f"I will read it.\n{CALL}", f"{CALL}\nThen I go on.", f"Say:\n```json\n{CALL}\n```\nok"]
)
def test_a_call_in_prose_is_found_but_is_not_the_whole_reply(reply: str) -> None:
    reading = read_reply(reply)
    assert isinstance(reading, CallsReply) and not reading.whole and len(reading.calls) == 1


@proves("LOOP-6")
@pytest.mark.parametrize(
    "reply", [f"{CALL}\n{CALL}", f"[{CALL}, {CALL}]", f"```json\n{CALL}\n```\n```json\n{CALL}\n```"]
)
def test_several_calls_in_one_reply_form_one_batch(reply: str) -> None:
    reading = read_reply(reply)
    assert isinstance(reading, CallsReply) and reading.whole and len(reading.calls) == 2


@proves("LOOP-1", "LOOP-2")
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ('{"tool": "read_file", "parameters": {}}', "'terminate' is missing"),
        ('{"tool": "read_file", "terminate": true}', "'parameters' is missing"),
        ('{"tool": "read_file"}', "'parameters' is missing"),
        ('{"parameters": {"path": "a"}, "terminate": false}', "'tool' is missing"),
        ('```json\n{"name": "read_file", "parameters": {}, "terminate": false}\n```', "'tool' is missing"),
        ('{"tool": "x", "parameters": {}, "terminate": "yes"}', "'terminate'"),
        ('{"tool": "x", "parameters": [], "terminate": true}', "'parameters'"),
        ('{"tool": 3, "parameters": {}, "terminate": true}', "'tool'"),
        ('{"tool": "x", "parameters": {}, "terminate": true, "why": "so"}', "'why' does not belong there"),
        ('{"tool": "x", "parameters": {', "not valid JSON"),
        ("{tool: read_file}", "not valid JSON"),
        ('```json\n{"tool": "x", "parameters": {"a": 1,}, "terminate": true}\n```', "line 1, column"),
        ('{"tool": "x", "parameters": {"a": NaN}, "terminate": true}', "not"),
        ('{"tool": "x", "parameters": {"a": "\\ud800"}, "terminate": true}', "surrogate"),
    ],
)
def test_a_call_that_cannot_be_read_says_precisely_why(reply: str, said: str) -> None:
    reading = read_reply(reply)
    assert isinstance(reading, UnreadableReply) and said in reading.problem


def test_a_call_cut_off_by_its_length_is_told_apart() -> None:
    reading = read_reply('{"tool": "create_file", "parameters": {"path": "a", "content": "xxx', cut_off=True)
    assert isinstance(reading, UnreadableReply) and "cut off" in reading.problem


def test_the_leading_good_calls_are_taken_and_the_rest_is_named() -> None:
    reading = read_reply(CALL + '\n{"tool": "y", "parameters": {}}')
    assert isinstance(reading, CallsReply) and len(reading.calls) == 1
    assert reading.dropped is not None and "'terminate' is missing" in reading.dropped


def test_a_flood_of_calls_is_bounded() -> None:
    reading = read_reply("\n".join([CALL] * (MAX_CALLS + 5)))
    assert isinstance(reading, CallsReply) and len(reading.calls) == MAX_CALLS and reading.dropped


@pytest.mark.parametrize(
    "reply",
    [
        "Hello.",
        'Use {"tool": "hammer"} for nails.',
        "{x}",
        "{}",
        "[1, 2]",
        '{"name": "a"}',
        "{" * 50_000,
        '{"a":' * 30_000,
    ],
)
def test_everything_else_is_an_answer_and_loses_no_content(reply: str) -> None:
    assert read_reply(reply) == AnswerReply(reply)


@proves("PLN-1")
@pytest.mark.parametrize("reply", [PLAN, f"```json\n{PLAN}\n```", f"Here it is:\n{PLAN}\nShall I?"])
def test_a_plan_is_recognised_by_goal_and_steps_and_filled_in(reply: str) -> None:
    reading = read_reply(reply)
    assert isinstance(reading, PlanReply) and reading.text == reply
    plan = reading.plan.to_json()
    assert (plan["type"], plan["format_version"]) == ("plan", "1.0")
    assert [(step.id, step.step_number, step.dependencies) for step in reading.plan.steps] == [
        ("1", 1, ()),
        ("2", 2, ("1",)),
    ]


@proves("PLN-1")
def test_the_coordinators_tasks_are_read_as_steps() -> None:
    reading = read_reply(
        '{"tasks": [{"id": "a", "description": "x"}, {"id": "b", "description": "y", "dependencies": ["a"]}]}'
    )
    assert isinstance(reading, PlanReply)
    assert [(step.id, step.action, step.dependencies) for step in reading.plan.steps] == [
        ("a", "x", ()),
        ("b", "y", ("a",)),
    ]


@proves("PLN-1")
@pytest.mark.parametrize(
    "change",
    [
        {"format_version": "2.0"},
        {"steps": []},
        {"steps": [{"reason": "no action"}]},
        {"steps": [{"action": "a", "id": "1"}, {"action": "b", "id": "1"}]},
        {"steps": [{"action": "a", "dependencies": ["9"]}]},
        {
            "steps": [
                {"action": "a", "id": "a", "dependencies": ["b"]},
                {"action": "b", "id": "b", "dependencies": ["a"]},
            ]
        },
        {"risks": "many"},
    ],
)
def test_an_invalid_plan_degrades_to_text_and_says_why(change: dict[str, object]) -> None:
    reply = json.dumps({**json.loads(PLAN), **change})
    read = read_reply(reply)
    assert isinstance(read, AnswerReply) and read.text == reply
    assert read.note is not None and read.note.startswith("This plan cannot be used")


@proves("PLN-1")
def test_object_of_another_type_endless_cost_and_an_argument_named_twice_are_no_plan() -> None:
    plan = json.loads(PLAN)
    call = {"tool": "notes__add", "arguments": {"title": "a"}, "text": ["body"]}
    step = {"action": "add a note", "calls": [call]}
    assert read_plan({**plan, "steps": [step], "budget": {"cost": 1.0}}) is not None
    assert read_plan({**plan, "type": "report"}) is None
    with pytest.raises(ValueError, match="finite"):
        Budget.model_validate_json('{"cost": 1e999}')
    assert read_plan({**plan, "steps": [{**step, "calls": [{**call, "text": ["title"]}]}]}) is None


@proves("PLN-1")
def test_unknown_fields_of_a_plan_are_kept() -> None:
    reading = read_reply(json.dumps({**json.loads(PLAN), "mood": "calm"}))
    assert isinstance(reading, PlanReply) and reading.plan.to_json()["mood"] == "calm"


@proves("QST-1/1")
def test_a_question_is_recognised() -> None:
    reading = read_reply(QUESTION)
    assert isinstance(reading, QuestionReply)
    assert reading.question.options[0].value == "a" and reading.question.allow_custom is False
    assert reading.question.severity is Severity.MINOR


@proves("QST-1/1", "QST-1/4")
@pytest.mark.parametrize(
    "change",
    [
        {"default": "z"},
        {"severity": "huge"},
        {"options": [], "default": None},
        {"options": [{"label": "A", "value": "a"}, {"label": "B", "value": "a"}]},
        {"question": ""},
        {"allow_custom": "no"},
        {"format_version": "2.0"},
    ],
)
def test_an_invalid_question_degrades_to_text(change: dict[str, object]) -> None:
    reply = json.dumps({**json.loads(QUESTION), **change})
    assert read_reply(reply) == AnswerReply(reply)


@proves("ROL-8")
def test_a_review_is_structured_for_the_reviewer_alone() -> None:
    reading = read_reply(REVIEW, output=OutputFormat.REVIEW)
    assert isinstance(reading, ReviewReply) and reading.review.findings[0].path == "a.py"
    assert read_reply(REVIEW) == AnswerReply(REVIEW)
    of_another_version = json.dumps({**json.loads(REVIEW), "format_version": "2.0"})
    for broken in (REVIEW.replace('"minor"', '"awful"'), of_another_version):
        assert read_reply(broken, output=OutputFormat.REVIEW) == AnswerReply(broken)


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    read_reply(text)
    read_reply(f"{CALL[:40]}{text}")
    assert 0 <= safe_to_show(text) <= len(text)


@given(st.text(alphabet='{}[]"`:,tolgasepr \njn', max_size=60), st.integers(1, 7))
def test_what_was_shown_while_streaming_is_never_taken_back(text: str, step: int) -> None:
    shown = 0
    for end in range(0, len(text) + 1, step):
        safe = safe_to_show(text[:end], shown)
        assert safe >= shown or safe == shown, "the shown part only grows"
        shown = max(shown, safe)


@pytest.mark.parametrize("reply", [CALL, f"```json\n{CALL}\n```", PLAN, QUESTION, f"[{CALL}]"])
def test_nothing_of_a_call_or_document_is_shown_at_any_chunking(reply: str) -> None:
    assert all(safe_to_show(reply[:end]) == 0 for end in range(len(reply) + 1))


def test_prose_and_code_stream_at_once() -> None:
    for reply in ("Hello there", "```python\nprint(1)\n```\nSo.", "A list: [1, 2]", 'data {"name": 1}'):
        assert safe_to_show(reply) == len(reply)


@proves("LOOP-10/2")
@pytest.mark.parametrize(
    ("text", "claim"), [("Done!", True), ("I updated the file.", True), ("It failed, not done.", False), ("Hm.", False)]
)
def test_a_claim_of_success_is_told_from_an_admission(text: str, claim: bool) -> None:
    assert claims_success(text) is claim


def test_a_plan_quoted_in_an_answer_is_explained_only_if_it_calls_itself_one() -> None:
    steps = [{"action": "a", "id": "a", "dependencies": ["a"]}]
    for own, explained in (({}, False), ({"type": "plan"}, True)):
        read = read_reply(f"Like this: {json.dumps({**own, 'goal': 'x', 'steps': steps})} or so.")
        assert isinstance(read, AnswerReply) and (read.note is not None) is explained
