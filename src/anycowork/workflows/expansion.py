"""From a definition and its values to the steps of one run: values put in, other workflows unfolded one level deep. Pure."""

from collections.abc import Callable, Mapping
from typing import assert_never

from anycowork.domain.question import read_question
from anycowork.domain.tools import Parameters
from anycowork.domain.workflows import (
    Action,
    AskStep,
    BadWorkflow,
    NestedWorkflow,
    PromptStep,
    RunStep,
    ShowChanges,
    ToolUse,
    UnfittingParameters,
    Value,
    Workflow,
    WorkflowStep,
)
from anycowork.workflows.parameters import fit, render, render_json

MOST_RUN_STEPS = 60
Find = Callable[[str], Workflow]


def expand(workflow: Workflow, values: Mapping[str, Value], find: Find) -> tuple[RunStep, ...]:
    """`find` gives a workflow by its name. Raises: BadWorkflow, and what `find` raises."""
    steps: list[RunStep] = []
    for step in workflow.steps:
        title = _one_line(render(step.title, values))
        if isinstance(step.does, NestedWorkflow):
            inner = find(step.does.workflow)
            steps += [
                RunStep(_one_line(f"{title}: {inner_step.title}"), inner_step.does)
                for inner_step in _unfolded(step.does, inner, values)
            ]
        else:
            steps.append(RunStep(title, _filled_in(step, step.does, values)))
    if len(steps) > MOST_RUN_STEPS:
        raise BadWorkflow(f"'{workflow.name}' has {len(steps)} steps, more than {MOST_RUN_STEPS}; split it in two.")
    return tuple(steps)


def _one_line(title: str) -> str:
    return " ".join(title.split())[:200]


def _unfolded(nested: NestedWorkflow, inner: Workflow, values: Mapping[str, Value]) -> tuple[RunStep, ...]:
    arguments = {name: render(text, values) for name, text in nested.given.items()}
    try:
        inner_values = fit(inner, arguments)
    except UnfittingParameters as fault:
        raise BadWorkflow(f"A step runs '{inner.name}' with parameters that do not fit. {fault.message}") from None
    return expand(inner, inner_values, _too_deep)


def _too_deep(name: str) -> Workflow:
    raise BadWorkflow(f"A nested workflow runs '{name}' itself; only one level of nesting is allowed.")


def _filled_in(step: WorkflowStep, does: Action, values: Mapping[str, Value]) -> Action:
    match does:
        case PromptStep(text):
            return PromptStep(render(text, values))
        case ToolUse(tool, parameters, may_fail):
            return ToolUse(tool, _parameters(parameters, values), may_fail)
        case AskStep(question, stop_on):
            rendered = render_json(question, values)
            asked_question = read_question(rendered) if isinstance(rendered, dict) else None
            if asked_question is None:
                raise BadWorkflow(f"With these values the step '{step.title}' asks no valid question.")
            return AskStep(asked_question.to_json(), stop_on)
        case ShowChanges():
            return does
        case _:
            assert_never(does)


def _parameters(template: Parameters, values: Mapping[str, Value]) -> Parameters:
    rendered = render_json(template, values)
    assert isinstance(rendered, dict)
    return rendered
