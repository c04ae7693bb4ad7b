"""A turn whose context is full stops, and a person chooses: compact the chat, or continue with what fits. The record stays as it is."""

import json
from pathlib import Path

from anycowork.config.settings import ProviderEntry
from support.live_server import Json, LiveChat, LiveServer, live_server
from support.scripted_model import Body, HttpError, ScriptedModel, call
from support.spec import proves

CONTEXT = 6_000  # tokens
NOTES = {f"{n}.txt": f"note-{n} " + "word " * 1_600 for n in range(12)}


def small(model: ScriptedModel) -> ProviderEntry:
    return ProviderEntry(name="small", base_url=model.base_url, models=("m",), context_tokens=CONTEXT)


async def proceed(chat: LiveChat, act: str = "continue") -> Json:
    if act == "compact":
        await chat.client.ask("POST", f"{chat.path}/compact", expect=201)
    await chat.client.ask("POST", f"{chat.path}/continue", expect=202)
    return await chat.rest()


async def filled(client: LiveServer, model: ScriptedModel) -> tuple[LiveChat, Json]:
    """A chat whose turn reads long files until its context is full."""
    reads = iter(range(12))
    model.mind = lambda body: call("read_file", path=f"{next(reads)}.txt")
    chat = await client.chat()
    await client.ask("PATCH", chat.path, {"autonomy": "edits"})
    return chat, await chat.send("read the elephantine notes")


def seen(body: Body) -> str:
    return "\n".join(message["content"] for message in body["messages"][1:])


@proves("LOOP-11/3", "LOOP-11/5")
async def test_a_turn_whose_context_is_full_stops_and_goes_on_with_what_fits(tmp_path: Path) -> None:
    async with (
        ScriptedModel() as model,
        live_server(tmp_path, providers=(small(model),), model="small/m", files=NOTES) as client,
    ):
        chat, stopped = await filled(client, model)
        assert stopped["state"] == "idle" and stopped["waiting"] == "continue"
        assert (stopped["continuable"]["reason"], stopped["continuable"]["code"]) == ("limit", "context_full")
        asked = len(model.requests)
        assert 3 <= asked < 12, "it stopped because of its length, not at the limit of steps"
        model.mind = lambda body: "That is all."
        assert (await proceed(chat))["continuable"] is None
        assert len(model.requests) == asked + 1
        told = seen(model.requests[-1])
        assert "read the elephantine notes" in told and "[cut " in told and "continued the turn" in told
        assert [m["content"] for m in await chat.messages() if m["role"] == "user"] == ["read the elephantine notes"]


@proves("LOOP-11/3", "CTX-1")
async def test_compacting_tells_the_model_what_was_done_and_keeps_the_record(tmp_path: Path) -> None:
    async with (
        ScriptedModel() as model,
        live_server(tmp_path, providers=(small(model),), model="small/m", files=NOTES) as client,
    ):
        chat, _ = await filled(client, model)
        before, asked = await chat.messages(), len(model.requests)
        done = await client.ask("POST", f"{chat.path}/compact", expect=201)
        assert len(model.requests) == asked, "no model is asked for it"
        compacted = await chat.last()
        assert (
            compacted["id"] == done["message_id"] and compacted["payload"]["compacted"]["messages"] == done["messages"]
        )
        assert (await chat.messages())[: len(before)] == before, "nothing stored is changed"
        replies = iter([call("update_file", path="0.txt", content="new"), *["I read it no longer."] * 5])
        model.mind = lambda body: next(replies)
        await proceed(chat)
        first = seen(model.requests[asked])
        assert first.count("read the elephantine notes") == 1 and 'read_file "0.txt" (ok)' in first
        assert f"{done['messages']} earlier messages are left out" in first and "note-0" not in first
        assert (await chat.results())[-1]["error"]["code"] == "not_read", "what it no longer sees must be read again"
        assert "note-0" in (client.workspace / "0.txt").read_text()


@proves("LOOP-11/3")
async def test_a_compaction_is_undone_and_made_again(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["The answer is 42.", "Compact.", "Whole.", "Again."]) as client:
        chat = await client.chat()
        refused = await client.ask("POST", f"{chat.path}/compact", expect=409)
        assert refused["error"]["code"] == "nothing_to_compact"
        await chat.send("find the elephantine number")
        await client.ask("POST", f"{chat.path}/compact", expect=201)
        await client.ask("POST", f"{chat.path}/compact", expect=409)
        await chat.send("and now?")
        assert "What you said last:\nThe answer is 42." in seen(client.model.requests[-1])
        await client.ask("DELETE", f"{chat.path}/compact", expect=204)
        await chat.send("and then?")
        told = seen(client.model.requests[-1])
        assert "are left out" not in told and told.count("The answer is 42.") == 1 and "Compact." in told
        await client.ask("DELETE", f"{chat.path}/compact", expect=409)
        await client.ask("POST", f"{chat.path}/compact", expect=201)
        await chat.send("and at last?")
        assert "are left out" in seen(client.model.requests[-1])


@proves("LOOP-11/3")
async def test_a_model_server_that_finds_the_prompt_too_long_stops_the_turn_likewise(tmp_path: Path) -> None:
    refusal = {
        "error": {"message": "This model's maximum context length is 99 tokens.", "code": "context_length_exceeded"}
    }
    async with live_server(tmp_path, replies=[HttpError(400, json.dumps(refusal)), "Here."]) as client:
        chat = await client.chat()
        stopped = await chat.send("hello")
        assert stopped["continuable"]["code"] == "context_full"
        assert (await proceed(chat))["continuable"] is None
        assert (await chat.last())["content"] == "Here."


async def test_a_client_key_may_not_compact(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Yes."]) as client:
        chat = await client.chat()
        await chat.send("hello")
        key = (await client.ask("POST", "/keys", {"name": "k"}, expect=201))["key"]
        headers = {"Authorization": f"Bearer {key}"}
        async with client.session.post(f"{client.url}{chat.path}/compact", headers=headers) as response:
            assert response.status == 403
