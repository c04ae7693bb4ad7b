"""Search over HTTP: what people and agents wrote in all chats."""

from pathlib import Path

from support.live_server import live_server
from support.scripted_model import call
from support.spec import proves


@proves("UI-9")
async def test_a_search_finds_what_was_asked_and_answered_and_leads_to_the_message(tmp_path: Path) -> None:
    replies = [call("read_file", path="a.txt"), "The zebra is striped.", "No idea."]
    async with live_server(tmp_path, replies=replies, files={"a.txt": "zebra in a file\n"}) as client:
        first, second = await client.chat(), await client.chat()
        await first.send("What about a.txt?")
        await second.send("Is a Zebra here?")
        found = await client.ask("GET", "/search?q=zebra")
        assert [(one["context_id"], one["role"]) for one in found["results"]] == [
            (second.id, "user"),
            (first.id, "assistant"),
        ]
        assert found["next"] is None
        answer = found["results"][1]
        assert answer["snippet"] == "The zebra is striped." and answer["parts"][1] == {"text": "zebra", "match": True}
        around = await client.ask("GET", f"{first.path}/messages?before={answer['message_id']}&limit=1")
        assert around["messages"], "the message's id is a cursor"
        assert (await client.ask("GET", "/search?q=%22%20OR%20*"))["results"] == []
        await client.ask("GET", f"/search?q={'x' * 501}", expect=422)
        await client.ask("DELETE", first.path)
        assert [one["context_id"] for one in (await client.ask("GET", "/search?q=zebra"))["results"]] == [second.id]
