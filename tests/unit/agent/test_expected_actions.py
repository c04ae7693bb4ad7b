"""What a request plainly asks for is missed by a machine, not by the model."""

import pytest

from anycowork.agent.expected_actions import ExpectedAction, asks_only, not_begun, not_made, not_tried
from anycowork.domain.plan import Plan, PlanStep
from anycowork.permissions.roles import BUILT_IN

ROLES = {role.name: role for role in BUILT_IN}


@pytest.mark.parametrize(
    ("request_", "ran", "changed", "owed"),
    [
        ("Create a.py, then run it.", False, False, ExpectedAction.CHANGE),
        ("Create a.py, then run it.", False, True, ExpectedAction.RUN),
        ("Create a.py, then run it.", True, True, None),
        ("Delete the logs.", False, False, ExpectedAction.CHANGE),
        ("Delete the logs.", True, False, ExpectedAction.CHANGE),  # it ran, and changed nothing
        ("Delete the logs.", True, True, None),
        ("Run it, but do not change anything.", True, False, None),
        ("Summarise the notes.", False, False, None),
        ("Turn debug off in app.yaml.", False, False, ExpectedAction.CHANGE),
        ("How many orders are from Oslo?", False, False, ExpectedAction.RUN),  # counted, not guessed
        ("How many orders are from Oslo?", True, False, None),
        ("What do the amounts come to?", False, False, ExpectedAction.RUN),
        ("What does total.py do?", False, False, None),
        ("Make the background white.", False, False, ExpectedAction.CHANGE),
        ("Give greeting the default 'Hi'.", False, False, ExpectedAction.CHANGE),
        ("Give me the names.", False, False, None),
        ("Explain how to add a setting.", False, False, None),
        ("How do I run it?", False, False, None),
        ("What changed, and where do I add a test?", False, False, None),
    ],
)
def test_what_a_verb_asks_for_is_owed_until_it_was_done(
    request_: str, ran: bool, changed: bool, owed: ExpectedAction | None
):
    assert not_tried(request_, ran=ran, changed=changed, role=ROLES["actor"]) is owed


def test_what_is_to_be_run_first_is_owed_first():
    assert (
        not_tried("Run a.py and save what it prints in b.txt.", ran=False, changed=False, role=ROLES["actor"])
        is ExpectedAction.RUN
    )


def test_a_role_owes_nothing_that_it_may_not_do():
    assert not_tried("Run the tests.", ran=False, changed=False, role=ROLES["planner"]) is None
    assert not_tried("Run the tests.", ran=False, changed=False, role=ROLES["tester"]) is ExpectedAction.RUN


def test_whoever_is_there_to_try_things_owes_a_try_to_a_question_too():
    assert not_tried("Does test_a.py pass?", ran=False, changed=False, role=ROLES["tester"]) is ExpectedAction.RUN
    assert not_tried("Does test_a.py pass?", ran=True, changed=False, role=ROLES["tester"]) is None
    assert not_tried("Does test_a.py pass?", ran=False, changed=False, role=ROLES["actor"]) is None


def test_a_planner_owes_the_plan_that_it_is_asked_for():
    assert not_tried("Plan the move.", ran=False, changed=False, role=ROLES["planner"]) is ExpectedAction.PLAN
    assert not_tried("What is the plan?", ran=False, changed=False, role=ROLES["planner"]) is None


@pytest.mark.parametrize(
    ("request_", "there", "missing"),
    [
        ("Create a/one.txt with the text one and b/two.txt with the text two.", {"a/one.txt"}, ["b/two.txt"]),
        ("Write the names from people.csv into names.txt.", {"people.csv"}, ["names.txt"]),
        ("Create the empty file a.txt.", set(), []),  # whether it is there is all that could be said
        ("Create a parser, e.g. for version 2.1 of all .txt files.", set(), []),
        ("Fix broken.py.", set(), []),
        ("Where should I write notes.md?", set(), []),
    ],
)
def test_a_file_that_was_to_be_made_is_missed(request_: str, there: set[str], missing: list[str]):
    assert not_made(request_, there.__contains__) == missing


@pytest.mark.parametrize(
    ("request_", "only"),
    [
        ("What does total.py do?", True),
        ("How many files are in src?", True),
        ("Run app.py and tell me whether it works. Do not change anything.", True),
        ("Which file should I change, and can you change it?", False),
        ("Can you create a.txt?", False),
        ("How about a new file?", False),
        ("Create a.txt.", False),
    ],
)
def test_a_plain_question_asks_for_no_change(request_: str, only: bool):
    assert asks_only(request_) is only


def plan(*, paths: tuple[str, ...] = (), tools_needed: tuple[str, ...] = ()) -> Plan:
    step = PlanStep(id="1", step_number=1, action="Do it.", paths=paths, tools_needed=tools_needed)
    return Plan(goal="It is done.", steps=(step,))


def test_a_plan_that_names_files_is_begun_by_doing_something():
    actor, planner = ROLES["actor"], ROLES["planner"]
    named = plan(paths=("a.py",))
    assert not_begun(named, ran=False, changed=False, role=actor) is ExpectedAction.CHANGE
    assert not_begun(named, ran=True, changed=False, role=actor) is None
    assert not_begun(plan(), ran=False, changed=False, role=actor) is None
    assert not_begun(named, ran=False, changed=False, role=planner) is None


@pytest.mark.parametrize("needed", ["write", "write_files", "create files", "update_file"])
def test_a_plan_that_needs_a_change_is_not_begun_by_looking(needed: str):
    writes = plan(paths=("a.py",), tools_needed=("read", needed))
    assert not_begun(writes, ran=True, changed=False, role=ROLES["actor"]) is ExpectedAction.CHANGE
    assert not_begun(writes, ran=True, changed=True, role=ROLES["actor"]) is None
