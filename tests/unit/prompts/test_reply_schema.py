"""What a decoder may be held to: every reply that a role may give, and no other."""

import json

import pytest

from anycowork.permissions.roles import BUILT_IN
from anycowork.prompts.reply_schema import reply_schema
from anycowork.prompts.small_model import small_model_prompt
from anycowork.prompts.tokens import tokens
from anycowork.tools.toolbox import built_in_tools

SPECS = built_in_tools(None, lambda: 60.0).specs()
ROLES = {role.name: role for role in BUILT_IN}


def branches(role: str, **given) -> list[dict]:
    return reply_schema(ROLES[role], SPECS, **given)["anyOf"]


def tools_in(found: list[dict]) -> list[str]:
    return [branch["properties"]["tool"]["const"] for branch in found if "tool" in branch["properties"]]


@pytest.mark.parametrize("role", ROLES)
def test_a_role_can_call_the_tools_it_is_granted_and_no_others(role: str):
    granted = {spec.name for spec in SPECS if ROLES[role].grants(spec.permissions)}
    assert set(tools_in(branches(role))) == granted


@pytest.mark.parametrize("role", ROLES)
def test_every_role_can_answer_in_words(role: str):
    assert branches(role)[-1]["properties"].keys() == {"answer"}


@pytest.mark.parametrize(
    ("role", "document"),
    [("planner", "plan"), ("commander", "plan"), ("reviewer", "review"), ("actor", "question"), ("tester", "question")],
)
def test_a_role_can_give_its_own_document(role: str, document: str):
    kinds = [branch["properties"]["type"]["const"] for branch in branches(role) if "type" in branch["properties"]]
    assert kinds == [document]


def test_a_tool_can_be_left_out_once():
    assert "grep" not in tools_in(branches("actor", without={"grep"}))


def test_forms_that_exclude_each_other_are_branches_of_their_own():
    updates = [
        branch["properties"]["parameters"]["required"]
        for branch in branches("actor", brief=True)
        if branch["properties"].get("tool") == {"const": "update_file"}
    ]
    assert updates == [["path", "edits"], ["path", "content"]]


def test_a_small_model_gives_required_parameters_only_and_never_ends_with_a_call():
    for branch in branches("actor", brief=True):
        if "tool" in branch["properties"]:
            parameters = branch["properties"]["parameters"]
            assert list(parameters["properties"]) == parameters["required"] != []
            assert branch["properties"]["terminate"] == {"const": False}


def test_nothing_is_in_it_that_a_grammar_would_have_to_count():
    words = json.dumps(reply_schema(ROLES["actor"], SPECS))
    assert not any(f'"{word}"' in words for word in ("maxLength", "minimum", "description", "default"))


@pytest.mark.parametrize("role", ROLES)
def test_the_short_prompt_is_short_and_the_same_every_time(role: str):
    text = small_model_prompt(None, ROLES[role], SPECS)
    assert text == small_model_prompt(None, ROLES[role], SPECS)
    assert tokens(text) <= 950


@pytest.mark.parametrize("role", ROLES)
def test_the_examples_of_the_short_prompt_are_replies_that_the_schema_allows(role: str):
    text = small_model_prompt(None, ROLES[role], SPECS)
    examples = [json.loads(line) for line in text.splitlines() if line.startswith('{"')]
    shapes = [set(branch["properties"]) for branch in branches(role, brief=True)]
    callable_tools = tools_in(branches(role))
    assert examples
    for example in examples:
        assert set(example) in shapes
        assert example.get("tool") is None or example["tool"] in callable_tools


def test_what_a_person_wrote_stands_first_and_custom_roles_bring_their_own_words():
    custom = BUILT_IN[1].__class__("poet", frozenset(), "Write verse.", "red", "feather", "Poet", built_in=False)
    text = small_model_prompt("Speak like a pirate.", custom, SPECS)
    assert text.startswith("Speak like a pirate.") and text.endswith("Write verse.")
    assert "read_file" not in text


def test_what_is_owed_can_be_all_that_is_allowed_unless_the_role_grants_none_of_it():
    assert tools_in(branches("actor", only={"execute_command"})) == ["execute_command"]
    assert len(branches("actor", only={"execute_command"})) == 1
    assert branches("planner", only={"execute_command"}) == branches("planner")
