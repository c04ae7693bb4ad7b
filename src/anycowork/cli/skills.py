"""`anycowork skills …`: lists, adds, checks, trusts and removes skills and plugins."""

import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlencode

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import (
    AsJson,
    DataDir,
    Invocation,
    WorkspaceOrHere,
    invoked,
    require_digits,
    shown_hash,
    whole_hash,
)
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import print_answer, run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.errors import AnyCoworkError
from anycowork.domain.messages import Json, json_objects
from anycowork.domain.skills import SKILL_FILE
from anycowork.workspace.plugin_store import PluginStore, TrustRecords
from anycowork.workspace.skill_files import read_skill_folder

LIST_HELP = """List the skills of a folder, of the data folder and of plugins, what they declare, and what is wrong with them.

Examples:

\b
    anycowork skills list
    anycowork skills list --workspace ~/project --json
"""

ADD_HELP = """Copy a skill, a plugin or the plugins of a marketplace into the data folder, for every workspace. Nobody trusts them yet.

Examples:

\b
    anycowork skills add ~/downloads/pdf-forms
    anycowork skills add ~/downloads/some-plugin
    anycowork skills add ~/downloads/marketplace one-plugin another-plugin
"""

CHECK_HELP = """Check skills and plugins, and say what is wrong with each. Needs no server.

Exit codes: 0 all are good, 1 at least one is not.

Example:

\b
    anycowork skills check .agents/skills/* ~/downloads/some-plugin
"""

TRUST_HELP = """Show a skill's files, or trust exactly what was shown. A change of any file asks again. For a plugin's hooks, name the plugin.

Examples:

\b
    anycowork skills trust pdf-forms
    anycowork skills trust pdf-forms --hash 3f1d0a9c77b28e5f4a06c1d2b39e7f58
    anycowork skills trust some-plugin:review
    anycowork skills trust some-plugin
"""

REMOVE_HELP = """Remove a skill from the data folder, or a plugin with all that it brought.

Examples:

\b
    anycowork skills remove pdf-forms
    anycowork skills remove some-plugin
"""

app = CommandGroup(help="List, add, check and remove skills.", no_args_is_help=True)
SkillName = Annotated[str, typer.Argument(help="Which skill.", metavar="NAME")]


@app.command("list", help=LIST_HELP, short_help="List the skills.")
def list_skills(
    context: typer.Context, workspace: WorkspaceOrHere = None, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    invocation = invoked(context, workspace=workspace, data_dir=data_dir)

    async def work(client: ServerClient) -> None:
        answer = await client.get(f"/skills?{urlencode({'workspace': await _folder(client, invocation)})}")
        answer |= await client.get("/plugins")
        lines = chain(
            chain.from_iterable(map(_lines, json_objects(answer.get("skills")))),
            chain.from_iterable(map(_plugin_lines, json_objects(answer.get("plugins")))),
        )
        print_answer(answer, lines, as_json=as_json)

    raise run_with_server("skills list", invocation, work)


@app.command("add", help=ADD_HELP, short_help="Copy a skill or plugin into the data folder.")
def add_skill(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The folder of the skill, plugin or marketplace.", metavar="FOLDER")],
    plugins: Annotated[
        list[str] | None, typer.Argument(help="Which plugins of a marketplace.", metavar="[PLUGIN]...")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    invocation = invoked(context, data_dir=data_dir)

    async def work(client: ServerClient) -> None:
        path = str((invocation.cwd / folder.expanduser()).resolve())
        added = await client.post("/skills", {"path": path, **({"plugins": [*plugins]} if plugins else {})})
        if "sha256" in added:
            _print(_lines(added))
        for plugin in json_objects(added.get("plugins")):
            _print(_plugin_lines(plugin))
        for problem in json_objects(added.get("problems")) if "plugins" in added else ():
            stderr().line(strip_controls(f"not imported: {problem['what']}: {problem['reason']}"))

    raise run_with_server("skills add", invocation, work, usage_statuses=(409, 422))


@app.command("check", help=CHECK_HELP, short_help="Check skills and plugins.")
def check_skills(
    context: typer.Context,
    folders: Annotated[list[Path], typer.Argument(help="Which folders.", metavar="FOLDER")],
) -> None:
    cwd, faulty = invoked(context).cwd, False
    for folder in folders:
        skill = read_skill_folder(cwd / folder.expanduser())
        if not (cwd / folder.expanduser() / SKILL_FILE).exists():
            faulty = not _check_plugin(folder, cwd) or faulty
            continue
        for problem in skill.problems if skill else ():
            line = f":{problem.line}" if problem.line else ""
            stderr().line(strip_controls(f"{folder}/{problem.path}{line}: {problem.message}"))
        if skill is not None and not skill.problems:
            stdout().line(strip_controls(f"{folder}: ok"))
        faulty = faulty or skill is None or bool(skill.problems)
    raise typer.Exit(EXIT_CODES[RunEnding.FAILED if faulty else RunEnding.DONE])


@app.command("trust", help=TRUST_HELP, short_help="Show a skill's files, and trust them.")
def trust_skill(
    context: typer.Context,
    name: SkillName,
    sha256: Annotated[str | None, typer.Option("--hash", help="Of what you have read.", metavar="HASH")] = None,
    workspace: WorkspaceOrHere = None,
    data_dir: DataDir = None,
) -> None:
    invocation = invoked(context, workspace=workspace, data_dir=data_dir)

    async def work(client: ServerClient) -> None:
        if sha256 is not None:
            require_digits(sha256, "--hash")
        folder = await _folder(client, invocation)
        path = f"/skills/{quote(name.removeprefix('/'), safe='')}"
        if await _is_plugin(client, name):
            await _trust_hooks(client, name, sha256)
            return
        skill = await client.get(f"{path}?{urlencode({'workspace': folder})}")
        if sha256 is not None:
            hash_ = whole_hash(str(skill["sha256"]), sha256, str(skill["name"]))
            skill = await client.post(f"{path}/trust", {"hash": hash_, "workspace": folder})
        _print((*_lines(skill), *(_contents(skill) if sha256 is None else ())))
        if sha256 is None and skill["trusted"] is not True:
            hash_ = shown_hash(str(skill["sha256"]))
            stderr().line(strip_controls(f"If you have read it: anycowork skills trust {name} --hash {hash_}"))

    raise run_with_server("skills trust", invocation, work, usage_statuses=(404, 409, 422))


@app.command("remove", help=REMOVE_HELP, short_help="Remove a skill or plugin from the data folder.")
def remove_skill(context: typer.Context, name: SkillName, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        await client.delete(f"/skills/{quote(name.removeprefix('/'), safe='')}")

    raise run_with_server("skills remove", invoked(context, data_dir=data_dir), work)


def _check_plugin(folder: Path, cwd: Path) -> bool:
    """Imports it into a folder that is thrown away; tells what would be left out, and whether all of it can be imported."""
    with tempfile.TemporaryDirectory() as temporary:
        store = PluginStore(Path(temporary), TrustRecords(Path(temporary)))
        try:
            read = store.add(cwd / folder.expanduser(), (), ())
        except AnyCoworkError as error:
            stderr().line(strip_controls(f"{folder}: {error.message}"))
            return False
    parts = [(f"{plugin.record.name}: ", part) for plugin in read.plugins for part in plugin.record.not_imported]
    for name, part in [*parts, *(("", problem) for problem in read.problems)]:
        stderr().line(strip_controls(f"{folder}: {name}{part.what}: {part.reason}"))
    for plugin in read.plugins:
        stdout().line(strip_controls(f"{folder}: {plugin.record.name}: {', '.join(plugin.skills) or 'no skills'}"))
    return not parts and not read.problems


async def _is_plugin(client: ServerClient, name: str) -> bool:
    return any(plugin["name"] == name for plugin in json_objects((await client.get("/plugins")).get("plugins")))


async def _trust_hooks(client: ServerClient, name: str, sha256: str | None) -> None:
    path = f"/plugins/{quote(name, safe='')}"
    plugin = await client.get(path)
    hooks = plugin.get("hooks")
    if not isinstance(hooks, dict):
        _print(
            [*_plugin_lines(plugin), "It has no hooks. Trust each of its skills: anycowork skills trust PLUGIN:SKILL"]
        )
        return
    if sha256 is not None:
        plugin = await client.post(f"{path}/trust", {"hash": whole_hash(str(hooks["sha256"]), sha256, name)})
    _print((*_plugin_lines(plugin), *(_contents(plugin) if sha256 is None else ())))
    if sha256 is None and hooks["trusted"] is not True:
        hint = f"anycowork skills trust {name} --hash {shown_hash(str(hooks['sha256']))}"
        stderr().line(strip_controls(f"Its hooks may use all these files. If you have read them: {hint}"))


async def _folder(client: ServerClient, invocation: Invocation) -> str:
    """Registers the folder, as naming one does. Raises: ServerRefused."""
    folder = str(invocation.settings().workspace or invocation.cwd)
    await client.post("/workspaces", {"root": folder})
    return folder


def _lines(skill: Json) -> Iterator[str]:
    state = (
        "trusted" if skill["trusted"] is True else "changed since it was trusted" if skill["changed"] else "not trusted"
    )
    yield f"{skill['name']!s:<22} {skill['description']}"
    yield f"{'':<22} {skill['source']}: {skill['path']}; {state}"
    yield from _needs(skill)


def _needs(skill: Json) -> Iterator[str]:
    declared = skill.get("declared")
    for kind, needs in declared.items() if isinstance(declared, dict) else ():
        if isinstance(needs, list) and needs:
            yield f"{'':<22} {kind}: {', '.join(map(str, needs))}"
    for problem in json_objects(skill.get("problems")):
        line = f":{problem['line']}" if problem.get("line") else ""
        yield f"{'':<22} {problem['path']}{line}: {problem['message']}"


def _plugin_lines(plugin: Json) -> Iterator[str]:
    hooks, skills = plugin.get("hooks"), plugin.get("skills")
    yield f"{plugin['name']!s:<22} plugin {plugin['version']}: {plugin['description']}"
    yield f"{'':<22} from {plugin['source']}"
    yield f"{'':<22} skills: {', '.join(map(str, skills)) if isinstance(skills, list) and skills else 'none'}"
    if isinstance(hooks, dict):
        state = (
            "trusted" if hooks["trusted"] else "changed since they were trusted" if hooks["changed"] else "not trusted"
        )
        yield f"{'':<22} hooks: {state}"
    for kind in ("agents", "mcp_servers"):
        for part in json_objects(plugin.get(kind)):
            yield f"{'':<22} {kind}: {part['name']}: {part['about']}"
    for part in json_objects(plugin.get("not_imported")):
        yield f"{'':<22} not imported: {part['what']}: {part['reason']}"


def _contents(skill: Json) -> Iterator[str]:
    for file in json_objects(skill.get("files")):
        yield ""
        yield f"--- {file['path']} ({file['bytes']} bytes)"
        yield str(file["text"]) if file.get("text") is not None else "(not shown: it is a key file, or no short text)"


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        stdout().line(strip_controls(line))
