"""Values that look like secrets, from a file, an attachment or a command: the person sees them, models and exports do not."""

from pathlib import Path
from typing import Any

import pytest

from support.live_server import LiveServer, live_server
from support.people import person
from support.scripted_model import call
from support.spec import proves

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
STAND_IN = "«hidden 1: GitHub token»"
CONFIG = f"host = example\nkey = {TOKEN}\n"
READS = call("read_file", path="config.txt")
Json = dict[str, Any]


def told(client: LiveServer) -> str:
    return str([request["messages"] for request in client.model.requests])


async def exported(client: LiveServer, path: str) -> str:
    texts = []
    for kind in ("markdown", "json", "html"):
        async with client.session.get(f"{client.url}{path}/export?format={kind}") as answer:
            assert answer.status == 200
            texts.append(await answer.text())
    return "".join(texts)


@proves("SEC-6")
async def test_a_value_in_a_result_is_seen_by_the_person_alone(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[READS, "Read."], files={"config.txt": CONFIG}) as client:
        chat = await client.chat()
        await chat.send("Read config.txt")
        [result] = await chat.of_type("tool_result")
        assert TOKEN in result["content"] and result["payload"]["hidden_values"] == ["GitHub token"]
        assert STAND_IN in told(client) and TOKEN not in told(client)
        assert STAND_IN in (text := await exported(client, chat.path)) and TOKEN not in text
        async with person(client, "Vera", "viewer") as viewer:
            seen = await viewer.ask("GET", f"{chat.path}/messages")
            assert TOKEN not in str(seen) and STAND_IN in str(seen)


@proves("SEC-6")
async def test_a_value_in_an_attached_file_and_in_a_differences_lines_is_not_told(tmp_path: Path) -> None:
    replaces = call("update_file", path="config.txt", edits=[{"find": "host = example", "replace": "host = other"}])
    async with live_server(
        tmp_path, replies=["Seen.", READS, replaces, "Done."], files={"config.txt": CONFIG}
    ) as client:
        chat = await client.chat()
        body = {"content": "What is this?", "attachments": [{"name": "notes.txt", "content": f"the key: {TOKEN}\n"}]}
        await client.ask("POST", f"{chat.path}/messages", body, expect=202)
        await chat.rest()
        await client.ask("PATCH", chat.path, {"autonomy": "edits"})
        await chat.send("Change the host in config.txt")
        assert (tmp_path / "workspace" / "config.txt").read_text() == CONFIG.replace("example", "other")
        assert STAND_IN in told(client) and TOKEN not in told(client)


@proves("SEC-6")
async def test_what_a_person_typed_and_what_their_command_printed_is_exported_without_values(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["I see."], files={"config.txt": CONFIG}) as client:
        chat = await client.chat()
        started = await client.ask("POST", f"{chat.path}/person-commands", {"command": "cat config.txt"}, expect=202)
        async for event in chat.follow():
            if event["type"] == "message" and "ended" in str(event):
                break
        assert started and TOKEN in str(await chat.messages())
        await chat.send(f"My key is {TOKEN}")
        assert TOKEN in told(client), "who types a value shows it"
        assert TOKEN not in await exported(client, chat.path)


@proves("SEC-6")
@pytest.mark.parametrize(
    "writes",
    [
        call("update_file", path="config.txt", content=f"host = other\nkey = {STAND_IN}\n"),
        call("update_file", path="config.txt", edits=[{"find": f"key = {STAND_IN}", "replace": "key = "}]),
        call("create_file", path="copy.txt", content=f"key = {STAND_IN}\n"),
        call("execute_command", command=f"echo '{STAND_IN}' > config.txt"),
    ],
)
async def test_no_stand_in_takes_the_place_of_a_value(tmp_path: Path, writes: str) -> None:
    async with live_server(tmp_path, replies=[READS, writes, "I cannot."], files={"config.txt": CONFIG}) as client:
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "sandboxed"})
        await chat.send("Change config.txt")
        assert (await chat.show())["state"] == "idle"
        result = (await chat.of_type("tool_result"))[-1]
        assert result["payload"]["error"]["code"] == "hidden_value" and "ask the person" in told(client)
        assert {path.name for path in client.workspace.iterdir()} == {"config.txt"}
        assert (client.workspace / "config.txt").read_text() == CONFIG


@proves("SEC-6")
async def test_one_value_is_shown_to_the_model_by_an_act_of_who_may_decide(tmp_path: Path) -> None:
    second = "glpat-" + "x7Kd92mQpR4tVw8ZbN3c"
    files = {"config.txt": f"{CONFIG}other = {second}\n"}
    async with live_server(tmp_path, replies=[READS, "Which?", "Now I know."], files=files) as client:
        chat = await client.chat()
        await chat.send("Read config.txt")
        [result] = await chat.of_type("tool_result")
        reveal = f"{chat.path}/messages/{result['id']}/reveal"
        async with person(client, "Vera", "viewer") as viewer, person(client, "Mia", "member") as member:
            assert await viewer.status("POST", reveal, {"number": 1}) == 403
            for number, status in ((0, 422), (3, 404)):
                assert await member.status("POST", reveal, {"number": number}) == status
            note = await member.ask("POST", reveal, {"number": 1}, expect=201)
            assert note["payload"]["revealed"] == {"message_id": result["id"], "number": 1}
            assert note["payload"]["author"] == "Mia"
            assert TOKEN not in str(await viewer.ask("GET", f"{chat.path}/messages"))
        await chat.send("Go on")
        assert TOKEN in told(client) and second not in told(client)
        assert TOKEN not in await exported(client, chat.path)


@proves("SEC-6")
async def test_a_value_where_a_long_result_is_cut_is_not_told_in_part(tmp_path: Path) -> None:
    """What a model is shown of a long result is cut in its middle: first the values are hidden."""
    line = f"{'x ' * 30}{TOKEN}\n"
    async with live_server(tmp_path, replies=[READS, "Long."], files={"config.txt": line * 600}) as client:
        chat = await client.chat()
        await chat.send("Read config.txt")
        assert STAND_IN in told(client) and "ghp_" not in told(client) and TOKEN[-12:] not in told(client)
