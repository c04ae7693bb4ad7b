"""`anycowork schedules` against a server of its own, as a person types it."""

import json
from collections.abc import Callable

from anycowork.cli.schedules import app
from support.spec import proves


@proves("OPS-8/1")
def test_a_schedule_is_added_listed_disabled_enabled_run_and_removed(
    type_command: Callable[..., tuple[int, str]],
) -> None:
    def typed(expected: int, *words: str) -> str:
        code, printed = type_command(app, *words)
        assert code == expected, printed
        return printed

    assert "anycowork schedules add" in typed(0, "list")
    what = ("--workflow", "explain_code", "path=src", "--max-cost", "1", "--role", "planner")
    added = json.loads(typed(0, "add", "Daily", "--cron", "0 9 * * *", "--missed", "skip", *what, "--json"))
    assert (added["parameters"], added["limits"], added["missed"]) == ({"path": "src"}, {"cost": 1.0}, "skip")
    assert "Daily" in typed(0, "list") and "explain_code" in typed(0, "show", added["id"])
    assert "Disabled" in typed(0, "disable", added["id"]) and "disabled" in typed(0, "list")
    assert "Enabled; next at" in typed(0, "enable", added["id"])
    assert "in chat" in typed(0, "run", added["id"])
    assert "in chat" in typed(0, "list")
    typed(0, "remove", added["id"])
    assert "There is no schedule" in typed(2, "show", added["id"])
    for words in (
        ("--cron", "* *", *what),
        what,
        ("--cron", "0 9 * * *", "path"),
        ("--cron", "0 9 * * *", "--template", "no"),
    ):
        typed(2, "add", "Bad", *words)
