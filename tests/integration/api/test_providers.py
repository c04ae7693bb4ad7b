"""Models are connected, tested, changed and removed while the server runs; their keys go in and never come out."""

import json
import logging
import stat
from pathlib import Path

import pytest

from support.asgi import Client
from support.live_server import live_server
from support.scripted_model import Garbage, HttpError, Reply, ScriptedModel
from support.spec import proves

KEY = "sk-pasted-0123456789abcdef"


async def connect(client: Client, model: ScriptedModel, **more: object):
    return await client.post("/providers", {"name": "office", "base_url": model.base_url, "api_key": KEY, **more})


@proves("MOD-1", "MOD-2")
async def test_a_model_is_connected_tested_and_answers_without_a_restart(client, model):
    async with ScriptedModel(["OK", "Hello."]) as office:
        made = await connect(client, office)
        assert (made.status, made.json()["status"], made.json()["has_key"]) == (201, "not tested", True)
        tested = (await client.post("/providers/office/test", {})).json()
        assert tested == {"ok": True, "message": "scripted answered.", "models": ["scripted"]}
        assert office.headers[-1]["Authorization"] == f"Bearer {KEY}"
        listed = (await client.get("/providers")).json()["providers"]
        assert [each["status"] for each in listed if each["name"] == "office"] == ["ready"]
        assert (await client.get("/providers/office/models")).json() == {"models": ["scripted"], "facts": {}}
        assert (await client.post("/context", {"model": "office/scripted"})).status == 201


@proves("MOD-1")
async def test_a_new_connection_calls_natively_where_its_server_is_known_to(client):
    openai, local = {"base_url": "https://api.openai.com/v1"}, {"base_url": "http://127.0.0.1:9/v1"}
    wanted = {
        "openai": (openai, "native"),
        "claude": ({"kind": "anthropic"}, "native"),
        "unknown": (local, "text"),
    }
    for name, (entry, calling) in wanted.items():
        made = await client.post("/providers", {"name": name, "api_key": KEY, "models": ["m"], **entry})
        assert (made.status, made.json().get("calling")) == (201, calling), made.json()


@proves("MOD-1")
async def test_the_name_of_a_built_in_provider_is_refused_before_it_is_stored(tmp_path: Path):
    async with live_server(tmp_path) as live:
        client = Client(live.server.app, token=live.server.services.access.token)
        for name in ("guide", "local"):
            refused = await client.post("/providers", {"name": name, "base_url": "http://127.0.0.1:9/v1"})
            assert (refused.status, refused.json()["error"]["param"]) == (422, "name")
    async with live_server(tmp_path):
        pass  # it starts again


@proves("MOD-1", "SEC-2")
async def test_a_pasted_key_lies_in_a_file_of_the_owner_and_is_shown_nowhere(tmp_path: Path, caplog):
    caplog.set_level(logging.DEBUG)
    async with ScriptedModel(["OK", HttpError(401, {"error": {"message": f"bad key {KEY}"}})]) as office:
        async with live_server(tmp_path) as live:
            client = Client(live.server.app, token=live.server.services.access.token)
            answers = [await connect(client, office)]
            answers += [await client.post("/providers/office/test", {}) for _ in range(2)]
            answers += [await client.get(path) for path in ("/providers", "/settings", "/metrics", "/openapi.json")]
            answers.append(await connect(client, office))
            answers.append(await client.post("/providers", {"name": "BAD", "api_key": KEY}))
            answers.append(await client.post("/providers", {"name": "odd", "api_key": f"{KEY} ü"}))
            assert [answer.status for answer in answers[-3:]] == [409, 422, 422]
            assert not any(KEY.encode() in answer.body for answer in answers)
        holding = [
            path for path in (tmp_path / "data").rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
        ]
        assert [path.name for path in holding] == ["provider-keys.json"]
        assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600
        assert KEY not in caplog.text


@proves("MOD-1")
async def test_a_server_is_edited_and_removed_with_its_key(client, server, tmp_path):
    async with ScriptedModel(["OK"]) as office, ScriptedModel(["OK"], models=["other"]) as other:
        await connect(client, office)
        changed = await client.patch("/providers/office", {"base_url": other.base_url, "models": ["other"]})
        assert (changed.status, changed.json()["models"]) == (200, ["other"])
        assert changed.json()["has_key"] is False, "the key was pasted for another host"
        assert (await client.post("/providers/office/test", {})).json()["message"] == "other answered."
        assert "Authorization" not in other.headers[-1]
        new = "sk-new-0123456789"
        assert (await client.patch("/providers/office", {"api_key": new})).json()["status"] == "not tested"
        other.replies = ["OK"]
        assert (await client.post("/providers/office/test", {})).json()["ok"]
        assert other.headers[-1]["Authorization"] == f"Bearer {new}"
        assert (await client.delete("/providers/office")).status == 204
        assert json.loads((tmp_path / "data" / "provider-keys.json").read_text()) == {}
        assert (await client.post("/providers/office/test", {})).status == 404
        assert (await client.patch("/providers/office", {})).status == 404
        assert (await client.delete("/providers/guide")).status == 409


@proves("MOD-1")
@pytest.mark.parametrize(
    ("replies", "words"),
    [
        ([HttpError(401, {"error": {"message": "no"}})], "refused the key"),
        ([HttpError(404, "<html>")], "Check the address"),
        ([HttpError(404, {"error": {"code": "model_not_found", "message": "no such model"}})], "has no model"),
        ([HttpError(429, {"error": {"code": "insufficient_quota", "message": "pay"}})], "no credit"),
        ([Garbage(b"<html>hello</html>", "text/html")], ""),
        ([Reply("")], None),
    ],
    ids=["key", "address", "model", "credit", "page", "empty answer"],
)
async def test_what_is_wrong_is_said_in_plain_words(client, replies, words):
    async with ScriptedModel(replies) as office:
        await connect(client, office)
        tested = (await client.post("/providers/office/test", {})).json()
    assert tested["ok"] is (words is None)
    assert (words or "") in tested["message"] and tested["message"].endswith(".")


async def test_a_server_that_got_no_key_is_not_said_to_have_refused_one(client):
    async with ScriptedModel([HttpError(401), HttpError(401)]) as office:
        await client.post("/providers", {"name": "office", "base_url": office.base_url})
        assert "office asks for a key (401)." in (await client.post("/providers/office/test", {})).json()["message"]
        await client.patch("/providers/office", {"api_key": "sk-wrong"})
        assert "office refused the key (401)." in (await client.post("/providers/office/test", {})).json()["message"]


@proves("MOD-1")
@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1", "https://127.0.0.1:9/v1"])
async def test_a_server_that_is_not_there_is_said_and_not_called_ready(client, url):
    await client.post("/providers", {"name": "gone", "base_url": url})
    tested = (await client.post("/providers/gone/test", {})).json()
    assert not tested["ok"] and "cannot be reached" in tested["message"] and "Errno" not in tested["message"]
    gone = next(each for each in (await client.get("/providers")).json()["providers"] if each["name"] == "gone")
    assert gone["status"] != "ready"


@proves("MOD-1")
async def test_well_known_servers_are_offered_by_name(client):
    presets = {preset["name"]: preset for preset in (await client.get("/providers")).json()["presets"]}
    names = "openai anthropic gemini openrouter mistral groq deepseek xai ollama lmstudio llamacpp vllm"
    assert set(presets) == set(names.split())
    assert presets["anthropic"]["kind"] == "anthropic" and not presets["ollama"]["needs_key"]
    assert all(preset["base_url"].startswith(("https://", "http://127.0.0.1")) for preset in presets.values())


@proves("SEC-5")
async def test_a_client_key_connects_nothing(client, anonymous):
    key = (await client.post("/keys", {"name": "editor"})).json()["key"]
    headers = {"authorization": f"Bearer {key}"}
    assert (await anonymous.post("/providers", {"name": "x"}, headers=headers)).status == 403
    assert (await anonymous.delete("/providers/scripted", headers=headers)).status == 403


@proves("MOD-2")
async def test_a_chat_keeps_its_model_when_the_default_changes(client, model):
    async with ScriptedModel() as office:
        await connect(client, office, models=["big"])
        chat = (await client.post("/context", {})).json()
        assert chat["config"]["model_id"] == "scripted/scripted"
        assert (await client.put("/settings", {"model": "office/big"})).status == 200
        assert (await client.get(f"/context/{chat['id']}")).json()["config"]["model_id"] == "scripted/scripted"
        assert (await client.post("/context", {})).json()["config"]["model_id"] == "office/big"
        changed = await client.patch(f"/context/{chat['id']}", {"model": "office/big"})
        assert changed.json()["config"]["model_id"] == "office/big"


@proves("MOD-2")
async def test_a_chat_opened_before_any_model_was_connected_gets_the_first(tmp_path):
    async with live_server(tmp_path, model=None, providers=()) as live, ScriptedModel(["Hello."]) as office:
        client = Client(live.server.app, token=live.server.services.access.token)
        chat = (await client.post("/context", {})).json()
        assert chat["config"]["model_id"] is None
        await connect(client, office)
        await client.post(f"/context/{chat['id']}/messages", {"content": "hi"})
        await office.asked(1)
