"""What is granted stands in what is shown, whatever the plan, the call and the characters in them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.disclosure import ItemKind, call_items, disclose_plan
from anycowork.domain.plan import Plan, PlanStep
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Prepared
from anycowork.domain.tools import Call, Intent, PathIntent, ToolSpec
from anycowork.domain.visible_text import UntrustedText, is_hidden, visible, visible_line
from anycowork.permissions.grants import granted_by
from support.spec import proves

WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
NAMES = st.sampled_from(["a.txt", "src/b.py", ".vscode/tasks.json", "a\u202etxt", "c\u200b.md"])
TOOLS = st.lists(st.sampled_from(["update_file", "write", "write_files", "delete_files", "odd\u2066"]), max_size=3)
STEPS = st.builds(
    lambda paths, commands, tools, check: {"paths": paths, "commands": commands, "tools_needed": tools, "check": check},
    st.lists(NAMES, max_size=4),
    st.lists(WORDS, max_size=3),
    TOOLS,
    st.none() | WORDS,
)
RUNS = ToolSpec("execute_command", "commands", "", frozenset({Permission.EXECUTE_COMMANDS}), {})
WRITES = ToolSpec("update_file", "files", "", frozenset({Permission.WRITE_FILES}), {})


def _plan(steps: list[dict[str, object]]) -> Plan:
    made = [
        PlanStep.model_validate({"id": str(number), "step_number": number, "action": "Do", **_tuples(step)})
        for number, step in enumerate(steps, 1)
    ]
    return Plan(goal="x", steps=tuple(made))


def _tuples(step: dict[str, object]) -> dict[str, object]:
    return {name: tuple(given) if isinstance(given, list) else given for name, given in step.items()}


def _call(tool: str, **parameters: str) -> Call:
    return Call("c", "chat", "turn", "batch", 0, tool, dict(parameters))


@proves("APR-6/2", "APR-8")
@given(st.lists(STEPS, min_size=1, max_size=3), st.data())
def test_every_command_that_a_plan_grants_stands_in_its_disclosure(
    steps: list[dict[str, object]], data: st.DataObject
) -> None:
    plan = _plan(steps)
    named = [c for step in plan.steps for c in (*step.commands, step.check) if c]
    command = data.draw(st.sampled_from([*named, "never named"]))
    step = granted_by(plan, RUNS, _call("execute_command", command=command), Prepared("execute_command", {}, command))
    if step is None:
        return
    shown = {
        item.text
        for item in disclose_plan(plan).items
        if item.step == step and item.kind in (ItemKind.COMMAND, ItemKind.CHECK)
    }
    assert visible(UntrustedText(command)) in shown


@proves("APR-6/1", "APR-8")
@given(st.lists(STEPS, min_size=1, max_size=3), NAMES)
def test_every_path_and_tool_that_a_plan_grants_stands_in_its_disclosure(
    steps: list[dict[str, object]], path: str
) -> None:
    plan = _plan(steps)
    prepared = Prepared("update_file", {}, path, intent=Intent(paths=(PathIntent(path, None, "x"),)))
    step = granted_by(plan, WRITES, _call("update_file", path=path), prepared)
    if step is None:
        return
    items = [item for item in disclose_plan(plan).items if item.step == step]
    assert visible_line(UntrustedText(path)) in {item.text for item in items if item.kind is ItemKind.PATH}
    assert any(item.kind is ItemKind.TOOL for item in items)


@proves("APR-8")
@given(st.dictionaries(WORDS, WORDS, max_size=4), st.lists(WORDS, max_size=3))
def test_every_parameter_and_host_of_a_call_stands_in_its_disclosure(
    parameters: dict[str, str], hosts: list[str]
) -> None:
    items = call_items("some_tool", parameters, "somewhere", network=hosts)
    shown = {item.text for item in items}
    assert {visible(UntrustedText(given)) for given in parameters.values()} <= shown
    assert {visible_line(UntrustedText(host)) for host in hosts} <= shown


@proves("APR-8")
@given(st.text())
def test_visible_text_hides_nothing_and_stays_as_it_is(text: str) -> None:
    shown = visible(UntrustedText(text))
    assert not any(map(is_hidden, shown)) and visible(UntrustedText(shown)) == shown
    assert "\n" not in visible_line(UntrustedText(text))


def test_marks_piled_on_a_letter_are_cut_short() -> None:
    shown = visible(UntrustedText("x" + "\u0301" * 50))
    assert sum(unicodedata.category(c)[0] == "M" for c in shown) == 3 and shown.endswith("⟨…⟩")


def test_untrusted_text_is_not_printed_by_accident() -> None:
    with pytest.raises(TypeError):
        str(UntrustedText("x"))
    with pytest.raises(TypeError):
        f"{UntrustedText('x')}"


@proves("APR-8")
def test_paths_that_a_call_names_as_a_list_stand_there_once() -> None:
    paths = ["a.txt", ".vscode/tasks.json"]
    items = call_items("ask_agent", {"agent": "scribe", "paths": [*paths]}, "agent:scribe", paths=paths)
    assert [item.text for item in items if item.kind in (ItemKind.PARAMETER, ItemKind.PATH)] == ["scribe", *paths[::-1]]
    others = call_items("ask_agent", {"paths": ["b.txt"]}, "agent:scribe", paths=paths)
    held = call_items("move", {"paths": [*paths]}, "x", paths=paths, changes=[PathIntent("c.txt", None, "x")])
    assert all(ItemKind.PARAMETER in {item.kind for item in items} for items in (others, held)), "nothing is left out"


@proves("APR-8")
def test_control_files_come_first_and_are_marked() -> None:
    changes = [PathIntent(f"a{n}", None, "x") for n in range(3)] + [PathIntent(".vscode/tasks.json", "x", None)]
    items = call_items("execute_command", {"command": "make"}, "make", changes=changes)
    paths = [(item.text, item.detail, item.control) for item in items if item.kind is ItemKind.PATH]
    assert paths[:2] == [(".vscode/tasks.json", "deleted", True), ("a0", "created", False)]
