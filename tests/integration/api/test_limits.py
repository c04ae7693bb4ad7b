"""Limits of people and groups: who pays, what is refused, in which words, and what goes on when there is room again."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from anycowork.config.settings import PriceEntry, ProviderEntry
from support.jobs import plan, report, until, writing
from support.live_server import Caller, LiveServer, live_server
from support.people import person
from support.scripted_model import Reply, Script, ScriptedModel, call
from support.set_clock import ScheduleClock
from support.spec import proves

NOT_LIMITED = {"usd_per_day": None, "tokens_per_day": None, "jobs": None}


def used(prompt: int, completion: int) -> dict[str, object]:
    return {"prompt_tokens": prompt, "completion_tokens": completion}


async def refusal(client: Caller, method: str, path: str, body: object) -> dict[str, Any]:
    error: dict[str, Any] = (await client.ask(method, path, body, expect=429))["error"]
    assert error["code"] == "limit_reached"
    return error


async def of_today(client: Caller, name: str) -> dict[str, Any]:
    shown = await client.ask("GET", "/limits")
    return next(entry for entry in shown["today"] if entry["name"] == name)


@asynccontextmanager
async def priced_server(tmp_path: Path, replies: list[Script], **settings: Any) -> AsyncIterator[LiveServer]:
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ScriptedModel(replies))
        prices = {"scripted": PriceEntry(input=100.0, output=1000.0)}
        entry = ProviderEntry(name="scripted", base_url=model.base_url, models=("scripted",), prices=prices)
        tmp_path.mkdir()
        yield await stack.enter_async_context(live_server(tmp_path, providers=(entry,), **settings))


@proves("OPS-6/3", "OPS-6/4", "OPS-6/5")
async def test_use_is_summed_by_person_and_by_group_over_chats_and_keys_and_each_sees_what_concerns_them(
    tmp_path: Path,
) -> None:
    replies = [Reply(f"{number}.", usage=used(1000, 100)) for number in range(4)]
    async with (
        priced_server(tmp_path / "s", replies) as owner,
        person(owner, "Ada", "admin", ("design", "berlin")) as ada,
        person(owner, "Ben", groups=("design",)) as ben,
        person(owner, "Cleo") as cleo,
    ):
        for client in (ada, ben, owner):
            await (await client.chat()).send("hi")
        key = (await ada.ask("POST", "/keys", {"name": "editor"}, expect=201))["key"]
        body = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}
        await owner.ask("POST", "/v1/chat/completions", body, headers={"Authorization": f"Bearer {key}"})

        async def sums(client: Caller, by: str) -> dict[str, tuple[int, float]]:
            shown = await client.ask("GET", f"/usage?by={by}")
            rows = {row["key"]: (row["requests"], round(row["cost"], 6)) for row in shown["rows"]}
            return {**rows, "total": (shown["total"]["requests"], round(shown["total"]["cost"] or 0.0, 6))}

        assert await sums(owner, "person") == {"Ada": (2, 0.4), "Ben": (1, 0.2), "owner": (1, 0.2), "total": (4, 0.8)}
        assert await sums(owner, "group") == {"design": (3, 0.6), "berlin": (2, 0.4), "total": (4, 0.8)}
        assert await sums(ben, "person") == {"Ben": (1, 0.2), "total": (1, 0.2)}
        assert await sums(ben, "group") == {"design": (3, 0.6), "total": (3, 0.6)}
        assert await sums(cleo, "person") == await sums(cleo, "group") == {"total": (0, 0.0)}


@proves("OPS-6/3", "OPS-6/6")
async def test_limit_of_each_person_refuses_the_next_message_and_names_itself(tmp_path: Path) -> None:
    replies = [Reply("One.", usage=used(900, 100)), Reply("Two.", usage=used(10, 1))]
    async with live_server(tmp_path, replies=replies) as owner, person(owner, "Ada") as ada:
        shown = await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": 20_000}})
        assert shown["person"] == {**NOT_LIMITED, "tokens_per_day": 20_000}
        chat = await ada.chat()
        await chat.send("hi")
        assert (await of_today(ada, "Ada"))["used"]["tokens"] == 1000
        await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": 1000}})
        error = await refusal(ada, "POST", f"{chat.path}/messages", {"content": "more"})
        assert error["param"] == "person.tokens_per_day"
        assert "'tokens_per_day' of Ada" in error["message"] and "00:00 UTC" in error["message"]
        own = await owner.chat()
        await refusal(owner, "POST", f"{own.path}/messages", {"content": "x" * 8000})
        await owner.ask("PUT", "/limits", {"person": {"Ada": {}}})
        assert (await chat.send("more"))["state"] == "idle", "a person's own limits stand in place of those for each"


@proves("OPS-6/4")
async def test_group_shares_one_limit_among_its_members_alone(tmp_path: Path) -> None:
    replies = [Reply("One.", usage=used(900, 100)), Reply("Two.", usage=used(10, 1))]
    async with (
        live_server(tmp_path, replies=replies) as owner,
        person(owner, "Ada") as ada,
        person(owner, "Bob") as bob,
        person(owner, "Eve") as eve,
    ):
        for member in (ada, bob):
            changed = await owner.ask("PATCH", f"/people/{member.id}", {"groups": ["Design"]})
            assert changed["groups"] == ["design"]
        await (await ada.chat()).send("hi")
        await owner.ask("PUT", "/limits", {"group": {"design": {"tokens_per_day": 1000}}})
        of_bob, of_eve = await bob.chat(), await eve.chat()
        error = await refusal(bob, "POST", f"{of_bob.path}/messages", {"content": "more"})
        assert error["param"] == "group.tokens_per_day" and "the group 'design'" in error["message"]
        assert (await of_today(bob, "design"))["used"]["tokens"] == 1000
        assert (await of_eve.send("hi"))["state"] == "idle"


@proves("OPS-6/3")
async def test_dollars_are_counted_by_the_prices_and_an_unknown_price_is_refused(tmp_path: Path) -> None:
    async with priced_server(tmp_path / "a", [Reply("One.", usage=used(9000, 100))]) as owner:
        await owner.ask("PUT", "/limits", {"person": "owner", "usd_per_day": 1.5})
        chat = await owner.chat()
        await chat.send("hi")
        assert (await of_today(owner, "The owner of this server"))["used"]["usd"] == pytest.approx(1.0)
        await owner.ask("PUT", "/limits", {"person": {"owner": {"usd_per_day": 1}}})
        error = await refusal(owner, "POST", f"{chat.path}/messages", {"content": "more"})
        assert error["param"] == "person.usd_per_day" and "$1 of $1" in error["message"]
    (tmp_path / "b").mkdir()
    async with live_server(tmp_path / "b", replies=["One."]) as owner:
        await owner.ask("PUT", "/limits", {"person": {"usd_per_day": 5}})
        chat = await owner.chat()
        error = await refusal(owner, "POST", f"{chat.path}/messages", {"content": "hi"})
        assert "nobody knows what scripted/scripted costs" in error["message"]


@proves("OPS-6/9")
async def test_turn_that_meets_the_limit_pauses_with_its_work_and_goes_on_when_it_is_raised(tmp_path: Path) -> None:
    look = call("list_directory", path=".")
    replies = [Reply(look, usage=used(50_000, 10)), Reply("Empty.", usage=used(100, 10))]
    async with live_server(tmp_path, replies=replies) as owner, person(owner, "Ada") as ada:
        await owner.ask("PUT", "/limits", {"person": {"Ada": {"tokens_per_day": 50_100}}})
        chat = await ada.chat()
        stopped = await chat.send("look")
        assert stopped["state"] == "idle"
        assert [result["status"] for result in await chat.results()] == ["ok"], "what was done stays done"
        ended = [event async for event in _events(chat) if event["type"] in ("error", "turn-ended")]
        assert ended[0]["error"]["code"] == "limit_reached" and ended[0]["error"]["limit"] == "person"
        assert "'tokens_per_day' of Ada" in ended[0]["error"]["message"] and ended[1]["reason"] == "limit"
        assert len(owner.model.requests) == 1
        assert (await of_today(ada, "Ada"))["used"] == {
            "usd": 0.0,
            "tokens": 50_010,
            "reserved": 0,
            "jobs": 0,
            "unpriced_requests": 1,
        }
        await owner.ask("PUT", "/limits", {"person": {"Ada": {"tokens_per_day": 50_010}}})
        await refusal(ada, "POST", f"{chat.path}/continue", {})
        await owner.ask("PUT", "/limits", {"person": {"Ada": {"tokens_per_day": 90_000}}})
        await ada.ask("POST", f"{chat.path}/continue", {}, expect=202)
        await chat.rest()
        assert (await chat.last())["content"] == "Empty." and len(owner.model.requests) == 2


@proves("OPS-6/5")
async def test_limit_counts_the_day_of_each_request_and_ends_at_midnight(tmp_path: Path) -> None:
    clock = ScheduleClock()
    clock.time = "2026-11-19T23:59:00.000000Z"
    replies = [Reply("One.", usage=used(1000, 0)), Reply("Two.", usage=used(500, 0))]
    async with live_server(tmp_path, replies=replies, clock=clock) as owner:
        chat = await owner.chat()
        await chat.send("hi")
        shown = await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": 1000}})
        assert (shown["day"], shown["ends_at"]) == ("2026-11-19", "2026-11-20T00:00:00.000000Z")
        path = f"{owner.url}{chat.path}/messages"
        async with owner.session.post(path, json={"content": "more"}) as refused:
            assert (refused.status, refused.headers["Retry-After"]) == (429, "60"), await refused.text()
            assert refused.headers["X-Should-Retry"] == "false"
        await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": 1}})
        async with owner.session.post(path, json={"content": "x" * 900}) as refused:
            assert (refused.status, "Retry-After" in refused.headers) == (429, False), "tomorrow has no room either"
        clock.time = "2026-11-20T00:00:01.000000Z"
        await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": 50_000}})
        assert (await of_today(owner, "The owner of this server"))["used"]["tokens"] == 0
        await chat.send("more")
        assert (await of_today(owner, "The owner of this server"))["used"]["tokens"] == 500


@proves("OPS-6/7")
async def test_jobs_count_against_who_began_them_and_so_many_run_at_once(tmp_path: Path) -> None:
    replies = [
        Reply(json.dumps(plan(writing("a"))), usage=used(1000, 0)),
        Reply(call("create_file", path="a.txt", content="a"), usage=used(60_000, 0)),
        Reply(report("a.txt is there"), usage=used(100, 0)),
        Reply("All done.", usage=used(100, 0)),
    ]
    async with live_server(tmp_path, replies=replies) as owner, person(owner, "Ada") as ada:
        await owner.ask("PUT", "/limits", {"person": {"Ada": {"jobs": 0}}})
        chat = await ada.chat()
        error = await refusal(ada, "POST", f"{chat.path}/jobs", {"request": "Write a"})
        assert error["param"] == "person.jobs" and "0 of 0 jobs" in error["message"]
        await owner.ask("PUT", "/limits", {"person": {"Ada": {"jobs": 1, "tokens_per_day": 61_500}}})
        job = await ada.ask("POST", f"{chat.path}/jobs", {"request": "Write a"}, expect=202)
        waiting = await until(owner, chat, job["id"], "awaiting_approval")
        await ada.ask("POST", f"/jobs/{waiting['id']}/approve", {}, expect=202)
        failed = await until(owner, chat, job["id"], "failed")
        assert failed["error"]["limit"] == "person" and "'tokens_per_day' of Ada" in failed["error"]["message"]
        await owner.ask("PUT", "/limits", {"person": {"Ada": {"jobs": 1}}})
        await ada.ask("POST", f"/jobs/{job['id']}/retry", {"task_id": "a"}, expect=202)
        assert (await until(owner, chat, job["id"], "completed"))["status"] == "completed"


async def test_everyone_sees_their_own_and_admins_see_and_change_all_in_the_audit(tmp_path: Path) -> None:
    async with live_server(tmp_path) as owner, person(owner, "Ada") as ada, person(owner, "Bob") as bob:
        await owner.ask("PATCH", f"/people/{ada.id}", {"groups": ["design"]})
        body = {"person": {"Ada": {"jobs": 2}, "Bob": {"jobs": 3}}, "group": {"design": {"usd_per_day": 5}}}
        shown = await owner.ask("PUT", "/limits", body)
        assert shown["person"]["Bob"] == {**NOT_LIMITED, "jobs": 3}
        assert [entry["name"] for entry in shown["today"]] == ["The owner of this server", "Ada", "Bob", "design"]
        assert [(entry["name"], entry["before"]) for entry in shown["changes"]] == [
            ("design", None),
            ("Bob", None),
            ("Ada", None),
        ]
        own = await ada.ask("GET", "/limits")
        assert [entry["name"] for entry in own["today"]] == ["Ada", "design"] and not own["changes"]
        assert "Bob" not in own["person"] and own["person"]["Ada"]["jobs"] == 2
        assert await bob.status("PUT", "/limits", {"person": {"Bob": {}}}) == 403
        assert (await owner.ask("GET", "/people/changes"))["changes"][0]["person"]["groups"] == ["design"]
        await owner.ask("PUT", "/limits", {"person": {"Bob": None}})
        assert "Bob" not in (await owner.ask("GET", "/limits"))["person"]
        await owner.ask("PUT", "/limits", {"person": {"Nobody": {}}}, expect=404)
        for wrong in (
            {},
            {"jobs": 1},
            {"person": {"jobs": -1}},
            {"person": {"Ada": {"days": 1}}},
            {"group": {"A B": {}}},
        ):
            await owner.ask("PUT", "/limits", wrong, expect=422)


async def test_queued_message_waits_while_there_is_no_room(tmp_path: Path) -> None:
    hold = asyncio.Event()
    async with live_server(tmp_path, replies=[Reply("One.", usage=used(5000, 0), hold=hold)]) as owner:
        await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": 50_000}})
        chat = await owner.chat()
        await chat.send("hi", until="sent")
        message = {"content": "and then", "when": "idle"}
        await owner.ask("POST", f"{chat.path}/messages", message, expect=202)
        await owner.ask("PUT", "/limits", {"person": {"tokens_per_day": 5000}})
        hold.set()
        await chat.rest()
        assert [queued["content"] for queued in (await owner.ask("GET", f"{chat.path}/queue"))["queue"]] == ["and then"]


async def _events(chat: Any) -> AsyncIterator[dict[str, Any]]:
    async for event in chat.follow():
        yield event
        if event["type"] == "turn-ended":
            return


@proves("OPS-6/8")
async def test_keys_and_own_tokens_of_programs_count_against_who_made_them(tmp_path: Path) -> None:
    replies = [Reply("One.", usage=used(400, 100)), Reply("Two.", usage=used(400, 100)), Reply("3", usage=used(1, 1))]
    async with live_server(tmp_path, replies=replies) as owner, person(owner, "Ada", "admin") as ada:
        key = (await ada.ask("POST", "/keys", {"name": "editor"}, expect=201))["key"]
        of_key = {"Authorization": f"Bearer {key}"}
        body = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}
        path = "/v1/chat/completions"
        await ada.ask("POST", path, body, headers=of_key)
        await ada.ask("POST", path, body)
        assert (await of_today(ada, "Ada"))["used"]["tokens"] == 1000
        await owner.ask("PUT", "/limits", {"person": {"Ada": {"tokens_per_day": 1050}}})
        for headers in (of_key, {}):
            error = (await ada.ask("POST", path, body, expect=429, headers=headers))["error"]
            assert error["code"] == "limit_reached" and error["param"] == "person.tokens_per_day"
        chat = await ada.chat()
        await refusal(ada, "POST", f"{chat.path}/messages", {"content": "more " * 100})
        await owner.ask("POST", path, body)
        await owner.ask("PUT", "/limits", {"person": {"Ada": {"usd_per_day": 1}}})
        error = (await ada.ask("POST", path, body, expect=429, headers=of_key))["error"]
        assert "nobody knows what scripted costs" in error["message"]


@proves("OPS-6/8")
async def test_answer_to_a_program_is_bounded_by_what_is_left_of_the_day(tmp_path: Path) -> None:
    async with priced_server(tmp_path / "a", [Reply("One.", usage=used(10, 5))]) as owner:
        key = (await owner.ask("POST", "/keys", {"name": "editor"}, expect=201))["key"]
        await owner.ask("PUT", "/limits", {"person": {"owner": {"tokens_per_day": 500, "usd_per_day": 0.2}}})
        body = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}
        of_key = {"Authorization": f"Bearer {key}"}
        await owner.ask("POST", "/v1/chat/completions", body, headers=of_key)
        today = (await of_today(owner, "The owner of this server"))["used"]
        assert today["tokens"] == 15 and today["usd"] == pytest.approx((10 * 100 + 5 * 1000) / 1e6)
