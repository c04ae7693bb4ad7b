"""What a chat has used: summed per model over all its turns, with what it cost where the price is known."""

import json
from pathlib import Path

import pytest

from anycowork.cli.usage import usage_lines
from anycowork.config.settings import PriceEntry, ProviderEntry
from support.jobs import new_job, plan, report, until, writing
from support.live_server import live_server
from support.scripted_model import Reply, ScriptedModel, call
from support.spec import proves


def used(prompt: int, completion: int, cached: int = 0) -> dict[str, object]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


@proves("OPS-1/5")
async def test_a_chats_usage_is_summed_over_its_turns_and_priced(tmp_path: Path) -> None:
    replies = [
        Reply(call("list_directory", path="."), usage=used(1000, 10)),
        Reply("Empty.", usage=used(1200, 20, cached=1000)),
        Reply("Still.", usage=used(1500, 30)),
    ]
    async with ScriptedModel(replies) as model:
        prices = {"scripted": PriceEntry(input=2.0, output=10.0, cached=0.2)}
        entry = ProviderEntry(
            name="scripted", base_url=model.base_url, models=("scripted",), prices=prices, context_tokens=9000
        )
        async with live_server(tmp_path, providers=(entry,)) as client:
            chat = await client.chat()
            unused = {"models": [], "window": 0, "context_tokens": 9000, "context_known": True}
            assert await client.ask("GET", f"{chat.path}/usage") == unused
            await chat.send("what is here?")
            await chat.send("and now?")
            shown = await client.ask("GET", f"{chat.path}/usage")
            [row] = shown["models"]
            assert (row["model"], row["requests"], row["prompt"], row["completion"], row["cached"]) == (
                "scripted/scripted",
                3,
                3700,
                60,
                1000,
            )
            assert row["cost"] == pytest.approx((2700 * 2 + 1000 * 0.2 + 60 * 10) / 1e6)
            assert shown["window"] == 1530 and not row["estimated"] and row["reserved"] == 0


async def test_a_cost_that_nobody_knows_is_not_guessed_and_another_chat_is_not_counted(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=["One.", "Two."]) as client:
        first, second = await client.chat(), await client.chat()
        await first.send("hi")
        await second.send("hi")
        [row] = (await client.ask("GET", f"{first.path}/usage"))["models"]
        assert row["requests"] == 1 and row["cost"] is None
        await client.ask("GET", "/context/nobody/usage", expect=404)


@proves("OPS-1/5", "OPS-1/6", "OPS-1/7", "UI-16/1")
async def test_use_and_cost_are_told_by_chat_job_role_model_and_day(tmp_path: Path) -> None:
    replies = [
        Reply("Hello.", usage=used(1000, 100)),
        Reply(json.dumps(plan(writing("a"))), usage=used(2000, 200)),
        Reply(call("create_file", path="a.txt", content="a"), usage=used(3000, 300)),
        Reply(report("a.txt is there"), usage=used(4000, 400)),
        Reply("All done.", usage=used(5000, 500)),
    ]
    async with ScriptedModel(replies) as model:
        prices = {"scripted": PriceEntry(input=2.0, output=10.0)}
        entry = ProviderEntry(name="scripted", base_url=model.base_url, models=("scripted",), prices=prices)
        async with live_server(tmp_path, providers=(entry,)) as client:
            first, work = await client.chat(), await client.chat()
            await first.send("hi")
            job = await new_job(client, work, request="Write a")
            await until(client, work, job["id"], "awaiting_approval")
            await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
            await until(client, work, job["id"], "completed")

            async def tokens(by: str) -> dict[str, int]:
                shown = await client.ask("GET", f"/usage?by={by}", expect=200)
                assert shown["by"] == by and shown["total"]["unpriced_requests"] == 0
                for row in shown["rows"]:
                    assert row["cost"] == pytest.approx((row["prompt"] * 2 + row["completion"] * 10) / 1e6)
                return {row["key"]: row["prompt"] for row in shown["rows"]}

            assert await tokens("chat") == {first.id: 1000, work.id: 14_000}
            assert await tokens("job") == {job["id"]: 14_000}
            roles = await tokens("role")
            assert roles["planner"] == 2000 and sum(roles.values()) == 15_000 and len(roles) > 1
            assert await tokens("model") == {"scripted/scripted": 15_000}
            [day] = await tokens("day")
            assert (await client.ask("GET", f"/usage?since={day}&until={day}"))["total"]["requests"] == 5
            assert (await client.ask("GET", "/usage?since=2030-01-01"))["rows"] == []
            wrong = await client.ask("GET", "/usage?since=yesterday", expect=422)
            assert wrong["error"]["param"] == "since"
            await client.ask("GET", "/usage?by=key", expect=422)


@proves("OPS-1/7")
async def test_use_without_a_known_price_is_told_as_unknown_and_counted(tmp_path: Path) -> None:
    async with live_server(tmp_path, replies=[Reply("One.", usage=used(10, 1))]) as client:
        chat = await client.chat()
        await chat.send("hi")
        shown = await client.ask("GET", "/usage?by=role")
        [row] = shown["rows"]
        assert (row["key"], row["cost"], row["unpriced_requests"]) == ("actor", None, 1)
        lines = usage_lines(shown)
        assert lines[1].split() == ["actor", "1", "10", "1", "0", "unknown"]
        assert lines[-1] == "The price of 1 requests is not known; the cost leaves them out."
