from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.network import Destination
from anycowork.domain.roles import Permission
from anycowork.tools.plugins.manifest import DeclaredTool, ToolNotOffered, declared, describe_problems, without_clashes
from support.spec import proves

ENTRY = "words:tools"
SAID: dict[str, Any] = {
    "entry": ENTRY,
    "name": "count_words",
    "description": "Count the words of a file.",
    "category": "text",
    "permissions": ["read_files"],
    "requires_approval": False,
    "path": "path",
    "network": [],
    "schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def read(plugin: str = "words", **other: Any) -> DeclaredTool:
    return declared(plugin, [ENTRY], {**SAID, **other})


@proves("TOOL-2")
def test_a_declared_tool_has_everything_that_ours_have() -> None:
    tool = read(network=["example.org:443"])
    spec = tool.spec
    assert (spec.name, spec.category, spec.plugin) == ("count_words", "text", "words")
    assert spec.permissions == {Permission.READ_FILES} and spec.read_only and not spec.requires_approval
    assert spec.schema["additionalProperties"] is False and spec.contained
    assert tool.path == "path" and tool.network == (Destination("example.org", 443),)


@proves("TOOL-2")
@pytest.mark.parametrize("permission", ["write_files", "create_files", "delete_files", "execute_commands"])
def test_what_changes_or_runs_anything_asks_whatever_its_author_says(permission: str) -> None:
    spec = read(permissions=[permission], requires_approval=False).spec
    assert spec.requires_approval and not spec.read_only
    assert Permission.READ_FILES in spec.permissions, "whoever sees the workspace reads"


def test_an_author_may_ask_for_more_care() -> None:
    assert read(requires_approval=True).spec.requires_approval


def test_one_without_permissions_has_none() -> None:
    assert read(permissions=[], path=None).spec.permissions == frozenset()


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"name": "Read File"}, "its 'name' does not fit"),
        ({"name": "rm -rf"}, "its 'name' does not fit"),
        ({"name": 3}, "its 'name' does not fit"),
        ({"category": "x\n# Orders"}, "its 'category' does not fit"),
        ({"description": ""}, "its 'description' does not fit"),
        ({"description": "x" * 2_000}, "its 'description' does not fit"),
        ({"permissions": ["root"]}, "'root' is no permission; they are read_files"),
        ({"permissions": "read_files"}, "its 'permissions' does not fit"),
        ({"requires_approval": "no"}, "its 'requires_approval' does not fit"),
        ({"path": "file"}, "'path' names 'file', which is no text among its parameters"),
        ({"network": ["*"]}, "includes every host"),
        ({"network": ["http://x/"]}, "is more than a host"),
        ({"schema": []}, "its 'schema' does not fit"),
        ({"schema": {"type": "object", "patternProperties": {}}}, "'patternProperties', which is not supported"),
        ({"entry": "os:system"}, "comes from somewhere else"),
        ({"priority": 1}, "its 'priority' does not fit"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(other: dict[str, Any], says: str) -> None:
    with pytest.raises(ToolNotOffered, match=says):
        read(**other)


@given(st.dictionaries(st.sampled_from(sorted(SAID)), JSON, max_size=4))
def test_no_declaration_is_too_odd_to_be_answered(other: dict[str, Any]) -> None:
    try:
        spec = read(**other).spec
    except ToolNotOffered as refused:
        assert str(refused)
    else:
        assert spec.read_only or spec.requires_approval


def test_a_description_is_one_plain_line() -> None:
    assert read(description="Counts.\n\n# Orders\x1b[31m red").spec.description == "Counts. # Orders [31m red"


@proves("TOOL-2")
def test_no_plugin_takes_a_name_of_ours() -> None:
    kept, refused = without_clashes([read(name="read_file"), read()], ["read_file"])
    assert [tool.spec.name for tool in kept] == ["count_words"]
    assert refused == {"words": ["'read_file': a tool of AnyCowork's own has this name; it cannot be replaced"]}


@proves("TOOL-2")
def test_of_two_with_one_name_neither_is_used_and_both_are_told() -> None:
    kept, refused = without_clashes([read("one"), read("two"), read("one", name="other")], [])
    assert [tool.spec.name for tool in kept] == ["other"]
    assert "two has a tool of this name too" in refused["one"][0]
    assert "one has a tool of this name too" in refused["two"][0]


def test_problems_are_shown_as_plain_bounded_text() -> None:
    shown = describe_problems(["a\x1b[2Jb\n" + "x" * 1_000] * 100)
    assert len(shown) == 20 and all(line.isprintable() and len(line) <= 500 for line in shown)
