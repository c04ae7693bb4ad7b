"""The six roles, custom ones from files, and what is never opened as actor."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from anycowork.domain.errors import UnknownRole
from anycowork.domain.roles import Permission, Role
from anycowork.domain.tools import ToolSpec
from anycowork.permissions.gate import Gate
from anycowork.permissions.roles import BUILT_IN, BadRoleFile, RoleRegistry, read_role_file
from support.spec import proves

READ, CREATE, EXECUTE = Permission.READ_FILES, Permission.CREATE_FILES, Permission.EXECUTE_COMMANDS

CUSTOM = """
name = "documenter"
permissions = ["read_files", "create_files"]
prompt = "You are operating in DOCUMENTER role. Write documents."
colour = "orange"
"""


@proves("ROL-5/1", "ROL-5/2", "ROL-5/3", "ROL-5/4", "ROL-5/5", "ROL-5/6", "PER-1")
def test_each_role_has_exactly_its_permissions() -> None:
    held = {definition.name: set(definition.permissions) for definition in BUILT_IN}
    assert held == {
        "planner": {READ},
        "actor": set(Permission),
        "commander": {READ},
        "designer": {READ, CREATE},
        "reviewer": {READ},
        "tester": {READ, EXECUTE},
    }
    assert RoleRegistry().require("commander").delegates == ("planner", "actor")


@proves("PER-4", "ROL-5/3")
def test_role_lends_what_those_hold_that_it_delegates_to_and_nothing_more() -> None:
    text = 'name = "lead"\npermissions = ["read_files"]\nprompt = "You lead."\ndelegates = ["tester"]\n'
    registry = RoleRegistry((read_role_file("lead.toml", text),))
    held = {name: registry.with_delegates(registry.stored(name)).permissions for name in ("lead", "planner", "gone")}
    assert held == {"lead": {READ, EXECUTE}, "planner": {READ}, "gone": set()}


@proves("ROL-4")
def test_every_member_has_one_definition_and_the_other_way_round() -> None:
    assert [definition.name for definition in BUILT_IN] == list(Role)


@proves("ROL-2/2")
def test_an_unknown_role_names_the_valid_ones() -> None:
    with pytest.raises(UnknownRole, match=r"planner, actor, commander, designer, reviewer, tester"):
        RoleRegistry().require("wizard")


@proves("ROL-2/3")
def test_a_stored_role_whose_definition_is_gone_holds_nothing() -> None:
    assert RoleRegistry().stored("documenter").permissions == frozenset()


def test_plan_and_act_mean_planner_and_actor() -> None:
    assert (RoleRegistry().require("plan").name, RoleRegistry().require("act").name) == ("planner", "actor")


@proves("ROL-6")
def test_a_team_adds_a_role_with_a_file() -> None:
    book = RoleRegistry([read_role_file("documenter.toml", CUSTOM)])
    role = book.require("documenter")
    assert role.permissions == {READ, CREATE} and role.colour == "orange" and not role.built_in


@proves("ROL-6")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "not valid TOML"),
        (CUSTOM.replace("read_files", "rule_the_world"), "permissions"),
        (CUSTOM.replace('"documenter"', '"actor"'), "built-in"),
        (CUSTOM.replace('"documenter"', '"../x"'), "name"),
        (CUSTOM + "surprise = 1\n", "surprise"),
        ('name = "a"\npermissions = []\n', "prompt"),
    ],
)
def test_a_bad_role_file_says_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(BadRoleFile, match=said):
        read_role_file("documenter.toml", text)


@proves("PER-1", "PER-2")
def test_role_grants_only_what_it_holds_all_permissions_for_and_names_no_other_tool() -> None:
    roles = RoleRegistry()
    assert not roles.require("designer").grants(frozenset({Permission.READ_FILES, Permission.WRITE_FILES}))
    needs = {"read_file": Permission.READ_FILES, "delete_file": Permission.DELETE_FILES}
    specs = [ToolSpec(name, "files", "", frozenset({permission}), {}) for name, permission in needs.items()]
    gate = SimpleNamespace(_toolbox=SimpleNamespace(specs=lambda: specs))
    call, context = SimpleNamespace(tool="erase", chat_id="c"), SimpleNamespace(now=roles.require("planner"))
    told = Gate._unknown(cast(Any, gate), cast(Any, call), cast(Any, context))
    assert "read_file" in told and "delete_file" not in told
