"""What the terminal's input line completes, as plain functions."""

import pytest

from anycowork.agent.mentions import mentions_in
from anycowork.tui.completion import CompletionTrigger, command_options, path_options, trigger_in


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("/", "", CompletionTrigger("command", "", 0)),
        ("/mo", "", CompletionTrigger("command", "mo", 0)),
        ("/mo", "del", None),
        ("/usr/bin", "", None),
        ("/model x", "", None),
        ("see /mo", "", None),
        ("read @sr", " please", CompletionTrigger("path", "sr", 5)),
        ("(@", "", CompletionTrigger("path", "", 1)),
        ("me@home", "", None),
        ("@a b", "", None),
        ("@symbol:na", "", None),
        ("@" + "a" * 201, "", None),
    ],
)
def test_a_word_is_completed_only_where_it_can_name_something(
    before: str, after: str, found: CompletionTrigger | None
) -> None:
    assert trigger_in(before, after) == found


def test_a_command_hides_a_workflow_of_its_name_and_beginnings_come_first() -> None:
    workflows = [{"name": "help", "description": "mine"}, {"name": "el_paso", "description": "a town"}]
    options = command_options("el", workflows)
    assert [one.text for one in options] == ["/el_paso", "/model", "/help"]
    assert options[-1].about == "show this list"


def test_a_path_is_written_as_the_server_reads_it() -> None:
    found = [
        {"path": path, "shown": path, "kind": kind}
        for path, kind in [("a.py", "file"), ("src", "folder"), ("a b", "file"), ("end.", "file"), ('q"', "file")]
    ]
    options = [one.text for one in path_options(found)]
    assert options == ["@a.py", "@src/", '@"a b"', '@"end."']
    assert [mentions_in(one)[0].name.rstrip("/") for one in options] == ["a.py", "src", "a b", "end."]
