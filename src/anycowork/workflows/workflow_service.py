"""Lists workflows, reading their files each time, and validates the order that a run starts from."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from pydantic import JsonValue

from anycowork.domain.errors import Forbidden
from anycowork.domain.ports import SuppliedFile, WorkflowFiles
from anycowork.domain.roles import Permission, RoleDefinition
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.values import replace, value
from anycowork.domain.workflow_errors import BadWorkflow, NoSuchWorkflow, NotTrusted, UnknownWorkflow
from anycowork.domain.workflows import RunStep, Source, ToolUse, Workflow
from anycowork.permissions.roles import RoleRegistry
from anycowork.workflows.catalog import FileFault, ListedWorkflow, WorkflowCatalog, workflow_catalog
from anycowork.workflows.expansion import expand
from anycowork.workflows.parameters import as_typed, fit, read_words, split_words

log = logging.getLogger(__name__)


@value
class RunOrder:
    """Everything about a run that is fixed at its start. `typed` is the text that would start it again."""

    workflow: str
    typed: str
    steps: tuple[RunStep, ...]
    needs: frozenset[Permission]
    content_hash: str


class WorkflowService:
    """Reads the files each time, so that changes and trust take effect at once."""

    def __init__(
        self,
        *,
        files: WorkflowFiles,
        toolbox: Toolbox,
        roles: RoleRegistry,
        prompts: Callable[[], Sequence[SuppliedFile]] = tuple,
    ) -> None:
        self._prompts = prompts
        self._files = files
        self._toolbox = toolbox
        self._roles = roles
        self._logged: frozenset[FileFault] = frozenset()

    async def catalog(self, workspace: str) -> WorkflowCatalog:
        """Return the workflows for a chat in this folder. Raises: BadWorkspace."""
        by_source = [
            (Source.BUILT_IN, built_in_files()),
            (Source.MCP, self._prompts()),
            (Source.DATA, await self._files.of_data_folder()),
            (Source.WORKSPACE, await self._files.of_workspace(workspace)),
        ]
        # In a thread, so that a folder with large files does not block other requests.
        found = await asyncio.to_thread(workflow_catalog, by_source, self._toolbox.find)
        self._log_faults(found.faults)
        return found

    async def order(
        self, name: str, given: Mapping[str, JsonValue], *, workspace: str, role: RoleDefinition
    ) -> RunOrder:
        """Validate a run. Raises: NoSuchWorkflow, NotTrusted, Forbidden, UnfittingParameters, BadWorkflow."""
        found = await self.catalog(workspace)
        return self._order(found, found.find(name), given, role)

    async def order_typed(self, text: str, *, workspace: str, role: RoleDefinition) -> RunOrder:
        """Validate a run typed as `/name key=value …`. Raises: as `order`, but UnknownWorkflow for an unknown name; Invalid."""
        found = await self.catalog(workspace)
        name = text[1:].split(maxsplit=1)[0] if text[1:].strip() and not text[1].isspace() else ""
        try:
            listed = found.find(name)
        except NoSuchWorkflow as unknown:
            way_out = "To send this as a message, begin it with two slashes: //"
            raise UnknownWorkflow(f"{unknown.message} {way_out}", param="content") from None
        given = read_words(listed.workflow, split_words(text[1 + len(name) :]))
        return replace(self._order(found, listed, given, role), typed=text)  # the message stays as the person wrote it

    def _order(
        self, found: WorkflowCatalog, listed: ListedWorkflow, given: Mapping[str, JsonValue], role: RoleDefinition
    ) -> RunOrder:
        require_trusted(listed)
        self._require_role(listed, role)
        values = fit(listed.workflow, given)

        def nested(name: str) -> Workflow:
            inner = found.find(name)
            require_trusted(inner)
            return inner.workflow

        steps = expand(listed.workflow, values, nested)
        self._require_fitting_calls(listed, steps)
        return RunOrder(listed.name, as_typed(listed.name, values), steps, listed.needs, listed.file.sha256)

    def _require_role(self, listed: ListedWorkflow, role: RoleDefinition) -> None:
        missing = sorted(listed.needs - role.permissions)
        if not missing:
            return
        able = [one.title for one in self._roles.all() if one.grants(listed.needs)]
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
    """Return the built-in workflow files, sorted by name."""
    folder = files("anycowork.workflows").joinpath("builtin")
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".md")), key=lambda file: file.name)
    texts = [(file.name, file.read_text("utf-8")) for file in found]
    return tuple(
        SuppliedFile(f"builtin/{name}", text, sha256(text.encode()).hexdigest(), trusted=True) for name, text in texts
    )
