"""Workflows that a user invokes. A definition has parameters and linear steps; a Run is one execution in a chat."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import assert_never

from pydantic import JsonValue

from anycowork.domain.chats import EndReason
from anycowork.domain.errors import Invalid, NotFound, RequestFault
from anycowork.domain.evidence import StatedExpectation
from anycowork.domain.messages import Json
from anycowork.domain.plan import Budget
from anycowork.domain.roles import Permission
from anycowork.domain.tools import Parameters
from anycowork.domain.values import value

Value = str | int | float | bool


class ParameterType(StrEnum):
    """A path is text that names something inside the workspace."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    PATH = "path"


@value
class WorkflowParameter:
    name: str
    type: ParameterType = ParameterType.STRING
    description: str = ""
    required: bool = True
    default: Value | None = None
    choices: tuple[Value, ...] = ()

    def to_json(self) -> Json:
        body: Json = {
            "name": self.name,
            "type": self.type.value,
            "description": self.description,
            "required": self.required,
        }
        if self.default is not None:
            body["default"] = self.default
        if self.choices:
            body["choices"] = list(self.choices)
        return body


# --- what a step does


@value
class PromptStep:
    """Sends this text to the agent."""

    text: str


@value
class ToolUse:
    """Makes one call through the gate. With `may_fail` a failed tool does not end the run; a refusal always does."""

    tool: str
    parameters: Parameters = field(hash=False)
    may_fail: bool = False


@value
class AskStep:
    """Asks a person. An answer whose value is in `stop_on` ends the run."""

    question: Json = field(hash=False)
    stop_on: tuple[str, ...] = ()


@value
class ShowChanges:
    """Shows the agent, as data, what the calls of this chat have changed so far."""


@value
class NestedWorkflow:
    """Inserts another workflow's steps. `given` are its parameters as written in the file."""

    workflow: str
    given: Mapping[str, str] = field(hash=False)


Action = PromptStep | ToolUse | AskStep | ShowChanges


@value
class WorkflowStep:
    """A step as written in a definition, at `line`."""

    title: str
    does: Action | NestedWorkflow
    line: int = 1


class Source(StrEnum):
    BUILT_IN = "built_in"
    DATA = "data"
    WORKSPACE = "workspace"
    MCP = "mcp"  # a prompt of an MCP server that a person configured


@value
class Workflow:
    """A workflow definition. `declared` are the permissions that the file requests; None if it requests none: then its steps decide.
    `expect` are expectations that the server checks at the end of its turn, such as `check make test`."""

    name: str
    description: str
    category: str
    parameters: tuple[WorkflowParameter, ...]
    steps: tuple[WorkflowStep, ...]
    declared: frozenset[Permission] | None = None
    about: str = ""
    expect: tuple[str, ...] = ()


# --- a run


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"
    INTERRUPTED = "interrupted"


@value
class RunStep:
    title: str
    does: Action

    def to_json(self) -> Json:
        match self.does:
            case PromptStep(text):
                body: Json = {"kind": "prompt", "text": text}
            case ToolUse(tool, parameters, may_fail):
                body = {"kind": "tool", "tool": tool, "parameters": parameters, "may_fail": may_fail}
            case AskStep(question, stop_on):
                body = {"kind": "ask", "question": question, "stop_on": list(stop_on)}
            case ShowChanges():
                body = {"kind": "changes"}
            case _:
                assert_never(self.does)
        return {"title": self.title, **body}

    @classmethod
    def from_stored(cls, stored: Mapping[str, JsonValue]) -> "RunStep":
        """Reads a stored step leniently: an unknown kind becomes a call of no tool, which the gate refuses."""
        return cls(str(stored.get("title", "")), _action(stored))


def _action(stored: Mapping[str, JsonValue]) -> Action:
    match stored:
        case {"kind": "prompt", "text": str(text)}:
            return PromptStep(text)
        case {"kind": "tool", "tool": str(tool), "parameters": dict(parameters)}:
            return ToolUse(tool, parameters, may_fail=stored.get("may_fail") is True)
        case {"kind": "ask", "question": dict(question), "stop_on": list(stop_on)}:
            return AskStep(question, tuple(str(value) for value in stop_on))
        case {"kind": "changes"}:
            return ShowChanges()
    return ToolUse(str(stored.get("kind")), {})


@value
class Run:
    """One run is one turn and has the turn's id. Its steps are fixed at the start: later changes of the file do not affect it.

    `needs` is also its ceiling: no call of the run may do more. `at` counts from 0; `begun` is the message or call that the
    current step began with, None before it has begun. `limits` are what is left of those of the schedule that started it;
    `origins` are those of the values that a trigger brought: no word of its steps is then a person's.
    """

    id: str
    chat_id: str
    workflow: str
    steps: tuple[RunStep, ...]
    needs: frozenset[Permission]
    content_hash: str = ""
    at: int = 0
    begun: str | None = None
    status: RunStatus = RunStatus.RUNNING
    error: Json | None = field(default=None, hash=False)
    limits: Budget = Budget()
    origins: tuple[str, ...] = ()

    @property
    def current(self) -> RunStep:
        return self.steps[self.at]

    @property
    def on_its_last(self) -> bool:
        return self.at == len(self.steps) - 1

    def onward(self) -> "Run":
        return replace(self, at=self.at + 1, begun=None)

    def ended(self, reason: EndReason, error: Json | None = None) -> "Run":
        """Returns the run of a turn that ended before the last step was finished."""
        status = {
            EndReason.STOPPED: RunStatus.STOPPED,
            EndReason.INTERRUPTED: RunStatus.INTERRUPTED,
        }.get(reason, RunStatus.FAILED)
        return replace(self, status=status, error=error)

    def to_json(self) -> Json:
        """Returns the run as `workflow-progress` shows it."""
        body: Json = {
            "run_id": self.id,
            "name": self.workflow,
            "step": self.at + 1,
            "of": len(self.steps),
            "status": self.status.value,
            "title": self.current.title,
        }
        return body if self.error is None else {**body, "error": self.error}


@value
class RunOrder:
    """Everything about a run that is fixed at its start. `typed` is the text that would start it again."""

    workflow: str
    typed: str
    steps: tuple[RunStep, ...]
    needs: frozenset[Permission]
    content_hash: str
    expect: tuple[StatedExpectation, ...] = ()


@value
class JobTemplate:
    """`goal` and the texts of `steps` may hold `{{placeholders}}`; the steps have the form of a plan's steps."""

    name: str
    description: str
    goal: str
    parameters: tuple[WorkflowParameter, ...]
    steps: tuple[Json, ...] = field(hash=False)

    def to_json(self) -> Json:
        return {
            "name": self.name,
            "description": self.description,
            "goal": self.goal,
            "parameters": [parameter.to_json() for parameter in self.parameters],
            "steps": [*self.steps],
        }


class UnknownWorkflow(Invalid):
    """A message begins like a workflow's name, but no such workflow exists."""

    code = "unknown_workflow"


class BadWorkflow(Invalid):
    """A workflow definition that cannot be run."""

    code = "bad_workflow"


class UnfittingParameters(Invalid):
    """`faults` maps each invalid parameter to the reason; all are reported at once."""

    code = "unfitting_parameters"

    def __init__(self, message: str, faults: Mapping[str, str] | None = None) -> None:
        self.faults = dict(faults or {})
        super().__init__(message, param=f"parameters.{next(iter(self.faults))}" if self.faults else "parameters")

    @classmethod
    def of(cls, workflow: str, faults: Mapping[str, str]) -> "UnfittingParameters":
        reasons = " ".join(f"'{name}' {reason}." for name, reason in faults.items())
        return cls(f"The parameters of '{workflow}' do not fit: {reasons}", faults)


class NoSuchWorkflow(NotFound):
    """`near` are similar names; `left_out` is the fault of a file that would define this workflow."""

    def __init__(self, name: str, near: Sequence[str] = (), left_out: str = "") -> None:
        super().__init__("workflow", name)
        if left_out:
            self.message = f"The workflow '{name[:80]}' is not available until its file is fixed: {left_out}."
            return
        hint = (
            f"Did you mean {' or '.join(repr(name_nearby) for name_nearby in near)}?"
            if near
            else "`anycowork workflow list` or GET /workflows lists them."
        )
        self.message = f"There is no workflow '{name[:80]}'. {hint}"


class NoSuchJobTemplate(NotFound):
    """`left_out` is the fault of a file that would define this template."""

    def __init__(self, name: str, left_out: str = "") -> None:
        super().__init__("job template", name)
        self.message = (
            f"The job template '{name[:80]}' is not available until its file is fixed: {left_out}."
            if left_out
            else f"There is no job template '{name[:80]}'. `anycowork jobs templates` or GET /job-templates lists them."
        )


class NotTrusted(RequestFault):
    """Files of a workspace are used only after a person has trusted their content."""

    code = "not_trusted"
    status = 403
