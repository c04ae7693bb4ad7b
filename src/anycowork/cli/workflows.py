"""`anycowork workflow`: lists, shows and creates workflows. Running one is `run` with the text that a chat accepts."""

import asyncio
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.client.connect import ServerAddress, with_server
from anycowork.client.console import Console, stderr, stdout, strip_controls
from anycowork.client.http import ServerClient, ServerRefused
from anycowork.config.loading import load_settings
from anycowork.config.settings import BadSettings, Settings
from anycowork.domain.errors import AnyCoworkError, BadWorkspace, FileExists, Invalid, StorageFault
from anycowork.domain.messages import Json
from anycowork.workflows.definition import read_definition
from anycowork.workflows.sections import BadDefinition
from anycowork.workflows.workflow_service import built_in_files


def typed_workflow(name: str, parameters: Sequence[str]) -> str:
    """Returns the text that runs this workflow in a chat."""
    return " ".join([f"/{name.removeprefix('/')}", *map(shlex.quote, parameters)])


# --- list and show


def list_workflows(flags: Mapping[str, object], environ: Mapping[str, str], *, cwd: Path, as_json: bool) -> int:
    """Prints them; returns the exit code."""
    found = _found("list", "/workflows", flags, environ, cwd)
    if isinstance(found, int):
        return found
    if as_json:
        stdout().json(json.dumps(found, ensure_ascii=False))
    else:
        _print_workflows(found, stdout(), stderr())
    return EXIT_CODES[RunEnding.DONE]


def show_workflow(
    flags: Mapping[str, object], environ: Mapping[str, str], name: str, *, cwd: Path, as_json: bool
) -> int:
    """Prints one workflow and its parameters; returns the exit code."""
    path = f"/workflows/{quote(name.removeprefix('/'), safe='')}"
    found = _found("show", path, flags, environ, cwd)
    if isinstance(found, int):
        return found
    if as_json:
        stdout().json(json.dumps(found, ensure_ascii=False))
    else:
        for line in _page(found):
            stdout().line(strip_controls(line))
    return EXIT_CODES[RunEnding.DONE]


def _found(word: str, path: str, flags: Mapping[str, object], environ: Mapping[str, str], cwd: Path) -> Json | int:
    """Returns the server's answer; or the exit code after printing an error."""
    try:
        settings = load_settings(flags, environ, cwd=cwd)
        return asyncio.run(_fetch(path, settings, cwd))
    except AnyCoworkError as error:
        stderr().line(f"anycowork workflow {word}: {error.message}")
        mistyped = isinstance(error, BadSettings | Invalid) or (
            isinstance(error, ServerRefused) and error.status == 404
        )
        return EXIT_CODES[RunEnding.USAGE if mistyped else RunEnding.FAILED]


async def _fetch(path: str, settings: Settings, cwd: Path) -> Json:
    async def work(address: ServerAddress) -> Json:
        async with ServerClient(address.url, address.token) as client:
            folder = settings.workspace or cwd
            try:
                return await client.get(f"{path}?{urlencode({'workspace': str(folder)})}")
            except ServerRefused as error:
                if error.specific != BadWorkspace.code:
                    raise
                if settings.workspace is not None:
                    raise BadWorkspace(error.message) from None
                return await client.get(path)  # there is no workspace here: use the server's own folder

    return await with_server(settings, work)


def _print_workflows(found: Json, out: Console, aside: Console) -> None:
    category = None
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
        aside.line(strip_controls(f"left out: {fault['path']}{line}: {fault['reason']}"))


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


def new_workflow(flags: Mapping[str, object], environ: Mapping[str, str], name: str, *, cwd: Path) -> int:
    """Writes the file and prints where it is; returns the exit code."""
    try:
        settings = load_settings(flags, environ, cwd=cwd)
        path = _write_new(settings.data_dir / "workflows", name)
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
