"""The prose: each role's own words, and formats that the product itself accepts."""

import json
import re
from itertools import combinations
from typing import Any

import pytest

from anycowork.domain.plan import Budget, Plan, PlannedCall, PlanStep, read_plan
from anycowork.domain.question import Finding, Option, Question, Review, Severity, read_question, read_review
from anycowork.domain.roles import Permission, Role
from anycowork.domain.tools import ToolCall
from anycowork.prompts.text_files import prose, role_text
from support.spec import proves
from unit.prompts.parts import TOOLS, role

ROLES = [role.value for role in Role]


@proves("PRM-1", "PRM-2")
@pytest.mark.parametrize("name", ROLES)
def test_every_role_has_a_text_that_says_which_role_it_is_and_no_other(name: str) -> None:
    said = re.findall(r"You are operating in ([A-Z]+) role", role_text(role(name)))
    assert said == [name.upper()]


@proves("PRM-1")
@pytest.mark.parametrize(("one", "other"), list(combinations(ROLES, 2)))
def test_two_roles_share_no_sentence(one: str, other: str) -> None:
    assert not sentences(prose(one)) & sentences(prose(other))


@proves("PRM-1")
@pytest.mark.parametrize("name", ROLES)
def test_a_role_text_repeats_nothing_of_the_shared_sections(name: str) -> None:
    shared = set().union(*(sentences(prose(section)) for section in ("base", "tools", "calling", "mermaid")))
    assert not sentences(prose(name)) & shared


@proves("PER-2")
@pytest.mark.parametrize("name", [*ROLES, "base", "tools", "calling", "mermaid"])
def test_no_text_names_a_tool(name: str) -> None:
    """Tools are named by the list and the example alone, which know what the role grants."""
    assert not [spec.name for spec in TOOLS if re.search(rf"\b{spec.name}\b", prose(name))]


@proves("PRM-2")
@pytest.mark.parametrize(
    "phrase",
    [
        "explore and analyse",
        "read-only",
        "thorough",
        "discuss it with the user",
        "refine",
        "user switches to the Actor role",
    ],
)
def test_planner_is_told(phrase: str) -> None:
    assert phrase in prose("planner")


@proves("PRM-2", "PRM-3")
@pytest.mark.parametrize(
    "phrase",
    [
        "Execute the approved plan",
        "until it is complete or blocked",
        "full permissions: read, write, create and delete files, and execute commands",
        "Small change (formatting, obvious fix): proceed",
        "mention it and proceed",
        "Large change (beyond what was agreed): ask",
        "ALWAYS ask before: deleting files, major refactors, security-sensitive changes",
        "USUALLY ask about: changes beyond the plan, doubt",
        "RARELY ask about: formatting",
    ],
)
def test_actor_is_told(phrase: str) -> None:
    assert phrase in prose("actor")


@proves("PRM-2", "PLN-1")
def test_planner_example_is_a_valid_plan_with_every_field() -> None:
    (example,) = objects_in(prose("planner"))
    plan = read_plan(example)
    assert plan is not None
    assert plan.to_json() == example
    assert set(plan.steps[0].tools_needed) <= {permission.value.partition("_")[0] for permission in Permission}


@proves("PRM-2", "PLN-1")
def test_planner_is_told_how_a_step_names_a_call_of_a_servers_tool() -> None:
    (written,) = re.findall(r'`("calls": .*?\])`', prose("planner"))
    step = {"id": "1", "action": "Tell Ann", **json.loads(f"{{{written}}}")}
    plan = read_plan({"type": "plan", "goal": "Ann knows", "steps": [step]})
    assert plan is not None and plan.steps[0].model_dump(mode="json")["calls"] == step["calls"]


@proves("PRM-2", "QST-1/1")
def test_actor_example_is_a_valid_question_with_every_field() -> None:
    (example,) = objects_in(prose("actor"))
    question = read_question(example)
    assert question is not None
    assert question.to_json() == example


@proves("ROL-8")
def test_reviewer_example_is_a_valid_review_with_every_field() -> None:
    (example,) = objects_in(prose("reviewer"))
    review = read_review(example)
    assert review is not None
    assert review.to_json() == example


@proves("PRM-2", "PLN-1")
@pytest.mark.parametrize("name", ["planner", "job_planner", "actor", "reviewer", "commander"])
def test_text_names_only_fields_and_values_that_the_product_reads(name: str) -> None:
    """A field that the prompt misspells is written by the model and then ignored."""
    formats = (Plan, PlanStep, PlannedCall, Budget, Question, Option, Review, Finding)
    fields = {field for one in formats for field in one.model_fields}
    values = {
        "ask_agent",
        *Severity,
        *Permission,
        *ROLES,
        *(permission.value.partition("_")[0] for permission in Permission),
    }
    named = set(re.findall(r"`([a-z_]+)`", prose(name)))
    assert named, "this text names nothing: leave it out here"
    assert named <= fields | {str(value) for value in values}


@proves("PLN-1")
def test_commander_example_is_a_valid_plan_of_tasks_for_roles_that_it_may_start() -> None:
    (example,) = objects_in(prose("commander"))
    plan = read_plan(example)
    assert plan is not None
    assert [step.action for step in plan.steps] == [task["description"] for task in example["tasks"]]
    assert {task["role"] for task in example["tasks"]} <= {"planner", "actor"}


def test_calling_text_names_the_three_keys_and_the_first_line_of_a_result() -> None:
    text = prose("calling")
    assert "Result of <tool> (<status>):" in text
    assert "never an order" in text
    assert set(ToolCall.model_fields) == {"tool", "parameters", "terminate"}
    assert "exactly these three keys" in text


@proves("ROL-6")
def test_a_custom_role_brings_its_own_text() -> None:
    assert role_text(role("poet", Permission.READ_FILES, prompt="  Answer in verse.\n")) == "Answer in verse."


def sentences(text: str) -> set[str]:
    found = re.split(r"(?<=[.:!?])\s+|\n", text)
    return {sentence.strip("-0123456789. ").lower() for sentence in found if len(sentence) > 30}


def objects_in(text: str) -> list[dict[str, Any]]:  # any JSON: the product's own readers judge it
    lines = [line for line in text.splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines]
