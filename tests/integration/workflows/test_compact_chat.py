"""A long chat goes on from a summary: a view for the model, while everything stays stored and shown."""

from pathlib import Path

from support.live_server import live_server
from support.spec import proves


@proves("CTX-1")
async def test_after_compacting_the_model_sees_the_summary_instead_of_what_came_before(tmp_path: Path) -> None:
    replies = ["The answer is 42.", "They asked for a number; it is 42.", "Still 42."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await chat.send("find the elephantine number")
        before = await chat.messages()
        await chat.send("/compact_chat")
        assert "elephantine" in str(client.model.requests[1]["messages"]), "it is summed up from the whole"
        summary = await chat.last()
        assert summary["payload"]["summary"] is True
        await chat.send("which one was it?")
        told = str(client.model.requests[2]["messages"][1:])
        assert "elephantine" not in told and "They asked for a number" in told and "which one was it?" in told
        assert (await chat.messages())[: len(before)] == before, "nothing stored is changed"


async def test_no_other_words_stand_for_a_chat(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["First.", '{"summary": true}', "Third."]) as client:
        chat = await client.chat()
        await chat.send("remember the elephant")
        await chat.send("/summarize_chat")
        await chat.send("and now?")
        assert "elephant" in str(client.model.requests[2]["messages"])
