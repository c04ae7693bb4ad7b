"""Triggers over HTTP: a person makes them, another system's signed request starts what they name."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from support.live_server import TIMEOUT, LiveChat, LiveServer, RequestRefused, live_server
from support.people import person
from support.spec import proves
from support.triggers import send
from support.workflows import written

pytestmark = pytest.mark.asyncio(loop_scope="module")

Json = dict[str, Any]
PAGE = (Path(__file__).parents[3] / "docs" / "workflows.md").read_text("utf-8").split("## On a signed request")[1]
GREET = (
    '+++\ndescription = "x"\n[[parameters]]\nname = "who"\n[[parameters]]\nname = "how"\ndefault = "kindly"\n+++\n'
    "## Greet\n\nGreet {{who}} {{how}}.\n"
)
ON_PUSH: Json = {"name": "On push", "workflow": "greet", "payload": {"who": "/sender/name"}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LiveServer]:
    folder = tmp_path_factory.mktemp("triggers")
    written(folder, greet=GREET)
    async with live_server(folder, replies=["Hello."] * 20) as client:
        yield client


async def ended(client: LiveServer, trigger: Json) -> Json:
    """The trigger once nothing of it is due or goes on."""
    async with asyncio.timeout(TIMEOUT):
        while True:
            shown = await client.ask("GET", f"/triggers/{trigger['id']}")
            if all(start["status"] != "due" and start["outcome"] != "running" for start in shown["starts"]):
                return shown
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"payload": {"who": "/x", "nobody": "/x"}}, "parameters.nobody"),
        ({"payload": {"who": "x"}}, "payload.who"),
        ({"payload": {"who": 7}}, "payload.who"),
        ({"payload": {"how": "/x"}}, "parameters.who"),
        ({"parameters": {"who": "Ann"}}, "payload"),
        ({"parameters": {"nobody": "Ann"}}, "parameters.nobody"),
        ({"cron": "0 * * * *"}, "cron"),
        ({"workflow": "unknown"}, "workflow"),
        ({"workflow": None, "template": "unknown"}, "template"),
        ({"role": "emperor"}, "role"),
        ({"context_id": "unknown"}, "context_id"),
        ({"secret": "whsec_AAAA"}, "secret"),
        ({"payload": {f"p{number}": "/x" for number in range(21)}}, "payload"),
    ],
)
async def test_bad_input_names_its_field(shared: LiveServer, change: Json, param: str) -> None:
    body = {name: value for name, value in {**ON_PUSH, **change}.items() if value is not None}
    async with shared.session.post(f"{shared.url}/triggers", json=body) as response:
        answer = await response.json()
    assert (response.status, answer["error"]["param"]) == (422, param), answer


@proves("OPS-8/2", "OPS-8/3")
async def test_a_signed_request_starts_the_workflow_with_what_the_trigger_takes_of_its_body(shared: LiveServer) -> None:
    trigger = await shared.ask("POST", "/triggers", {**ON_PUSH, "role": "planner"}, expect=201)
    status, answer = await send(shared, trigger, {"sender": {"name": "Ann"}, "how": "rudely"}, id="push-1")
    assert (status, answer["delivery"]) == (202, "push-1")
    shown = await ended(shared, trigger)
    [start] = shown["starts"]
    assert (start["reason"], start["outcome"], start["due_at"]) == ("trigger", "answered", answer["accepted_at"])
    chat = LiveChat(shared, {"id": start["context_id"]})
    messages = await chat.messages()
    assert (await chat.show())["config"]["agent_role"] == "planner"
    assert messages[0]["payload"]["schedule"]["reason"] == "trigger"
    assert [m["content"] for m in messages if m["role"] == "user"][-1] == "Greet Ann kindly."
    assert all(m["origins"] == ["trigger:On push"] for m in messages if m["role"] == "user")
    assert "trigger:On push" in messages[-1]["origins"]


@proves("OPS-8/2")
async def test_a_body_that_the_trigger_takes_nothing_of_is_not_read(shared: LiveServer) -> None:
    fixed = {"name": "Fixed", "workflow": "greet", "parameters": {"who": "Ann"}}
    trigger = await shared.ask("POST", "/triggers", fixed, expect=201)
    assert (await send(shared, trigger, b"\xff no JSON"))[0] == 202
    [start] = (await ended(shared, trigger))["starts"]
    messages = await LiveChat(shared, {"id": start["context_id"]}).messages()
    assert messages[0]["origins"] == ["person"] and "no JSON" not in json.dumps(messages)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "unfitting_parameters"),
        ({"sender": {"name": ["Ann"]}}, "unfitting_parameters"),
        ({"sender": {"name": "x" * 20_001}}, "unfitting_parameters"),
        ([], "unfitting_parameters"),
        (b"", "invalid"),
        (b"{", "invalid"),
        (b'{"sender": ' + b"[" * 90 + b"]" * 90 + b"}", "invalid"),
    ],
)
async def test_a_body_that_does_not_fit_starts_nothing(shared: LiveServer, body: Any, code: str) -> None:
    trigger = await shared.ask("POST", "/triggers", ON_PUSH, expect=201)
    status, answer = await send(shared, trigger, body)
    assert (status, answer["error"]["code"]) == (422, code)
    assert (await shared.ask("GET", f"/triggers/{trigger['id']}"))["starts"] == []


async def test_triggers_are_changed_listed_and_removed_apart_from_schedules(shared: LiveServer) -> None:
    trigger = await shared.ask("POST", "/triggers", ON_PUSH, expect=201)
    path = f"/triggers/{trigger['id']}"
    assert trigger["secret"].startswith("whsec_") and "next_at" not in trigger
    other = await shared.ask("PATCH", path, {"template": "review-and-fix", "payload": {"path": "/file"}})
    assert (other["workflow"], other["template"], other["payload"]) == (None, "review-and-fix", {"path": "/file"})
    with pytest.raises(RequestRefused, match=r'422.*"parameters.path"'):
        await shared.ask("PATCH", path, {"payload": {}})
    listed = (await shared.ask("GET", "/triggers"))["triggers"]
    assert listed[-1] == other
    assert (await shared.ask("GET", "/schedules"))["schedules"] == []
    for method, wrong in (("GET", "schedules"), ("DELETE", "schedules"), ("PATCH", "schedules")):
        with pytest.raises(RequestRefused, match="404"):
            await shared.ask(method, f"/{wrong}/{trigger['id']}", {} if method == "PATCH" else None)
    with pytest.raises(RequestRefused, match="404"):
        await shared.ask("POST", f"/schedules/{trigger['id']}/run")
    await shared.ask("DELETE", path, expect=204)
    for method in ("GET", "PATCH", "DELETE"):
        with pytest.raises(RequestRefused, match=r"404.*trigger_not_found"):
            await shared.ask(method, path, {} if method == "PATCH" else None)
    assert (await send(shared, trigger, {"file": "a"}))[0] == 401


@proves("OPS-8/2")
async def test_another_secret_ends_the_one_before_it(shared: LiveServer) -> None:
    trigger = await shared.ask("POST", "/triggers", ON_PUSH, expect=201)
    secret = (await shared.ask("POST", f"/triggers/{trigger['id']}/secret"))["secret"]
    body = {"sender": {"name": "Ann"}}
    assert (await send(shared, trigger, body))[0] == 401
    assert (await send(shared, {**trigger, "secret": secret}, body))[0] == 202
    await ended(shared, trigger)


@proves("OPS-8/5")
async def test_its_runs_are_of_who_keeps_it_and_end_with_their_access(shared: LiveServer) -> None:
    body = {"sender": {"name": "Ann"}}
    async with person(shared, "Ada") as ada:
        trigger = await ada.ask("POST", "/triggers", ON_PUSH, expect=201)
        assert (await send(shared, trigger, body))[0] == 202
        [start] = (await ended(shared, trigger))["starts"]
        assert ":Ada" in start["principal"] and start["outcome"] == "answered"
        await shared.ask("DELETE", f"/people/{ada.id}", expect=204)
    status, answer = await send(shared, trigger, body)
    assert (status, answer["error"]["code"]) == (409, "trigger_disabled") and "Ada" not in answer["error"]["message"]
    await shared.ask("PATCH", f"/triggers/{trigger['id']}", {"enabled": True})
    assert (await send(shared, trigger, body))[0] == 202
    assert (await ended(shared, trigger))["starts"][0]["principal"] == "person:owner"


@proves("OPS-8/7")
async def test_its_runs_are_held_to_its_limits(shared: LiveServer) -> None:
    trigger = await shared.ask("POST", "/triggers", {**ON_PUSH, "limits": {"tokens": 1}}, expect=201)
    before = len(shared.model.requests)
    assert (await send(shared, trigger, {"sender": {"name": "Ann"}}))[0] == 202
    [start] = (await ended(shared, trigger))["starts"]
    assert (start["outcome"], len(shared.model.requests)) == ("limit", before)


async def test_the_documented_request_starts_the_documented_trigger(shared: LiveServer) -> None:
    creating, sending = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    body = json.loads(re.search(r"-d '(.*)'", creating, re.DOTALL)[1])  # type: ignore[index]  # it is there, or the test fails
    trigger = await shared.ask("POST", "/triggers", body, expect=201)
    given = {**os.environ, "SECRET": trigger["secret"], "TRIGGER": trigger["id"], "SERVER": shared.url, "no_proxy": "*"}
    program = await asyncio.create_subprocess_exec(
        "sh", "-eu", "-c", sending, env=given, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(TIMEOUT):
        printed, _ = await program.communicate()
    assert json.loads(printed).keys() == {"delivery", "accepted_at"}, printed
    async with asyncio.timeout(TIMEOUT):
        while (await shared.ask("GET", f"/triggers/{trigger['id']}"))["starts"][0]["status"] != "started":
            await asyncio.sleep(0.02)
