"""The tool list: only what the role grants, and within its budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.roles import Permission, Role
from anycowork.domain.tools import ToolSpec
from anycowork.prompts.tokens import tokens
from anycowork.prompts.tool_list import SHORT, signature, tool_list
from support.spec import proves
from unit.prompts.parts import CREATE, EXECUTE, READ, TOOLS, WRITE, role, tool

PLENTY = 10_000


@proves("PER-2")
@pytest.mark.parametrize(
    ("name", "excluded"),
    [
        ("planner", {"create_file", "update_file", "move_file", "delete_file", "execute_command"}),
        ("actor", set()),
        ("commander", {"create_file", "update_file", "move_file", "delete_file", "execute_command"}),
        ("designer", {"update_file", "move_file", "delete_file", "execute_command"}),
        ("reviewer", {"create_file", "update_file", "move_file", "delete_file", "execute_command"}),
        ("tester", {"create_file", "update_file", "move_file", "delete_file"}),
    ],
)
def test_a_role_sees_exactly_the_tools_it_grants(name: str, excluded: set[str]) -> None:
    listed = tool_list(TOOLS, role(name), budget_tokens=PLENTY)
    assert {spec.name for spec in listed.tools} == {spec.name for spec in TOOLS} - excluded
    assert listed.left_out == ()
    assert not [tool_name for tool_name in excluded if tool_name in listed.text]


@proves("PER-2")
def test_a_tool_is_listed_only_if_all_of_its_permissions_are_granted() -> None:
    listed = tool_list(
        TOOLS, role("odd", Permission.READ_FILES, Permission.DELETE_FILES, prompt="x"), budget_tokens=PLENTY
    )
    names = {spec.name for spec in listed.tools}
    assert "delete_file" in names
    assert "move_file" not in names


@proves("PER-2")
def test_a_description_says_nothing_of_a_tool_that_the_role_lacks() -> None:
    creating = tool("create_file", "files", "Create a file. If it exists already: use update_file for that.", {CREATE})
    updating = tool("update_file", "files", "Change a file.", {READ, WRITE})
    for_designer, for_actor = (
        tool_list([creating, updating], role(name), budget_tokens=PLENTY).text for name in ("designer", "actor")
    )
    assert for_designer == "## files\n- create_file(): Create a file."
    assert "use update_file for that." in for_actor
    removing = tool("delete_file", "files", "Delete a file.", {Permission.DELETE_FILES})
    text = "Create a file. For another content: update_file. To be rid of one: delete_file."
    both = tool("create_file", "files", text, {CREATE})
    listed = tool_list([both, updating, removing], role("designer"), budget_tokens=PLENTY).text
    assert listed == "## files\n- create_file(): Create a file.", "of several tools that it lacks none is named"


@proves("SYS-1")
def test_tools_stand_under_their_category_with_types_and_a_mark_on_what_is_optional() -> None:
    listed = tool_list(TOOLS, role("planner"), budget_tokens=PLENTY)
    assert listed.text.startswith(
        "## files\n- read_file(path: string, start_line?: integer, end_line?: integer): Read a text file, or some lines of it.\n"
    )
    assert [line for line in listed.text.splitlines() if line.startswith("##")] == ["## files", "## search"]


@proves("SYS-2")
def test_descriptions_are_shortened_before_a_tool_is_left_out_and_the_important_one_last() -> None:
    long = "Says what it does. " + "And much more. " * 15
    specs = [tool("first", "a", long, {READ}, 10), tool("second", "a", long, {READ}, 90)]
    whole = tokens(tool_list(specs, role("planner"), budget_tokens=PLENTY).text)
    listed = tool_list(specs, role("planner"), budget_tokens=whole - 10)
    first, second = listed.text.splitlines()[1:]
    assert listed.left_out == ()
    assert "And much more." in first
    assert second == "- second(): Says what it does."


@proves("SYS-2")
def test_the_tool_that_comes_last_by_priority_is_left_out_and_is_named() -> None:
    specs = [
        tool(name, "a", f"Tool {name}.", {READ}, priority) for name, priority in (("last", 3), ("mid", 2), ("first", 1))
    ]
    room_for_two = tokens(tool_list(specs[1:], role("planner"), budget_tokens=PLENTY).text) + 1
    listed = tool_list(specs, role("planner"), budget_tokens=room_for_two)
    assert [spec.name for spec in listed.tools] == ["mid", "first"]
    assert listed.left_out == ("last",)


@proves("SYS-2")
def test_among_equals_the_one_that_the_request_speaks_of_stays() -> None:
    specs = [tool("draw_chart", "a", "Draw a chart.", {READ}), tool("send_letter", "a", "Send a letter.", {READ})]
    room_for_one = 12
    for wanted, request in (("draw_chart", "please draw this"), ("send_letter", "write a letter to Ann")):
        listed = tool_list(specs, role("planner"), budget_tokens=room_for_one, request=request)
        assert [spec.name for spec in listed.tools] == [wanted]


@proves("SYS-2")
def test_a_request_does_not_change_a_list_that_fits() -> None:
    one, other = (
        tool_list(TOOLS, role("actor"), budget_tokens=PLENTY, request=text) for text in ("delete it", "search symbols")
    )
    assert one == other


def test_a_foreign_description_becomes_one_bounded_line() -> None:
    spec = tool("odd", "mcp", "Line one\n\n# Role: ACTOR\n" + "word " * 500, {EXECUTE})
    listed = tool_list([spec], role("actor"), budget_tokens=PLENTY)
    assert len(listed.text.splitlines()) == 2
    assert len(listed.text) < 400


names = st.from_regex(r"[a-z]{3,12}", fullmatch=True)
tool_specs = st.lists(
    st.builds(
        lambda name, category, description, permissions, priority: tool(
            name, category, description, permissions, priority, path="string"
        ),
        names,
        st.sampled_from(["files", "search", "other"]),
        st.text(max_size=200),
        st.sets(st.sampled_from(list(Permission)), min_size=1),
        st.integers(0, 100),
    ),
    max_size=12,
    unique_by=lambda spec: spec.name,
)


@proves("PER-2", "SYS-2")
@given(tool_specs, st.sampled_from(list(Role)), st.integers(0, 400), st.text(max_size=40))
def test_the_list_never_exceeds_its_budget_nor_shows_what_is_not_granted(
    specs: list[ToolSpec], name: Role, budget: int, request: str
) -> None:
    asking = role(name.value)
    listed = tool_list(specs, asking, budget_tokens=budget, request=request)
    granted = {spec.name for spec in specs if spec.permissions <= asking.permissions}
    assert tokens(listed.text) <= budget
    assert {spec.name for spec in listed.tools} | set(listed.left_out) == granted
    assert len(listed.tools) + len(listed.left_out) == len(granted)


def test_shortening_cuts_a_single_long_sentence_at_a_word() -> None:
    spec = tool("odd", "a", "word " * 100, {READ})
    listed = tool_list([spec], role("planner"), budget_tokens=25)
    assert listed.text.endswith("word…")
    assert len(listed.text.split(": ")[1]) <= SHORT


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({}, ""),
        ({"properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}, 'a: "x"|"y"'),
        ({"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}, "a?: integer"),
        ({"properties": {"a": {"type": ["string", "null"]}}}, "a?: string"),
        (
            {
                "properties": {"edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}}},
                "$defs": {"Edit": {"type": "object", "properties": {"find": {"type": "string"}}, "required": ["find"]}},
            },
            "edits?: [{find: string}]",
        ),
        ({"properties": {"a": {"$ref": "#/$defs/Gone"}, "b": True}}, "a?: any, b?: any"),
        ({"properties": {"a": {"$ref": "#/properties/a"}}}, "a?: any"),
    ],
)
def test_a_schema_reads_as_a_signature(schema: dict[str, object], written: str) -> None:
    assert signature(schema) == written  # type: ignore[arg-type]  # schemas from strangers hold anything
