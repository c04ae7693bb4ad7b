"""`anycowork people` against a server of its own, as an admin types it."""

import json
from collections.abc import Callable
from typing import Any  # a test's own words

import pytest

from anycowork.cli.limits import app as limits
from anycowork.cli.people import app
from support.spec import proves


@pytest.fixture
def people(type_command: Callable[..., tuple[int, str]]) -> Any:
    def typed(expected: int, *words: str) -> str:
        code, printed = type_command(app, *words)
        assert code == expected, printed
        return printed

    return typed


@proves("OPS-3/1")
def test_a_person_is_added_changed_given_a_new_token_and_removed(people: Any) -> None:
    assert "anycowork people add NAME" in people(0)
    first = people(0, "add", "Ada")
    assert "Ada is a member" in first and "pt-ac-" in first
    assert "could be taken for 'Ada'" in people(2, "add", "ADA")
    assert "Ada is a viewer now." in people(0, "access", "ada", "viewer")
    assert "'admin', 'member' or 'viewer'" in people(2, "access", "ada", "king")
    second = people(0, "token", "ada")
    assert "pt-ac-" in second and second.splitlines()[-1] != first.splitlines()[-1]
    listed = json.loads(people(0, "--json"))["people"]
    assert [(one["name"], one["access"]) for one in listed[1:]] == [("Ada", "viewer")]
    assert "There is nobody called 'Bob' here." in people(2, "remove", "Bob")
    people(0, "remove", "Ada")
    assert "Ada" not in people(0)


@proves("OPS-3/3")
def test_the_log_says_who_changed_whom_newest_first(people: Any) -> None:
    assert "Nobody was added yet." in people(0, "log")
    people(0, "add", "Ada")
    people(0, "access", "ada", "viewer")
    people(0, "access", "ada", "viewer")
    people(0, "token", "ada")
    people(0, "remove", "ada")
    said = [line.split(" ", 1)[1] for line in people(0, "log").splitlines()]
    assert said == [
        "The owner removed Ada",
        "The owner made a new token for Ada",
        "The owner made Ada a viewer (was a member)",
        "The owner added Ada as a member",
    ]
    assert [one["seq"] for one in json.loads(people(0, "log", "--json"))["changes"]] == [4, 3, 2, 1]


def test_limits_of_a_person_and_a_group_are_set_shown_and_removed(type_command: Callable[..., tuple[int, str]]) -> None:
    def typed(app: Any, expected: int, *words: str) -> str:
        code, output = type_command(app, *words)
        assert code == expected, output
        return output

    typed(app, 0, "add", "Ada")
    assert "Ada is in the groups design." in typed(app, 0, "groups", "Ada", "Design")
    assert "put Ada into the groups design" in typed(app, 0, "log")
    assert "Ada: $0.00 of $5.0, 0 tokens, 0 jobs of 2" in typed(limits, 0, "set", "ada", "--usd", "5", "--jobs", "2")
    assert "design (group): $0.00, 0 tokens of 9, 0 jobs" in typed(
        limits, 0, "set", "design", "--group", "--tokens", "9"
    )
    typed(limits, 0, "set", "*", "--tokens", "7")
    shown = json.loads(typed(limits, 0, "--json"))
    assert shown["person"]["tokens_per_day"] == 7 and shown["person"]["Ada"]["jobs"] == 2
    assert "Ada: $0.00, 0 tokens of 7, 0 jobs" in typed(limits, 0, "remove", "Ada")
    typed(limits, 2, "set", "Nobody", "--usd", "1")
