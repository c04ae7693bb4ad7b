"""Attempts of people to see, or to learn of, chats and workspaces that are private or shared with a group that they are not in."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from anycowork.domain.evidence import Receipt
from anycowork.domain.journal import Change
from support.jobs import approved, plan, report, until, writing
from support.live_server import TIMEOUT, LiveChat, LiveServer, live_server
from support.people import PersonClient, person
from support.routes import RouteRequest, requests_naming
from support.scripted_model import call
from support.spec import proves

_STREAMS = ("/events", "/terminals/")


class Office(NamedTuple):
    """Ada has a chat; Cleo is in her group, and Ben is not. All three are admins, so that nothing but visibility is in the way."""

    owner: LiveServer
    ada: PersonClient
    ben: PersonClient
    cleo: PersonClient
    chat: LiveChat


@asynccontextmanager
async def office(tmp_path: Path, visibility: str | None = None, **given: object) -> AsyncIterator[Office]:
    async with (
        live_server(tmp_path, files={"a.txt": "a\n"}, **given) as owner,
        person(owner, "Ada", "admin", ("design",)) as ada,
        person(owner, "Ben", "admin", ("sales",)) as ben,
        person(owner, "Cleo", "admin", ("design",)) as cleo,
    ):
        chat = await ada.chat(title="Secret plans", **({"visibility": visibility} if visibility else {}))
        yield Office(owner, ada, ben, cleo, chat)


async def ids_of_everything(place: Office) -> dict[str, str]:
    """Return the ids of what is in Ada's chat, each under the name that it has in routes."""
    chat, ada = place.chat, place.ada
    job = await ada.ask("POST", f"{chat.path}/jobs", {"plan": plan(writing("t0"))}, expect=202)
    receipt = Receipt(f"r{chat.id}"[:32], {"command": "true"})
    await place.owner.server.database.journal.write(Change(chat.id, (receipt,)))
    start = {"name": "Nightly", "workflow": "summarize_chat", "parameters": {}, "context_id": chat.id}
    schedule = await ada.ask("POST", "/schedules", {**start, "cron": "0 3 * * *"}, expect=201)
    trigger = await ada.ask("POST", "/triggers", start, expect=201)
    rule = {"tool": "read_file", "resource": "a.txt", "effect": "allow", "scope": "session", "context_id": chat.id}
    folder = place.owner.workspace.parent / "team"
    folder.mkdir()
    root = {"root": str(folder), "visibility": chat.opened["visibility"]}
    return {
        "workspace_id": (await ada.ask("POST", "/workspaces", root, expect=201))["id"],
        "chat_id": chat.id,
        "context_id": chat.id,
        "job_id": job["id"],
        "receipt_id": receipt.id,
        "schedule_id": schedule["id"],
        "trigger_id": trigger["id"],
        "rule_id": (await ada.ask("POST", "/rules", rule, expect=201))["id"],
    }


def unknown_ids(ids: dict[str, str]) -> dict[str, str]:
    """Return ids that nothing has. The two names of a chat name the same one."""
    return {name: f"{list(ids.values()).index(named)}" * len(named) for name, named in ids.items()}


async def answer(client: PersonClient | LiveServer, request: RouteRequest, ids: dict[str, str]) -> tuple[int, str]:
    """Return the status and the body, with the ids that were asked for written as their names."""
    method, path, query, body = request.with_ids(ids)
    async with client.session.request(method, client.url + path, params=query, json=body) as response:
        text = "" if response.status == 200 and any(each in path for each in _STREAMS) else await response.text()
        for name, named in ids.items():
            text = text.replace(named, f"<{name}>")
        return response.status, text


@proves("OPS-6/1", "OPS-6/2")
@pytest.mark.parametrize("visibility", ["private", "group:design"])
async def test_every_route_answers_about_a_hidden_chat_as_about_none(tmp_path: Path, visibility: str) -> None:
    async with office(tmp_path, visibility) as place:
        ids = await ids_of_everything(place)
        document = await place.owner.ask("GET", "/openapi.json")
        requests = [*requests_naming(document, frozenset(ids))]
        assert len(requests) > 90
        wrong = []
        for request in requests:
            hidden = await answer(place.ben, request, ids)
            unknown = await answer(place.ben, request, unknown_ids(ids))
            if hidden != unknown:
                wrong.append((request, hidden, unknown))
        assert not wrong, "\n".join(map(str, wrong))


@proves("OPS-6/1", "OPS-6/2")
@pytest.mark.parametrize("visibility", ["private", "group:design"])
async def test_every_route_works_for_the_owner_and_for_members_of_the_group(tmp_path: Path, visibility: str) -> None:
    async with office(tmp_path, visibility) as place:
        ids = await ids_of_everything(place)
        document = await place.owner.ask("GET", "/openapi.json")
        unknown, asked = unknown_ids(ids), 0
        may_read = [place.ada, place.cleo] if visibility != "private" else [place.ada]
        for request in requests_naming(document, frozenset(ids)):
            expected = await answer(place.owner, request, ids) if request.method == "GET" else None
            if expected is None or expected == await answer(place.owner, request, unknown):
                continue  # it answers about a part of the chat that is not there
            for reader in may_read:
                asked += 1
                assert (await answer(reader, request, ids))[0] == expected[0], request
        assert asked > 25


@proves("OPS-6/1")
async def test_a_new_chat_of_a_person_is_private_and_one_of_the_servers_token_is_for_everyone(tmp_path: Path) -> None:
    async with office(tmp_path) as place:
        assert place.chat.opened["visibility"] == "private"
        shared = await place.owner.chat()
        assert shared.opened["visibility"] == "everyone"
        assert (await place.ben.ask("GET", shared.path))["id"] == shared.id
        assert (await place.owner.ask("GET", place.chat.path))["owner"] == place.ada.id
        assert await place.ben.status("GET", place.chat.path) == 404
        assert await place.ben.status("GET", place.chat.path, X_AnyCowork_Editor="zed") == 404
        assert await place.ben.status("GET", place.chat.path, X_AnyCowork_MCP_Host="host") == 404


@proves("OPS-6/1", "OPS-6/2")
async def test_a_list_of_chats_holds_only_what_its_reader_may_see(tmp_path: Path) -> None:
    async with office(tmp_path) as place:
        team = await place.ada.chat(title="Team", visibility="group:design")
        both = {place.chat.id, team.id}
        for reader, seen in ((place.owner, both), (place.ada, both), (place.cleo, {team.id}), (place.ben, set())):
            for query in ("", "?q=e", "?state=idle", "?limit=1"):
                page = await reader.ask("GET", f"/context{query}")
                assert {chat["id"] for chat in page["contexts"]} <= seen, query
                assert bool(page["contexts"]) is bool(seen), query
                assert page["next"] is None or len(seen) > 1


@proves("OPS-6/2")
async def test_who_leaves_a_group_loses_its_chats_and_their_open_streams_at_once(tmp_path: Path) -> None:
    async with office(tmp_path, "group:design", replies=["Hello."]) as place:
        async with (
            asyncio.timeout(TIMEOUT),
            place.cleo.session.get(f"{place.cleo.url}{place.chat.path}/events") as stream,
            place.cleo.session.get(f"{place.cleo.url}/events") as all_streams,
        ):
            assert stream.status == all_streams.status == 200
            await place.owner.ask("PATCH", f"/people/{place.cleo.id}", {"groups": []})
            await stream.content.read()  # returns because the server ends the stream
            await all_streams.content.read()
        assert await place.cleo.status("GET", place.chat.path) == 404
        await place.owner.ask("PATCH", f"/people/{place.cleo.id}", {"groups": ["design"]})
        assert await place.cleo.status("GET", place.chat.path) == 200


@proves("OPS-6/1")
async def test_a_stream_brings_nothing_of_a_chat_that_is_hidden_from_its_reader(tmp_path: Path) -> None:
    async with office(tmp_path, replies=["One.", "Two.", "Three."]) as place:
        open_to_all = await place.owner.chat()
        ben = place.ben
        async with (
            asyncio.timeout(TIMEOUT),
            ben.session.get(f"{ben.url}/events") as stream,
            ben.session.get(f"{ben.url}{open_to_all.path}/events") as of_chat,
        ):
            assert stream.status == of_chat.status == 200
            await place.chat.send("What is secret?")
            await open_to_all.send("What is not?")
            await place.owner.ask("PATCH", open_to_all.path, {"visibility": "private"})
            await open_to_all.send("And now?")
            seen = await of_chat.content.read()  # it ends: the chat is hidden
            assert b"Two." in seen and b"Three." not in seen
            later = await place.owner.chat()
            await place.owner.ask("POST", f"{later.path}/mode", {"mode": "plan"})
            heard = b""
            while later.id.encode() not in heard:
                heard += await stream.content.readline()
            assert open_to_all.id.encode() in heard and place.chat.id.encode() not in heard
            assert heard.count(b"event: turn-ended") == 1


@proves("OPS-6/1")
async def test_only_the_owner_and_the_servers_token_change_who_sees_a_chat(tmp_path: Path) -> None:
    async with office(tmp_path, "group:design") as place:
        refused = await place.cleo.ask("PATCH", place.chat.path, {"visibility": "everyone"}, expect=403)
        assert "Only the owner of this chat" in refused["error"]["message"]
        host = {"X-AnyCowork-MCP-Host": "host"}
        await place.ada.ask("PATCH", place.chat.path, {"visibility": "everyone"}, expect=403, headers=host)
        assert (await place.ada.ask("PATCH", place.chat.path, {"visibility": "private"}))["visibility"] == "private"
        await place.cleo.ask("PATCH", place.chat.path, {"visibility": "everyone"}, expect=404)
        changed = await place.owner.ask("PATCH", place.chat.path, {"visibility": "group:design"})
        assert changed["visibility"] == "group:design" and changed["owner"] == place.ada.id
        assert "Visibility changed from private to group:design." in [m["content"] for m in await place.chat.messages()]


@proves("OPS-6/2")
@pytest.mark.parametrize(
    "visibility", ["group:nobody", "group:", "group:a b", "all", "", "Private", "group:%", "x" * 90]
)
async def test_a_visibility_that_there_is_not_is_refused_in_words(tmp_path: Path, visibility: str) -> None:
    async with office(tmp_path) as place:
        for method, path in (("POST", "/context"), ("PATCH", place.chat.path)):
            refused = await place.ada.ask(method, path, {"visibility": visibility}, expect=422)
            assert refused["error"]["param"] == "visibility" and refused["error"]["message"]
        assert (await place.chat.show())["visibility"] == "private"


@proves("OPS-6/1")
async def test_a_fork_is_of_who_made_it_and_no_wider_than_its_chat(tmp_path: Path) -> None:
    async with office(tmp_path, "group:design", replies=["Hello."]) as place:
        await place.chat.send("Hi")
        body = {"message_id": (await place.chat.last())["id"]}
        fork = await place.cleo.ask("POST", f"{place.chat.path}/fork", body, expect=201)
        assert (fork["visibility"], fork["owner"]) == ("group:design", place.cleo.id)
        assert await place.ben.status("GET", f"/context/{fork['id']}") == 404


@proves("OPS-6/1", "OPS-6/2")
async def test_what_spans_chats_tells_nothing_of_a_hidden_one(tmp_path: Path) -> None:
    write = call("create_file", path="plan.txt", content="x")
    async with office(tmp_path, "group:design", replies=[write, "Zanzibar it is."]) as place:
        ids = await ids_of_everything(place)
        for sent in range(3):
            open_to_all = await place.owner.chat(title=f"Open {sent}")
        await place.chat.send("Where is Zanzibar?")
        spanning = (
            "/context",
            "/search?q=Zanzibar",
            "/search?q=Zanzibar&limit=1",
            "/jobs",
            f"/jobs?context_id={place.chat.id}",
            "/usage?by=chat",
            "/usage?by=job",
            "/schedules",
            "/triggers",
            "/rules",
            "/rules/proposals",
            f"/job-templates?like=t0&context_id={open_to_all.id}",
            "/workers",
            "/storage",
        )
        told = {path: json.dumps(await place.cleo.ask("GET", path)) for path in spanning}
        for path in ("/context", "/search?q=Zanzibar", "/jobs", "/usage?by=chat", "/schedules", "/triggers", "/rules"):
            assert place.chat.id in told[path], path
        secrets = {*ids.values(), "Zanzibar", "Secret plans", "Nightly"}
        for path in spanning:
            text = json.dumps(await place.ben.ask("GET", path))
            text = text.replace(place.chat.id, "", 1) if place.chat.id in path else text
            assert not [secret for secret in secrets if secret in text], path
        previewed = {"rule": {"tool": "create_file", "resource": "plan.txt", "effect": "allow", "scope": "global"}}
        assert (await place.cleo.ask("POST", "/rules/preview", previewed))["matched"] == 1
        assert (await place.ben.ask("POST", "/rules/preview", previewed))["matched"] == 0
        assert await place.ben.status("GET", "/audit/export") == 403
        assert await place.cleo.status("GET", "/audit/export") == 200


@proves("OPS-6/1", "OPS-6/2")
async def test_the_plan_of_a_job_in_a_hidden_chat_is_offered_to_nobody_else(tmp_path: Path) -> None:
    replies = [call("create_file", path="t0.txt", content="t0\n"), report("written"), "Done."]
    async with office(tmp_path, "group:design", replies=replies) as place:
        chat = LiveChat(place.owner, {"id": place.chat.id})
        job = await approved(place.owner, chat, plan=plan(writing("t0")))
        await until(place.owner, chat, job["id"], "completed")
        shared = await place.owner.chat()
        like = f"/job-templates?like=write+the+files&context_id={shared.id}"
        offered = [
            [each["job_id"] for each in (await who.ask("GET", like))["similar"]] for who in (place.cleo, place.ben)
        ]
        assert offered == [[job["id"]], []]


@proves("OPS-6/1", "OPS-6/2")
async def test_a_search_goes_on_behind_hidden_matches(tmp_path: Path) -> None:
    async with office(tmp_path, replies=["Yes."] * 8) as place:
        shared = await place.owner.chat()
        await shared.send("Is a walrus here?")
        for _ in range(5):
            await place.chat.send("walrus")
        page = await place.ben.ask("GET", "/search?q=walrus&limit=1")
        assert [result["context_id"] for result in page["results"]] == [shared.id] and page["next"] is None
        assert len((await place.ada.ask("GET", "/search?q=walrus&limit=3"))["results"]) == 3


@proves("OPS-6/1", "OPS-6/2")
async def test_a_hidden_workspace_is_not_there_and_hides_its_chats(tmp_path: Path) -> None:
    async with office(tmp_path) as place:
        folder = tmp_path / "team"
        (folder / "sub").mkdir(parents=True)
        made = await place.ada.ask("POST", "/workspaces", {"root": str(folder)}, expect=201)
        assert (made["visibility"], made["owner"]) == ("private", place.ada.id)
        address = f"/workspaces/{made['id']}"
        assert folder.name not in json.dumps(await place.ben.ask("GET", "/workspaces"))
        for body in ({"visibility": "everyone"}, {"trusts_contents": True}):
            assert await place.ben.status("PATCH", address, body) == 404
        assert await place.ben.status("DELETE", address) == 404
        for root in (folder, folder / "sub"):
            await place.ben.ask("POST", "/workspaces", {"root": str(root)}, expect=422)
            refused = await place.ben.ask("POST", "/context", {"workspace": str(root)}, expect=422)
            assert "not inside a registered folder" in refused["error"]["message"]
            for path in ("/workflows", "/skills", "/hooks", "/instructions"):
                assert await place.ben.status("GET", f"{path}?workspace={root}") == 422, path
        chat = await place.ada.chat(workspace=str(folder / "sub"))
        wider = await place.ada.ask("PATCH", chat.path, {"visibility": "everyone"}, expect=422)
        assert "never more visible than its workspace" in wider["error"]["message"]
        await place.ada.ask("PATCH", address, {"visibility": "group:design"})
        await place.ada.ask("PATCH", chat.path, {"visibility": "group:design"})
        assert await place.cleo.status("GET", chat.path) == 200
        assert await place.cleo.status("PATCH", address, {"visibility": "everyone"}) == 403
        await place.owner.ask("PATCH", address, {"visibility": "private"})
        assert await place.cleo.status("GET", chat.path) == 404, "the chat itself still says group:design"
        assert not (await place.cleo.ask("GET", "/context"))["contexts"]


@proves("OPS-6/2")
async def test_what_waits_to_be_sent_or_started_ends_with_the_right_to_see_its_chat(tmp_path: Path) -> None:
    async with office(tmp_path, "group:design") as place:
        start = {"name": "Nightly", "workflow": "summarize_chat", "parameters": {}, "context_id": place.chat.id}
        schedule = await place.cleo.ask("POST", "/schedules", {**start, "cron": "0 3 * * *"}, expect=201)
        await place.owner.ask("PATCH", f"/people/{place.cleo.id}", {"groups": []})
        assert await place.cleo.status("POST", f"/schedules/{schedule['id']}/run") == 404
