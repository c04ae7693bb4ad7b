"""Job templates: read from TOML with the line of each fault, and filled in so that a value stays text."""

import pytest

from anycowork.domain.plan import read_plan
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.workflows import NoSuchJobTemplate, UnfittingParameters
from anycowork.workflows.job_templates import filled_plan, read_job_template, template_catalog
from anycowork.workflows.sections import BadDefinition
from support.spec import proves

HEAD = """description = "Tidy a folder."
goal = "Tidy {{folder}}"

[[parameters]]
name = "folder"
type = "path"

[[parameters]]
name = "command"
required = false

"""
STEPS = """[[steps]]
id = "look"
action = "Look at {{folder}}"
role = "planner"

[[steps]]
id = "tidy"
action = "Tidy {{folder}}"
dependencies = ["look"]
paths = ["{{folder}}/**"]
commands = ["{{command}}"]
check = "{{command}}"
"""


@proves("JOB-8/1")
def test_a_template_becomes_a_plan_with_its_values_filled_in() -> None:
    template = read_job_template("tidy.toml", HEAD + STEPS)
    assert template.name == "tidy" and [one.name for one in template.parameters] == ["folder", "command"]
    found = read_plan(filled_plan(template, {"folder": "attic", "command": "make check"}))
    assert found is not None and found.goal == "Tidy attic"
    look, tidy = found.steps
    assert (look.id, look.role, look.action) == ("look", "planner", "Look at attic")
    assert (tidy.dependencies, tidy.paths, tidy.commands) == (("look",), ("attic/**",), ("make check",))
    assert tidy.check == "make check"


def test_commands_without_a_value_are_left_out() -> None:
    found = read_plan(filled_plan(read_job_template("tidy.toml", HEAD + STEPS), {"folder": "attic"}))
    assert found is not None and found.steps[1].commands == () and found.steps[1].check is None


def test_steps_without_ids_are_numbered_as_in_every_plan() -> None:
    text = 'description = "d"\n[[steps]]\naction = "a"\n[[steps]]\naction = "b"\ndependencies = [1]\n'
    both = read_plan(
        filled_plan(read_job_template("t.toml", f'{text}[[steps]]\naction = "c"\ndependencies = [1, 2]\n'), {})
    )
    assert both is not None and both.steps[2].dependencies == ("1", "2")
    found = read_plan(filled_plan(read_job_template("x.toml", text), {}))
    assert found is not None and [(step.id, step.dependencies) for step in found.steps] == [("1", ()), ("2", ("1",))]


STEP = '[[steps]]\nid = "a"\naction = "a"\n'
FAULTS = {
    "no TOML": ("description = \n", 1, "not valid TOML"),
    "no steps": ('description = "d"\n', 1, "'steps' is missing"),
    "no action": ('description = "d"\n[[steps]]\nid = "a"\n', 2, "'action' is missing"),
    "unknown key": (
        'description = "d"\n[[steps]]\nid = "a"\naction = "a"\npath = ["x"]\n',
        5,
        "'path' is not a known key",
    ),
    "wrong type": ('description = "d"\n[[steps]]\naction = 7\n', 3, "'action'"),
    "steps are no tables": ('description = "d"\nsteps = "all"\n', 2, "'steps'"),
    "same id": ('description = "d"\n' + STEP + STEP, 6, "several steps have the id 'a'"),
    "a cycle": ('description = "d"\n' + STEP + 'dependencies = ["a"]\n', 5, "a"),
    "unknown dependency": ('description = "d"\n' + STEP + 'dependencies = ["b"]\n', 5, "b"),
    "unknown placeholder": (
        'description = "d"\n[[steps]]\naction = "{{nobody}}"\n',
        3,
        "is no parameter (there are: none)",
    ),
    "misspelt placeholder": (HEAD + '[[steps]]\naction = "{{Folder}}"\n', 13, "did you mean '{{folder}}'"),
    "bad name": ('name = "Not So"\ndescription = "d"\n' + STEP, 1, "is not a valid name"),
    "bad default": (
        'description = "d"\n[[parameters]]\nname = "n"\ntype = "integer"\ndefault = "x"\n' + STEP,
        5,
        "whole number",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_of_a_template_is_told_with_its_line(case: str) -> None:
    text, line, reason = FAULTS[case]
    with pytest.raises(BadDefinition) as told:
        read_job_template("x.toml", text)
    assert told.value.line == line and reason in told.value.reason


def test_a_faulty_file_is_left_out_and_the_rest_stays() -> None:
    files = [
        SuppliedFile("templates/bad.toml", "description = \n"),
        SuppliedFile("templates/tidy.toml", HEAD + STEPS),
        SuppliedFile("templates/add-tests.toml", HEAD + STEPS),
        SuppliedFile("templates/big.toml", None, fault="it is larger than 65,536 bytes"),
    ]
    found = template_catalog(files)
    assert [one.template.name for one in found.listed] == ["add-tests", "review-and-fix", "tidy"]
    assert found.find("add-tests").description != "Tidy a folder."
    assert [(fault.path, fault.line) for fault in found.faults] == [
        ("templates/bad.toml", 1),
        ("templates/add-tests.toml", 1),
        ("templates/big.toml", None),
    ]
    with pytest.raises(NoSuchJobTemplate) as told:
        found.find("bad")
    assert "until its file is fixed: templates/bad.toml:1" in told.value.message


def test_wrong_values_are_told_all_at_once() -> None:
    with pytest.raises(UnfittingParameters) as told:
        filled_plan(read_job_template("tidy.toml", HEAD + STEPS), {"colour": "red"})
    assert set(told.value.faults) == {"folder", "colour"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("wonders a.md", "states no expectation"),
        ("check make test", "belongs into the step's 'check'"),
        ("{{folder}} a.md", "states no expectation"),
        ("output {{folder}}/{{strange}}", "is no parameter"),
        ("output {{command}}", "must be required or have a default"),
    ],
)
def test_an_expectation_that_could_become_another_one_is_refused_with_its_line(line: str, reason: str) -> None:
    steps = f'[[steps]]\naction = "Tidy"\nexpect = ["output {{{{folder}}}}/list.md", "{line}"]\n'
    with pytest.raises(BadDefinition) as refused:
        read_job_template("tidy.toml", HEAD + steps)
    assert reason in refused.value.reason and refused.value.line == len(HEAD.split("\n")) + 2
