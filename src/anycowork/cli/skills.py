"""`anycowork skills …`: lists, adds, checks, trusts and removes skills."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import quote, urlencode

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.content_hash import require_digits, shown_hash, whole_hash
from anycowork.cli.options import AsJson, DataDir, Invocation, WorkspaceOrHere, invoked
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.messages import Json
from anycowork.domain.skills import SKILL_FILE
from anycowork.workspace.skill_files import read_skill_folder

LIST_HELP = """List the skills of a folder, of the data folder and of plugins, what they declare, and what is wrong with them.

Examples:

\b
    anycowork skills list
    anycowork skills list --workspace ~/project --json
"""

ADD_HELP = """Copy a skill's folder into the data folder, for every workspace. Nobody trusts it yet.

Example:

\b
    anycowork skills add ~/downloads/pdf-forms
"""

CHECK_HELP = """Check skills, and say what is wrong with each. Needs no server.

Exit codes: 0 all are good, 1 at least one is not.

Example:

\b
    anycowork skills check .agents/skills/*
"""

TRUST_HELP = """Show a skill's files, or trust exactly what was shown. A change of any file asks again.

Examples:

\b
    anycowork skills trust pdf-forms
    anycowork skills trust pdf-forms --hash 3f1d0a9c77b28e5f4a06c1d2b39e7f58
"""

REMOVE_HELP = """Remove a skill from the data folder.

Example:

\b
    anycowork skills remove pdf-forms
"""

app = CommandGroup(help="List, add, check and remove skills.", no_args_is_help=True)
SkillName = Annotated[str, typer.Argument(help="Which skill.", metavar="NAME")]


@app.command("list", help=LIST_HELP, short_help="List the skills.")
def list_skills(
    context: typer.Context, workspace: WorkspaceOrHere = None, as_json: AsJson = False, data_dir: DataDir = None
) -> None:
    invocation = invoked(context, workspace=workspace, data_dir=data_dir)

    async def work(client: ServerClient) -> int:
        answer = await client.get(f"/skills?{urlencode({'workspace': await _folder(client, invocation)})}")
        skills = answer.get("skills")
        if as_json:
            stdout().json(json.dumps(answer, ensure_ascii=False))
        for skill in skills if isinstance(skills, list) and not as_json else []:
            for line in _lines(skill) if isinstance(skill, dict) else ():
                stdout().line(strip_controls(line))
        return EXIT_CODES[RunEnding.DONE]

    raise typer.Exit(run_with_server("skills list", invocation, work))


@app.command("add", help=ADD_HELP, short_help="Copy a skill into the data folder.")
def add_skill(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The skill's folder.", metavar="FOLDER")],
    data_dir: DataDir = None,
) -> None:
    invocation = invoked(context, data_dir=data_dir)

    async def work(client: ServerClient) -> int:
        skill = await client.post("/skills", {"path": str((invocation.cwd / folder.expanduser()).resolve())})
        for line in _lines(skill):
            stdout().line(strip_controls(line))
        return EXIT_CODES[RunEnding.DONE]

    raise typer.Exit(run_with_server("skills add", invocation, work, usage_statuses=(409, 422)))


@app.command("check", help=CHECK_HELP, short_help="Check skills.")
def check_skills(
    context: typer.Context,
    folders: Annotated[list[Path], typer.Argument(help="Which folders.", metavar="FOLDER")],
) -> None:
    cwd, faulty = invoked(context).cwd, False
    for folder in folders:
        skill = read_skill_folder(cwd / folder.expanduser())
        if skill is None:
            stderr().line(strip_controls(f"{folder}: there is no {SKILL_FILE} in it."))
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

    async def work(client: ServerClient) -> int:
        if sha256 is not None:
            require_digits(sha256, "--hash")
        folder = await _folder(client, invocation)
        path = f"/skills/{quote(name.removeprefix('/'), safe='')}"
        skill = await client.get(f"{path}?{urlencode({'workspace': folder})}")
        if sha256 is not None:
            hash_ = whole_hash(str(skill["sha256"]), sha256, str(skill["name"]))
            skill = await client.post(f"{path}/trust", {"hash": hash_, "workspace": folder})
        for line in (*_lines(skill), *(_contents(skill) if sha256 is None else ())):
            stdout().line(strip_controls(line))
        if sha256 is None and skill["trusted"] is not True:
            hash_ = shown_hash(str(skill["sha256"]))
            stderr().line(strip_controls(f"If you have read it: anycowork skills trust {name} --hash {hash_}"))
        return EXIT_CODES[RunEnding.DONE]

    raise typer.Exit(run_with_server("skills trust", invocation, work, usage_statuses=(404, 409, 422)))


@app.command("remove", help=REMOVE_HELP, short_help="Remove a skill from the data folder.")
def remove_skill(context: typer.Context, name: SkillName, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> int:
        await client.delete(f"/skills/{quote(name.removeprefix('/'), safe='')}")
        return EXIT_CODES[RunEnding.DONE]

    raise typer.Exit(run_with_server("skills remove", invoked(context, data_dir=data_dir), work, usage_statuses=(404,)))


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
    declared = skill.get("declared")
    for kind, needs in declared.items() if isinstance(declared, dict) else ():
        if isinstance(needs, list) and needs:
            yield f"{'':<22} {kind}: {', '.join(map(str, needs))}"
    problems = skill.get("problems")
    for problem in problems if isinstance(problems, list) else []:
        if isinstance(problem, dict):
            line = f":{problem['line']}" if problem.get("line") else ""
            yield f"{'':<22} {problem['path']}{line}: {problem['message']}"


def _contents(skill: Json) -> Iterator[str]:
    files = skill.get("files")
    for file in files if isinstance(files, list) else []:
        if isinstance(file, dict):
            yield ""
            yield f"--- {file['path']} ({file['bytes']} bytes)"
            yield (
                str(file["text"]) if file.get("text") is not None else "(not shown: it is a key file, or no short text)"
            )
