import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.errors import BadParameters
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Toolbox as ToolboxPort
from anycowork.tools.read_tools import ReadFile
from anycowork.tools.toolbox import ToolRegistry, built_in_tools
from support.spec import proves
from support.tool_sources import FixedSource, OutsideTool
from support.tool_workspace import ToolWorkspace

READ, WRITE, CREATE = Permission.READ_FILES, Permission.WRITE_FILES, Permission.CREATE_FILES
DELETE, EXECUTE = Permission.DELETE_FILES, Permission.EXECUTE_COMMANDS
REQUIRED = {
    "read_file": {READ},
    "list_directory": {READ},
    "search_code": {READ},
    "search_symbol": {READ},
    "get_file_info": {READ},
    "grep": {READ},
    "update_file": {READ, WRITE},
    "create_file": {CREATE},
    "move_file": {READ, CREATE, DELETE},
    "delete_file": {READ, DELETE},
    "execute_command": {EXECUTE},
    "ask_agent": {READ},
    "fetch_page": {READ},
}
TOOLBOX: ToolboxPort = built_in_tools(None, lambda: 5.0)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["path", "content", "edits", "start_line", "end_line", "to", "pattern", "command", "timeout", "kind", "depth", "x"]
)


@proves("PER-5")
def test_every_tool_requires_exactly_its_permissions() -> None:
    assert {spec.name: set(spec.permissions) for spec in TOOLBOX.specs()} == REQUIRED


@proves("PER-5")
def test_every_tool_says_what_it_looks_through_and_what_it_gives_away() -> None:
    """Rules that deny reading hold for these, whatever they are called."""
    through = {spec.name for spec in TOOLBOX.specs() if spec.looks_below}
    away = {spec.name for spec in TOOLBOX.specs() if spec.reveals}
    searches = {"grep", "search_code", "search_symbol"}
    assert through == {*searches, "list_directory"}
    assert away == {*searches, "read_file", "get_file_info", "update_file", "move_file"}


@proves("TOOL-2")
def test_tools_have_category_schema_and_ask_unless_they_only_read() -> None:
    for spec in TOOLBOX.specs():
        assert spec.category in {"files", "search", "commands", "agents", "web"}
        assert spec.requires_approval is not spec.read_only
        assert spec.schema["type"] == "object" and spec.schema["additionalProperties"] is False
        assert "$ref" not in json.dumps(spec.schema) and '"null"' not in json.dumps(spec.schema)
        assert len(spec.description) < 200


@given(st.sampled_from(sorted(REQUIRED)), st.dictionaries(FIELDS, JSON, max_size=4))
def test_garbage_parameters_are_problems_and_never_exceptions(name: str, parameters: dict[str, object]) -> None:
    tool = TOOLBOX.find(name)
    assert tool is not None
    for problem in tool.problems(parameters):  # type: ignore[arg-type]
        assert (problem.endswith(".") and "'" in problem) or "must" in problem or "give" in problem


@pytest.mark.parametrize(
    ("tool", "parameters", "says"),
    [
        ("read_file", {}, "'path' is missing; it is required (text)."),
        (
            "read_file",
            {"path": "a", "lines": 3},
            "'lines' is not a parameter; the parameters are path, start_line, end_line.",
        ),
        (
            "read_file",
            {"path": "a", "start_line": "5"},
            "'start_line' is the text '5', which does not fit: it should be a valid integer.",
        ),
        (
            "read_file",
            {"path": "a", "start_line": 5, "end_line": 4},
            "'end_line' must not be smaller than 'start_line'.",
        ),
        ("read_file", {"path": "a\0"}, "'path' must not contain NUL characters."),
        (
            "update_file",
            {"path": "a", "content": "", "edits": [{"find": "a", "replace": ""}]},
            "give either 'edits' or 'content', not both.",
        ),
        (
            "update_file",
            {"path": "a", "content": "x", "start_line": 1},
            "'start_line' and 'end_line' belong together; give both.",
        ),
        (
            "execute_command",
            {"command": "x", "timeout": 0},
            "'timeout' is the number 0, which does not fit: it should be greater than 0.",
        ),
    ],
)
async def test_problems_name_the_field_the_fault_and_what_is_expected(
    bench: ToolWorkspace, tool: str, parameters: dict[str, object], says: str
) -> None:
    found = TOOLBOX.find(tool)
    assert found is not None
    assert found.problems(parameters) == [says]  # type: ignore[arg-type]
    with pytest.raises(BadParameters):
        await found.prepare(parameters, bench.tool_context())  # type: ignore[arg-type]


def test_unknown_tools_are_none_and_names_are_unique() -> None:
    assert TOOLBOX.find("rm_rf") is None
    with pytest.raises(ValueError, match="two tools"):
        ToolRegistry([ReadFile(), ReadFile()])


def test_sources_stand_side_by_side_and_each_is_refreshed_alone() -> None:
    toolbox = ToolRegistry([ReadFile()])
    toolbox.refresh(FixedSource([OutsideTool("one__a")], "one"))
    toolbox.refresh(FixedSource([OutsideTool("two__a")], "two"))
    assert [spec.name for spec in toolbox.specs()] == ["read_file", "one__a", "two__a"]
    toolbox.refresh(FixedSource([OutsideTool("one__b")], "one"))
    assert [spec.name for spec in toolbox.specs()] == ["read_file", "one__b", "two__a"]
    assert toolbox.taken_names("one") == {"read_file", "two__a"}


@pytest.mark.parametrize("name", ["read_file", "two__a"])
def test_a_source_can_shadow_neither_a_built_in_tool_nor_another_source(name: str) -> None:
    toolbox = ToolRegistry([own := ReadFile()])
    toolbox.refresh(FixedSource([theirs := OutsideTool("two__a")], "two"))
    with pytest.raises(ValueError, match="two tools"):
        toolbox.refresh(FixedSource([OutsideTool(name)], "one"))
    assert (toolbox.find("read_file"), toolbox.find("two__a")) == (own, theirs)
    assert len(toolbox.specs()) == 2
