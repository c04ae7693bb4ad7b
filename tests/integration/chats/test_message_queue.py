"""What people write while the agent works is queued on the server, can be changed and removed, and is sent once; or it steers the turn."""

import asyncio
from pathlib import Path

from support.live_server import TIMEOUT, LiveChat, live_server
from support.scripted_model import Reply, call
from support.skills import skill_files, trust_skill
from support.spec import proves


async def ended(chat: LiveChat, turns: int) -> None:
    """Waits until so many turns of the chat have ended."""
    async with asyncio.timeout(TIMEOUT):
        async for event in chat.follow():
            turns -= event["type"] == "turn-ended"
            if not turns:
                return


async def say(chat: LiveChat, content: str, when: str):
    return await chat.client.ask("POST", f"{chat.path}/messages", {"content": content, "when": when}, expect=202)


async def texts(chat: LiveChat) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in await chat.messages()]


@proves("UI-7")
async def test_queued_messages_are_sent_in_order_one_per_turn_when_the_agent_has_finished(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("One.", hold=hold), "Two.", "Three."]) as client:
        chat = await client.chat()
        await chat.send("first", until="sent")
        await client.model.asked(1)
        second, removed, third = [await say(chat, text, "idle") for text in ("secnd", "not this", "third")]
        assert set(second) == {"queued_id"}
        where = f"{chat.path}/queue"
        await client.ask("PATCH", f"{where}/{second['queued_id']}", {"content": "second"})
        await client.ask("DELETE", f"{where}/{removed['queued_id']}", expect=204)
        waiting = (await client.ask("GET", where))["queue"]
        assert [(one["id"], one["content"]) for one in waiting] == [
            (second["queued_id"], "second"),
            (third["queued_id"], "third"),
        ]
        assert (await chat.show())["queue"] == waiting, "a page that is opened now shows them"
        hold.set()
        await ended(chat, 3)
        assert await texts(chat) == [
            ("user", "first"),
            ("assistant", "One."),
            ("user", "second"),
            ("assistant", "Two."),
            ("user", "third"),
            ("assistant", "Three."),
        ]
        assert (await chat.messages())[2]["id"] == second["queued_id"]
        told = [e["queued"] for e in await chat.events() if e["type"] == "queue-updated"]
        assert [one["status"] for one in told] == ["queued", "queued", "queued", "queued", "removed", "sent", "sent"]
        await client.ask("DELETE", f"{where}/{third['queued_id']}", expect=404)
        await client.ask("PATCH", f"{where}/{third['queued_id']}", {"content": "late"}, expect=404)


@proves("UI-7")
async def test_a_message_sent_now_reaches_the_model_between_two_steps_of_the_same_turn(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [Reply(call("read_file", path="a.txt"), hold=hold), "As you wish."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "hello\n"}) as client:
        chat = await client.chat()
        await chat.send("Look around.", until="sent")
        await client.model.asked(1)
        steered = await say(chat, "Only its first word.", "now")
        hold.set()
        await ended(chat, 1)
        messages = await chat.messages()
        kinds = [(message["role"], message["message_type"]) for message in messages]
        assert kinds[-4:] == [
            ("assistant", "tool_call"),
            ("tool", "tool_result"),
            ("user", "text"),
            ("assistant", "text"),
        ]
        assert {message["turn_id"] for message in messages} == {steered["turn_id"]}
        assert messages[-2]["id"] == steered["message_id"] and messages[-2]["payload"] == {"steering": True}
        assert "Only its first word." in str(client.model.requests[-1]["messages"][-1])


@proves("UI-7")
async def test_a_message_that_names_a_skill_waits_for_a_turn_of_its_own_however_it_is_sent(tmp_path: Path) -> None:
    hold = asyncio.Event()
    replies = [Reply(call("list_directory", path="."), hold=hold), "One.", "Two.", "Three."]
    async with live_server(tmp_path, replies=replies, files=skill_files("notes", body="Sort by date.")) as client:
        await trust_skill(client, "notes")
        chat = await client.chat()
        await chat.send("first", until="sent")
        await client.model.asked(1)
        named, changed = (
            (await say(chat, "/notes go", "now"))["queued_id"],
            (await say(chat, "words", "now"))["message_id"],
        )
        plain = (await say(chat, "//etc is a path", "now"))["message_id"]
        where = f"{chat.path}/queue"
        await client.ask("PATCH", f"{where}/{changed}", {"content": "/notes again"})
        await client.ask("PATCH", f"{where}/{named}", {"when": "now"})
        waiting = {one["id"]: one["steer"] for one in (await chat.show())["queue"]}
        assert waiting == {named: False, changed: False, plain: True}
        hold.set()
        await ended(chat, 3)
        sent = {message["id"]: message for message in await chat.messages()}
        for one in (named, changed):
            assert sent[one]["payload"]["skill"]["name"] == "notes", "it is active, and holds back"
        assert sent[plain]["content"] == "/etc is a path"
        assert "Sort by date." in str(client.model.requests[-1]["messages"])


async def test_on_an_idle_chat_both_are_plain_messages(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["One.", "Two."]) as client:
        chat = await client.chat()
        for turns, when in enumerate(("idle", "now"), 1):
            assert set(await say(chat, when, when)) == {"message_id", "turn_id"}
            await ended(chat, turns)
        assert (await client.ask("GET", f"{chat.path}/queue"))["queue"] == []


async def test_a_stop_holds_the_queue_until_a_person_sends_it(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("One.", hold=hold), "Two."]) as client:
        chat = await client.chat()
        await chat.send("first", until="sent")
        await client.model.asked(1)
        queued = (await say(chat, "second", "idle"))["queued_id"]
        await client.ask("POST", f"{chat.path}/stop")
        [waiting] = (await chat.show())["queue"]
        assert waiting["id"] == queued
        sent = await client.ask("PATCH", f"{chat.path}/queue/{queued}", {"when": "now"})
        assert sent["message_id"] == queued and sent["queued"] is None
        await ended(chat, 2)
        assert (await texts(chat))[-2:] == [("user", "second"), ("assistant", "Two.")]


@proves("UI-7")
async def test_the_queue_survives_a_restart_and_is_sent_by_the_next_server(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("One.", hold=hold)]) as client:
        chat = await client.chat()
        await chat.send("first", until="sent")
        await client.model.asked(1)
        await say(chat, "second", "idle")
        client.server.services.queue.close()  # as if the server ended between the turn's end and the sending
        hold.set()
        await ended(chat, 1)
        chat_id = chat.id
    async with live_server(tmp_path, replies=["Two."]) as client:
        chat = LiveChat(client, await client.ask("GET", f"/context/{chat_id}"))
        await ended(chat, 2)
        assert (await texts(chat))[-2:] == [("user", "second"), ("assistant", "Two.")]
        assert (await chat.show())["queue"] == []


async def test_a_faulty_message_is_refused_when_it_is_queued_or_stays_where_a_person_sees_it(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("One.", hold=hold)]) as client:
        chat = await client.chat()
        await chat.send("first", until="sent")
        await client.model.asked(1)
        await client.ask("POST", f"{chat.path}/messages", {"content": "x", "when": "later"}, expect=422)
        await client.ask("POST", f"{chat.path}/messages", {"content": " ", "when": "idle"}, expect=422)
        await client.ask("POST", f"{chat.path}/messages", {"content": "x"}, expect=409)
        await say(chat, "/no_such_workflow", "idle")
        hold.set()
        await ended(chat, 1)
        assert [one["content"] for one in (await chat.show())["queue"]] == ["/no_such_workflow"]
