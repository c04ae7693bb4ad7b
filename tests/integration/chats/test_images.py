"""Images in messages, from the person to the model and back to a reader, with a real server and the model behind HTTP."""

from base64 import b64encode

import pytest

from anycowork.config.settings import ProviderEntry
from anycowork.domain.images import GivenImage, recognise
from anycowork.domain.messages import Message, Speaker
from anycowork.prompts.tokens import request_tokens
from anycowork.prompts.window import Window
from support.images import given, jpeg, png
from support.live_server import live_server
from support.scripted_anthropic import ScriptedAnthropic, Spoken
from support.scripted_model import HttpError, ScriptedModel, call

PNG = png()
SHOWN = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(PNG).decode()}"}}


def seeing(model: ScriptedModel, **more: object) -> dict[str, object]:
    entry = ProviderEntry(name="eyes", base_url=model.base_url, models=("m1",), images=("*",), **more)
    return {"providers": (entry,), "model": "eyes/m1"}


async def send(chat, content, *images, expect=202):
    body = {"content": content, "images": list(images)}
    answer = await chat.client.ask("POST", f"{chat.path}/messages", body, expect=expect)
    if expect == 202:
        await chat.rest()
    return answer


@pytest.mark.parametrize("calling", ["text", "native"])
async def test_a_model_that_sees_is_shown_the_image_in_every_request_of_the_turn(tmp_path, calling):
    async with (
        ScriptedModel(
            [call("read_file", path="a.txt"), "A blue flag."] if calling == "text" else ["A blue flag."]
        ) as model,
        live_server(tmp_path, files={"a.txt": "A"}, **seeing(model, calling=calling)) as client,
    ):
        chat = await client.chat()
        await send(chat, "What is this?", given(PNG, name="flag.png"))
        for body in model.requests:
            [asked] = [said for said in body["messages"] if isinstance(said["content"], list)]
            words, image = asked["content"]
            assert asked["role"] == "user" and image == SHOWN
            assert words["type"] == "text" and words["text"].endswith("What is this?")
        assert (await chat.last())["content"] == "A blue flag."


async def test_a_message_without_images_is_sent_as_plain_words_as_ever(tmp_path):
    async with ScriptedModel(["Hello."]) as model, live_server(tmp_path, **seeing(model)) as client:
        await (await client.chat()).send("hi")
        assert all(isinstance(said["content"], str) for said in model.requests[0]["messages"])


def unknown(model: ScriptedModel, **more: object) -> dict[str, object]:
    """A model server as the form connects it: no model is named, and nothing is known of what it has."""
    return {"providers": (ProviderEntry(name="acme", base_url=model.base_url, **more),), "model": "acme"}


def image_parts(model: ScriptedModel) -> list[int]:
    """How many images each request to the model holds."""
    contents = [[said["content"] for said in body["messages"]] for body in model.requests]
    return [sum(SHOWN in content for content in each if isinstance(content, list)) for each in contents]


async def test_a_model_of_which_nothing_is_known_is_shown_the_image(tmp_path):
    async with ScriptedModel(["A flag."]) as model, live_server(tmp_path, **unknown(model)) as client:
        [acme, _] = (await client.ask("GET", "/providers"))["providers"]
        assert (acme["images"], acme["tries_images"], acme["no_images"]) == (["auto"], True, [])
        chat = await client.chat()
        await send(chat, "What is this?", given(PNG))
        assert image_parts(model) == [1] and (await chat.last())["content"] == "A flag."


@pytest.mark.parametrize(
    "refusal",
    [HttpError(400, "Bad request"), HttpError(500, "image input is not supported - hint: provide the mmproj")],
)
async def test_a_server_that_refuses_an_image_is_asked_without_it_from_then_on(tmp_path, refusal):
    async with (
        ScriptedModel([refusal, "I was not shown it.", "Still not."]) as model,
        live_server(tmp_path, **unknown(model, models=("m1",))) as client,
    ):
        chat = await client.chat()
        await send(chat, "What is this?", given(PNG))
        await send(chat, "And now?")
        assert image_parts(model) == [1, 0, 0]
        assert any("accepts none" in str(said["content"]) for said in model.requests[1]["messages"])
        assert (await chat.last())["content"] == "Still not."
        [acme, _] = (await client.ask("GET", "/providers"))["providers"]
        assert (acme["images"], acme["no_images"]) == ([], ["m1"])


async def test_a_refusal_that_is_not_about_images_is_told_as_it_was(tmp_path):
    refusals = [
        HttpError(400, {"error": {"message": "first reason"}}),
        HttpError(400, {"error": {"message": "second"}}),
    ]
    async with ScriptedModel(refusals) as model, live_server(tmp_path, **unknown(model, models=("m1",))) as client:
        chat = await client.chat()
        await send(chat, "What is this?", given(PNG))
        assert "first reason" in (await chat.last())["content"]
        assert (await client.ask("GET", "/providers"))["providers"][0]["no_images"] == []


async def test_a_person_sets_what_a_model_can_do(tmp_path):
    own = {"images": False, "calling": "native", "context_tokens": 9_000, "price": {"input": 1.0, "output": 2.0}}
    async with ScriptedModel(["I see none."]) as model, live_server(tmp_path) as client:
        body = {"name": "acme", "base_url": model.base_url, "models": ["m1", "m2"]}
        assert (await client.ask("POST", "/providers", body, expect=201))["calling"] == "text"
        changed = await client.ask("PATCH", "/providers/acme", {"model_settings": {"m1": own}}, expect=200)
        assert changed["model_settings"] == {"m1": {**own, "price": {**own["price"], "cached": None}}}
        assert (changed["images"], changed["no_images"]) == (["m2"], ["m1"])
        chat = await client.chat(model="acme/m1")
        await send(chat, "What is this?", given(PNG))
        assert image_parts(model) == [0] and "tools" in model.requests[0]
        facts = (await client.ask("GET", "/providers/acme/models"))["facts"]["m1"]
        assert (facts["context_tokens"], facts["images"], facts["native_calls"]) == (9_000, False, True)
        await client.ask("PATCH", "/providers/acme", {"model_settings": {"m1": {"context_tokens": 0}}}, expect=422)


async def test_a_model_that_cannot_see_is_told_of_the_image_in_words(tmp_path):
    async with (
        ScriptedModel(["I cannot see it."]) as model,
        live_server(tmp_path, **unknown(model, models=("m1",), images=())) as client,
    ):
        chat = await client.chat()
        await send(chat, "What is this?", given(PNG, name="flag.png"), given(jpeg(), "image/jpeg"))
        [body] = model.requests
        assert body["messages"][-1]["content"].endswith(
            "What is this?\n\n[image: flag.png, 3×2]\n[image: image/jpeg, 7×6]"
        )
        assert "base64" not in str(body)


async def test_anthropic_gets_it_as_a_block_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("CLAUDE_KEY", "secret")
    async with ScriptedAnthropic([Spoken("A flag.")]) as server:
        entry = ProviderEntry(
            name="claude",
            kind="anthropic",
            base_url=server.base_url,
            api_key_env="CLAUDE_KEY",
            models=("claude-opus-test",),
        )
        async with live_server(tmp_path, providers=(entry,), model="claude/claude-opus-test") as client:
            await send(await client.chat(), "What is this?", given(PNG))
        content = server.requests[0]["messages"][-1]["content"]
        source = {"type": "base64", "media_type": "image/png", "data": b64encode(PNG).decode()}
        assert content[0] == {"type": "image", "source": source}
        assert content[1]["type"] == "text" and content[1]["text"].endswith("What is this?")


async def test_it_survives_a_restart_and_is_shown_inert(tmp_path):
    async with ScriptedModel(["Yes."]) as model, live_server(tmp_path, **seeing(model)) as client:
        chat = await client.chat()
        sent = await send(chat, "Keep this.", given(PNG, name="flag.png"))
    async with ScriptedModel(["Still a flag."]) as model, live_server(tmp_path, **seeing(model)) as client:
        [message, *_] = (await client.ask("GET", f"{chat.path}/messages"))["messages"]
        [image] = message["payload"]["images"]
        assert {key: image[key] for key in ("media_type", "width", "height", "size", "name")} == {
            "media_type": "image/png",
            "width": 3,
            "height": 2,
            "size": len(PNG),
            "name": "flag.png",
        }
        address = f"{client.url}{chat.path}/messages/{sent['message_id']}/images/0"
        async with client.session.get(address) as answer:
            assert answer.status == 200 and await answer.read() == PNG
            assert (
                answer.headers["content-type"] == "image/png" and answer.headers["x-content-type-options"] == "nosniff"
            )
            assert "sandbox" in answer.headers["content-security-policy"]
        await client.ask("POST", f"{chat.path}/messages", {"content": "And now?"}, expect=202)
        await chat_of(client, chat).rest()
        assert SHOWN in [
            part for said in model.requests[0]["messages"] for part in said["content"] if isinstance(part, dict)
        ]


def test_its_weight_counts_in_the_context_window():
    [image] = recognise([GivenImage(png(1_200, 1_000), "image/png")])
    plain = Message("1", "c", Speaker.USER, "Look.", turn_id="t1")
    seen = Message("1", "c", Speaker.USER, "Look.", payload={"images": [image.to_json()]}, turn_id="t1")
    newest = Message("2", "c", Speaker.USER, "And now?", turn_id="t2")
    windows = Window(), Window()
    for window, first in zip(windows, (plain, seen), strict=True):
        window.extend([first, newest])
    light, heavy = (window.shown(budget=5_000) for window in windows)
    assert heavy.tokens - light.tokens == 1_600 == request_tokens(heavy.messages) - request_tokens(light.messages)
    cramped = windows[1].shown(budget=1_000)
    assert not any(part.images for said in cramped.messages for part in said.parts) and cramped.tokens <= 1_000


async def test_deleting_the_chat_deletes_its_image_unless_another_names_it(tmp_path):
    async with live_server(tmp_path, replies=["1", "2"]) as client:
        first, second = await client.chat(), await client.chat()
        for chat in (first, second):
            await send(chat, "Keep this.", given(PNG))
        [image] = (await first.messages())[0]["payload"]["images"]
        await client.ask("DELETE", first.path, expect=204)
        assert await client.server.database.blobs.get(image["sha256"]) == PNG
        await client.ask("DELETE", second.path, expect=204)
        assert await client.server.database.blobs.get(image["sha256"]) is None


async def test_providers_tell_which_of_their_models_see(tmp_path):
    entry = ProviderEntry(name="many", base_url="http://127.0.0.1:9/v1", models=("gpt-4o", "gpt-3.5-turbo", "llava:7b"))
    own = ProviderEntry(
        name="own", base_url="http://127.0.0.1:9/v1", models=("gpt-4o", "house-eyes"), images=("house-*",)
    )
    async with live_server(tmp_path, providers=(entry, own), model="many/gpt-4o") as client:
        seen = {each["name"]: each["images"] for each in (await client.ask("GET", "/providers"))["providers"]}
        assert seen == {"many": ["gpt-4o", "llava:7b"], "own": ["house-eyes"], "guide": []}


def chat_of(client, chat):
    """The same chat after the server was restarted."""
    chat.client = client
    return chat
