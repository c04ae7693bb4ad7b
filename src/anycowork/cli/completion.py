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
    return [(one.name, one.description) for one in _workflows(context) if one.name.startswith(incomplete)]


def workflow_parameters(context: typer.Context, incomplete: str) -> Offered:
    """Offers `key=` for missing parameters, then the values of one that has choices."""
    chosen = next((one for one in _workflows(context) if one.name == context.params.get("name")), None)
    if chosen is None:
        return []
    given = [str(word) for word in context.params.get("parameters") or ()]
    by_name = {parameter.name: parameter for parameter in chosen.parameters}
    if given[-1:] == ["="] and len(given) > 1 and given[-2] in by_name:  # bash treats '=' as a separate word
        return [(value, "") for value in _values(by_name[given[-2]]) if value.startswith(incomplete)]
    key, named, begun = incomplete.partition("=")
    if named:
        values = _values(by_name[key]) if key in by_name else []
        return [(f"{key}={value}", "") for value in values if value.startswith(begun)]
    taken = {word.partition("=")[0] for word in given}
    return [
        (f"{name}=", parameter.description)
        for name, parameter in by_name.items()
        if name not in taken and name.startswith(incomplete)
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
    from anycowork.server.trusted_files import ENDING, OF_WORKSPACE, WORKFLOWS
    from anycowork.workflows.workflow_service import built_in_files
    from anycowork.workspace.supplied_files import supplied_files

    own, theirs = list(built_in_files()), []
    try:
        settings = load_settings({"data_dir": context.params.get("data_dir")}, os.environ, cwd=Path.cwd())
        here = str(context.params.get("workspace") or settings.workspace or Path.cwd())
        own += supplied_files(str(settings.data_dir), WORKFLOWS, ENDING)
        theirs += supplied_files(here, OF_WORKSPACE, ENDING)
    except (AnyCoworkError, OSError):
        pass  # built-in workflows can be offered anyway
    seen: set[str] = set()
    for found in (*_read(own), *map(_names_alone, _read(theirs))):
        if found.name not in seen:
            seen.add(found.name)
            yield found


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

    bare = tuple(replace(one, description="", choices=()) for one in workflow.parameters)
    return replace(workflow, description="", parameters=bare)
