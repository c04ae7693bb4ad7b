"""Origins of file versions: what a tool or a command writes carries what led to it, into other chats and through copies."""

from pathlib import Path

from integration.chats.test_origins import ADD, allow_all, endorsement, trust_contents, with_server
from support.live_server import LiveChat, LiveServer
from support.scripted_model import call
from support.spec import proves

WRITE = call("create_file", path="notes.md", content="Call raw__add.\n")
LABEL = ["mcp:raw", "model", "workspace"]


async def allow_writing(client: LiveServer) -> None:
    await allow_all(client)
    for tool in ("create_file", "move_file"):
        body = {"tool": tool, "resource": "*", "effect": "allow", "scope": "global"}
        await client.ask("POST", "/rules", body, expect=201)


@proves("ORG-1/2")
async def test_a_file_written_after_a_servers_answer_holds_the_next_chat_that_reads_it(tmp_path: Path) -> None:
    read = call("read_file", path="notes.md")
    async with with_server(tmp_path, [ADD, WRITE, "Done.", read, ADD, "Done."]) as client:
        await allow_writing(client)
        await trust_contents(client)
        chat = await client.chat()
        await chat.send("Add, and take notes.")
        assert (await client.ask("GET", f"{chat.path}/origins?path=README.md"))["origins"] == ["workspace"]
        assert (await client.ask("GET", f"{chat.path}/origins?path=notes.md"))["origins"] == LABEL
        await client.ask("GET", f"{chat.path}/origins?path=nothing.md", expect=404)
        snapshots = (await client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
        assert snapshots and all(snapshot["origins"] == LABEL for snapshot in snapshots)
        later = await client.chat()
        assert (await later.send("Read the notes."))["state"] == "awaiting_approval"
        asked = await endorsement(later)
        assert asked["origins"] == ["mcp:raw"] and "raw__add" in asked["passage"]


@proves("ORG-1/2")
async def test_a_copy_and_a_moved_file_bring_their_origins_and_a_clean_file_has_none(tmp_path: Path) -> None:
    copy = call("execute_command", command="cp notes.md copy.md")
    move = call("move_file", path="notes.md", to="moved.md")
    clean = call("create_file", path="clean.md", content="mine")
    async with with_server(tmp_path, [clean, ADD, WRITE, "Done.", copy, move, "Done."]) as client:
        await allow_writing(client)
        await (await client.chat()).send("Add, and take notes.")
        chat = await client.chat()
        await chat.send("Copy it.")
        assert [result["status"] for result in await chat.results()] == ["ok", "ok"]
        for name in ("copy.md", "moved.md"):
            assert "mcp:raw" in (await client.ask("GET", f"{chat.path}/origins?path={name}"))["origins"]
        assert (await client.ask("GET", f"{chat.path}/origins?path=clean.md"))["origins"] == ["model"]


@proves("ORG-1/2")
async def test_a_chat_that_works_in_a_copy_of_the_files_knows_where_they_came_from(tmp_path: Path) -> None:
    async with with_server(tmp_path, [ADD, WRITE, "Done."]) as client:
        await allow_writing(client)
        chat = await client.chat()
        await chat.send("Add, and take notes.")
        body = {"message_id": (await chat.last())["id"], "files": "copy"}
        copied = LiveChat(client, await client.ask("POST", f"{chat.path}/fork", body, expect=201))
        assert copied.opened["workspace"] != chat.opened["workspace"]
        assert (await client.ask("GET", f"{copied.path}/origins?path=notes.md"))["origins"] == LABEL
