"""An approved plan's budget through HTTP: within it nothing is asked, beyond it everything is, and it is kept over a restart."""

import json
from pathlib import Path

import pytest

from anycowork.config.settings import PriceEntry, ProviderEntry
from support.live_server import Json, LiveChat, LiveServer, live_server
from support.scripted_model import Reply, Script, call
from support.spec import proves

NAMES = ("a.txt", "b.txt", "c.txt", "d.txt")


def create(path: str) -> str:
    return call("create_file", path=path, content="x")


def plan(**budget: float) -> Json:
    step = {"action": "make them", "tools_needed": ["create_file", "execute_command"], "paths": list(NAMES)}
    return {"goal": "files", "steps": [{**step, "commands": ["true"]}], **({"budget": budget} if budget else {})}


async def approve(
    client: LiveServer, chat: LiveChat, wanted: Json, body: Json | None = None, *, expect: int = 202
) -> Json:
    proposed = await client.ask("POST", f"{chat.path}/plans", {"plan": wanted}, expect=201)
    return await client.ask("POST", f"{chat.path}/plans/{proposed['message_id']}/approve", body or {}, expect=expect)


async def the_only_question(chat: LiveChat) -> Json:
    (pending,) = await chat.approvals()
    return pending


@proves("APR-6/3")
async def test_within_the_budget_nothing_is_asked_and_the_next_call_says_that_it_is_spent(tmp_path: Path) -> None:
    replies = [create("a.txt"), create("b.txt"), create("c.txt"), create("d.txt"), "Done."]
    async with live_server(tmp_path, replies=replies) as client:
        chat = await client.chat()
        await approve(client, chat, plan(calls=2))
        assert (await chat.rest())["state"] == "awaiting_approval"
        pending = await the_only_question(chat)
        assert (pending["resource"], pending["outside_plan"]) == ("/c.txt", False)
        assert "The budget of the approved plan is spent (2 of 2 calls)." in pending["reasons"]
        assert sorted(f.name for f in client.workspace.iterdir()) == ["a.txt", "b.txt"]
        assert (await chat.decide())["state"] == "awaiting_approval", "one yes is for one call"
        assert (await the_only_question(chat))["resource"] == "/d.txt"
        assert (await chat.decide("deny"))["state"] == "idle"
        (audit,) = (await client.ask("GET", f"{chat.path}/audit"))["plans"]
        assert audit["budget"] == {"calls": 2, "seconds": None, "tokens": None, "cost": None}
        assert audit["spent"]["calls"] == 3 and audit["spent"]["tokens"] > 0
        allowed = [done["allowed_by"].split(":")[0] for done in audit["steps"][0]["done"] if done["allowed_by"]]
        assert allowed == ["plan", "plan", "approval"]


@proves("APR-6/3", "APR-6/4")
async def test_what_a_plan_granted_is_asked_again_when_its_run_is_over(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[create("a.txt"), *["Done."] * 4]) as client:
        chat = await client.chat()
        await approve(client, chat, plan())
        assert (await chat.rest())["state"] == "idle" and (client.workspace / "a.txt").exists()
        client.model.replies[:] = [create("b.txt"), "Done."]
        assert (await chat.send("Make b.txt too"))["state"] == "awaiting_approval"
        pending = await the_only_question(chat)
        assert pending["resource"] == "/b.txt" and not (client.workspace / "b.txt").exists()
        await chat.decide("deny")
        client.model.replies[:] = [create("c.txt"), *["Well."] * 2]
        steps = [{"action": f"make {name}", "tools_needed": ["create_file"], "paths": [name]} for name in NAMES[2:]]
        await approve(client, chat, {"goal": "both", "steps": steps, "budget": {"calls": 1}})
        assert (await chat.rest())["state"] == "idle"
        client.model.replies[:] = [create("d.txt"), "Done."]
        await chat.send("And the other one?")
        pending = await the_only_question(chat)
        assert "(1 of 1 calls)" in pending["reasons"][-1], "what the first turn of the plan spent stays spent"


@proves("APR-6/3")
async def test_what_was_spent_is_still_spent_after_a_restart(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[create("a.txt"), create("b.txt")]) as client:
        chat = await client.chat()
        await approve(client, chat, plan(calls=1))
        assert (await chat.rest())["state"] == "awaiting_approval"
    async with live_server(tmp_path, replies=[create("c.txt"), "Done."]) as client:
        again = LiveChat(client, await client.ask("GET", chat.path))
        await again.decide()
        pending = await the_only_question(again)
        assert pending["resource"] == "/c.txt" and "2 of 1 calls" in pending["reasons"][-1]
        assert (client.workspace / "b.txt").exists() and not (client.workspace / "c.txt").exists()


@proves("APR-6/3", "APR-9")
async def test_of_a_batch_all_that_is_beyond_the_budget_is_asked_on_one_card(tmp_path: Path) -> None:
    batch = json.dumps([json.loads(create(name)) for name in NAMES])
    async with live_server(tmp_path, replies=[batch, "Done."]) as client:
        chat = await client.chat()
        await client.ask("PATCH", chat.path, {"autonomy": "edits"})  # which is no more than the plan's budget
        await approve(client, chat, plan(calls=2))
        assert (await chat.rest())["state"] == "awaiting_approval"
        assert [item["resource"] for item in await chat.approvals()] == ["/c.txt", "/d.txt"]
        assert list(client.workspace.iterdir()) == [], "nothing runs before the whole batch is decided"
        assert (await chat.decide())["state"] == "idle"
        assert sorted(f.name for f in client.workspace.iterdir()) == list(NAMES)


async def test_spent_calls_leave_reading_free_and_spent_tokens_do_not(tmp_path: Path) -> None:
    look = call("list_directory", path=".")
    usage = {"prompt_tokens": 600, "completion_tokens": 10, "total_tokens": 610}
    replies: list[Script] = [create("a.txt"), look, "Done.", Reply(look, usage=usage), Reply(look, usage=usage)]
    async with live_server(tmp_path, replies=replies) as client:
        free, held = await client.chat(), await client.chat()
        await approve(client, free, plan(calls=1))
        assert (await free.rest())["state"] == "idle"
        await approve(client, held, plan(tokens=1_000))
        assert (await held.rest())["state"] == "awaiting_approval"
        pending = await the_only_question(held)
        assert pending["tool"] == "list_directory" and "1,220 of 1,000 tokens" in pending["reasons"][-1]
        assert [r["status"] for r in await held.results()] == ["ok"]


async def test_the_servers_own_check_is_run_when_the_calls_are_spent(tmp_path: Path) -> None:
    wanted = {
        "goal": "g",
        "steps": [{"action": "a", "tools_needed": ["create_file"], "paths": ["a.txt"], "check": "test -f a.txt"}],
        "budget": {"calls": 1},
    }
    async with live_server(tmp_path, replies=[create("a.txt"), "Done."]) as client:
        chat = await client.chat()
        await approve(client, chat, wanted)
        assert (await chat.rest())["state"] == "idle"
        (audit,) = (await client.ask("GET", f"{chat.path}/audit"))["plans"]
        assert audit["steps"][0]["check"]["ok"] is True and audit["spent"]["calls"] == 1


async def test_a_standing_rule_is_the_persons_word_beyond_the_budget(tmp_path: Path) -> None:
    rule = {"tool": "create_file", "resource": "/b.txt", "effect": "allow", "scope": "global"}
    async with live_server(tmp_path, replies=[create("a.txt"), create("b.txt"), create("c.txt")]) as client:
        await client.ask("POST", "/rules", rule, expect=201)
        chat = await client.chat()
        await approve(client, chat, plan(calls=1))
        assert (await chat.rest())["state"] == "awaiting_approval"
        assert (await the_only_question(chat))["resource"] == "/c.txt"
        (audit,) = (await client.ask("GET", f"{chat.path}/audit"))["plans"]
        words = [done["allowed_by"].split(":")[0] for done in audit["steps"][0]["done"] if done["allowed_by"]]
        assert words == ["plan", "rule"]


async def test_money_is_counted_by_the_known_price_and_without_one_it_asks_at_once(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0, "total_tokens": 1_000_000}
    async with live_server(tmp_path, replies=[create("a.txt")]) as client:
        chat = await client.chat()
        await approve(client, chat, plan(cost=5))
        await chat.rest()
        assert "price is not known" in (await the_only_question(chat))["reasons"][-1]
        where = client.model.base_url
        entry = ProviderEntry(
            name="scripted", base_url=where, models=("scripted",), prices={"scripted": PriceEntry(input=3, output=15)}
        )
    replies: list[Script] = [Reply(create("b.txt"), usage=usage), Reply(create("c.txt"), usage=usage)]
    async with live_server(tmp_path, replies=replies) as client:
        moved = entry.model_copy(update={"base_url": client.model.base_url})
        await client.ask("PUT", "/settings", {"providers": [moved.model_dump(mode="json")]}, expect=200)
        chat = await client.chat()
        await approve(client, chat, plan(cost=5))
        assert (await chat.rest())["state"] == "awaiting_approval"
        pending = await the_only_question(chat)
        assert pending["resource"] == "/c.txt" and "6.00 of 5 dollars" in pending["reasons"][-1]


@proves("APR-6/3", "PLN-3")
async def test_a_person_sets_changes_and_removes_the_budget_before_approving(tmp_path: Path) -> None:
    for wanted, given, holds in (
        (plan(), {"calls": 1}, {"calls": 1}),
        (plan(calls=9), {"calls": 1}, {"calls": 1}),
        (plan(calls=1), {}, None),
        (plan(calls=1), None, {"calls": 1}),
    ):
        async with live_server(tmp_path, replies=[create("a.txt"), create("b.txt"), "Done."]) as client:
            chat = await client.chat()
            await approve(client, chat, wanted, {"budget": given})
            assert (await chat.rest())["state"] == ("awaiting_approval" if holds else "idle")
            events = await chat.events(until="permission-request" if holds else "turn-ended")
            shown = [e["plan"] for e in events if e["type"] == "plan-update" and e["plan"].get("state") == "approved"]
            assert [each.get("budget") for each in shown] == [holds]
            for name in NAMES:
                (client.workspace / name).unlink(missing_ok=True)


@pytest.mark.parametrize("budget", [{"call": 5}, {"calls": 0}, {"seconds": -1}, {"calls": "5"}, {"calls": 1, "x": 1}])
async def test_a_budget_that_would_hold_nothing_is_refused(tmp_path: Path, budget: Json) -> None:
    async with live_server(tmp_path) as client:
        chat = await client.chat()
        refused = await approve(client, chat, plan(), {"budget": budget}, expect=422)
        assert refused["error"]["param"] == "budget"
        await client.ask("POST", f"{chat.path}/plans", {"plan": {**plan(), "budget": budget}}, expect=422)
        assert (await chat.show())["state"] == "idle"
