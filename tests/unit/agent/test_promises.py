"""What a request plainly asks for is missed by a machine, not by the model."""

import pytest

from anycowork.agent.promises import asks_only, not_tried
from anycowork.permissions.roles import BUILT_IN

ROLES = {role.name: role for role in BUILT_IN}


@pytest.mark.parametrize(
    ("request_", "called", "owed"),
    [
        ("Create a.py, then run it.", {"create_file"}, {"execute_command"}),
        ("Create a.py, then run it.", {"create_file", "execute_command"}, set()),
        ("Delete the logs.", {"list_directory"}, {"delete_file", "execute_command"}),
        ("Delete the logs.", {"execute_command"}, set()),
        ("Summarise the notes.", set(), set()),
        ("How do I run it?", set(), set()),
        ("What changed, and where do I add a test?", set(), set()),
    ],
)
def test_the_tools_that_a_verb_needs_are_owed_until_one_was_called(request_: str, called: set[str], owed: set[str]):
    found = not_tried(request_, called, ROLES["actor"])
    assert found >= owed and bool(found) == bool(owed)


def test_a_role_owes_nothing_that_it_may_not_do():
    assert not_tried("Run the tests.", set(), ROLES["planner"]) == frozenset()
    assert not_tried("Run the tests.", set(), ROLES["tester"]) == {"execute_command"}


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
