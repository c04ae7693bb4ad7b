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
from anycowork.domain.values import replace, value
from anycowork.domain.workflows import (
    AskStep,
    NestedWorkflow,
    NoSuchWorkflow,
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
        """Returns the workflow of this name; an untrusted one only if there is no other. Raises: NoSuchWorkflow."""
        of_this_name = [listed for listed in self.listed if listed.name == name]
        if not of_this_name:
            left_out = next((fault for fault in self.faults if fault.name == name), None)
            raise NoSuchWorkflow(name, self.near(name), str(left_out) if left_out else "")
        return min(of_this_name, key=lambda listed: not listed.trusted)

    def near(self, name: str) -> list[str]:
        return difflib.get_close_matches(name[:80], sorted({listed.name for listed in self.listed}), n=3, cutoff=0.5)

    def by_category(self) -> dict[str, list[ListedWorkflow]]:
        by_category: dict[str, list[ListedWorkflow]] = {}
        for listed in self.listed:
            by_category.setdefault(listed.workflow.category, []).append(listed)
        return dict(sorted(by_category.items()))


def workflow_catalog(by_source: BySource, find_tool: FindTool) -> WorkflowCatalog:
    """Builds the catalog. `by_source` is ordered from the farthest to the nearest, built-in first."""
    read, faults = _read_all(by_source)
    needs = _WorkflowNeeds(_by_name(read), find_tool)
    sound: list[ListedWorkflow] = []
    for listed in read:
        try:
            sound.append(replace(listed, needs=needs.of(listed.workflow)))
        except BadDefinition as fault:
            faults.append(FileFault(listed.source, listed.file.path, fault.line, fault.reason))
    sound_by_name = _by_name(sound)
    visible = [listed for listed in sound if not _is_hidden(listed, sound_by_name[listed.name])]
    visible.sort(key=lambda listed: (listed.workflow.category, listed.name))
    return WorkflowCatalog(tuple(visible), tuple(faults))


def _by_name(workflows: Iterable[ListedWorkflow]) -> ByName:
    by_name: dict[str, list[ListedWorkflow]] = {}
    for listed in workflows:
        by_name.setdefault(listed.name, []).append(listed)
    return by_name


def _read_all(by_source: BySource) -> tuple[list[ListedWorkflow], list[FileFault]]:
    read: list[ListedWorkflow] = []
    faults: list[FileFault] = []
    by_name: dict[str, list[ListedWorkflow]] = {}
    for source, files in by_source:
        for file in files:
            try:
                listed = _read_one(source, file, by_name)
                read.append(listed)
                by_name.setdefault(listed.name, []).append(listed)
            except BadDefinition as fault:
                line = None if file.text is None else fault.line
                faults.append(FileFault(source, file.path, line, fault.reason))
    return read, faults


def _read_one(source: Source, file: SuppliedFile, by_name: ByName) -> ListedWorkflow:
    if file.text is None:
        raise BadDefinition(1, file.fault or "it cannot be read")
    workflow = _read(file.path.rpartition("/")[2], file.text)
    if isinstance(workflow, BadDefinition):
        raise BadDefinition(workflow.line, workflow.reason)
    for other in by_name.get(workflow.name, ()):
        if other.source is Source.BUILT_IN:
            raise BadDefinition(1, f"'{workflow.name}' is built in and cannot be replaced; choose another name")
        if other.source is source:
            raise BadDefinition(1, f"'{workflow.name}' is the name of {other.file.path} too; rename one of them")
    return ListedWorkflow(workflow, source, file, frozenset())


@lru_cache(maxsize=512)
def _read(file_name: str, text: str) -> Workflow | BadDefinition:
    """Parses a definition; cached by its text, including faults."""
    try:
        return read_definition(file_name, text)
    except BadDefinition as fault:
        return BadDefinition(fault.line, fault.reason)


class _WorkflowNeeds:
    """Computes the permissions that workflows need; checks the calls of each workflow once, however many others run it."""

    def __init__(self, by_name: ByName, find_tool: FindTool) -> None:
        self._by_name = by_name
        self._find_tool = find_tool
        self._of_tools: dict[int, frozenset[Permission] | BadDefinition] = {}  # by the workflow's id: it has no hash

    def of(self, workflow: Workflow) -> frozenset[Permission]:
        """Raises: BadDefinition for a missing tool or workflow, or deep nesting."""
        needs = self._checked_tools(workflow)
        for step in workflow.steps:
            if isinstance(step.does, NestedWorkflow):
                needs |= self._checked_tools(_nested_workflow(step, step.does, self._by_name))
        return needs

    def _checked_tools(self, workflow: Workflow) -> frozenset[Permission]:
        if (needs := self._of_tools.get(id(workflow))) is None:
            needs = self._of_tools[id(workflow)] = self._needs_of_tools(workflow)
        if isinstance(needs, BadDefinition):
            raise BadDefinition(needs.line, needs.reason)
        return needs

    def _needs_of_tools(self, workflow: Workflow) -> frozenset[Permission] | BadDefinition:
        needs = frozenset({Permission.READ_FILES}) if workflow.declared is None else workflow.declared
        try:
            for step in workflow.steps:
                if isinstance(step.does, ToolUse):
                    needs |= _needs_of_tool(step, step.does, self._find_tool)
        except BadDefinition as fault:
            return fault
        return needs


def _needs_of_tool(step: WorkflowStep, use: ToolUse, find_tool: FindTool) -> frozenset[Permission]:
    tool = find_tool(use.tool)
    if tool is None:
        raise BadDefinition(step.line, f"there is no tool '{use.tool[:80]}'")
    if not placeholders(use.parameters) and (problems := tool.problems(use.parameters)):
        # With placeholders, the parameters can be checked only when the workflow runs.
        raise BadDefinition(step.line, f"the call of {use.tool} does not fit: {problems[0].rstrip('.')}")
    return tool.spec.permissions


def _nested_workflow(step: WorkflowStep, nested: NestedWorkflow, by_name: ByName) -> Workflow:
    """Returns the workflow that the step runs. Raises: BadDefinition if it is missing, or runs another one itself."""
    candidates = by_name.get(nested.workflow, ())
    if not candidates:
        raise BadDefinition(step.line, f"there is no workflow '{nested.workflow}' to run")
    # Like `find`: the nearest trusted one. An untrusted file must not break a trusted workflow.
    inner = next((listed for listed in reversed(candidates) if listed.trusted), candidates[0]).workflow
    if any(isinstance(inner_step.does, NestedWorkflow) for inner_step in inner.steps):
        raise BadDefinition(
            step.line, f"'{inner.name}' runs another workflow itself; only one level of nesting is allowed"
        )
    _require_its_parameters(step, nested, inner)
    return inner


def _require_its_parameters(step: WorkflowStep, nested: NestedWorkflow, inner: Workflow) -> None:
    parameters = {parameter.name: parameter for parameter in inner.parameters}
    for name in nested.given:
        if name not in parameters:
            raise BadDefinition(
                step.line, f"'{name}' is not a parameter of '{inner.name}' (it takes: {', '.join(parameters)})"
            )
    for name, parameter in parameters.items():
        if parameter.required and name not in nested.given:
            raise BadDefinition(step.line, f"'{inner.name}' needs '{name}', which is not given to it")


def _is_hidden(listed: ListedWorkflow, of_its_name: Sequence[ListedWorkflow]) -> bool:
    """Whether a nearer, trusted workflow of the same name hides it."""
    nearer = (other for other in of_its_name if other.source is not listed.source and other.trusted)
    return listed.source is Source.DATA and any(other.source is Source.WORKSPACE for other in nearer)


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
