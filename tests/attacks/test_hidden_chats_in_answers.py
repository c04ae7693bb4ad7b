"""What a person is told who may not see a chat: whatever they ask the server for, its id, its title and its words are nowhere in the answers.

The requests are made from the server's own description, so a new route or a new choice of a query is asked as well.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any  # JSON schemas

from attacks.test_private_chats import Office, ids_of_everything, office
from support.live_server import TIMEOUT, Caller, Json, LiveChat
from support.people import PersonClient
from support.routes import choices, fitting
from support.scripted_model import call
from support.spec import proves
from support.triggers import send
from support.workflows import written

GREET = '+++\ndescription = "x"\n[[parameters]]\nname = "who"\n+++\n## Greet\n\nSay hello to {{who}}.\n'
REVIEW: Json = {"name": "Review", "template": "review-and-fix", "parameters": {"path": "src"}}
GREETING: Json = {"name": "Greeting", "workflow": "greet"}
SECRET_WORDS = frozenset({"Zanzibar", "Secret plans", "Nightly"})
_ENDLESS = frozenset({"/events", "/context/{chat_id}/events", "/context/{chat_id}/terminals/{terminal_id}/output"})


@proves("OPS-6/1", "OPS-6/2")
async def test_no_answer_to_any_question_tells_of_a_hidden_chat(tmp_path: Path) -> None:
    written(tmp_path, greet=GREET)
    write = call("create_file", path="plan.txt", content="x")
    async with office(tmp_path, replies=[write, "Zanzibar it is.", *["Hello."] * 4]) as place:
        secret, visible = await fill(place)
        document = await place.owner.ask("GET", "/openapi.json")
        answered, told, telling = 0, [], set()
        for path, address, query in questions(document, {**visible, "q": "Zanzibar"}):
            status, text = await answer(place.ben, address, query)
            answered += status == 200
            told += [(address, query, each) for each in secret if each in text]
            _, text = await answer(place.owner, address, query)
            telling |= {path for each in secret if each in text}
        assert not told, "\n".join(map(str, told))
        assert answered > 60
        expected = {"/context", "/jobs", "/search", "/usage", "/rules", "/workspaces"}
        expected |= {"/schedules", "/schedules/{schedule_id}", "/triggers", "/triggers/{trigger_id}"}
        assert telling >= expected, "the server's token sees what Ben does not"


async def fill(place: Office) -> tuple[set[str], dict[str, str]]:
    """Put something of every kind into chats of Ada. Return what tells of them, and ids of what everybody sees."""
    ada, hidden = place.ada, await ids_of_everything(place)
    await place.chat.send("Where is Zanzibar?")
    greeting = await ada.ask("POST", "/schedules", {**GREETING, "cron": "0 3 * * *", "parameters": {"who": "Ann"}})
    review = await ada.ask("POST", "/schedules", {**REVIEW, "cron": "0 3 * * *"})
    trigger = await ada.ask("POST", "/triggers", {**GREETING, "payload": {"who": "/name"}})
    await ada.ask("POST", f"/schedules/{greeting['id']}/run", expect=202)
    await ada.ask("POST", f"/schedules/{review['id']}/run", expect=202)
    assert (await send(place.owner, trigger, {"name": "Bob"}))[0] == 202
    starts = [
        await started(place.owner, path)
        for path in (f"/schedules/{greeting['id']}", f"/schedules/{review['id']}", f"/triggers/{trigger['id']}")
    ]
    secret = {*hidden.values(), *SECRET_WORDS}
    for chat_id in (place.chat.id, *(start["context_id"] for start in starts)):
        chat = LiveChat(place.owner, {"id": chat_id})
        for message in await chat.messages():
            secret |= {message[name] for name in ("id", "turn_id", "job_id") if message[name]}
    secret |= {start[name] for start in starts for name in ("context_id", "run_id", "job_id") if start[name]}
    open_to_all = await place.owner.chat(title="Open")
    await open_to_all.send("Hi")
    visible = {"chat_id": open_to_all.id, "context_id": open_to_all.id, "like": "t0", "trigger_id": trigger["id"]}
    return secret, {
        **visible,
        "schedule_id": review["id"],
        "person_id": ada.id,
        "workspace": str(place.owner.workspace),
    }


async def started(owner: Caller, path: str) -> Json:
    """Return the newest start, once it has a chat."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            [start] = (await owner.ask("GET", path))["starts"]
            if start["status"] == "started" and start["outcome"] != "running":
                return start
            await asyncio.sleep(0.02)


def questions(document: Json, given: dict[str, str]) -> Iterator[tuple[str, str, Json]]:
    """Yield the path, the address and the query of each GET of the description, once for each choice of each part of its query."""
    for path, methods in document["paths"].items():
        if "get" not in methods or path in _ENDLESS:
            continue
        parameters = methods["get"].get("parameters", [])
        address = path
        for each in parameters:
            if each["in"] == "path":
                address = address.replace(f"{{{each['name']}}}", given.get(each["name"], "x1"))
        in_query = [each for each in parameters if each["in"] == "query"]
        needed = {each["name"]: _fitting(document, each, given) for each in in_query if each.get("required")}
        yield path, address, needed
        yield (
            path,
            address,
            {**needed, **{each["name"]: given[each["name"]] for each in in_query if each["name"] in given}},
        )
        for each in in_query:
            options = [given[each["name"]]] if each["name"] in given else choices(document, each["schema"])
            for option in options:
                yield path, address, {**needed, each["name"]: option}


def _fitting(document: Json, parameter: Json, given: dict[str, str]) -> Any:
    return given.get(parameter["name"]) or fitting(document, parameter["schema"])


async def answer(client: PersonClient | Caller, address: str, query: Json) -> tuple[int, str]:
    async with client.session.get(client.url + address, params=query) as response:
        text = (await response.read()).decode(errors="replace")
        for asked in query.values():  # what was asked for may stand in what is answered
            text = text.replace(json.dumps(asked), "")
        return response.status, text
