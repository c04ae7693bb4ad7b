"""Signing in to a remote MCP server, against a real authorization server written with the SDK's own server side."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any  # a test's own words
from urllib.parse import parse_qs, urlsplit

from support.live_server import TOKEN, LiveServer, live_server
from support.remote_accounts import accounts
from support.scripted_model import call
from support.spec import proves


async def state(client: LiveServer, wanted: str, *, field: str = "sign_in", again: bool = False) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            if again:
                await client.ask("POST", "/mcp/servers/far/connect", {})
            (shown,) = (await client.ask("GET", "/mcp/servers"))["servers"]
            if shown[field] == wanted:
                return shown
            await asyncio.sleep(0.02)


async def sign_in(client: LiveServer) -> None:
    """What a person does: opens the address; the authorization server sends their browser back to us."""
    address = (await client.ask("POST", "/mcp/servers/far/sign-in"))["address"]
    async with client.session.get(address, allow_redirects=False, headers={"Authorization": ""}) as answer:
        back = answer.headers["location"]
    assert urlsplit(back).path == "/mcp/sign-in"
    forged = back.replace(parse_qs(urlsplit(back).query)["state"][0], "guessed")
    for url, expected in ((forged, 400), (back, 200), (back, 400)):
        async with client.session.get(url, headers={"Authorization": ""}) as answer:
            assert answer.status == expected, await answer.text()


async def secret(client: LiveServer) -> str:
    chat = await client.chat()
    await chat.send("Go.")
    await chat.decide()
    return str((await chat.of_type("tool_result"))[-1]["content"])


@proves("MCP-1/1")
async def test_a_person_signs_in_and_the_tokens_are_kept_for_this_origin_alone(tmp_path: Path) -> None:
    replies = [call("far__secret"), "Done."]
    with accounts() as url:
        async with live_server(tmp_path, replies=replies) as client:
            await client.ask("POST", "/mcp/servers", {"name": "far", "url": url}, expect=201)
            shown = await state(client, "needed", again=True)
            assert shown["status"] == "failed" and "sign in" in shown["error"]
            await sign_in(client)
            await state(client, "ready", field="status")
            assert (await state(client, "done"))["tools"]
            assert await secret(client) == "forty-two"
            everything = json.dumps(await client.ask("GET", "/mcp/servers"))
        kept = tmp_path / "data" / "mcp-tokens.json"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        tokens = json.loads(kept.read_text())["far"]["credentials"]["tokens"]
        assert tokens["access_token"] not in everything and tokens["refresh_token"] not in everything
        async with live_server(tmp_path, replies=replies) as client:  # after a restart nobody logs in again
            await state(client, "ready", field="status")
            assert await secret(client) == "forty-two"
            await client.ask("DELETE", "/mcp/servers/far", expect=204)
            assert json.loads(kept.read_text()) == {}


@proves("MCP-1/1")
async def test_an_expired_token_is_renewed_after_a_restart_without_anybody(tmp_path: Path) -> None:
    with accounts(seconds=3600) as url:
        async with live_server(tmp_path) as client:
            await client.ask("POST", "/mcp/servers", {"name": "far", "url": url}, expect=201)
            await state(client, "needed", again=True)
            await sign_in(client)
            await state(client, "ready", field="status")
        kept = tmp_path / "data" / "mcp-tokens.json"
        stored = json.loads(kept.read_text())
        before = stored["far"]["credentials"]["tokens"]["access_token"]
        stored["far"]["credentials"]["expires_at"] = 1.0
        kept.write_text(json.dumps(stored))
        async with live_server(tmp_path) as client:
            await state(client, "ready", field="status")
        assert json.loads(kept.read_text())["far"]["credentials"]["tokens"]["access_token"] != before


@proves("MCP-1/1")
async def test_tokens_of_one_origin_are_not_sent_to_another_and_only_a_person_starts_a_sign_in(tmp_path: Path) -> None:
    with accounts() as url, accounts() as other:
        async with live_server(tmp_path) as client:
            await client.ask("POST", "/mcp/servers", {"name": "far", "url": url}, expect=201)
            await state(client, "needed", again=True)
            host = {"X-AnyCowork-MCP-Host": "a host", "Authorization": f"Bearer {TOKEN}"}
            await client.ask("POST", "/mcp/servers/far/sign-in", headers=host, expect=403)
            await sign_in(client)
            await state(client, "ready", field="status")
        servers = tmp_path / "data" / "mcp-servers.json"
        servers.write_text(servers.read_text().replace(url, other))
        async with live_server(tmp_path) as client:
            shown = await state(client, "needed", again=True)
            assert shown["status"] == "failed"


async def test_a_server_that_wants_no_sign_in_says_so(tmp_path: Path) -> None:
    async with live_server(tmp_path) as client:
        config = {"name": "far", "url": client.url + "/healthz", "enabled": False}
        await client.ask("POST", "/mcp/servers", config, expect=201)
        await client.ask("POST", "/mcp/servers/far/sign-in", expect=409)
