"""What a chat and a call keep in a real browser: a chat its model, a denied call its state, a call its own time."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from playwright.async_api import Page, expect

from anycowork.config.settings import ProviderEntry
from e2e.browsing import a_browser, a_page, at_the_page, start_chat
from support.live_server import Json, LiveChat, live_server
from support.scripted_model import ScriptedModel, call
from support.spec import proves

THOUGHT_MS = 2_000  # how long the person of the test thinks: the shown time must not hold it
# Every state that the two calls were ever seen in, beside each other.
WATCH = """
window.seen = [];
new MutationObserver(() => {
  const rows = [...document.querySelectorAll("[role=log] button[aria-expanded]")].map((row) => row.textContent);
  const pair = ["never.txt", "sleep 3"].map((name) => rows.find((row) => row.includes(name)) ?? "");
  if (JSON.stringify(window.seen.at(-1)) !== JSON.stringify(pair)) window.seen.push(pair);
}).observe(document, { childList: true, subtree: true, characterData: true });
"""


@proves("MOD-2")
async def test_an_old_chat_keeps_its_model_when_another_of_the_same_server_becomes_the_default(tmp_path: Path) -> None:
    async with ScriptedModel(["First.", "Second.", "Third."], models=("small", "large")) as office:
        entry = ProviderEntry(name="office", base_url=office.base_url, models=("small", "large"))
        async with at_the_page(tmp_path, providers=(entry,), model="office/small") as (page, client):
            await start_chat(page, "hello")
            await expect(page.get_by_text("First.", exact=True)).to_be_visible()
            old = page.url
            await page.goto(f"{client.url}/#/settings/models")
            await page.get_by_role("button", name="Model: office/small").click()
            await page.get_by_role("option", name="office/large").click()
            await expect(page.get_by_role("button", name="Model: office/large")).to_be_visible()
            await page.goto(f"{client.url}/#/")
            await expect(page.get_by_role("button", name="Model: office/large")).to_be_visible()
            await start_chat(page, "hello again")
            await expect(page.get_by_text("Second.", exact=True)).to_be_visible()
            await expect(page.get_by_role("button", name="Model: office/large")).to_be_visible()
            await page.goto(old)
            await expect(page.get_by_text("First.", exact=True)).to_be_visible()
            await expect(page.get_by_role("button", name="Model: office/small")).to_be_visible()
            await page.get_by_label("Message", exact=True).fill("and now?")
            await page.keyboard.press("Enter")
            await expect(page.get_by_text("Third.", exact=True)).to_be_visible()
            await expect(page.get_by_role("button", name="Model: office/small")).to_be_visible()
            assert [body["model"] for body in office.requests] == ["small", "large", "small"]


@proves("UI-3")
async def test_a_denied_call_of_a_batch_never_shows_as_running_and_times_leave_out_the_persons_thinking(
    tmp_path: Path,
) -> None:
    batch = "\n".join(
        (call("create_file", path="never.txt", content="x\n"), call("execute_command", command="sleep 3; echo slow"))
    )
    async with (
        live_server(tmp_path, replies=[batch, "One of two."]) as client,
        a_browser() as browser,
        a_page(browser, client.url, script=WATCH) as page,
    ):
        await start_chat(page, "do both")
        await expect(page.get_by_label("Approvals")).to_contain_text("2 calls wait for you")
        await page.wait_for_timeout(THOUGHT_MS)
        await page.get_by_role("button", name="Deny", exact=True).click()
        await page.get_by_label("Approvals").locator("form").get_by_role("button", name="Deny", exact=True).click()
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("One of two.", exact=True)).to_be_visible()
        seen = await page.evaluate("window.seen")
        first_request = next(index for index, (denied, _) in enumerate(seen) if "waits" in denied)
        assert not any("running" in denied for denied, _ in seen[first_request:]), seen
        assert any("denied" in denied and "running" in slow for denied, slow in seen), seen

        events = await LiveChat(client, {"id": page.url.rsplit("/", 1)[1]}).events()
        assert await shown_seconds(page, "sleep 3") <= from_decision_to_end(events) + 0.1  # shown to a tenth
        assert not (client.workspace / "never.txt").exists()


async def shown_seconds(page: Page, command: str) -> float:
    row = await page.get_by_role("log").get_by_role("button", name=re.compile(command)).inner_text()
    [shown] = re.findall(r"([\d.]+) s\b", row)
    return float(shown)


def from_decision_to_end(events: Sequence[Json]) -> float:
    """As the server dated them: from the last decision to the last result."""
    decided, ended = (
        max(datetime.fromisoformat(event["at"]) for event in events if event["type"] == kind)
        for kind in ("permission-decided", "tool-result")
    )
    return (ended - decided).total_seconds()
