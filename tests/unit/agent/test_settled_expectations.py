"""What a plan and a request make a turn expect, and what the recorded calls say of it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from anycowork.agent.turn_context import TurnContext
from anycowork.agent.turn_evidence import expected_of, settle_expectation
from anycowork.domain.chats import Turn
from anycowork.domain.evidence import Expectation, ExpectationKind, ExpectationSource, ExpectationState
from anycowork.domain.plan import Plan, PlanStep
from anycowork.domain.tools import Call, CallStatus, ToolResult
from support.spec import proves

READ = Expectation(ExpectationKind.READ, "data.csv", ExpectationSource.REQUEST)


def call(tool: str, status: CallStatus = CallStatus.OK, **parameters: str) -> Call:
    return Call("k", "c", "t", "b", 0, tool, dict(parameters), result=ToolResult(status, ""))


def context(*calls: Call, **parts: Any) -> TurnContext:
    fields = {
        "calls": list(calls),
        "is_command": lambda one: one.tool == "execute_command",
        "is_built_in": lambda one: True,
    }
    return cast(TurnContext, SimpleNamespace(**fields, **parts))


@proves("EVD-2/5")
@pytest.mark.parametrize(
    ("made", "state"),
    [
        (call("read_file", path="data.csv"), ExpectationState.MET),
        (call("read_file", CallStatus.ERROR, path="data.csv"), ExpectationState.UNMET),
        (call("read_file", path="other.csv"), ExpectationState.UNMET),
        (call("execute_command", command="wc -l data.csv"), ExpectationState.MET),
        (call("execute_command", command="ls"), ExpectationState.UNKNOWN),
    ],
)
def test_file_counts_as_read_by_a_call_that_succeeded_or_a_command_that_names_it(
    made: Call, state: ExpectationState
) -> None:
    assert settle_expectation(context(made), READ, [], vouched=False).state is state


@proves("EVD-2/1", "EVD-2/6")
@pytest.mark.parametrize(("task_id", "source"), [(None, "plan"), ("1", "task")])
def test_every_step_of_a_plan_is_expected_and_says_that_the_plan_or_the_task_said_so(
    task_id: str | None, source: str
) -> None:
    steps = tuple(PlanStep(id=name, step_number=1, action="do", expect=(f"output {name}.txt",)) for name in "ab")
    planned = context(
        plan=Plan(goal="g", steps=steps),
        turn=Turn("t", "c", "actor", "p", "m", task_id=task_id),
        proof=SimpleNamespace(expected=None),
        conversation=SimpleNamespace(user_text="", history=[], hook_checks=()),
        assignment=SimpleNamespace(job_request=""),
        has_entry=lambda path: False,
    )
    told = [one.to_json() for one in expected_of(planned).expectations]
    assert [(one["kind"], one["subject"], one["from"]) for one in told] == [
        ("output", "a.txt", source),
        ("output", "b.txt", source),
    ]
