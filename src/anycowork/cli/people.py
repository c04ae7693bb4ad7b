"""`anycowork people …`: lists, adds and removes the people of the server."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from anycowork.cli.command_groups import CommandGroup
from anycowork.cli.options import AsJson, DataDir, Invocation, invoked
from anycowork.cli.server_command import print_answer, run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json, json_object, json_objects
from anycowork.domain.people import PeopleChangeType, name_key

PEOPLE_HELP = """List, add and remove the people of the server.

Each person has a name, a token of their own and an access: admin (everything), member (works and approves) or viewer (reads).
Alone you need none of this.

Examples:

\b
    anycowork people
    anycowork people add Ada
    anycowork people add Bob --access viewer
    anycowork people access Bob member
    anycowork people groups Ada design
    anycowork people token Ada
    anycowork people remove Bob
    anycowork people log
"""

app = CommandGroup(help=PEOPLE_HELP, short_help="List, add and remove people.", invoke_without_command=True)
Name = Annotated[str, typer.Argument(help="Who; upper and lower case do not matter.", metavar="NAME")]
Level = Annotated[str, typer.Argument(help="What they may do: admin, member or viewer.", metavar="LEVEL")]


@app.callback()
def list_people(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    if context.invoked_subcommand is not None:
        return

    async def work(client: ServerClient) -> None:
        people = await _people(client)
        lines = (f"{person['access']!s:<8} {person['name']}" for person in people)
        print_answer({"people": [*people]}, lines, as_json=as_json)
        if len(people) == 1 and not as_json:
            stderr().line(_NOBODY)

    raise _run("people", invoked(context, data_dir=data_dir), work)


@app.command("add", help="Add a person and print their token, this once.")
def add_person(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Their name.", metavar="NAME")],
    access: Annotated[
        str, typer.Option("--access", help="What they may do: admin, member or viewer.", metavar="LEVEL")
    ] = "member",
    data_dir: DataDir = None,
) -> None:
    async def work(client: ServerClient) -> None:
        _show_token(await client.post("/people", {"name": name, "access": access}))

    raise _run("people add", invoked(context, data_dir=data_dir), work)


@app.command("access", help="Change what a person may do, at once.")
def change_access(context: typer.Context, name: Name, level: Level, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        changed = await client.patch(f"/people/{await _id_of(client, name)}", {"access": level})
        stdout().line(strip_controls(f"{changed['name']} is {_with_article(changed['access'])} now."))

    raise _run("people access", invoked(context, data_dir=data_dir), work)


@app.command("groups", help="Replace the groups of a person; without GROUP, none.")
def change_groups(
    context: typer.Context,
    name: Name,
    groups: Annotated[list[str] | None, typer.Argument(help="The groups.", metavar="GROUP...")] = None,
    data_dir: DataDir = None,
) -> None:
    async def work(client: ServerClient) -> None:
        changed = await client.patch(f"/people/{await _id_of(client, name)}", {"groups": [*(groups or ())]})
        stdout().line(strip_controls(f"{changed['name']} is in {_listed(changed['groups'])}."))

    raise _run("people groups", invoked(context, data_dir=data_dir), work)


@app.command("token", help="Print a new token for a person, this once. The old one ends, and so do their browsers.")
def new_token(context: typer.Context, name: Name, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        _show_token(await client.post(f"/people/{await _id_of(client, name)}/token"))

    raise _run("people token", invoked(context, data_dir=data_dir), work)


@app.command("remove", help="Remove a person. Their token, browsers and streams end at once; records keep their name.")
def remove_person(context: typer.Context, name: Name, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        await client.delete(f"/people/{await _id_of(client, name)}")
        stdout().line(strip_controls(f"{name} was removed."))

    raise _run("people remove", invoked(context, data_dir=data_dir), work)


@app.command(
    "log", help="Show who added, changed or removed whom, newest first. 'anycowork audit verify' checks this log."
)
def list_changes(context: typer.Context, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    async def work(client: ServerClient) -> None:
        changes = await _changes(client)
        lines = (f"{change['at']} {_sentence(change)}" for change in changes)
        print_answer({"changes": [*changes]}, lines, as_json=as_json)
        if not changes and not as_json:
            stderr().line("Nobody was added yet.")

    raise _run("people log", invoked(context, data_dir=data_dir), work)


_NOBODY = "Only you, the owner. Add someone with 'anycowork people add NAME'."
_ONCE = "This token is shown only now. It signs in on the page; programs send it as a bearer token."


def _run(command: str, invocation: Invocation, work: Callable[[ServerClient], Awaitable[None]]) -> typer.Exit:
    return run_with_server(command, invocation, work, usage_statuses=(404, 409, 422))


def _show_token(person: Json) -> None:
    """The token alone goes to the standard output, so that a script can read it."""
    stderr().line(strip_controls(f"{person['name']} is {_with_article(person['access'])}. {_ONCE}"))
    stdout().line(str(person["token"]))


async def _people(client: ServerClient) -> list[Json]:
    return json_objects((await client.get("/people")).get("people"))


async def _changes(client: ServerClient) -> list[Json]:
    all_changes: list[Json] = []
    page = await client.get("/people/changes?limit=500")
    while True:
        all_changes += json_objects(page.get("changes"))
        if page.get("next") is None:
            return all_changes
        page = await client.get(f"/people/changes?limit=500&before={page['next']}")


def _sentence(change: Json) -> str:
    person, before = json_object(change["person"]), json_object(change["before"])
    name, old = person["name"], before.get("name")
    match change["type"]:
        case PeopleChangeType.ADDED:
            action = f"added {name} as {_with_article(person['access'])}"
        case PeopleChangeType.TOKEN_RENEWED:
            action = f"made a new token for {name}"
        case PeopleChangeType.REMOVED:
            action = f"removed {name}"
        case _:
            renamed = f"renamed {old} to {name}" if old != name else ""
            changed = f"made {name} {_with_article(person['access'])} (was {_with_article(before.get('access'))})"
            grouped = f"put {name} into {_listed(person['groups'])}"
            parts = (
                renamed,
                changed if person["access"] != before.get("access") else "",
                grouped if person["groups"] != before.get("groups") else "",
            )
            action = " and ".join(part for part in parts if part)
    return f"{change['by'] or 'The owner'} {action}"


def _listed(groups: object) -> str:
    names = [str(group) for group in groups] if isinstance(groups, list) else []
    return f"the groups {', '.join(names)}" if names else "no group"


async def _id_of(client: ServerClient, name: str) -> str:
    """Raises: Invalid."""
    for person in await _people(client):
        if person["id"] == name or name_key(str(person["name"])) == name_key(name):
            return str(person["id"])
    raise Invalid(f"There is nobody called '{name}' here. 'anycowork people' lists who is.")


def _with_article(access: object) -> str:
    return ("an " if access == "admin" else "a ") + str(access)
