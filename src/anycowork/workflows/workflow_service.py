"""Lists workflows, reading their files each time, validates the order that a run starts from, and unfolds its steps."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import assert_never

from pydantic import JsonValue

from anycowork.domain.errors import Forbidden
from anycowork.domain.evidence import read_stated
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.question import read_question
from anycowork.domain.roles import RoleDefinition
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.tools import Parameters, ToolSpec
from anycowork.domain.values import replace
from anycowork.domain.workflows import (
    Action,
    AskStep,
    BadWorkflow,
    NestedWorkflow,
    NoSuchWorkflow,
    NotTrusted,
    PromptStep,
    RunOrder,
    RunStep,
    ShowChanges,
    Source,
    ToolUse,
    UnfittingParameters,
    UnknownWorkflow,
    Value,
    Workflow,
    WorkflowStep,
)
from anycowork.permissions.roles import RoleRegistry
from anycowork.workflows.catalog import BySource, FileFault, ListedWorkflow, WorkflowCatalog, workflow_catalog
from anycowork.workflows.parameters import as_typed, fit, read_words, render, render_json, split_words
from anycowork.workspace.trusted_files import TrustedFileStore

MOST_RUN_STEPS = 60
Find = Callable[[str], Workflow]
log = logging.getLogger(__name__)
_MOST_BUILT = 8  # catalogs in memory


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


class _BuiltCatalog:
    """The catalog of a workspace and what it was built from. The lock lets requests that come together build it once."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.by_source: BySource = ()
        self.specs: Sequence[ToolSpec] = ()
        self.catalog: WorkflowCatalog | None = None


class WorkflowService:
    """Looks at the files each time, so that changes and trust take effect at once; reads and parses only what changed."""

    def __init__(
        self,
        *,
        files: TrustedFileStore,
        toolbox: Toolbox,
        roles: RoleRegistry,
        prompts: Callable[[], Sequence[SuppliedFile]] = tuple,
    ) -> None:
        self._prompts = prompts
        self._files = files
        self._toolbox = toolbox
        self._roles = roles
        self._logged: frozenset[FileFault] = frozenset()
        self._built: dict[str, _BuiltCatalog] = {}  # by workspace, the one that was used last at the end

    async def catalog(self, workspace: str) -> WorkflowCatalog:
        """Returns the workflows for a chat in this folder. Raises: BadWorkspace."""
        built = self._built[workspace] = self._built.pop(workspace, _BuiltCatalog())
        while len(self._built) > _MOST_BUILT:
            del self._built[next(iter(self._built))]
        async with built.lock:
            by_source = (
                (Source.BUILT_IN, built_in_files()),
                (Source.MCP, tuple(self._prompts())),
                (Source.DATA, tuple(await self._files.of_data_folder())),
                (Source.WORKSPACE, tuple(await self._files.of_workspace(workspace))),
            )
            specs = self._toolbox.specs()
            if built.catalog is None or built.specs is not specs or built.by_source != by_source:
                # In a thread, so that a folder with large files does not block other requests.
                built.catalog = await asyncio.to_thread(workflow_catalog, by_source, self._toolbox.find)
                built.by_source, built.specs = by_source, specs
                self._log_faults(built.catalog.faults)
            return built.catalog

    async def order(
        self, name: str, arguments: Mapping[str, JsonValue], *, workspace: str, role: RoleDefinition
    ) -> RunOrder:
        """Validates a run. Raises: NoSuchWorkflow, NotTrusted, Forbidden, UnfittingParameters, BadWorkflow."""
        catalog = await self.catalog(workspace)
        return self._order(catalog, catalog.find(name), arguments, role)

    async def order_typed(self, text: str, *, workspace: str, role: RoleDefinition) -> RunOrder:
        """Validates a run typed as `/name key=value …`. Raises: as `order`, but UnknownWorkflow for an unknown name; Invalid."""
        catalog = await self.catalog(workspace)
        name = text[1:].split(maxsplit=1)[0] if text[1:].strip() and not text[1].isspace() else ""
        try:
            listed = catalog.find(name)
        except NoSuchWorkflow as unknown:
            way_out = "To send this as a message, begin it with two slashes: //"
            raise UnknownWorkflow(f"{unknown.message} {way_out}", param="content") from None
        arguments = read_words(listed.workflow, split_words(text[1 + len(name) :]))
        return replace(
            self._order(catalog, listed, arguments, role), typed=text
        )  # the message stays as the person wrote it

    def _order(
        self, catalog: WorkflowCatalog, listed: ListedWorkflow, arguments: Mapping[str, JsonValue], role: RoleDefinition
    ) -> RunOrder:
        require_trusted(listed)
        self._require_role(listed, role)
        values = fit(listed.workflow, arguments)

        def nested(name: str) -> Workflow:
            inner = catalog.find(name)
            require_trusted(inner)
            return inner.workflow

        steps = expand(listed.workflow, values, nested)
        self._require_fitting_calls(listed, steps)
        expect = tuple(read_stated(render(line, values)) for line in listed.workflow.expect)
        return RunOrder(listed.name, as_typed(listed.name, values), steps, listed.needs, listed.file.sha256, expect)

    def _require_role(self, listed: ListedWorkflow, role: RoleDefinition) -> None:
        missing = sorted(listed.needs - role.permissions)
        if not missing:
            return
        able = [role.title for role in self._roles.all() if role.grants(listed.needs)]
        way_out = f"Switch to {' or '.join(able)} to run it." if able else "No role has all these permissions."
        raise Forbidden(f"{role.title} may not run '{listed.name}' (needs {', '.join(missing)}). {way_out}")

    def _require_fitting_calls(self, listed: ListedWorkflow, steps: Sequence[RunStep]) -> None:
        for step in steps:
            tool = self._toolbox.find(step.does.tool) if isinstance(step.does, ToolUse) else None
            if tool is None or not isinstance(step.does, ToolUse):
                continue
            if problems := tool.problems(step.does.parameters):
                raise BadWorkflow(
                    f"The step '{step.title}' of '{listed.name}' calls {step.does.tool} with parameters that do not fit: "
                    f"{'; '.join(problem.rstrip('.') for problem in problems)}."
                )

    def _log_faults(self, faults: Sequence[FileFault]) -> None:
        """Log each fault once, not at every read."""
        for fault in faults:
            if fault not in self._logged:
                log.warning("workflow left out: %s", fault)
        self._logged = frozenset(faults)


def require_trusted(listed: ListedWorkflow) -> None:
    """Raises: NotTrusted."""
    if not listed.trusted:
        raise NotTrusted(
            f"'{listed.name}' comes with the workspace ({listed.file.path}) and nobody has trusted its content yet. Read it, then trust it: "
            f'POST /workspaces {{"trust": {{"workspace": …, "path": "{listed.file.path}", "sha256": "{listed.file.sha256}"}}}}.'
        )


@cache
def built_in_files() -> tuple[SuppliedFile, ...]:
    """Returns the built-in workflow files, sorted by name."""
    folder = files("anycowork.workflows").joinpath("builtin")
    definitions = sorted((file for file in folder.iterdir() if file.name.endswith(".md")), key=lambda file: file.name)
    texts = [(file.name, file.read_text("utf-8")) for file in definitions]
    return tuple(
        SuppliedFile(f"builtin/{name}", text, sha256(text.encode()).hexdigest(), trusted=True) for name, text in texts
    )
