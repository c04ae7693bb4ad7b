"""A chat's role decides the prompt, the tools and the permissions of each turn, and a switch decides them for the next message."""

from pathlib import Path

import pytest

from anycowork.domain.roles import Permission
from anycowork.permissions.roles import BUILT_IN
from support.live_server import LiveChat, LiveServer, live_server
from support.scripted_model import call
from support.spec import proves
from support.toolspecs import SPECS

ROLES = {role.name: role for role in BUILT_IN}
WANTED = {
    Permission.READ_FILES: call("read_file", path="a.txt"),
    Permission.WRITE_FILES: call("update_file", path="a.txt", edits=[{"find": "old", "replace": "new"}]),
    Permission.CREATE_FILES: call("create_file", path="b.txt", content="x"),
    Permission.DELETE_FILES: call("delete_file", path="a.txt"),
    Permission.EXECUTE_COMMANDS: call("execute_command", command="touch c.txt"),
}


def told(client: LiveServer, request: int = -1) -> str:
    """The system prompt of one request to the model."""
    return client.model.requests[request]["messages"][0]["content"]


def role_told(client: LiveServer, request: int = -1) -> list[str]:
    """The roles that the prompt says the agent is operating in."""
    return [name for name in ROLES if f"You are operating in {name.upper()} role" in told(client, request)]


def tools_told(client: LiveServer, request: int = -1) -> set[str]:
    return {name for name in SPECS if name in told(client, request)}


def tools_of(role: str) -> set[str]:
    return {name for name, spec in SPECS.items() if spec.permissions <= ROLES[role].permissions}


@proves("ROL-1/1")
async def test_chat_has_the_one_role_it_was_opened_with_or_switched_to(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        for role in ROLES:
            chat = await client.chat(role=role)
            for shown in (chat.opened, await chat.show()):
                assert shown["config"]["agent_role"] == role
        assert (await client.chat()).opened["config"]["agent_role"] == "actor", "a chat never has none"
        await chat.switch("planner")
        listed = {one["id"]: one for one in (await client.ask("GET", "/context"))["contexts"]}
        assert listed[chat.id]["config"]["agent_role"] == "planner"


@proves("ROL-1/2", "ROL-1/4")
@pytest.mark.parametrize("role", ROLES)
async def test_prompt_of_a_turn_is_the_roles_own_and_names_its_tools_only(tmp_path: Path, role: str) -> None:
    async with live_server(tmp_path, replies=["Hello.", "Hello again."]) as client:
        chat = await client.chat(role=role)
        for _ in range(2):
            await chat.send("hello")
            assert role_told(client) == [role]
            assert tools_told(client) == tools_of(role)


@proves("ROL-1/3")
@pytest.mark.parametrize("role", ROLES)
async def test_call_is_refused_in_a_role_without_the_permission_and_goes_on_in_one_with_it(
    tmp_path: Path, role: str
) -> None:
    for permission, requested in WANTED.items():
        folder = tmp_path / permission.value
        folder.mkdir()
        async with live_server(folder, replies=[requested, "Well."], files={"a.txt": "old"}) as client:
            chat = await client.chat(role=role)
            shown = await chat.send("go")
            refused = [result["status"] for result in await chat.results()] == ["refused"]
            needed = next(spec for name, spec in SPECS.items() if f'"{name}"' in requested).permissions
            assert refused is not (needed <= ROLES[role].permissions), (role, permission)
            asks = not refused and permission is not Permission.READ_FILES
            assert (shown["state"] == "awaiting_approval") is asks, (role, permission)


@proves("SWI-2/1")
async def test_switched_role_is_stored(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        await chat.switch("tester")
        assert (await chat.show())["config"]["agent_role"] == "tester"
    async with live_server(tmp_path) as client:
        assert (await client.ask("GET", chat.path))["config"]["agent_role"] == "tester", "after a restart too"


@proves("SWI-2/2")
async def test_switch_is_confirmed_to_the_person_who_asked_and_to_every_reader(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat(role="planner")
        switched = await chat.switch("designer")
        assert switched == {"id": chat.id, "old_role": "planner", "new_role": "designer"}
        event = (await chat.events("role-changed"))[-1]
        assert event["role"] == {"old_role": "planner", "new_role": "designer"}


@proves("SWI-2/3")
async def test_switch_decides_prompt_tools_and_permissions_of_the_next_message(tmp_path: Path) -> None:
    create = call("create_file", path="a.txt", content="x")
    async with live_server(tmp_path, replies=["Hello.", create, "I may not.", create, "Done."]) as client:
        chat = await client.chat()
        await chat.send("hello")
        assert role_told(client) == ["actor"]
        await chat.switch("planner")
        await chat.send("create it")
        assert role_told(client, 1) == ["planner"] and tools_told(client, 1) == tools_of("planner")
        assert [result["status"] for result in await chat.results()] == ["refused"]
        assert not (client.workspace / "a.txt").exists()
        await chat.switch("actor")
        assert (await chat.send("create it"))["state"] == "awaiting_approval"
        assert role_told(client) == ["actor"] and tools_told(client) == tools_of("actor")
        await chat.decide()
        assert (client.workspace / "a.txt").read_text() == "x"
        assert await spoken_as(chat) == ["actor", "planner", "actor"]


async def spoken_as(chat: LiveChat) -> list[str]:
    """The roles that answers were given in."""
    return [m["agent_role"] for m in await chat.of_type("text") if m["role"] == "assistant"]


@proves("SWI-2/4")
async def test_switch_stands_in_the_history_as_a_message_between_what_was_said_before_and_after(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["As planner.", "As actor."]) as client:
        chat = await client.chat(role="planner")
        await chat.send("one")
        await chat.switch("actor")
        await chat.switch("actor")
        await chat.send("two")
        history = [(m["message_type"], m["payload"]) for m in await chat.messages()]
        change = ("role_change", {"old_role": "planner", "new_role": "actor"})
        said = ("text", None)
        assert history == [said, said, change, said, said], "a switch to the same role is none"
