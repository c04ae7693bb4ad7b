"""Lists the workflows of one workspace: built-in ones, those of the data folder and those of the workspace; the nearest one wins.

A built-in workflow cannot be replaced, and an untrusted workflow of a workspace hides no other. Pure.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import assert_never

from anycowork.domain.messages import Json
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.roles import Permission
from anycowork.domain.tool_ports import Tool
from anycowork.domain.values import value
from anycowork.domain.workflow_errors import NoSuchWorkflow
from anycowork.domain.workflows import (
    AskStep,
    NestedWorkflow,
    PromptStep,
    ShowChanges,
    Source,
    ToolUse,
    Workflow,
    WorkflowStep,
)
from anycowork.workflows.definition import read_definition
from anycowork.workflows.parameters import placeholders, usage
from anycowork.workflows.sections import BadDefinition

FindTool = Callable[[str], Tool | None]
BySource = Sequence[tuple[Source, Sequence[SuppliedFile]]]
ByName = Mapping[str, Sequence["ListedWorkflow"]]


@value
class ListedWorkflow:
    """A workflow that may be invoked here. `needs` are the permissions that it declares and its steps need: no run may do more."""

    workflow: Workflow
    source: Source
    file: SuppliedFile
    needs: frozenset[Permission]

    @property
    def name(self) -> str:
        return self.workflow.name

    @property
    def trusted(self) -> bool:
        return self.file.trusted

    def to_json(self) -> Json:
        workflow = self.workflow
        return {
            "name": workflow.name,
            "description": workflow.description,
            "category": workflow.category,
            "parameters": [parameter.to_json() for parameter in workflow.parameters],
            "needs": [permission.value for permission in sorted(self.needs)],
            "steps": [{"title": step.title, "kind": _kind(step)} for step in workflow.steps],
            "about": workflow.about,
            "usage": usage(workflow),
            "source": self.source.value,
            "trusted": self.trusted,
            "path": self.file.path,
            "sha256": self.file.sha256,
        }


@value
class FileFault:
    """Why a file defines no workflow or no job template."""

    source: Source
    path: str
    line: int | None
    reason: str

    @property
    def name(self) -> str:
        """The name of what it would define, according to the file name."""
        return self.path.rpartition("/")[2].removesuffix(".md").removesuffix(".toml")

    def to_json(self) -> Json:
        return {"source": self.source.value, "path": self.path, "line": self.line, "reason": self.reason}

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.reason}"


@value
class WorkflowCatalog:
    listed: tuple[ListedWorkflow, ...]
    faults: tuple[FileFault, ...]

    def find(self, name: str) -> ListedWorkflow:
        """Return the workflow of this name; an untrusted one only if there is no other. Raises: NoSuchWorkflow."""
        named = sorted((one for one in self.listed if one.name == name), key=lambda one: not one.trusted)
        if not named:
            left_out = next((fault for fault in self.faults if fault.name == name), None)
            raise NoSuchWorkflow(name, self.near(name), str(left_out) if left_out else "")
        return named[0]

    def near(self, name: str) -> list[str]:
        return difflib.get_close_matches(name[:80], sorted({one.name for one in self.listed}), n=3, cutoff=0.5)

    def by_category(self) -> dict[str, list[ListedWorkflow]]:
        found: dict[str, list[ListedWorkflow]] = {}
        for one in self.listed:
            found.setdefault(one.workflow.category, []).append(one)
        return dict(sorted(found.items()))


def workflow_catalog(by_source: BySource, find_tool: FindTool) -> WorkflowCatalog:
    """Build the catalog. `by_source` is ordered from the farthest to the nearest, built-in first."""
    read, faults = _read_all(by_source)
    by_name = _by_name(read)
    sound: list[ListedWorkflow] = []
    for one in read:
        try:
            sound.append(ListedWorkflow(one.workflow, one.source, one.file, _needs(one.workflow, by_name, find_tool)))
        except BadDefinition as fault:
            faults.append(FileFault(one.source, one.file.path, fault.line, fault.reason))
    sound_by_name = _by_name(sound)
    shown = [one for one in sound if not _is_hidden(one, sound_by_name[one.name])]
    return WorkflowCatalog(tuple(sorted(shown, key=lambda one: (one.workflow.category, one.name))), tuple(faults))


def _by_name(listed: Iterable[ListedWorkflow]) -> ByName:
    found: dict[str, list[ListedWorkflow]] = {}
    for one in listed:
        found.setdefault(one.name, []).append(one)
    return found


def _read_all(by_source: BySource) -> tuple[list[ListedWorkflow], list[FileFault]]:
    read: list[ListedWorkflow] = []
    faults: list[FileFault] = []
    known: dict[str, list[ListedWorkflow]] = {}
    for source, files in by_source:
        for file in files:
            try:
                one = _read_one(source, file, known)
                read.append(one)
                known.setdefault(one.name, []).append(one)
            except BadDefinition as fault:
                line = None if file.text is None else fault.line
                faults.append(FileFault(source, file.path, line, fault.reason))
    return read, faults


def _read_one(source: Source, file: SuppliedFile, known: ByName) -> ListedWorkflow:
    if file.text is None:
        raise BadDefinition(1, file.fault or "it cannot be read")
    workflow = _read(file.path.rpartition("/")[2], file.text)
    if isinstance(workflow, BadDefinition):
        raise BadDefinition(workflow.line, workflow.reason)
    for other in known.get(workflow.name, ()):
        if other.source is Source.BUILT_IN:
            raise BadDefinition(1, f"'{workflow.name}' is built in and cannot be replaced; choose another name")
        if other.source is source:
            raise BadDefinition(1, f"'{workflow.name}' is the name of {other.file.path} too; rename one of them")
    return ListedWorkflow(workflow, source, file, frozenset())


@lru_cache(maxsize=512)
def _read(file_name: str, text: str) -> Workflow | BadDefinition:
    """Parse a definition; cached by its text, including faults."""
    try:
        return read_definition(file_name, text)
    except BadDefinition as fault:
        return BadDefinition(fault.line, fault.reason)


def _needs(workflow: Workflow, by_name: ByName, find_tool: FindTool) -> frozenset[Permission]:
    """Return the permissions that the workflow needs. Raises: BadDefinition for a missing tool or workflow, or deep nesting."""
    needs = frozenset({Permission.READ_FILES}) if workflow.declared is None else workflow.declared
    for step in workflow.steps:
        if isinstance(step.does, ToolUse):
            needs |= _needs_of_tool(step, step.does, find_tool)
        elif isinstance(step.does, NestedWorkflow):
            needs |= _needs_of_nested(step, step.does, by_name, find_tool)
    return needs


def _needs_of_tool(step: WorkflowStep, use: ToolUse, find_tool: FindTool) -> frozenset[Permission]:
    tool = find_tool(use.tool)
    if tool is None:
        raise BadDefinition(step.line, f"there is no tool '{use.tool[:80]}'")
    if not placeholders(use.parameters) and (problems := tool.problems(use.parameters)):
        # With placeholders, the parameters can be checked only when the workflow runs.
        raise BadDefinition(step.line, f"the call of {use.tool} does not fit: {problems[0].rstrip('.')}")
    return tool.spec.permissions


def _needs_of_nested(
    step: WorkflowStep, nested: NestedWorkflow, by_name: ByName, find_tool: FindTool
) -> frozenset[Permission]:
    named = by_name.get(nested.workflow, ())
    if not named:
        raise BadDefinition(step.line, f"there is no workflow '{nested.workflow}' to run")
    # Like `find`: the nearest trusted one. An untrusted file must not break a trusted workflow.
    meant = next((one for one in reversed(named) if one.trusted), named[0]).workflow
    if any(isinstance(inner.does, NestedWorkflow) for inner in meant.steps):
        raise BadDefinition(
            step.line, f"'{meant.name}' runs another workflow itself; only one level of nesting is allowed"
        )
    _require_its_parameters(step, nested, meant)
    return _needs(meant, by_name, find_tool)


def _require_its_parameters(step: WorkflowStep, nested: NestedWorkflow, meant: Workflow) -> None:
    known = {parameter.name: parameter for parameter in meant.parameters}
    for name in nested.given:
        if name not in known:
            raise BadDefinition(
                step.line, f"'{name}' is not a parameter of '{meant.name}' (it takes: {', '.join(known)})"
            )
    for name, parameter in known.items():
        if parameter.required and name not in nested.given:
            raise BadDefinition(step.line, f"'{meant.name}' needs '{name}', which is not given to it")


def _is_hidden(one: ListedWorkflow, among: Sequence[ListedWorkflow]) -> bool:
    """Whether a nearer, trusted workflow of the same name hides it."""
    nearer = (other for other in among if other.source is not one.source and other.trusted)
    return one.source is Source.DATA and any(other.source is Source.WORKSPACE for other in nearer)


def _kind(step: WorkflowStep) -> str:
    match step.does:
        case PromptStep():
            return "prompt"
        case ToolUse():
            return "tool"
        case AskStep():
            return "ask"
        case ShowChanges():
            return "changes"
        case NestedWorkflow():
            return "workflow"
        case _:
            assert_never(step.does)
