"""An approved plan grants exactly what it names."""

import pytest
from pydantic import JsonValue

from anycowork.domain.disclosure import ItemKind, disclose_plan
from anycowork.domain.plan import Plan, read_plan
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Intent, PathIntent, ToolSpec
from anycowork.domain.values import replace
from anycowork.permissions.grants import granted_by, not_granted_reason
from anycowork.permissions.patterns import path_matches
from support.spec import proves

UPDATE = ToolSpec("update_file", "files", "", frozenset({Permission.READ_FILES, Permission.WRITE_FILES}), {})
DELETE = ToolSpec("delete_file", "files", "", frozenset({Permission.READ_FILES, Permission.DELETE_FILES}), {})
COMMAND = ToolSpec("execute_command", "commands", "", frozenset({Permission.EXECUTE_COMMANDS}), {})


def plan(**step: object) -> Plan:
    read = read_plan({"goal": "g", "steps": [{"action": "a", **step}]})  # type: ignore[dict-item]  # test data
    assert read is not None
    return read


def granted(the_plan: Plan, path: str, *, others: tuple[str, ...] = ()) -> str | None:
    call = Call("c", "chat", "t", "b", 0, "update_file", {"path": path}, plan_step="1")
    intent = Intent(tuple(PathIntent(p, None, None) for p in (path, *others)))
    return granted_by(the_plan, UPDATE, call, Prepared("update_file", {}, f"/{path}", intent))


@proves("APR-6/1")
def test_a_named_tool_on_a_named_path_is_granted() -> None:
    assert granted(plan(tools_needed=["update_file"], paths=["src/a.py"]), "src/a.py") == "1"
    assert granted(plan(tools_needed=["write_files"], paths=["src/"]), "src/deep/a.py") == "1"
    assert granted(plan(tools_needed=["write"], paths=["a.py"]), "a.py") == "1"


PAY = replace(ToolSpec("bank__pay", "mcp bank", "", frozenset({Permission.EXECUTE_COMMANDS}), {}), server="bank")
PLANNED = {"tool": "bank__pay", "arguments": {"to": "ann", "amount": 10}, "text": ["note"]}


@proves("APR-6/1")
@pytest.mark.parametrize(
    ("parameters", "differs"),
    [
        ({"to": "ann", "amount": 10}, None),
        ({"to": "ann", "amount": 10, "note": "Thank you."}, None),
        ({"to": "bob", "amount": 10}, "to"),
        ({"to": "ann", "amount": 11, "fast": True}, "amount, fast"),
        ({"to": "ann", "amount": 10, "note": "bob@evil.example"}, "note"),
    ],
)
def test_a_call_of_a_server_is_granted_with_the_arguments_that_the_step_names(
    parameters: dict[str, JsonValue], differs: str | None
) -> None:
    call = Call("c", "chat", "t", "b", 0, "bank__pay", parameters, plan_step="1")
    prepared = Prepared("bank__pay", parameters, "mcp:bank/pay#0a")
    the_plan = plan(calls=[PLANNED])
    assert granted_by(the_plan, PAY, call, prepared) == (None if differs else "1")
    if differs:
        assert not_granted_reason(the_plan, PAY, call).endswith(f"This call differs in {differs}.")
    assert granted_by(the_plan, replace(PAY, layered=True), call, prepared) is None
    assert "does not name a call of 'bank__pay'" in not_granted_reason(plan(tools_needed=["execute"]), PAY, call)


def test_a_plan_shows_the_calls_that_it_grants_in_full() -> None:
    long = {**PLANNED, "arguments": {"to": "x" * 300}}
    items = [item for item in disclose_plan(plan(calls=[PLANNED, long])).items if item.kind is ItemKind.CALL]
    assert items[0].text == 'bank__pay with amount = 10, to = "ann", any text in note' and "x" * 300 in items[1].text
    assert read_plan({"goal": "g", "steps": [{"action": "a", "calls": [{**PLANNED, "text": ["to"]}]}]}) is None


def test_the_reason_names_the_permission_that_the_step_lacks() -> None:
    call = Call("c", "chat", "t", "b", 0, "delete_file", {"path": "a.py"}, plan_step="1")
    step = plan(tools_needed=["write_files"], paths=["a.py"])
    assert "step 1 allows write_files, and this needs delete_files." in not_granted_reason(step, DELETE, call)
    elsewhere = plan(tools_needed=["delete_files"], paths=["b.py"])
    assert "step 1, which does not name exactly this" in not_granted_reason(elsewhere, DELETE, call)
    assert not_granted_reason(step, DELETE, replace(call, plan_step=None)) == "It is outside the approved plan."


def test_a_step_that_names_only_paths_grants_changes_there_but_no_deleting() -> None:
    the_plan = plan(paths=["a.py"])
    assert granted(the_plan, "a.py") == "1"
    call = Call("c", "chat", "t", "b", 0, "delete_file", {"path": "a.py"}, plan_step="1")
    prepared = Prepared("delete_file", {}, "/a.py", Intent((PathIntent("a.py", "x", None),)))
    assert granted_by(the_plan, DELETE, call, prepared) is None


@proves("APR-6/1", "APR-6/5")
@pytest.mark.parametrize(
    ("step", "path"),
    [
        ({"tools_needed": ["update_file"]}, "a.py"),
        ({"tools_needed": ["update_file"], "paths": ["b.py"]}, "a.py"),
        ({"tools_needed": ["create_file"], "paths": ["a.py"]}, "a.py"),
        ({"tools_needed": ["update_file"], "paths": ["."]}, "a.py"),
        ({"tools_needed": ["update_file"], "paths": ["src/*"]}, "src/deep/a.py"),
        ({"tools_needed": ["read_file"], "paths": ["a.py"]}, "a.py"),
    ],
)
def test_everything_else_is_not_granted(step: dict[str, object], path: str) -> None:
    assert granted(plan(**step), path) is None


@proves("APR-6/1")
def test_every_touched_path_must_be_named() -> None:
    assert granted(plan(tools_needed=["update_file"], paths=["a.py"]), "a.py", others=("b.py",)) is None


@proves("APR-6/1")
def test_a_control_file_is_granted_by_its_name_or_a_folder_of_control_files_but_not_by_a_wildcard() -> None:
    for pattern in ("**", "*", "*.md"):
        assert granted(plan(paths=[pattern]), "notes.md") and not granted(plan(paths=[pattern]), "AGENTS.md")
    assert granted(plan(paths=["AGENTS.md"]), "AGENTS.md")
    assert granted(plan(paths=[".github/workflows/"]), ".github/workflows/x.yml")
    assert not granted(plan(paths=[".github/"]), ".github/workflows/x.yml"), "no control files by that name alone"


@proves("APR-6/2")
def test_a_command_is_granted_word_for_word_only() -> None:
    the_plan = plan(commands=["make test"], tools_needed=["execute_command"], paths=["**"])
    prepared = Prepared("execute_command", {}, "command:", Intent(command="x"))
    for command, step in (("make test", "1"), ("make test; rm -rf .", None), ("make  test", None)):
        call = Call("c", "chat", "t", "b", 0, "execute_command", {"command": command}, plan_step="1")
        assert granted_by(the_plan, COMMAND, call, prepared) == step
        assert granted_by(the_plan, COMMAND, call, replace(prepared, key_files=("/.env",))) is None


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a.txt", "a.txt", True),
        ("/a.txt", "/a.txt", True),
        ("./a.txt", "a.txt", True),
        ("src/**/x.py", "src/x.py", True),
        ("src/**/x.py", "src/a/b/x.py", True),
        ("*.md", "README.md", True),
        ("*.md", "docs/a.md", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("", "a", False),
        ("..", "..", False),
    ],
)
def test_patterns_are_git_style_from_the_root(pattern: str, path: str, matches: bool) -> None:
    assert path_matches(pattern, path) is matches
