"""What records say about who decided."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support.live_server import Json, LiveChat, live_server
from support.people import person
from support.scripted_model import call
from support.spec import proves

WRITE = call("create_file", path="a.txt", content="x")
PLAN = json.dumps({"type": "plan", "goal": "greet", "steps": [{"action": "Write a.txt", "paths": ["a.txt"]}]})
QUESTION = json.dumps({"type": "question", "question": "Which?", "options": [{"label": "A", "value": "a"}]})
Act = Callable[[LiveChat], Awaitable[object]]


async def audit_log(chat: LiveChat) -> list[Json]:
    async with chat.client.session.get(f"{chat.client.url}{chat.path}/audit/log") as response:
        assert response.status == 200
        lines = [json.loads(line) for line in (await response.text()).splitlines()]
        return [json.loads(line["record"]) for line in lines if "record" in line]


def deciders(records: list[Json], kind: str) -> set[str]:
    return {one["principal"] for one in records if one.get("type") == kind}


@proves("OPS-3/3")
async def test_the_audit_names_who_decided_also_after_they_left(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[WRITE, "Done."]) as owner, person(owner, "Ada L.") as ada:
        chat = await owner.chat()
        await chat.send("write a.txt")
        by_ada = LiveChat(ada, chat.opened)
        await by_ada.decide()
        await by_ada.switch("planner")
        await owner.ask("DELETE", f"/people/{ada.id}", expect=204)
        records = await audit_log(chat)
        label = f"person:{ada.id}:Ada L."
        assert deciders(records, "permission-decided") == {label} == deciders(records, "role-changed")


@proves("OPS-3/3")
async def test_a_message_says_who_wrote_it(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["Hello.", "Hello."]) as owner, person(owner, "Ada") as ada:
        chat = await owner.chat()
        await chat.send("from the owner")
        await LiveChat(ada, chat.opened).send("from Ada")
        found = [one for one in await audit_log(chat) if one.get("type") == "message"]
        authors = {one["message"]["content"]: one["principal"] for one in found if one["message"]["role"] == "user"}
        assert authors == {"from the owner": "person:owner", "from Ada": f"person:{ada.id}:Ada"}


async def answer(chat: LiveChat) -> None:
    [asked] = await chat.of_type("question")
    await chat.client.ask("POST", f"{chat.path}/questions/{asked['id']}/answer", {"value": "a"})
    await chat.rest()


async def make_rule(chat: LiveChat) -> None:
    await chat.decide("allow_session")


async def reject(chat: LiveChat) -> None:
    await chat.decide("deny", note="Not now.")


async def approve_edited_plan(chat: LiveChat) -> None:
    [plan] = await chat.of_type("plan")
    steps = [{"action": "Write b.txt", "paths": ["b.txt"]}]
    await chat.client.ask("POST", f"{chat.path}/plans/{plan['id']}/approve", {"steps": steps}, expect=202)
    await chat.rest()


async def restore(chat: LiveChat) -> None:
    await chat.decide()
    snapshots = (await chat.client.ask("GET", f"{chat.path}/snapshots"))["snapshots"]
    before = next(one for one in snapshots if one["moment"] == "before")
    await chat.client.ask("POST", f"{chat.path}/snapshots/{before['id']}/restore", {})


@proves("OPS-3/3")
@pytest.mark.parametrize(
    ("replies", "act", "kind", "says"),
    [
        pytest.param([QUESTION, "Thank you."], answer, "question-answered", '"state": "answered"', id="answer"),
        pytest.param([WRITE, "Done."], make_rule, "permission-decided", '"effect": "allow"', id="rule"),
        pytest.param([WRITE, "Then not."], reject, "permission-decided", '"state": "denied"', id="rejection"),
        pytest.param([PLAN, "Done."], approve_edited_plan, "plan-update", "Write b.txt", id="edited plan"),
        pytest.param([WRITE, "Done."], restore, "snapshot", '"restores": "', id="restore"),
    ],
)
async def test_the_audit_names_the_person_behind_each_decision(
    tmp_path: Path, replies: list[str], act: Act, kind: str, says: str
) -> None:
    async with live_server(tmp_path, replies=replies) as owner, person(owner, "Ada") as ada:
        chat = await owner.chat(role="planner" if act is approve_edited_plan else "actor")
        await chat.send("go on")
        await act(LiveChat(ada, chat.opened))
        found = [one for one in await audit_log(chat) if one.get("type") == kind and says in json.dumps(one)]
        assert {one["principal"] for one in found} == {f"person:{ada.id}:Ada"}, found


@proves("OPS-3/3")
async def test_a_call_says_by_name_who_allowed_or_denied_it(tmp_path: Path) -> None:
    again = [call("create_file", path=f"{name}.txt", content="x") for name in "abc"]
    replies = [again[0], "Done.", again[1], "Done.", again[2], "Done."]
    async with live_server(tmp_path, replies=replies) as owner, person(owner, "Ada") as ada:
        chat = await owner.chat()
        by_ada = LiveChat(ada, chat.opened)
        for decides, decision in ((by_ada, "allow_once"), (by_ada, "deny"), (chat, "allow_once")):
            await chat.send("write the next")
            await decides.decide(decision)
        deciders_of_calls = [result["facts"].get("decided_by") for result in await chat.results()]
        assert deciders_of_calls == ["Ada", "Ada", None]
        assert all("Ada" not in json.dumps(request) for request in owner.model.requests), "no model is told who"


@proves("OPS-3/3")
async def test_plan_against_actual_names_who_allowed_a_call(tmp_path: Path) -> None:
    outside = call("create_file", path="other.txt", content="x")
    async with live_server(tmp_path, replies=[PLAN, outside, "Done."]) as owner, person(owner, "Ada") as ada:
        chat = await owner.chat(role="planner")
        await chat.send("plan it")
        [plan] = await chat.of_type("plan")
        await owner.ask("POST", f"{chat.path}/plans/{plan['id']}/approve", {}, expect=202)
        await chat.rest()
        await LiveChat(ada, chat.opened).decide()
        [audited] = (await owner.ask("GET", f"{chat.path}/audit"))["plans"]
        assert [done["decided_by"] for done in audited["unplanned"]] == ["Ada"]


@proves("OPS-3/3")
async def test_changes_to_people_name_who_made_them_and_keep_the_names_of_that_time(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Root", "admin") as root, person(owner, "Ada") as ada:
        await root.ask("PATCH", f"/people/{ada.id}", {"name": "Ada L.", "access": "viewer"})
        await root.ask("POST", f"/people/{ada.id}/token")
        await owner.ask("DELETE", f"/people/{ada.id}", expect=204)
        await owner.ask("PATCH", f"/people/{root.id}", {"name": "Rosa"})
        first = await owner.ask("GET", "/people/changes?limit=4")
        rest = await owner.ask("GET", f"/people/changes?limit=4&before={first['next']}")
        assert rest["next"] is None
        found = [
            (one["type"], one["by"], one["person"]["name"], one["person"]["access"], (one["before"] or {}).get("name"))
            for one in (*first["changes"], *rest["changes"])
        ]
        assert found == [
            ("person-changed", None, "Rosa", "admin", "Root"),
            ("person-removed", None, "Ada L.", "viewer", "Ada L."),
            ("person-token-renewed", "Root", "Ada L.", "viewer", "Ada L."),
            ("person-changed", "Root", "Ada L.", "viewer", "Ada"),
            ("person-added", None, "Ada", "member", None),
            ("person-added", None, "Root", "admin", None),
        ]
        assert first["changes"][2]["principal"] == f"person:{root.id}:Root"


@proves("OPS-3/3")
async def test_a_call_denied_in_a_batch_that_still_waits_says_by_whom(tmp_path: Path) -> None:
    both = json.dumps([json.loads(call("create_file", path=f"{name}.txt", content="x")) for name in "ab"])
    async with live_server(tmp_path, replies=[both, "Done."]) as owner, person(owner, "Ada") as ada:
        chat = await owner.chat()
        await chat.send("write both")
        first, second = (await owner.ask("GET", f"{chat.path}/approvals"))["approvals"]
        await ada.ask("POST", f"{chat.path}/approvals", {"decisions": [{"id": first["id"], "decision": "deny"}]})
        found = await owner.ask("GET", f"{chat.path}/approvals")
        assert [one["id"] for one in found["approvals"]] == [second["id"]]
        assert found["decided"] == [{"tool_call_id": first["tool_call_id"], "state": "denied", "decided_by": "Ada"}]
        events = await chat.events(until="permission-decided")
        assert [one["approval"]["decided_by"] for one in events if one["type"] == "permission-decided"] == ["Ada"]
