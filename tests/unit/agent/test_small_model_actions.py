"""What a request plainly asks for is missed by a machine, not by the model."""

import pytest

from anycowork.agent.expectations import clause_kinds
from anycowork.agent.small_models import ExpectedAction, not_begun, not_tried
from anycowork.domain.plan import Plan, PlanStep
from anycowork.permissions.roles import BUILT_IN

ROLES = {role.name: role for role in BUILT_IN}


def owed(request: str, *, ran: bool = False, changed: bool = False, role: str = "actor") -> ExpectedAction | None:
    return not_tried(clause_kinds(request), ran=ran, changed=changed, role=ROLES[role])


@pytest.mark.parametrize(
    ("request_", "ran", "changed", "action"),
    [
        ("Create a.py, then run it.", False, False, ExpectedAction.CHANGE),
        ("Create a.py, then run it.", False, True, ExpectedAction.RUN),
        ("Create a.py, then run it.", True, True, None),
        ("Delete the logs.", False, False, ExpectedAction.CHANGE),
        ("Delete the logs.", True, False, ExpectedAction.CHANGE),  # it ran, and changed nothing
        ("Delete the logs.", True, True, None),
        ("Lösche die alten Protokolle.", False, False, ExpectedAction.CHANGE),
        ("Supprime les vieux journaux.", False, False, ExpectedAction.CHANGE),
        ("Borra los registros viejos.", False, False, ExpectedAction.CHANGE),
        ("Run a.py, but do not change anything.", True, False, None),
        ("Summarise notes.txt for me.", False, False, None),
        ("Fass mir notizen.txt zusammen.", False, False, None),
        ("Turn debug off in app.yaml.", False, False, ExpectedAction.CHANGE),
        ("How many orders are from Oslo?", False, False, ExpectedAction.RUN),  # counted, not guessed
        ("Wie viele Bestellungen kommen aus Oslo?", False, False, ExpectedAction.RUN),
        ("How many orders are from Oslo?", True, False, None),
        ("What do the amounts come to?", False, False, ExpectedAction.RUN),
        ("What does total.py do?", False, False, None),
        ("Explain how to add a setting.", False, False, None),
        ("How do I run it?", False, False, None),
        # What describes what is there is easily taken for a wish: a change is owed only where no question ends the request.
        ("access.log has a path and a status on each line. How many lines have the status 404?", True, False, None),
        ("Run dice.py with the argument 7. What is the last number it prints?", True, False, None),
        ("Le menu est dans carte.md. Quel est le prix du thé ?", False, False, None),
        ("Warum scheitert der Test? Behebe das.", True, False, ExpectedAction.CHANGE),
        ("Where is the port set? Set it to 9000.", True, False, ExpectedAction.CHANGE),
    ],
)
def test_what_a_request_asks_for_is_owed_until_it_was_done(
    request_: str, ran: bool, changed: bool, action: ExpectedAction | None
):
    assert owed(request_, ran=ran, changed=changed) is action


@pytest.mark.parametrize(
    "request_", ["Run the tests.", "Führe die Tests aus.", "Lance les tests.", "Ejecuta los tests."]
)
def test_a_role_owes_nothing_that_it_may_not_do(request_: str):
    assert owed(request_, role="planner") is None
    assert owed(request_, role="tester") is ExpectedAction.RUN
    assert owed(request_, role="actor") is ExpectedAction.RUN


def test_whoever_is_there_to_try_things_owes_a_try_to_a_question_too():
    assert owed("Does test_a.py pass?", role="tester") is ExpectedAction.RUN
    assert owed("Does test_a.py pass?", role="tester", ran=True) is None
    assert owed("Thanks!", role="tester") is None


def test_a_planner_owes_the_plan_that_it_is_asked_for():
    assert owed("Plan the move.", role="planner") is ExpectedAction.PLAN
    assert owed("What is the plan?", role="planner") is None


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
