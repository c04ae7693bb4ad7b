"""What a chat has used: summed per model over all its turns, with what it cost where the price is known."""

from pathlib import Path

import pytest

from anycowork.config.settings import PriceEntry, ProviderEntry
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
