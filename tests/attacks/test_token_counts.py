"""Token counts that a model server reports are text of others: any number in them leaves accounts, budgets and other chats whole."""

from pathlib import Path

import pytest

from anycowork.config.settings import PriceEntry, ProviderEntry
from support.live_server import live_server
from support.scripted_model import Reply, ScriptedModel
from support.spec import proves


@proves("OPS-1/5")
@pytest.mark.parametrize("count", [2**62, 2**63, 10**30, 10**400, -5], ids=["2^62", "2^63", "10^30", "10^400", "-5"])
async def test_no_token_count_breaks_a_turn_or_the_accounts(tmp_path: Path, count: int) -> None:
    used = {"prompt_tokens": count, "completion_tokens": count, "prompt_tokens_details": {"cached_tokens": count}}
    async with ScriptedModel([*[Reply(f"Reply {number}.", usage=used) for number in range(4)], "Plain."]) as model:
        entry = ProviderEntry(
            name="scripted",
            base_url=model.base_url,
            models=("scripted",),
            prices={"scripted": PriceEntry(input=2.0, output=10.0)},
        )
        async with live_server(tmp_path, providers=(entry,)) as client:
            chat, other = await client.chat(), await client.chat()
            for number in range(4):
                await chat.send(f"Message {number}")
                assert (await chat.last())["content"] == f"Reply {number}.", await chat.show()
            await other.send("Another chat")
            assert (await other.last())["content"] == "Plain."
            [row] = (await client.ask("GET", f"{chat.path}/usage"))["models"]
            assert row["requests"] == 4 and (row["prompt"] > 4 * 10**9) is (count > 0)
            for by in ("model", "chat", "day"):
                report = await client.ask("GET", f"/usage?by={by}")
                assert report["groups"]
            async with client.session.get(f"{client.url}/metrics") as scraped:
                assert scraped.status == 200 and "anycowork_model_tokens_total" in await scraped.text()
