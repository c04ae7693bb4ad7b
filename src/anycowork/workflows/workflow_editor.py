"""Lets a person create, change and delete workflows of the data folder. A draft is checked in the way that the catalog reads files."""

import asyncio
import logging
from hashlib import sha256

from anycowork.domain.errors import Conflict, ContentChanged, Invalid, NotFound
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.principals import Principal, Scope
from anycowork.domain.tool_ports import Toolbox
from anycowork.domain.workflows import BadWorkflow, Source
from anycowork.workflows.catalog import FileFault, ListedWorkflow, workflow_catalog
from anycowork.workflows.definition_files import DefinitionFiles
from anycowork.workflows.workflow_service import built_in_files
from anycowork.workspace.trusted_files import TrustedFileStore

log = logging.getLogger(__name__)
MOST_BYTES = 64 * 1024
FOLDER = "workflows"


class WorkflowEditor:
    """One change at a time. Built-in workflows and those of a workspace are never changed here."""

    def __init__(self, *, files: TrustedFileStore, writer: DefinitionFiles, toolbox: Toolbox) -> None:
        self._files = files
        self._writer = writer
        self._toolbox = toolbox
        self._changing = asyncio.Lock()

    async def check(self, principal: Principal, name: str, content: str) -> ListedWorkflow | FileFault:
        """Returns the workflow that the draft defines, or what is wrong with it. Nothing is saved."""
        principal.require(Scope.MANAGE)
        return await self._check(name, content, await self._find(name))

    async def create(self, principal: Principal, name: str, content: str) -> ListedWorkflow:
        """Raises: BadWorkflow, Conflict if there is such a workflow, StorageFault."""
        principal.require(Scope.MANAGE)
        async with self._changing:
            if await self._find(name) is not None:
                raise Conflict(f"There is a workflow '{name[:80]}' already. Choose another name.", param="name")
            return await self._save(principal, name, content, None)

    async def change(
        self, principal: Principal, name: str, content: str, *, expected_hash: str | None
    ) -> ListedWorkflow:
        """`expected_hash` is the hash of what the person edited. Raises: BadWorkflow, NotFound, ContentChanged, StorageFault."""
        principal.require(Scope.MANAGE)
        async with self._changing:
            file = await self._require(name)
            if expected_hash is not None and file.sha256 != expected_hash:
                raise ContentChanged(f"'{file.path}' was changed meanwhile. Read it again, then edit it.")
            return await self._save(principal, name, content, file)

    async def delete(self, principal: Principal, name: str) -> None:
        """Raises: NotFound, Invalid for a built-in workflow, StorageFault."""
        principal.require(Scope.MANAGE)
        async with self._changing:
            file = await self._require(name)
            await self._writer.remove_workflow(file.path)
            log.info("%s deleted the workflow %s", principal.label(), name)

    async def _save(self, principal: Principal, name: str, content: str, file: SuppliedFile | None) -> ListedWorkflow:
        checked = await self._check(name, content, file)
        if isinstance(checked, FileFault):
            line = f"line {checked.line}: " if checked.line else ""
            raise BadWorkflow(f"The workflow cannot be saved: {line}{checked.reason}.", param="content")
        await self._writer.save_workflow(name, file.path if file else None, content)
        log.info("%s saved the workflow %s", principal.label(), name)
        return checked

    async def _check(self, name: str, content: str, replaced: SuppliedFile | None) -> ListedWorkflow | FileFault:
        path = replaced.path if replaced else f"{FOLDER}/{name}.md"
        encoded = content.encode("utf-8", "replace")
        if len(encoded) > MOST_BYTES:
            return FileFault(Source.DATA, path, None, f"it is larger than {MOST_BYTES:,} bytes")
        draft = SuppliedFile(path, content, sha256(encoded).hexdigest(), trusted=True)
        others = [file for file in await self._files.of_data_folder() if file.path != path]
        by_source = [(Source.BUILT_IN, built_in_files()), (Source.DATA, [*others, draft])]
        # In a thread, so that a long draft does not block other requests.
        catalog = await asyncio.to_thread(workflow_catalog, by_source, self._toolbox.find)
        if fault := next((fault for fault in catalog.faults if fault.path == path), None):
            return fault
        listed = next(entry for entry in catalog.listed if entry.file is draft)
        if listed.name != name:
            reason = f"the file names itself '{listed.name}', but this is '{name}'; remove that line, or use the name"
            return FileFault(Source.DATA, path, None, reason)
        return listed

    async def _require(self, name: str) -> SuppliedFile:
        file = await self._find(name)
        if file is not None:
            return file
        if f"builtin/{name}.md" in {built_in.path for built_in in built_in_files()}:
            raise Invalid(f"'{name}' is built in and cannot be changed. Duplicate it under another name.", param="name")
        raise NotFound("workflow", name[:80])

    async def _find(self, name: str) -> SuppliedFile | None:
        """Returns the file of the data folder that defines this workflow, or would if it had no fault."""
        files = [file for file in await self._files.of_data_folder() if file.text is not None]
        catalog = await asyncio.to_thread(workflow_catalog, [(Source.DATA, files)], self._toolbox.find)
        defining_file = next((entry.file for entry in catalog.listed if entry.name == name), None)
        return defining_file or next((file for file in files if file.path == f"{FOLDER}/{name}.md"), None)
