"""Lists job templates, built-in ones and those of the data folder, reading the files each time, and makes plans of them.

The files of a workspace are never read: anybody who can write to it must not put a plan before a person as if the person had written it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files

from pydantic import JsonValue

from anycowork.domain.messages import Json
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.values import value
from anycowork.domain.workflow_errors import NoSuchJobTemplate
from anycowork.domain.workflows import JobTemplate, Source
from anycowork.workflows.catalog import FileFault
from anycowork.workflows.job_templates import SUFFIX, filled_plan, read_job_template
from anycowork.workflows.sections import BadDefinition

log = logging.getLogger(__name__)


@value
class ListedTemplate:
    template: JobTemplate
    source: Source

    def to_json(self) -> Json:
        return {**self.template.to_json(), "source": self.source.value}


@value
class TemplateCatalog:
    listed: tuple[ListedTemplate, ...]
    faults: tuple[FileFault, ...]

    def find(self, name: str) -> JobTemplate:
        """Raises: NoSuchJobTemplate."""
        template = next((listed.template for listed in self.listed if listed.template.name == name), None)
        if template is None:
            left_out = next((fault for fault in self.faults if fault.name == name), None)
            raise NoSuchJobTemplate(name, str(left_out) if left_out else "")
        return template


class JobTemplateService:
    """`supplied` reads the files of the data folder."""

    def __init__(self, supplied: Callable[[], Awaitable[Sequence[SuppliedFile]]]) -> None:
        self._supplied = supplied
        self._logged: frozenset[FileFault] = frozenset()

    async def catalog(self) -> TemplateCatalog:
        supplied = await self._supplied()
        # In a thread, so that a folder with large files does not block other requests.
        catalog = await asyncio.to_thread(template_catalog, supplied)
        for fault in catalog.faults:
            if fault not in self._logged:
                log.warning("job template left out: %s", fault)
        self._logged = frozenset(catalog.faults)
        return catalog

    async def plan(self, name: str, arguments: Mapping[str, JsonValue]) -> Json:
        """Return the template's plan with these values. Raises: NoSuchJobTemplate, UnfittingParameters."""
        return filled_plan((await self.catalog()).find(name), arguments)


def template_catalog(supplied: Sequence[SuppliedFile]) -> TemplateCatalog:
    """Read the built-in files and these. A faulty file is left out, and a built-in template cannot be replaced."""
    read: dict[str, tuple[ListedTemplate, SuppliedFile]] = {}
    faults: list[FileFault] = []
    for source, source_files in ((Source.BUILT_IN, _built_in_templates()), (Source.DATA, supplied)):
        for file in source_files:
            template = _read(file.path.rpartition("/")[2], file.text) if file.text is not None else file.fault
            if isinstance(template, JobTemplate) and template.name in read:
                owner = "built in" if read[template.name][0].source is Source.BUILT_IN else read[template.name][1].path
                template = BadDefinition(1, f"the name '{template.name}' is taken ({owner}); choose another one")
            if isinstance(template, JobTemplate):
                read[template.name] = (ListedTemplate(template, source), file)
            elif isinstance(template, BadDefinition):
                faults.append(FileFault(source, file.path, template.line, template.reason))
            else:
                faults.append(FileFault(source, file.path, None, template or "it cannot be read"))
    return TemplateCatalog(tuple(listed for _, (listed, _) in sorted(read.items())), tuple(faults))


@lru_cache(maxsize=256)
def _read(file_name: str, text: str) -> JobTemplate | BadDefinition:
    """Parse a file; cached by its text, including faults."""
    try:
        return read_job_template(file_name, text)
    except BadDefinition as fault:
        return BadDefinition(fault.line, fault.reason)


@cache
def _built_in_templates() -> tuple[SuppliedFile, ...]:
    folder = files("anycowork.workflows").joinpath("builtin")
    template_files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(SUFFIX)), key=lambda file: file.name
    )
    texts = [(file.name, file.read_text("utf-8")) for file in template_files]
    return tuple(
        SuppliedFile(f"builtin/{name}", text, sha256(text.encode()).hexdigest(), trusted=True) for name, text in texts
    )
