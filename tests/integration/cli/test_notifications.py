"""`anycowork notifications` against a server of its own, as a person types it."""

import json
from collections.abc import Callable

from anycowork.cli.notifications import app


def test_a_target_is_added_listed_tested_and_removed(type_command: Callable[..., tuple[int, str]]) -> None:
    def typed(expected: int, *words: str) -> str:
        code, printed = type_command(app, *words)
        assert code == expected, printed
        return printed

    assert "anycowork notifications add" in typed(0, "list")
    hook = json.loads(typed(0, "add", "http://127.0.0.1:9/hook", "--name", "Bot", "--json"))
    assert (hook["kind"], hook["name"], hook["secret"][:6]) == ("webhook", "Bot", "whsec_")
    assert "shown this once" in typed(0, "add", "http://127.0.0.1:9/other")
    assert "Added" in typed(0, "add", "ada@example.org")
    listed = typed(0, "list")
    assert "ada@example.org" in listed and "nothing sent yet" in listed and hook["secret"] not in listed
    assert "Not delivered" in typed(1, "test", hook["id"])
    typed(0, "remove", hook["id"])
    assert "There is no target" in typed(2, "test", hook["id"])
    for address in ("ftp://example.org", "ada", "ada@example.org"):
        typed(2, "add", address)
