"""The enhanced prompt: every section once, and nothing in it that the role does not grant."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.roles import Permission, Role
from anycowork.domain.tools import ToolCall
from anycowork.prompts.enhance import EnhancedPrompt, enhance
from anycowork.prompts.text_files import prose, role_text
from anycowork.prompts.tokens import tokens
from support.spec import proves
from unit.prompts.parts import PERMISSIONS, TOOLS, role, tool


def enhanced(name: str, *, base: str | None = None, budget_tokens: int = 2_000) -> EnhancedPrompt:
    asking = role(name)
    return enhance(base or prose("base"), asking, role_text(asking), TOOLS, budget_tokens=budget_tokens)


@proves("SYS-1", "PRM-1")
@pytest.mark.parametrize("name", [role.value for role in Role])
def test_a_prompt_is_base_then_role_then_tools_then_calling_then_diagrams_each_once(name: str) -> None:
    content = enhanced(name).content
    assert content.startswith(prose("base"))
    assert re.findall(r"^# (.*)$", content, re.MULTILINE) == [
        f"Role: {name.upper()}",
        "Tools",
        "Calling a tool",
        "Diagrams",
    ]


@proves("PRM-1")
@pytest.mark.parametrize("name", [role.value for role in Role])
def test_only_the_active_roles_text_is_injected(name: str) -> None:
    content = enhanced(name).content
    assert [other.value for other in Role if prose(other.value) in content] == [name]


@proves("PER-2")
@pytest.mark.parametrize("name", [role.value for role in Role])
def test_excluded_tools_do_not_appear_in_the_prompt(name: str) -> None:
    content = enhanced(name).content
    for spec in TOOLS:
        named = re.search(rf"\b{spec.name}\b", content) is not None
        assert named == (spec.permissions <= PERMISSIONS[Role(name)]), spec.name


@pytest.mark.parametrize("name", [role.value for role in Role])
def test_the_worked_example_is_one_strict_call_of_a_tool_in_the_list(name: str) -> None:
    lines = enhanced(name).content.split("# Calling a tool")[1].splitlines()
    (example,) = [json.loads(line) for line in lines if line.startswith("{")]
    assert ToolCall.model_validate(example).tool == "read_file"


@proves("PER-2")
def test_the_example_names_no_tool_that_a_custom_role_lacks() -> None:
    runner = role("runner", Permission.EXECUTE_COMMANDS, prompt="Run things.")
    content = enhance("Base.", runner, role_text(runner), TOOLS, budget_tokens=500).content
    assert '{"tool": "execute_command", "parameters": {"command": "ls"}, "terminate": false}' in content
    assert "read_file" not in content


@proves("SYS-1")
def test_a_role_without_tools_is_not_told_how_to_call_them() -> None:
    listener = role("listener", Permission.WRITE_FILES, prompt="Listen well.")
    content = enhance("Base.", listener, role_text(listener), TOOLS[:3], budget_tokens=500).content
    assert content == f"Base.\n\nListen well.\n\n{prose('mermaid').strip()}"


@proves("SYS-2")
def test_the_prompt_says_which_tools_found_no_room() -> None:
    result = enhanced("actor", budget_tokens=60)
    assert result.left_out
    assert not [name for name in result.left_out if re.search(rf"\b{name}\b", result.content)]


@proves("PRM-1")
@given(st.text(max_size=300), st.sampled_from(list(Role)))
def test_enhancing_an_enhanced_prompt_says_nothing_twice(base: str, name: Role) -> None:
    once = enhanced(name.value, base=base)
    assert enhanced(name.value, base=once.content) == once


@proves("SYS-2")
@pytest.mark.parametrize("name", ["planner", "actor"])
def test_the_whole_prompt_stays_near_a_thousand_tokens(name: str) -> None:
    """The first prompt is what costs on a small machine; this is its budget, not a measurement."""
    assert tokens(enhanced(name).content) <= 1_200


def test_an_odd_tool_gets_an_example_that_fits_its_schema() -> None:
    odd = tool(
        "odd", "mcp", "Odd.", {Permission.READ_FILES}, count="integer", deep="boolean", note="string", rest="array?"
    )
    content = enhance("Base.", role("planner"), "Plan.", [odd], budget_tokens=500).content
    assert '{"tool": "odd", "parameters": {"count": 1, "deep": true, "note": "example"}, "terminate": false}' in content
