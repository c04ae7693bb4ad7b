"""Attempts to get at a pasted model key: by leading its provider to another host, and by making an answer, an error or a log repeat it."""

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any  # a test's own words

import pytest

from support.attempts import Attempts
from support.live_server import LiveServer, RequestRefused, live_server
from support.scripted_model import Garbage, HttpError, ScriptedModel
from support.spec import proves

KEY = "sk-pasted-0123456789abcdef"
FROM_ENVIRONMENT = "sk-of-the-environment-0123"


@pytest.fixture
async def office() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel(mind=lambda body: "OK") as model:
        yield model


@pytest.fixture
async def elsewhere() -> AsyncIterator[ScriptedModel]:
    """The attacker's own server."""
    async with ScriptedModel(mind=lambda body: "OK") as model:
        yield model


async def connected(client: LiveServer, office: ScriptedModel) -> None:
    """The provider anew, with the key pasted for its own host."""
    async with client.session.delete(f"{client.url}/providers/office"):
        pass  # of the attempt before
    wanted = {"name": "office", "base_url": office.base_url, "api_key": KEY, "models": ["scripted"]}
    await client.ask("POST", "/providers", wanted, expect=201)


Way = Callable[[LiveServer, str], Awaitable[object]]
WAYS: dict[str, Way] = {
    "change its address": lambda client, url: client.ask("PATCH", "/providers/office", {"base_url": url}),
    "change address and models": lambda client, url: client.ask(
        "PATCH", "/providers/office", {"base_url": url, "models": ["scripted"]}
    ),
    "an empty key with the address": lambda client, url: client.ask(
        "PATCH", "/providers/office", {"base_url": url, "api_key": " "}
    ),
    "through the settings": lambda client, url: settings_changed(client, url),
    "remove and connect again": lambda client, url: connected_again(client, url),
    "twice": lambda client, url: changed_twice(client, url),
}


async def settings_changed(client: LiveServer, url: str) -> None:
    entries = [{"name": "office", "base_url": url, "models": ["scripted"]}]
    try:
        await client.ask("PUT", "/settings", {"providers": entries})
    except RequestRefused:
        await client.ask("PATCH", "/providers/office", {"base_url": url})  # the settings cannot be changed there


async def connected_again(client: LiveServer, url: str) -> None:
    await client.ask("DELETE", "/providers/office", expect=204)
    await client.ask("POST", "/providers", {"name": "office", "base_url": url, "models": ["scripted"]}, expect=201)


async def changed_twice(client: LiveServer, url: str) -> None:
    await client.ask("PATCH", "/providers/office", {"base_url": "http://localhost:1/v1"})
    await client.ask("PATCH", "/providers/office", {"base_url": url})


@proves("MOD-1", "SEC-2")
async def test_a_key_is_sent_to_no_host_but_its_own(
    tmp_path: Path, attempts: Attempts, office: ScriptedModel, elsewhere: ScriptedModel
) -> None:
    async with live_server(tmp_path) as client:

        async def attempt(way: str) -> None:
            await connected(client, office)
            assert (await client.ask("POST", "/providers/office/test", {}))["ok"], "the key works where it belongs"
            assert KEY in str(office.headers[-1])
            elsewhere.headers.clear()
            await WAYS[way](client, elsewhere.base_url)
            await client.ask("POST", "/providers/office/test", {})
            async with client.session.get(f"{client.url}/providers/office/models"):
                pass
            passed = {"model": "office/scripted", "messages": [{"role": "user", "content": "x"}]}
            async with client.session.post(f"{client.url}/v1/chat/completions", json=passed):
                pass
            assert elsewhere.headers, "nothing was sent there, so that this proves nothing"
            assert KEY not in str(elsewhere.headers)

        await attempts.each(WAYS, attempt)


@proves("MOD-1", "SEC-2")
async def test_a_key_of_the_environment_does_not_follow_a_changed_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, office: ScriptedModel, elsewhere: ScriptedModel
) -> None:
    monkeypatch.setenv("OFFICE_KEY", FROM_ENVIRONMENT)
    async with live_server(tmp_path) as client:
        await client.ask("POST", "/providers", {"name": "office", "base_url": office.base_url}, expect=201)
        await client.ask("PATCH", "/providers/office", {"base_url": elsewhere.base_url})
        await client.ask("POST", "/providers/office/test", {})
        assert elsewhere.headers and FROM_ENVIRONMENT not in str(elsewhere.headers)


async def test_a_key_stays_with_its_host_after_a_restart_and_old_files_are_read(
    tmp_path: Path, office: ScriptedModel, elsewhere: ScriptedModel
) -> None:
    async with live_server(tmp_path) as client:
        await connected(client, office)
    async with live_server(tmp_path) as client:
        listed = (await client.ask("GET", "/providers"))["providers"]
        if not any(each["name"] == "office" for each in listed):  # live_server starts without the stored settings
            wanted = {"name": "office", "base_url": office.base_url, "models": ["scripted"]}
            await client.ask("POST", "/providers", wanted, expect=201)
        await client.ask("POST", "/providers/office/test", {})
        assert KEY in str(office.headers[-1])
        await client.ask("PATCH", "/providers/office", {"base_url": elsewhere.base_url})
        await client.ask("POST", "/providers/office/test", {})
        assert KEY not in str(elsewhere.headers)
    (tmp_path / "data" / "provider-keys.json").write_text(json.dumps({"office": KEY}))
    async with live_server(tmp_path) as client:
        assert client is not None, "a file of an earlier release opens"


# What a hostile or careless model server answers.
ECHOES: dict[str, Any] = {
    "an error that repeats the key": HttpError(401, {"error": {"message": f"bad key {KEY}"}}),
    "an error in plain text": HttpError(403, f"Authorization: Bearer {KEY}"),
    "an error with the key as its code": HttpError(429, {"error": {"code": KEY, "message": "slow down"}}),
    "no JSON": Garbage(f"{KEY}\n".encode(), "text/plain"),
    "a stream that ends in the key": Garbage(f"data: {KEY}\n\n".encode()),
    "a moved address": HttpError(302, {"location": f"http://127.0.0.1:1/{KEY}"}),
    "a server error": HttpError(500, {"error": {"message": f"{KEY}"}}),
}
# What a client sends with a key in the wrong place.
WRONG: dict[str, dict[str, Any]] = {
    "a key that is a list": {"name": "odd", "api_key": [KEY]},
    "a key that is an object": {"name": "odd", "api_key": {"key": KEY}},
    "a key as the name": {"name": f"{KEY} {KEY}", "api_key": KEY},
    "a key with a line break": {"name": "odd", "api_key": f"{KEY}\r\nX-Evil: 1"},
    "a key with an odd letter": {"name": "odd", "api_key": f"{KEY}ü"},
    "a key that is too long": {"name": "odd", "api_key": KEY * 1_000},
    "a key with a field too much": {"name": "odd", "api_key": KEY, "extra": 1},
    "a key with a bad address": {"name": "odd", "api_key": KEY, "base_url": "ftp://x"},
}


@proves("SEC-2")
async def test_nothing_repeats_a_key(
    tmp_path: Path, attempts: Attempts, caplog: pytest.LogCaptureFixture, office: ScriptedModel
) -> None:
    caplog.set_level(logging.DEBUG)
    async with live_server(tmp_path) as client:
        await connected(client, office)

        async def attempt(case: str) -> None:
            caplog.clear()
            if case in ECHOES:
                office.mind = lambda body: ECHOES[case]
                said = json.dumps(await client.ask("POST", "/providers/office/test", {}))
                chat = await client.chat(model="office/scripted")
                await chat.send("hello")
                said += json.dumps(await chat.messages()) + json.dumps(await chat.events())
            else:
                async with client.session.post(f"{client.url}/providers", json=WRONG[case]) as answer:
                    assert answer.status == 422
                    said = await answer.text()
            for path in ("/providers", "/settings", "/metrics"):
                async with client.session.get(client.url + path) as answer:
                    said += await answer.text()
            assert KEY not in said and KEY not in caplog.text

        await attempts.each([*ECHOES, *WRONG], attempt)
