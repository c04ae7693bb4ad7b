"""What an approval is bound to: each part of what a person was shown."""

from typing import Any

import pytest

from anycowork.domain.network import wanted_destinations
from anycowork.domain.origins import Endorsement
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Intent
from anycowork.domain.values import replace
from anycowork.permissions.grants import bind
from support.spec import proves

CALL = Call("c", "chat", "turn", "batch", 0, "create_file", {"path": "a.txt", "content": "a"})
PREPARED = Prepared(tool="create_file", parameters=CALL.parameters, resource="/a.txt", state="absent", diff="+a line")
ACTOR = RoleDefinition("actor", frozenset(Permission), "", "green", "bolt", "")


@proves("APR-8/1")
@pytest.mark.parametrize(
    "changed",
    [
        {"call": replace(CALL, tool="update_file")},
        {"call": replace(CALL, parameters={"path": "a.txt", "content": "b"})},
        {"prepared": replace(PREPARED, resource="/b.txt")},
        {"prepared": replace(PREPARED, state="another")},
        {"role": replace(ACTOR, name="designer")},
        {"principal": "person:bob"},
        {"held_intent": Intent(staged="one")},
        {"endorsement": Endorsement(("web:a.example",), "", ())},
        {"prepared": replace(PREPARED, network=wanted_destinations(("example.org",)))},
        {"prepared": replace(PREPARED, diff="+another line")},
    ],
    ids=[
        "tool",
        "parameters",
        "resource",
        "state",
        "role",
        "principal",
        "held changes",
        "what was read",
        "hosts",
        "diff",
    ],
)
def test_approval_counts_for_nothing_but_what_was_shown(changed: dict[str, Any]) -> None:
    shown: dict[str, Any] = {"call": CALL, "prepared": PREPARED, "role": ACTOR, "principal": "person:ann"}
    assert bind(**shown) == bind(**shown)
    assert bind(**{**shown, **changed}) != bind(**shown)


@proves("APR-8/1")
def test_approval_counts_for_nothing_that_the_turn_has_read_since() -> None:
    read = [Endorsement(origins, "", ()) for origins in (("web:a.example",), ("web:a.example", "web:b.example"))]
    first, later = (bind(CALL, PREPARED, ACTOR, "person:ann", endorsement=endorsement) for endorsement in read)
    assert first != later


@proves("APR-8/1")
def test_approval_of_held_changes_counts_only_for_the_call_and_the_place_that_hold_them() -> None:
    held = bind(CALL, PREPARED, ACTOR, "person:ann", Intent(staged="one"))
    assert held != bind(CALL, PREPARED, ACTOR, "person:ann", Intent(staged="two"))
    assert held != bind(replace(CALL, id="d"), PREPARED, ACTOR, "person:ann", Intent(staged="one"))
