"""Another vendor's agent in the browser: chosen where a model is chosen, and shown with what it was kept from."""

import json
import re
import sys
from pathlib import Path

import acp
import pytest
from playwright.async_api import expect

from anycowork.config.settings import AgentEntry
from e2e.browsing import at_the_page, start_chat, violations
from support.acp_agent import PROGRAM
from support.spec import proves

pytestmark = pytest.mark.skipif(
    not Path(acp.__file__).is_relative_to(sys.prefix),
    reason="this interpreter has no package of the protocol of its own",
)


@proves("ACP-2/1")
async def test_an_agent_is_chosen_like_a_model_and_its_card_says_what_it_was_kept_from(tmp_path):
    agents = {"helper": AgentEntry(command=PROGRAM, seconds=60)}
    words = json.dumps([["write", "a.txt", "new"], ["permission", "edit", "/etc/hosts"]])
    async with at_the_page(tmp_path, agents=agents) as (page, client):
        rule = {"tool": "create_file", "resource": "/a.txt", "effect": "deny", "scope": "global"}
        await client.ask("POST", "/rules", rule)
        await page.get_by_role("button", name=re.compile("^Model")).click()
        await page.get_by_role("combobox", name="Search models").fill("helper")
        await page.keyboard.press("Enter")
        await start_chat(page, words)
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("The agent 'helper' failed or was kept from this.")).to_be_visible()
        await page.get_by_text("agent__helper").first.click()
        card = page.get_by_role("group", name="helper")
        await expect(card).to_contain_text("Done by the agent helper")
        await expect(card.get_by_role("list", name="It was kept from")).to_contain_text("outside the workspace")
        await expect(card.get_by_role("list", name="Its changes to these files were not kept")).to_have_text("a.txt")
        assert await violations(page) == []
        assert not (client.workspace / "a.txt").exists()
