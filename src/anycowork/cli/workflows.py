"""`anycowork workflow`: lists, shows and creates workflows. Running one is `run` with the text that a chat accepts."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient, ServerRefused
from anycowork.domain.errors import AnyCoworkError, BadWorkspace, FileExists, Invalid, StorageFault
from anycowork.domain.messages import Json
from anycowork.workflows.definition import read_definition
from anycowork.workflows.sections import BadDefinition
from anycowork.workflows.workflow_service import built_in_files


def typed_workflow(name: str, parameters: Sequence[str]) -> str:
    """Returns the text that runs this workflow in a chat."""
    return " ".join([f"/{name.removeprefix('/')}", *map(shlex.quote, parameters)])


# --- list and show


def list_workflows(invocation: Invocation, *, as_json: bool) -> int:
    """Prints them; returns the exit code."""
    return _show("list", "/workflows", invocation, _print_workflows, as_json=as_json)


def show_workflow(invocation: Invocation, name: str, *, as_json: bool) -> int:
    """Prints one workflow and its parameters; returns the exit code."""
    path = f"/workflows/{quote(name.removeprefix('/'), safe='')}"
    return _show("show", path, invocation, _print_workflow, as_json=as_json)


def _show(word: str, path: str, invocation: Invocation, show: Callable[[Json], None], *, as_json: bool) -> int:
    async def work(client: ServerClient) -> int:
        found = await _fetch(path, client, invocation)
        if as_json:
            stdout().json(json.dumps(found, ensure_ascii=False))
        else:
            show(found)
        return EXIT_CODES[RunEnding.DONE]

    return run_with_server(f"workflow {word}", invocation, work, usage_statuses=(404,))


async def _fetch(path: str, client: ServerClient, invocation: Invocation) -> Json:
    workspace = invocation.settings().workspace
    try:
        return await client.get(f"{path}?{urlencode({'workspace': str(workspace or invocation.cwd)})}")
    except ServerRefused as error:
        if error.specific != BadWorkspace.code:
            raise
        if workspace is not None:
            raise BadWorkspace(error.message) from None
        return await client.get(path)  # there is no workspace here: use the server's own folder


def _print_workflows(found: Json) -> None:
    out, category = stdout(), None
    for one in _objects(found.get("workflows")):
        if one["category"] != category:
            category = one["category"]
            out.line(out.paint(strip_controls(str(category)), "bold"))
        out.line(strip_controls(f"  {one['name']!s:<22} {one['description']}"))
        out.line(out.paint(strip_controls(f"  {'':<22} {one['usage']}"), "dim"))
        if one["trusted"] is not True:
            out.line(
                out.paint(strip_controls(f"  {'':<22} not trusted yet, so it cannot be run: {one['path']}"), "yellow")
            )
    for fault in _objects(found.get("faults")):
        line = f":{fault['line']}" if fault.get("line") else ""
        stderr().line(strip_controls(f"left out: {fault['path']}{line}: {fault['reason']}"))


def _print_workflow(found: Json) -> None:
    for line in _page(found):
        stdout().line(strip_controls(line))


def _page(one: Json) -> Iterator[str]:
    yield f"{one['name']}: {one['description']}"
    yield f"  {one['usage']}"
    for parameter in _objects(one.get("parameters")):
        yield f"  {parameter['name']!s:<14} {_about(parameter)}"
    if one.get("about"):
        yield ""
        yield str(one["about"])
    yield ""
    yield from (f"  {number}. {step['title']}" for number, step in enumerate(_objects(one.get("steps")), 1))
    needs = one.get("needs")
    yield f"Needs: {', '.join(map(str, needs)) if isinstance(needs, list) and needs else 'nothing'}. From: {one['path']}"
    if one["trusted"] is not True:
        yield "Not trusted yet, so it cannot be run."


def _about(parameter: Json) -> str:
    choices = parameter.get("choices")
    kind = "|".join(map(str, choices)) if isinstance(choices, list) else str(parameter["type"])
    default = parameter.get("default")
    need = "required" if parameter["required"] else "optional" if default is None else f"default: {default}"
    return f"{kind} ({need}) {parameter['description']}".rstrip()


def _objects(value: JsonValue) -> list[Json]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# --- new


def new_workflow(invocation: Invocation, name: str) -> int:
    """Writes the file and prints where it is; returns the exit code."""
    try:
        path = _write_new(invocation.settings().data_dir / "workflows", name)
    except AnyCoworkError as error:
        stderr().line(f"anycowork workflow new: {error.message}")
        return EXIT_CODES[RunEnding.FAILED if isinstance(error, StorageFault) else RunEnding.USAGE]
    stdout().line(str(path))
    stderr().line(f"Edit it, then type /{name} in a chat, or: anycowork workflow run {name} path=…")
    return EXIT_CODES[RunEnding.DONE]


def _write_new(folder: Path, name: str) -> Path:
    template = files("anycowork.workflows").joinpath("template.md").read_text("utf-8")
    try:
        read_definition(f"{name}.md", template)
    except BadDefinition as fault:
        raise Invalid(f"{fault.reason}.") from None
    if f"builtin/{name}.md" in {file.path for file in built_in_files()}:
        raise Invalid(f"'{name}' is built in and cannot be replaced; choose another name.")
    path = folder / f"{name}.md"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(template)
    except FileExistsError:
        raise FileExists(f"{path} exists already and is not overwritten.") from None
    except OSError as error:
        raise StorageFault(f"{path} cannot be written ({error.strerror}).") from error
    return path
