"""`anycowork triggers` against a server of its own, as a person types it."""

import json
from collections.abc import Callable

from anycowork.cli.triggers import app
from support.spec import proves


@proves("OPS-8/2")
def test_a_trigger_is_added_with_its_secret_listed_disabled_enabled_and_removed(
    type_command: Callable[..., tuple[int, str]],
) -> None:
    def typed(expected: int, *words: str) -> str:
        code, printed = type_command(app, *words)
        assert code == expected, printed
        return printed

    assert "anycowork triggers add" in typed(0, "list")
    what = ("--workflow", "explain_code", "--role", "planner", "--max-cost", "1")
    added = json.loads(typed(0, "add", "Push", *what, "--payload", "path=/changed", "--json"))
    assert (added["payload"], added["limits"]) == ({"path": "/changed"}, {"cost": 1.0})
    shown = typed(0, "show", added["id"])
    assert "explain_code  enabled" in shown and "payload: path=/changed" in shown
    assert added["secret"] not in shown + typed(0, "list")
    renewed = typed(0, "secret", added["id"])
    assert f"/triggers/{added['id']}" in renewed and "whsec_" in renewed and added["secret"] not in renewed
    assert "Disabled" in typed(0, "disable", added["id"]) and "disabled" in typed(0, "list")
    assert "Enabled" in typed(0, "enable", added["id"]) and "enabled" in typed(0, "list")
    typed(0, "remove", added["id"])
    assert "There is no trigger" in typed(2, "show", added["id"])
    for words in (what, (*what, "--payload", "path=changed"), (*what, "--payload", "path"), ("path=src",)):
        typed(2, "add", "Bad", *words)
