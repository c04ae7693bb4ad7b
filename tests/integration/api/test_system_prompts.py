"""System prompts over HTTP: written, changed, removed, shown as a role gets them, and sent to the model."""

import asyncio
import re
from dataclasses import replace

import pytest

from anycowork.api.application import create_api
from anycowork.domain.roles import Permission, Role
from anycowork.domain.tools import ToolSpec
from anycowork.prompts.prompt_service import PromptService
from anycowork.prompts.text_files import prose
from support.asgi import Client
from support.live_server import live_server
from support.scripted_model import Reply, call
from support.spec import proves
from unit.prompts.parts import PERMISSIONS, TOOLS, tool

PATH = "/v1/system-prompts"
MUSEUM = {"name": "Museum", "content": "You write for a museum: short, plain, exact."}


async def written(client, **wanted):
    answer = await client.post(PATH, {**MUSEUM, **wanted})
    assert answer.status == 201, answer.body
    return answer.json()


# --- stored and editable


@proves("SYS-1/1")
async def test_a_prompt_is_written_read_and_listed_behind_the_built_in_one(client):
    prompt = await written(client)
    assert set(prompt) == {"id", "name", "content", "version", "built_in", "created_at", "updated_at"}
    assert (prompt["name"], prompt["content"]) == (MUSEUM["name"], MUSEUM["content"])
    assert (prompt["version"], prompt["built_in"]) == (1, False) and prompt["created_at"] == prompt["updated_at"]
    assert (await client.get(f"{PATH}/{prompt['id']}")).json() == prompt
    second = await written(client, name="Second")
    listed = (await client.get(PATH)).json()["system_prompts"]
    assert [each["id"] for each in listed] == ["default", prompt["id"], second["id"]]
    assert listed[0] == (await client.get(f"{PATH}/default")).json()
    assert (listed[0]["content"], listed[0]["built_in"]) == (prose("base"), True)


@proves("SYS-1/1")
async def test_a_change_is_the_next_version_of_the_same_prompt(client):
    prompt = await written(client)
    for version in (2, 3):
        wanted = {"name": f"v{version}", "content": f"Words {version}."}
        answer = await client.put(f"{PATH}/{prompt['id']}", wanted)
        assert (answer.status, answer.json()["version"]) == (200, version)
        assert answer.json() == (await client.get(f"{PATH}/{prompt['id']}")).json()
        assert answer.json() == {**prompt, **wanted, "version": version, "updated_at": answer.json()["updated_at"]}


@proves("SYS-1/1")
async def test_a_removed_prompt_is_gone(client):
    prompt = await written(client)
    assert (await client.delete(f"{PATH}/{prompt['id']}")).status == 204
    assert [each["id"] for each in (await client.get(PATH)).json()["system_prompts"]] == ["default"]
    assert (await client.delete(f"{PATH}/{prompt['id']}")).status == 404


@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [("GET", "", None), ("PUT", "", MUSEUM), ("DELETE", "", None), ("GET", "/enhanced", None)],
)
async def test_an_unknown_prompt_is_a_404(client, method, tail, body):
    answer = await client.ask(method, f"{PATH}/nope{tail}", body)
    assert (answer.status, answer.error["code"]) == (404, "system_prompt_not_found")


@pytest.mark.parametrize(("method", "body"), [("PUT", MUSEUM), ("DELETE", None)])
async def test_the_built_in_prompt_cannot_be_changed_or_deleted(client, method, body):
    answer = await client.ask(method, f"{PATH}/default", body)
    assert (answer.status, answer.error["code"]) == (409, "built_in")
    assert (await client.get(f"{PATH}/default")).json()["content"] == prose("base")


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"name": ""}, "name"),
        ({"name": " \t"}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": 5}, "name"),
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "x" * 50_001}, "content"),
        ({"content": None}, "content"),
        ({"version": 7}, "version"),
    ],
)
async def test_what_is_no_prompt_is_a_422_at_its_field_and_changes_nothing(client, wrong, param):
    prompt = await written(client)
    for method, path in (("POST", PATH), ("PUT", f"{PATH}/{prompt['id']}")):
        answer = await client.ask(method, path, {**MUSEUM, **wrong})
        assert (answer.status, answer.error["param"]) == (422, param)
    assert (await client.get(PATH)).json()["system_prompts"][1:] == [prompt]


async def test_any_text_comes_back_as_it_was_written(client):
    content = "  Grüße, 博物館 🏺 \x00 $example {braces} '); DROP TABLE system_prompts; --\r\n"
    prompt = await written(client, content=content)
    assert (await client.get(f"{PATH}/{prompt['id']}")).json()["content"] == content


@proves("SEC-5")
@pytest.mark.parametrize(
    ("method", "tail", "body"),
    [
        ("GET", "", None),
        ("POST", "", MUSEUM),
        ("GET", "/default", None),
        ("PUT", "/default", MUSEUM),
        ("DELETE", "/default", None),
        ("GET", "/default/enhanced", None),
    ],
)
async def test_a_client_key_reaches_no_system_prompt(client, method, tail, body):
    key = (await client.post("/keys", {"name": "editor"})).json()["key"]
    answer = await Client(client.app, token=key).ask(method, PATH + tail, body)
    assert (answer.status, answer.error["code"]) == (403, "not_allowed")


# --- enhanced


@proves("SYS-1/2", "SYS-1/3", "PER-2", "PRM-1")
@pytest.mark.parametrize("role", list(Role))
async def test_the_enhanced_prompt_of_a_role_has_each_section_once_and_its_own_tools_only(client, role):
    prompt = await written(client)
    answer = await client.get(f"{PATH}/{prompt['id']}/enhanced?role={role.value}")
    shown = answer.json()
    assert set(shown) == {"id", "content", "enhanced", "left_out"}
    assert (shown["id"], shown["enhanced"], shown["left_out"]) == (prompt["id"], True, [])
    assert shown["content"].startswith(MUSEUM["content"]) and prose("base") not in shown["content"]
    assert shown["content"].count(f"You are operating in {role.value.upper()} role") == 1
    heads = re.findall(r"^# (.*)$", shown["content"], re.MULTILINE)
    assert heads == [f"Role: {role.value.upper()}", "Tools", "Calling a tool", "Diagrams", "Other agents"]
    for spec in TOOLS:
        named = re.search(rf"\b{spec.name}\b", shown["content"]) is not None
        assert named == (spec.permissions <= PERMISSIONS[role]), spec.name


@proves("SYS-1/3")
async def test_without_a_role_it_is_the_actors_and_with_a_chat_the_chats(client):
    bare = (await client.get(f"{PATH}/default/enhanced")).json()
    assert bare == (await client.get(f"{PATH}/default/enhanced?role=act")).json()
    assert "You are operating in ACTOR role" in bare["content"]
    chat = (await client.post("/context", {"agent_role": "reviewer"})).json()
    of_chat = (await client.get(f"{PATH}/default/enhanced?context_id={chat['id']}")).json()
    assert of_chat == (await client.get(f"{PATH}/default/enhanced?role=reviewer")).json()


async def test_a_base_that_says_a_section_already_does_not_hear_it_again(client):
    prompt = await written(client, content=f"Mine.\n\n{prose('mermaid')}")
    content = (await client.get(f"{PATH}/{prompt['id']}/enhanced")).json()["content"]
    assert content.count(prose("mermaid")) == 1


@pytest.mark.parametrize(
    ("query", "status", "code", "param"),
    [
        ("role=wizard", 422, "unknown_role", "role"),
        ("role=", 422, "invalid", "role"),
        ("context_id=nope", 404, "chat_not_found", None),
        ("role=actor&context_id=nope", 422, "invalid", "context_id"),
    ],
)
async def test_a_role_that_cannot_be_told_is_refused(client, query, status, code, param):
    answer = await client.get(f"{PATH}/default/enhanced?{query}")
    assert (answer.status, answer.error["code"], answer.error["param"]) == (status, code, param)


@proves("SYS-2")
async def test_the_answer_names_the_tools_that_found_no_room(server, services, token):
    crowd = [tool(f"read_{n}", "files", "Reads.", {Permission.READ_FILES}, path="string") for n in range(600)]
    wipe = tool("wipe", "files", "Wipes.", {Permission.DELETE_FILES})
    book = PromptService(server.database.system_prompts, _Crowded([*crowd, wipe]))
    client = Client(create_api(replace(services, prompts=book)), token=token)
    shown = (await client.get(f"{PATH}/default/enhanced?role=planner")).json()
    assert shown["left_out"] and "wipe" not in shown["left_out"]
    named = {spec.name for spec in crowd if re.search(rf"^- {spec.name}\b", shown["content"], re.MULTILINE)}
    assert named and named.isdisjoint(shown["left_out"]) and len(named) + len(shown["left_out"]) == len(crowd)


class _Crowded:
    """A toolbox with more tools than a prompt holds; none is ever called."""

    def __init__(self, specs: list[ToolSpec]) -> None:
        self._specs = specs

    def specs(self) -> list[ToolSpec]:
        return self._specs

    def find(self, name: str) -> None:
        return None


# --- used by chats


def told(model) -> list[str]:
    """The system prompt of each request that the model got."""
    return [request["messages"][0]["content"] for request in model.requests]


@proves("SYS-1/2")
async def test_a_chat_is_told_the_prompt_it_chose_byte_for_byte_in_every_request(tmp_path):
    replies = [call("read_file", path="a.txt"), "Read.", "Again.", "By default."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "hello"}) as client:
        prompt = await client.ask("POST", PATH, MUSEUM, expect=201)
        enhanced = await client.ask("GET", f"{PATH}/{prompt['id']}/enhanced?role=actor")
        chat = await client.chat(system_prompt_id=prompt["id"])
        assert chat.opened["config"]["system_prompt_id"] == prompt["id"]
        await chat.send("Read a.txt")
        await chat.send("Again")
        assert told(client.model) == [enhanced["content"]] * 3
        await (await client.chat()).send("Hello")
        assert told(client.model)[-1] == (await client.ask("GET", f"{PATH}/default/enhanced"))["content"]


async def test_a_change_holds_from_the_next_turn_and_not_within_one(tmp_path):
    async with live_server(tmp_path, files={"a.txt": "hello"}) as client:
        prompt = await client.ask("POST", PATH, MUSEUM, expect=201)
        chat = await client.chat(system_prompt_id=prompt["id"])
        go_on = asyncio.Event()
        client.model.replies += [Reply(call("read_file", path="a.txt"), hold=go_on), "Read.", "Later."]
        await chat.send("Read a.txt", until="sent")
        await client.model.asked(1)
        changed = {**MUSEUM, "content": "You write for children."}
        await client.ask("PUT", f"{PATH}/{prompt['id']}", changed, expect=200)
        go_on.set()
        await chat.rest()
        await chat.send("Later")
        first, second, third = told(client.model)
        assert first == second and first.startswith(MUSEUM["content"])
        assert third.startswith("You write for children.")


async def test_a_chat_whose_prompt_was_deleted_goes_on_with_the_default(tmp_path):
    async with live_server(tmp_path, replies=["One.", "Two."]) as client:
        prompt = await client.ask("POST", PATH, MUSEUM, expect=201)
        chat = await client.chat(system_prompt_id=prompt["id"])
        await chat.send("Hello")
        await client.ask("DELETE", f"{PATH}/{prompt['id']}", expect=204)
        assert (await chat.send("And now?"))["state"] == "idle"
        await client.ask("PATCH", chat.path, {"title": "Still here"}, expect=200)
        first, second = told(client.model)
        assert first.startswith(MUSEUM["content"]) and second.startswith(prose("base"))


@proves("SYS-1/1")
async def test_a_prompt_is_there_after_a_restart(tmp_path):
    async with live_server(tmp_path) as client:
        prompt = await client.ask("POST", PATH, MUSEUM, expect=201)
    async with live_server(tmp_path) as client:
        assert await client.ask("GET", f"{PATH}/{prompt['id']}") == prompt


async def test_a_chat_takes_only_a_prompt_that_there_is(client):
    chat = (await client.post("/context", {"system_prompt_id": "default"})).json()
    for method, path in (("POST", "/context"), ("PATCH", f"/context/{chat['id']}")):
        answer = await client.ask(method, path, {"system_prompt_id": "nope"})
        assert (answer.status, answer.error["param"]) == (422, "system_prompt_id")
    assert (await client.post("/context", {"system_prompt_id": None})).status == 201


async def test_a_chat_changes_its_prompt_and_goes_back_to_the_default(client):
    prompt, chat = await written(client), (await client.post("/context", {})).json()
    for wanted, expected in (
        ({"system_prompt_id": prompt["id"]}, prompt["id"]),
        ({"title": "Renamed"}, prompt["id"]),
        ({"system_prompt_id": None}, "default"),
    ):
        changed = await client.patch(f"/context/{chat['id']}", wanted)
        assert (changed.status, changed.json()["config"]["system_prompt_id"]) == (200, expected)
