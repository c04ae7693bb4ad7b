"""Shell completion: names of workflows, their parameters, roles. Reads files, without a server.

An error must never disturb a person who is typing, so unreadable files are not offered.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from anycowork.domain.ports import SuppliedFile
    from anycowork.domain.workflows import Workflow, WorkflowParameter

Offered = list[tuple[str, str]]  # a word, and its description


def workflow_names(context: typer.Context, incomplete: str) -> Offered:
    return [
        (workflow.name, workflow.description)
        for workflow in _workflows(context)
        if workflow.name.startswith(incomplete)
    ]


def workflow_parameters(context: typer.Context, incomplete: str) -> Offered:
    """Offers `key=` for missing parameters, then the values of one that has choices."""
    chosen = next((workflow for workflow in _workflows(context) if workflow.name == context.params.get("name")), None)
    if chosen is None:
        return []
    typed_words = [str(word) for word in context.params.get("parameters") or ()]
    by_name = {parameter.name: parameter for parameter in chosen.parameters}
    if (
        typed_words[-1:] == ["="] and len(typed_words) > 1 and typed_words[-2] in by_name
    ):  # bash treats '=' as a separate word
        return [(value, "") for value in _values(by_name[typed_words[-2]]) if value.startswith(incomplete)]
    key, separator, begun = incomplete.partition("=")
    if separator:
        values = _values(by_name[key]) if key in by_name else []
        return [(f"{key}={value}", "") for value in values if value.startswith(begun)]
    typed_names = {word.partition("=")[0] for word in typed_words}
    return [
        (f"{name}=", parameter.description)
        for name, parameter in by_name.items()
        if name not in typed_names and name.startswith(incomplete)
    ]


def role_names(incomplete: str) -> Offered:
    from anycowork.domain.roles import Role

    return [(role.value, "") for role in Role if role.value.startswith(incomplete)]


def _values(parameter: "WorkflowParameter") -> list[str]:
    if parameter.type.value == "boolean":
        return ["true", "false"]
    return [str(choice) for choice in parameter.choices]


def _workflows(context: typer.Context) -> "Iterator[Workflow]":
    from anycowork.config.loading import load_settings
    from anycowork.domain.errors import AnyCoworkError
    from anycowork.workflows.workflow_service import built_in_files
    from anycowork.workspace.trusted_files import ENDING, OF_WORKSPACE, WORKFLOWS, supplied_files

    own_files, theirs = list(built_in_files()), []
    try:
        settings = load_settings({"data_dir": context.params.get("data_dir")}, os.environ, cwd=Path.cwd())
        workspace = str(context.params.get("workspace") or settings.workspace or Path.cwd())
        own_files += supplied_files(str(settings.data_dir), WORKFLOWS, ENDING)
        theirs += supplied_files(workspace, OF_WORKSPACE, ENDING)
    except (AnyCoworkError, OSError):
        pass  # built-in workflows can be offered anyway
    seen: set[str] = set()
    for workflow in (*_read(own_files), *map(_names_alone, _read(theirs))):
        if workflow.name not in seen:
            seen.add(workflow.name)
            yield workflow


def _read(files: "Sequence[SuppliedFile]") -> "Iterator[Workflow]":
    from anycowork.workflows.definition import read_definition
    from anycowork.workflows.sections import BadDefinition

    for file in files:
        try:
            yield read_definition(Path(file.path).name, file.text or "")
        except BadDefinition:
            continue


def _names_alone(workflow: "Workflow") -> "Workflow":
    """Drops all texts of a workspace's workflows: they may be untrusted, and a shell reads what is offered to it. Names are letters."""
    from anycowork.domain.values import replace

    bare = tuple(replace(parameter, description="", choices=()) for parameter in workflow.parameters)
    return replace(workflow, description="", parameters=bare)
