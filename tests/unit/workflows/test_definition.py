"""Definition files: what they may say, and that a fault is told with its line."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anycowork.domain.roles import Permission
from anycowork.domain.workflows import AskStep, NestedWorkflow, ParameterType, PromptStep, ShowChanges, ToolUse
from anycowork.workflows.definition import read_definition
from anycowork.workflows.sections import MOST_STEPS, BadDefinition
from anycowork.workflows.workflow_service import built_in_files
from support.spec import proves

WHOLE = """+++
description = "All kinds."
category = "tests"
needs = ["read_files", "create_files"]

[[parameters]]
name = "path"
type = "path"

[[parameters]]
name = "times"
type = "integer"
default = 2
choices = [1, 2, 3]
+++

About it.

<!-- ## Not a step
{{nothing}} -->

## Say {{path}}

Words for the agent:

```python
## not a title
```

## Make

```tool
{"tool": "create_file", "parameters": {"path": "{{path}}", "content": "x"}, "may_fail": true}
```

## Ask

```ask
{"question": "Go on with {{path}}?", "options": [{"label": "No", "value": "no"}], "stop_on": ["no"]}
```

## Show

```changes
```

## Nest

```workflow
explain_code path={{path}} question="what is it?"
```
"""


@proves("WFL-3")
def test_every_kind_of_step_is_read() -> None:
    workflow = read_definition("all-kinds.md", WHOLE)
    assert (workflow.name, workflow.category, workflow.about) == ("all-kinds", "tests", "About it.")
    assert workflow.declared == {Permission.READ_FILES, Permission.CREATE_FILES}
    path, times = workflow.parameters
    assert path.required and path.type is ParameterType.PATH
    assert not times.required and times.default == 2 and times.choices == (1, 2, 3)
    say, make, ask, show, nest = (step.does for step in workflow.steps)
    assert isinstance(say, PromptStep) and "## not a title" in say.text
    assert make == ToolUse("create_file", {"path": "{{path}}", "content": "x"}, may_fail=True)
    assert isinstance(ask, AskStep) and ask.stop_on == ("no",)
    assert isinstance(show, ShowChanges)
    assert isinstance(nest, NestedWorkflow) and nest.given == {"path": "{{path}}", "question": "what is it?"}
    assert [step.line for step in workflow.steps] == [22, 30, 36, 42, 47]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    assert read_definition("a.md", "\ufeff" + WHOLE.replace("\n", "\r\n")) == read_definition("a.md", WHOLE)


def _with(head: str = "", body: str = "## Go\n\nGo.\n") -> str:
    return f'+++\ndescription = "d"\n{head}+++\n{body}'


def _step(kind: str, content: str) -> str:
    return _with(body=f"## Go\n```{kind}\n{content}\n```\n")


FAULTS = {
    "yaml": ("---\nname: x\n---\n## a\nb", 1, "not YAML"),
    "empty file": ("", 1, "must begin"),
    "open front matter": ('+++\ndescription = "d"\n', 1, "not closed"),
    "bad toml": ('+++\ndescription = "d"\nname = \n+++\n## a\nb', 3, "not valid TOML"),
    "unknown key": (_with('colour = "red"\n'), 3, "colour"),
    "no description": ('+++\ncategory = "x"\n+++\n## a\nb', 1, "description"),
    "misspelt key": (_with('catgory = "x"\n'), 3, "did you mean 'category'?"),
    "description of a parameter alone": (
        '+++\ncategory = "x"\n[[parameters]]\nname = "a"\ndescription = "d"\n+++\n## a\nb',
        1,
        "'description' is missing",
    ),
    "second parameter without a name": (
        _with('[[parameters]]\nname = "a"\n[[parameters]]\ntype = "path"\n'),
        5,
        "'name' is missing",
    ),
    "no list": (_with('needs = "read_files"\n'), 3, "a list, in [ ]"),
    "unknown permission": (_with('needs = ["fly"]\n'), 3, "needs"),
    "bad name": (_with('name = "Über"\n'), 3, "not a valid name"),
    "reserved name": (_with('name = "categories"\n'), 3, "reserved"),
    "bad type": (_with('[[parameters]]\nname = "a"\ntype = "colour"\n'), 5, "type"),
    "second parameter": (_with('[[parameters]]\nname = "a"\n[[parameters]]\nname = "B"\n'), 6, "name"),
    "doubled parameter": (_with('[[parameters]]\nname = "a"\n[[parameters]]\nname = "a"\n'), 6, "twice"),
    "default not chosen": (_with('[[parameters]]\nname = "a"\nchoices = ["x"]\ndefault = "y"\n'), 6, "must be one of"),
    "choice of wrong type": (
        _with('[[parameters]]\nname = "a"\ntype = "integer"\nchoices = ["x"]\n'),
        6,
        "whole number",
    ),
    "required with default": (_with('[[parameters]]\nname = "a"\nrequired = true\ndefault = "y"\n'), 6, "never used"),
    "no steps": (_with(body="Only words.\n"), 1, "no step"),
    "empty step": (_with(body="## Go\n\n## On\nx\n"), 4, "empty"),
    "open fence": (_with(body="## Go\n```tool\n{}\n"), 5, "never closed"),
    "open comment": (_with(body="## Go\nx\n<!-- hm\n"), 6, "never closed"),
    "block beside words": (_with(body="## Go\nFirst this:\n```tool\n{}\n```\n"), 6, "only content"),
    "two blocks": (_with(body="## Go\n```changes\n```\n```changes\n```\n"), 5, "only content"),
    "bad json": (_step("tool", '{"tool": "x",\n}'), 7, "not valid JSON"),
    "json list": (_step("tool", "[]"), 5, "one JSON object"),
    "deep json": (_step("tool", "[" * 60_000), 5, "nested too deep"),
    "huge number in json": (_step("tool", '{"tool": "x", "parameters": {"a": ' + "9" * 5000 + "}}"), 5, "too large"),
    "no number in json": (_step("tool", '{"tool": "x", "parameters": {"a": NaN}}'), 5, "no JSON value"),
    "half a character": (_step("tool", '{"tool": "x", "parameters": {"a": "\\ud800"}}'), 5, "no JSON value"),
    "deep toml": (_with("a = " + "[" * 5_000 + "]" * 5_000 + "\n"), 1, "nested too deep"),
    "tool without parameters": (_step("tool", '{"tool": "x"}'), 5, "parameters"),
    "tool with a switch": (_step("tool", '{"tool": "x", "parameters": {}, "role": "actor"}'), 5, "role"),
    "no question": (_step("ask", '{"options": []}'), 5, "not a valid question"),
    "stop on nothing": (_step("ask", '{"question": "?", "allow_custom": true, "stop_on": ["no"]}'), 5, "stop_on"),
    "changes with words": (_step("changes", "please"), 5, "empty"),
    "nested without a name": (_step("workflow", ""), 5, "contains a name"),
    "nested with a word": (_step("workflow", "greet Ann"), 5, "key=value"),
    "nested with open quote": (_step("workflow", 'greet who="Ann'), 5, "closing quotation"),
    "unknown placeholder": (_with(body="## Go\n\nx\nto {{place}}\n"), 7, "{{place}}"),
    "unknown in a call": (_step("tool", '{"tool": "x", "parameters": {"a": ["{{b}}"]}}'), 6, "{{b}}"),
    "misspelt block": (_step("tools", '{"tool": "x", "parameters": {}}'), 5, "did you mean ```tool?"),
    "call as plain json": (_step("json", '{"tool": "x", "parameters": {}}'), 5, "did you mean ```tool?"),
    "question without a kind": (_step("", '{"question": "?", "options": []}'), 5, "did you mean ```ask?"),
    "misspelt key of a question": (_step("ask", '{"question": "?", "stopon": ["no"]}'), 5, "did you mean 'stop_on'?"),
    "misspelt key of a call": (_step("tool", '{"tool": "x", "parameter": {}}'), 5, "did you mean 'parameters'?"),
    "misspelt description": ('+++\ndescripton = "x"\n+++\n## a\nb', 2, "did you mean 'description'?"),
    "empty description": ('+++\ndescription = ""\n+++\n## a\nb', 2, "must not be empty"),
    "one table": (_with('[parameters]\nname = "a"\n'), 3, "begin each one with a line [[parameters]]"),
    "misspelt table": (_with('[[parameter]]\nname = "a"\n'), 3, "did you mean 'parameters'?"),
    "parameter in capitals": (_with('[[parameters]]\nname = "Tag"\n'), 4, "lower-case letters, digits and _"),
    "placeholder in capitals": (
        _with('[[parameters]]\nname = "from_tag"\n', "## Go\nx\nSince {{From-Tag}}.\n"),
        8,
        "did you mean '{{from_tag}}'?",
    ),
    "title without a space": (_with(body="## Go\nx\n##On\ny\n"), 6, "needs a space"),
    "too many steps": (_with(body="## Go\nx\n" * (MOST_STEPS + 1)), 4 + 2 * MOST_STEPS, "more than"),
}


@proves("WFL-3")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_line(fault: str) -> None:
    text, line, words = FAULTS[fault]
    with pytest.raises(BadDefinition) as told:
        read_definition("own.md", text)
    assert words in told.value.reason
    assert told.value.line == line


def test_code_for_the_agent_to_read_is_no_misspelt_block() -> None:
    code = '## Go\n```toml\n[a]\n```\n## On\nReply like this:\n```json\n{"tool": 1, "parameters": {}}\n```\n'
    templates = "## At last\nKeep {{Other}} and ${{ github.sha }}-like words; ### is no step.\n###Nor this\n"
    steps = read_definition("own.md", _with(body=code + templates.replace("${{ github.sha }}-like", "$sha-like"))).steps
    assert [type(step.does) for step in steps] == [PromptStep, PromptStep, PromptStep]


def test_a_block_may_begin_with_a_capital_and_a_description_take_several_lines() -> None:
    text = '+++\ndescription = """\nOne\ntwo.\n"""\n+++\n## Go\n```Changes\n```\n'
    workflow = read_definition("own.md", text)
    assert (workflow.description, workflow.steps[0].does) == ("One two.", ShowChanges())


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "line",
    [
        "```" + "a" * 60_000 + "`",
        "##" + " " * 60_000,
        "## a" + " " * 60_000,
        "{{" * 30_000,
        "{{" + " " * 60_000,
        "<!--" * 9_000,
    ],
    ids=["fence", "blank title", "title", "braces", "spaces", "comments"],
)
def test_a_line_of_any_kind_is_read_in_no_time(line: str) -> None:
    try:
        read_definition("long.md", _with(body=f"## Go\n{line}\n"))
    except BadDefinition as fault:
        assert fault.reason


def test_a_workflow_that_runs_itself_is_none() -> None:
    with pytest.raises(BadDefinition, match="run itself"):
        read_definition("loop.md", _step("workflow", "loop"))


@given(
    st.text(alphabet=st.sampled_from("+#` \n{}[]=\"'<!->abc:\\"), max_size=200), st.sampled_from(["", "+++\n", WHOLE])
)
def test_any_text_is_a_workflow_or_a_told_fault(text: str, before: str) -> None:
    try:
        workflow = read_definition("any.md", before + text)
    except BadDefinition as fault:
        assert fault.line >= 1 and fault.reason
    else:
        assert workflow.steps


@pytest.mark.parametrize("file", built_in_files(), ids=lambda file: file.path)
def test_what_comes_with_the_release_is_sound(file) -> None:
    workflow = read_definition(file.path.rpartition("/")[2], file.text)
    assert workflow.about and workflow.declared is not None
    assert all(parameter.description or parameter.choices for parameter in workflow.parameters)


def test_the_file_that_new_writes_is_a_workflow_whose_comments_no_agent_sees() -> None:
    template = files("anycowork.workflows").joinpath("template.md").read_text("utf-8")
    (step,) = read_definition("own.md", template).steps
    assert isinstance(step.does, PromptStep) and "<!--" not in step.does.text and "stop_on" not in step.does.text
