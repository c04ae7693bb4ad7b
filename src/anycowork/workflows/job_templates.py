"""Job templates: parses a file (TOML: parameters and the steps of a plan), fills in the values, and makes plans of them. Errors name
the line.

A value is text inside a step: it adds no step, names no agent and no tool, and changes no command that the author wrote.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import Annotated

from pydantic import Field, JsonValue

from anycowork.domain.boundary import Boundary, Text
from anycowork.domain.evidence import read_step_expectation
from anycowork.domain.messages import Json
from anycowork.domain.plan import MOST_BYTES, BadGraph, TaskGraph
from anycowork.domain.ports import SuppliedFile
from anycowork.domain.values import value
from anycowork.domain.workflows import JobTemplate, NoSuchJobTemplate, ParameterType, Source, UnfittingParameters, Value
from anycowork.workflows.catalog import FileFault
from anycowork.workflows.front_matter import (
    FrontMatter,
    ParameterHead,
    definition_name,
    read_head,
    read_parameters,
)
from anycowork.workflows.parameters import PLACEHOLDER, fit, placeholders, render, render_json
from anycowork.workflows.sections import BadDefinition, misspelt_placeholders

SUFFIX = ".toml"
MOST_STEPS = 100
LONGEST_FILE = 65_536  # characters
_FIXED = ("id", "dependencies", "tools_needed", "agent", "role")  # who does what, with which tools, in which order
_COMMANDS = ("commands", "check")
_WILDCARDS = "*?["
_Texts = Annotated[tuple[Text, ...], Field(max_length=200)]
log = logging.getLogger(__name__)


class TemplateStep(Boundary):
    """A step as a plan has it."""

    id: Text | int | None = None
    action: Text
    reason: str = ""
    tools_needed: _Texts = ()
    estimated_time: str = ""
    dependencies: Annotated[tuple[Text | int, ...], Field(max_length=MOST_STEPS)] = ()
    paths: _Texts = ()
    commands: _Texts = ()
    check: Text | None = None
    expect: Annotated[tuple[Text, ...], Field(max_length=20)] = ()
    agent: Text | None = None
    role: Text | None = None

    def to_plan_step(self, number: int) -> Json:
        fields = self.model_dump(mode="json", exclude_defaults=True)
        on = [str(dependency) for dependency in self.dependencies]
        return {**fields, "id": str(number if self.id is None else self.id), **({"dependencies": on} if on else {})}


class TemplateHead(Boundary):
    """The file. Without a name the file name is used; without a goal the description."""

    name: str | None = None
    description: Annotated[str, Field(min_length=1, max_length=500)]
    goal: Annotated[str, Field(max_length=2_000)] = ""
    parameters: Annotated[tuple[ParameterHead, ...], Field(max_length=20)] = ()
    steps: Annotated[tuple[TemplateStep, ...], Field(min_length=1, max_length=MOST_STEPS)]


def read_job_template(file_name: str, text: str) -> JobTemplate:
    """Raises: BadDefinition."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    front = FrontMatter(lines, first=1, title="the file")
    tables: dict[str, type[Boundary]] = {"parameters": ParameterHead, "steps": TemplateStep}
    head = read_head(front, TemplateHead, tables, longest=LONGEST_FILE)
    description = " ".join(head.description.split())
    template = JobTemplate(
        name=definition_name(head.name if head.name is not None else file_name.removesuffix(SUFFIX), front),
        description=description,
        goal=head.goal or description,
        parameters=read_parameters(head.parameters, front),
        steps=tuple(step.to_plan_step(number) for number, step in enumerate(head.steps, 1)),
    )
    _require_graph(template, front)
    _require_fitting_placeholders(template, front)
    return template


def filled_plan(template: JobTemplate, arguments: Mapping[str, JsonValue]) -> Json:
    """Returns the plan with these values. Raises: UnfittingParameters, with all faults."""
    values = fit(template, arguments)
    faults = dict(_unfit_values(template, values))
    if faults:
        raise UnfittingParameters.of(template.name, faults)
    texts = {name: render(f"{{{{{name}}}}}", values) for name in values}
    if sum(len(texts.get(name, "")) for name in placeholders([template.goal, *template.steps])) > MOST_BYTES:
        raise UnfittingParameters(f"The values of '{template.name}' make the plan too large. Use shorter ones.")
    return {"goal": render(template.goal, values), "steps": [_filled_step(step, texts) for step in template.steps]}


def _filled_step(step: Json, texts: Mapping[str, str]) -> JsonValue:
    """Optional paths and commands without a value are left out; in all other texts such a placeholder becomes empty."""
    filled = {key: render(text, texts) for key in ("action", "reason", "estimated_time") if (text := _text(step, key))}
    others = render_json({key: value for key, value in step.items() if key not in filled}, texts)
    assert isinstance(others, dict)
    return {**others, **filled}


def _text(step: Json, key: str) -> str:
    text = step.get(key)
    return text if isinstance(text, str) else ""


def _unfit_values(template: JobTemplate, values: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yields what a person could misread on the plan: a path that stands for many, a command with a second line."""
    for step in template.steps:
        for name in placeholders(step.get("paths")):
            if any(sign in str(values.get(name, "")) for sign in _WILDCARDS):
                yield name, f"must name one path, without any of {_WILDCARDS}"
        for name in placeholders([step.get(key) for key in _COMMANDS]):
            if any(sign in str(values.get(name, "")) for sign in "\r\n"):
                yield name, "must be one line: it is run as a command"


# --- what holds for the whole file


def _require_graph(template: JobTemplate, front: FrontMatter) -> None:
    ids = [str(step["id"]) for step in template.steps]
    for number, step_id in enumerate(ids):
        if step_id in ids[:number]:
            raise BadDefinition(front.line_of(["steps", number, "id"]), f"several steps have the id '{step_id[:80]}'")
    try:
        TaskGraph.of({str(step["id"]): _dependencies(step) for step in template.steps})
    except BadGraph as fault:
        number = next((index for index, step in enumerate(template.steps) if _is_about(step, fault.ids)), 0)
        raise BadDefinition(front.line_of(["steps", number, "dependencies"]), str(fault)) from None


def _dependencies(step: Json) -> tuple[str, ...]:
    dependencies = step.get("dependencies")
    return tuple(str(dependency) for dependency in dependencies) if isinstance(dependencies, list) else ()


def _is_about(step: Json, ids: tuple[str, ...]) -> bool:
    return not {str(step["id"]), *_dependencies(step)}.isdisjoint(ids)


def _require_fitting_placeholders(template: JobTemplate, front: FrontMatter) -> None:
    if reason := _unknown_name(template, template.goal):
        raise BadDefinition(front.line_of(["goal"]), reason)
    for number, step in enumerate(template.steps):
        for key, texts in step.items():
            for text in map(str, texts if isinstance(texts, list) else [texts]):
                if reason := _unknown_name(template, text) or _misplaced(template, key, text):
                    raise BadDefinition(front.line_of(["steps", number, key]), reason)


def _unknown_name(template: JobTemplate, text: str) -> str | None:
    names = {parameter.name for parameter in template.parameters}
    for name, suggestion in misspelt_placeholders(text, names):
        return f"'{{{{{name}}}}}' is no parameter; did you mean '{{{{{suggestion}}}}}'?"
    for name in placeholders(text):
        if name not in names:
            return f"'{{{{{name[:80]}}}}}' is no parameter (there are: {', '.join(sorted(names)) or 'none'})"
    return None


def _misplaced(template: JobTemplate, key: str, text: str) -> str | None:
    names = placeholders(text)
    if names and key in _FIXED:
        return f"'{key}' takes no placeholder: the file alone decides who does what, and in which order"
    if names and key in _COMMANDS and not PLACEHOLDER.fullmatch(text):
        return f"a placeholder in '{key}' must be the whole command, as in \"{{{{{names[0]}}}}}\""
    if key == "expect":
        return _unfit_expectation(template, text, names)
    return _unfit_path(template, text, names) if key == "paths" else None


def _unfit_expectation(template: JobTemplate, text: str, names: Sequence[str]) -> str | None:
    """The file says what kind of thing is expected; a missing value must not make it another one."""
    try:
        read_step_expectation(text)
    except ValueError as error:
        return str(error)
    parameters = {parameter.name: parameter for parameter in template.parameters}
    if missing := next((n for n in names if not parameters[n].required and parameters[n].default is None), None):
        return f"'{{{{{missing}}}}}' is part of what is expected, so it must be required or have a default"
    return None


def _unfit_path(template: JobTemplate, text: str, names: Sequence[str]) -> str | None:
    """A missing value must not make a path wider: `{{path}}/**` without a path would be everything."""
    parameters = {parameter.name: parameter for parameter in template.parameters}
    for name in names:
        if parameters[name].type is not ParameterType.PATH:
            return f"'{{{{{name}}}}}' in 'paths' must be a parameter of type \"path\""
        if not (PLACEHOLDER.fullmatch(text) or parameters[name].required or parameters[name].default is not None):
            return f"'{{{{{name}}}}}' is part of a path, so it must be required or have a default"
    return None


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
        """Returns the template's plan with these values. Raises: NoSuchJobTemplate, UnfittingParameters."""
        return filled_plan((await self.catalog()).find(name), arguments)


def template_catalog(supplied: Sequence[SuppliedFile]) -> TemplateCatalog:
    """Reads the built-in files and these. A faulty file is left out, and a built-in template cannot be replaced."""
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
    """Parses a file; cached by its text, including faults."""
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
