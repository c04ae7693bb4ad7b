"""Attempts of people to do more than their access allows, or to go on after it ended."""

import asyncio
import json
import logging
import re
from pathlib import Path

import aiohttp
import pytest

from anycowork.api.middleware.auth import WORKER_RUNS
from anycowork.domain.people import AccessLevel
from anycowork.domain.principals import ACCESS_SCOPES, Scope
from support.live_server import TIMEOUT, Caller, LiveServer, live_server
from support.people import METHODS, browser, person, scope_of_routes
from support.scripted_model import call
from support.spec import proves

WRITE = call("create_file", path="a.txt", content="x")


@proves("OPS-3/2")
@pytest.mark.parametrize("access", list(AccessLevel))
async def test_each_access_reaches_exactly_the_routes_of_its_scopes(tmp_path: Path, access: AccessLevel) -> None:
    needs = scope_of_routes()
    async with live_server(tmp_path) as owner, person(owner, "Ada", access) as ada:
        document = await owner.ask("GET", "/openapi.json")
        documented = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
        wrong, tried = [], 0
        for method, path in sorted({one for one in documented if one[0] in METHODS} | set(needs)):
            required = needs[method, path]
            allowed = required is None or required in ACCESS_SCOPES[access]
            for asked in (method, "HEAD") if method == "GET" else (method,):
                body = None if asked in ("GET", "HEAD", "DELETE") else {}
                status = await ada.status(asked, path.replace("{", "").replace("}", ""), body)
                tried += 1
                is_workers = path.startswith(WORKER_RUNS)  # the secret of a joined worker opens it, and nobody else's
                is_signed = (method, path) == ("POST", "/triggers/{trigger_id}")  # a signature opens it, and no token
                ended_well = status == 401 if is_workers or is_signed else (status != 403) == allowed and status != 401
                if not ended_well:
                    wrong.append((asked, path, status, required))
        assert not wrong and tried > 150, wrong


@proves("SEC-5")
async def test_a_client_key_reaches_the_passthrough_alone(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner:
        key = (await owner.ask("POST", "/keys", {"name": "stolen"}, expect=201))["key"]
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as thief:
            reached = []
            for (method, path), scope in scope_of_routes().items():
                address = owner.url + re.sub(r"\{\w+\}", "x", path)
                async with thief.request(method, address, json=None if method == "GET" else {}) as answer:
                    if scope not in (None, Scope.PASSTHROUGH) and answer.status != 403:
                        reached.append((method, path, answer.status))
        assert not reached


@proves("OPS-3/2")
async def test_a_viewer_sends_approves_answers_restores_uploads_and_runs_nothing(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[WRITE, "Done."]) as owner, person(owner, "Vic", "viewer") as vic:
        chat = await owner.chat()
        await chat.send("write a.txt")
        approval = (await vic.ask("GET", f"{chat.path}/approvals"))["approvals"][0]
        attempts = {
            f"{chat.path}/messages": {"content": "hi"},
            f"{chat.path}/approvals": {"decisions": [{"id": approval["id"], "decision": "allow_once"}]},
            f"{chat.path}/questions/m/answer": {"value": "yes"},
            f"{chat.path}/snapshots/s/restore": {},
            f"{chat.path}/stop": {},
            "/attachments/pdf": {"name": "a.pdf", "data": ""},
            "/v1/chat/completions": {"model": "m", "messages": []},
            f"{chat.path}/person-commands": {"command": "id"},
        }
        for path, body in attempts.items():
            assert await vic.status("POST", path, body) == 403, path
        assert await vic.status("PUT", f"{chat.path}/role", {"role": "planner"}) == 403
        refused = await vic.ask("POST", f"{chat.path}/messages", {"content": "hi"}, expect=403)
        assert refused["error"]["message"] == (
            "Vic may only read here. An admin can change that with 'anycowork people access vic member'."
        )
        assert not (owner.workspace / "a.txt").exists()


@proves("OPS-3/2")
async def test_nobody_raises_their_own_access(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Mia") as mia, person(owner, "Root", "admin") as root:
        for path in (f"/people/{mia.id}", "/people/owner"):
            assert await mia.status("PATCH", path, {"access": "admin"}) == 403
        assert await mia.status("POST", f"/people/{root.id}/token") == 403
        assert (await mia.ask("GET", "/session"))["access"] == "member"
        for method, body in (("PATCH", {"access": "viewer"}), ("DELETE", None)):
            await root.ask(method, "/people/owner", body, expect=409)
        await root.ask("POST", "/people/owner/token", expect=409)
        assert (await owner.ask("GET", "/session"))["access"] == "admin"


@proves("OPS-3/2")
async def test_a_member_runs_no_command_outside_the_sandbox(tmp_path: Path) -> None:
    """Such a command runs as the server's account, which can read the server's token."""
    async with live_server(tmp_path) as owner, person(owner, "Mia") as mia:
        chat = await owner.chat()
        refused = await mia.ask("POST", f"{chat.path}/person-commands", {"command": "id"}, expect=403)
        assert "for admins" in refused["error"]["message"]


@proves("OPS-3/2")
@pytest.mark.parametrize("header", ["X-AnyCowork-Editor", "X-AnyCowork-MCP-Host"])
async def test_a_program_with_a_persons_token_gains_nothing(tmp_path: Path, header: str) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Vic", "viewer") as vic, person(owner, "Mia") as mia:
        chat = await owner.chat()
        for name in ("zed", "owner", "person:owner", ""):
            headers = {header: name}
            assert await vic.status("POST", f"{chat.path}/messages", {"content": "hi"}, **headers) == 403
            assert await vic.status("POST", f"{chat.path}/approvals", {"decisions": []}, **headers) == 403
            assert await mia.status("GET", "/people", **headers) == 403
            for path in ("/session", "/session/codes"):
                assert await mia.status("POST", path, {}, **headers) == 403, "a program must not become the person"


@proves("OPS-3/2")
@pytest.mark.parametrize("header", ["X-AnyCowork-Editor", "X-AnyCowork-MCP-Host"])
async def test_a_program_with_the_owners_token_manages_nothing(tmp_path: Path, header: str) -> None:
    managing = [route for route, scope in scope_of_routes().items() if scope is Scope.MANAGE]
    assert len(managing) > 20
    async with live_server(tmp_path) as owner:
        for method, path in managing:
            address = owner.url + re.sub(r"\{\w+\}", "x", path)
            async with owner.session.request(method, address, json={}, headers={header: "zed"}) as response:
                assert response.status == 403, (method, path, response.status)


@proves("OPS-3/1")
async def test_a_removed_persons_token_cookie_code_and_stream_end_at_once(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Ada") as ada, browser(ada) as page:
        code = (await ada.ask("POST", "/session/codes"))["code"]
        async with asyncio.timeout(TIMEOUT), ada.session.get(f"{ada.url}/events") as stream:
            assert stream.status == 200 and (await page.ask("GET", "/session"))["name"] == "Ada"
            await owner.ask("DELETE", f"/people/{ada.id}", expect=204)
            await stream.content.read()  # returns because the server ends the stream
        await ada.ask("GET", "/context", expect=401)
        await page.ask("GET", "/context", expect=401)
        async with aiohttp.ClientSession() as anonymous:
            caller = Caller(owner.url, anonymous)
            await caller.ask("POST", "/session", {"code": code}, expect=401)


@proves("OPS-3/1")
async def test_a_new_token_ends_the_old_one_its_browsers_and_streams(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Ada") as ada, browser(ada) as page:
        async with asyncio.timeout(TIMEOUT), page.session.get(f"{ada.url}/events") as stream:
            assert stream.status == 200
            new = await owner.ask("POST", f"/people/{ada.id}/token")
            await stream.content.read()
        await ada.ask("GET", "/context", expect=401)
        await page.ask("GET", "/context", expect=401)
        headers = {"Authorization": f"Bearer {new['token']}"}
        assert (await ada.ask("GET", "/session", headers=headers))["name"] == "Ada"


@proves("OPS-3/2")
async def test_a_demotion_counts_for_the_next_request_and_ends_the_stream(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Ada") as ada, browser(ada) as page:
        chat = await ada.chat()
        async with asyncio.timeout(TIMEOUT), ada.session.get(f"{ada.url}{chat.path}/events") as stream:
            await owner.ask("PATCH", f"/people/{ada.id}", {"access": "viewer"})
            await stream.content.read()
        for caller in (ada, page):
            await caller.ask("POST", f"{chat.path}/messages", {"content": "hi"}, expect=403)
            assert (await caller.ask("GET", "/session"))["access"] == "viewer"


@proves("OPS-3/1")
@pytest.mark.parametrize(
    "name",
    [
        *("ADA", "ada", "Ada ", "A d a", "Ad\u0430", "Ada\u200b", "\u202eadA", "Ada\n", "Ad\u00e1", "Ａｄａ"),
        *("owner", "Owner", "0wner", "Оwner", "The owner of this server", "person:owner", "person:1:Ada", "AnyCowork"),
        *(
            "Ada\u00ad",
            "Ada\u034f",
            "Ada\ufe0f",
            "A\u0301da",
            "Ad\u0430\u0301",
            "Аԁа",
            "\u2060Ada",
            "Ada\u3164",
            "Ada\u115f",
        ),
        *("", " ", "\x00", "<b>", "A" * 61, "../Ada", "1", "Bob:x"),
    ],
)
async def test_a_name_that_could_be_taken_for_another_is_refused(tmp_path: Path, name: str) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Ada"), person(owner, "Zoe") as zoe:
        for method, path in (("POST", "/people"), ("PATCH", f"/people/{zoe.id}")):
            async with owner.session.request(method, owner.url + path, json={"name": name}) as response:
                assert response.status in (409, 422), await response.text()
        assert len((await owner.ask("GET", "/people"))["people"]) == 3


@proves("OPS-3/1")
async def test_a_token_is_in_no_later_answer_event_log_or_database(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    key = {"Idempotency-Key": "once"}
    async with live_server(tmp_path, replies=["Hello."]) as owner:
        async with owner.session.post(owner.url + "/people", json={"name": "Ada"}, headers=key) as response:
            assert response.headers["cache-control"] == "no-store"
            token: str = (await response.json())["token"]
        async with owner.session.post(owner.url + "/keys", json={"name": "program"}, headers=key) as response:
            client_key: str = (await response.json())["key"]
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as session:
            ada = Caller(owner.url, session)
            chat = await ada.chat()
            await chat.send("hi")
            await ada.ask("GET", "/people", expect=403)
            events, messages = await chat.events(), await chat.messages()
        seen = [await owner.ask("GET", path) for path in ("/people", "/settings", "/session", "/context")]
    shown = json.dumps([events, messages, seen]) + caplog.text
    assert token.startswith("pt-ac-") and token not in shown and len(token) > 40
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    for secret in (token, client_key):
        assert files and not [path for path in files if secret.encode() in path.read_bytes()]


async def queue_behind_a_turn(owner: LiveServer, by: Caller, *, steer: bool) -> str:
    """A chat that waits for an approval, with a queued message of this person."""
    chat = await owner.chat()
    await chat.send("write a.txt")
    body = {"content": "delete everything", "when": "now" if steer else "idle"}
    await by.ask("POST", f"{chat.path}/messages", body)
    assert [one["content"] for one in (await owner.ask("GET", f"{chat.path}/queue"))["queue"]] == ["delete everything"]
    return chat.path


@proves("OPS-3/2")
@pytest.mark.parametrize("steer", [False, True])
@pytest.mark.parametrize("demoted", [False, True])
async def test_a_queued_message_of_someone_without_access_does_not_run(
    tmp_path: Path, steer: bool, demoted: bool
) -> None:
    async with live_server(tmp_path, replies=[WRITE, "Done.", "Deleted."]) as owner, person(owner, "Ada") as ada:
        path = await queue_behind_a_turn(owner, ada, steer=steer)
        if demoted:
            await owner.ask("PATCH", f"/people/{ada.id}", {"access": "viewer"})
        else:
            await owner.ask("DELETE", f"/people/{ada.id}", expect=204)
        pending = (await owner.ask("GET", f"{path}/approvals"))["approvals"]
        decisions = [{"id": one["id"], "decision": "allow_once"} for one in pending]
        await owner.ask("POST", f"{path}/approvals", {"decisions": decisions})
        async with asyncio.timeout(TIMEOUT):
            while (await owner.ask("GET", path))["state"] != "idle":
                await asyncio.sleep(0.02)
        await owner.server.services.queue._send_next(
            path.rpartition("/")[2]
        )  # what the end of the turn starts, to its end
        texts = [one["content"] for one in (await owner.ask("GET", f"{path}/messages"))["messages"]]
        assert "delete everything" not in texts and "Deleted." not in texts
        assert len((await owner.ask("GET", f"{path}/queue"))["queue"]) == 1, "a person sees it and decides"


@proves("OPS-3/2")
@pytest.mark.parametrize("decision", ["allow_always", "deny_always"])
async def test_a_members_decision_makes_no_rule_for_every_workspace(tmp_path: Path, decision: str) -> None:
    async with live_server(tmp_path, replies=[WRITE, "Done."]) as owner, person(owner, "Mia") as mia:
        chat = await owner.chat()
        await chat.send("write a.txt")
        [asked] = (await mia.ask("GET", f"{chat.path}/approvals"))["approvals"]
        proposed = asked["proposed_rule" if decision == "allow_always" else "proposed_deny_rule"]
        shown = {"disclosure": asked["disclosure"]["hash"]} if decision == "allow_always" else {}
        wide = {"id": asked["id"], "decision": decision, "rule": {**proposed, "scope": "global"}, **shown}
        refused = await mia.ask("POST", f"{chat.path}/approvals", {"decisions": [wide]}, expect=403)
        assert "for admins" in refused["error"]["message"]
        assert (await owner.ask("GET", "/rules"))["rules"] == []
        here = {"id": asked["id"], "decision": decision, **shown}
        await mia.ask("POST", f"{chat.path}/approvals", {"decisions": [here]})
        [made] = (await owner.ask("GET", "/rules"))["rules"]
        assert (made["scope"], made["created_by"]) == ("workspace", f"person:{mia.id}:Mia")
