"""`anycowork people`: lists, adds, changes and removes the people of the server."""

import json
from collections.abc import Awaitable, Callable

from anycowork.cli.options import Invocation
from anycowork.cli.run_outcome import EXIT_CODES, RunEnding
from anycowork.cli.server_command import run_with_server
from anycowork.client.console import stderr, stdout, strip_controls
from anycowork.client.http import ServerClient
from anycowork.domain.errors import Invalid
from anycowork.domain.messages import Json
from anycowork.domain.people import name_key
from anycowork.domain.people_changes import PeopleChangeType

_NOBODY = "Only you, the owner. Add someone with 'anycowork people add NAME'."
_ONCE = "This token is shown only now. It signs in on the page; programs send it as a bearer token."


def list_people(invocation: Invocation, *, as_json: bool) -> int:
    """Prints the people and their access; returns the exit code."""

    async def work(client: ServerClient) -> None:
        people = await _people(client)
        if as_json:
            stdout().json(json.dumps({"people": people}, ensure_ascii=False))
            return
        for one in people:
            stdout().line(strip_controls(f"{one['access']!s:<8} {one['name']}"))
        if len(people) == 1:
            stderr().line(_NOBODY)

    return _run("", invocation, work)


def list_changes(invocation: Invocation, *, as_json: bool) -> int:
    """Prints who changed what about whom, newest first; returns the exit code."""

    async def work(client: ServerClient) -> None:
        changes = await _changes(client)
        if as_json:
            stdout().json(json.dumps({"changes": changes}, ensure_ascii=False))
            return
        for one in changes:
            stdout().line(strip_controls(f"{one['at']} {_sentence(one)}"))
        if not changes:
            stderr().line("Nobody was added yet.")

    return _run("log", invocation, work)


def add_person(invocation: Invocation, name: str, access: str) -> int:
    """Prints the token of the new person; returns the exit code."""

    async def work(client: ServerClient) -> None:
        _show_token(await client.post("/people", {"name": name, "access": access}))

    return _run("add", invocation, work)


def change_access(invocation: Invocation, name: str, level: str) -> int:
    async def work(client: ServerClient) -> None:
        changed = await client.patch(f"/people/{await _id_of(client, name)}", {"access": level})
        stdout().line(strip_controls(f"{changed['name']} is {_with_article(changed['access'])} now."))

    return _run("access", invocation, work)


def new_token(invocation: Invocation, name: str) -> int:
    """Prints the new token; returns the exit code."""

    async def work(client: ServerClient) -> None:
        _show_token(await client.post(f"/people/{await _id_of(client, name)}/token"))

    return _run("token", invocation, work)


def remove_person(invocation: Invocation, name: str) -> int:
    async def work(client: ServerClient) -> None:
        await client.delete(f"/people/{await _id_of(client, name)}")
        stdout().line(strip_controls(f"{name} was removed."))

    return _run("remove", invocation, work)


def _run(word: str, invocation: Invocation, work: Callable[[ServerClient], Awaitable[None]]) -> int:
    async def done(client: ServerClient) -> int:
        await work(client)
        return EXIT_CODES[RunEnding.DONE]

    return run_with_server(f"people {word}".strip(), invocation, done, usage_statuses=(404, 409, 422))


def _show_token(person: Json) -> None:
    """The token alone goes to the standard output, so that a script can read it."""
    stderr().line(strip_controls(f"{person['name']} is {_with_article(person['access'])}. {_ONCE}"))
    stdout().line(str(person["token"]))


async def _people(client: ServerClient) -> list[Json]:
    found = (await client.get("/people")).get("people")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


async def _changes(client: ServerClient) -> list[Json]:
    found: list[Json] = []
    page = await client.get("/people/changes?limit=500")
    while True:
        changes = page.get("changes")
        found += [one for one in changes if isinstance(one, dict)] if isinstance(changes, list) else []
        if page.get("next") is None:
            return found
        page = await client.get(f"/people/changes?limit=500&before={page['next']}")


def _sentence(change: Json) -> str:
    person, before = _object(change["person"]), _object(change["before"])
    name, old = person["name"], before.get("name")
    match change["type"]:
        case PeopleChangeType.ADDED:
            what = f"added {name} as {_with_article(person['access'])}"
        case PeopleChangeType.TOKEN_RENEWED:
            what = f"made a new token for {name}"
        case PeopleChangeType.REMOVED:
            what = f"removed {name}"
        case _:
            renamed = f"renamed {old} to {name}" if old != name else ""
            changed = f"made {name} {_with_article(person['access'])} (was {_with_article(before.get('access'))})"
            what = " and ".join(
                part for part in (renamed, changed if person["access"] != before.get("access") else "") if part
            )
    return f"{change['by'] or 'The owner'} {what}"


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


async def _id_of(client: ServerClient, name: str) -> str:
    """Raises: Invalid."""
    for one in await _people(client):
        if one["id"] == name or name_key(str(one["name"])) == name_key(name):
            return str(one["id"])
    raise Invalid(f"There is nobody called '{name}' here. 'anycowork people' lists who is.")


def _with_article(access: object) -> str:
    return ("an " if access == "admin" else "a ") + str(access)
