"""A plan in a real browser while it is carried out and afterwards: how far it is, and what was meant beside what was done."""

import json
import re

from playwright.async_api import expect

from anycowork.config.settings import PriceEntry, ProviderEntry
from e2e.browsing import DESKTOP, PHONE, at_the_page, start_chat, violations
from e2e.test_web_first_minutes import COVERED
from support.scripted_model import Reply, ScriptedModel, call
from support.spec import proves

PLAN = json.dumps(
    {
        "type": "plan",
        "goal": "Write two notes",
        "steps": [
            {"action": "Write `one.txt`", "paths": ["one.txt"], "check": "grep -q 1 one.txt"},
            {"action": "Write `two.txt`", "paths": ["two.txt"], "dependencies": ["1"]},
        ],
    }
)
WORK = [
    PLAN,
    call("create_file", path="one.txt", content="1\n"),
    call("create_file", path="extra.txt", content="!\n"),
    "One note is written.",
    "That is all.",
]

# As on a machine that is busy: what a click opens is drawn much later.
SLOW_CLICKS = """document.addEventListener("click", () => {
  const end = performance.now() + 700;
  while (performance.now() < end);
})"""


@proves("PLN-5/1", "PLN-5/7", "UI-4/1")
async def test_a_plan_is_followed_live_and_held_against_what_was_done(tmp_path):
    async with at_the_page(tmp_path, replies=WORK) as (page, _):
        await start_chat(page, "plan two notes", role="Planner")
        await expect(page.get_by_label("Plan", exact=True)).to_contain_text("proved by")
        await page.get_by_role("button", name="Execute plan").click()
        dock = page.get_by_label("The plan so far")
        await expect(page.get_by_label("Approvals")).to_contain_text("not in the plan")
        await expect(dock).to_contain_text("0 of 2")  # its check has not run yet
        await expect(dock).to_contain_text("Write one.txt")
        await dock.get_by_role("button", expanded=False).click()
        await expect(dock.get_by_role("listitem")).to_have_count(2)
        assert await violations(page) == []
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("That is all.")).to_be_visible()

        await dock.get_by_role("button", name="Plan against actual").click()
        compared = page.get_by_role("dialog", name="Plan against actual")
        await expect(compared).to_contain_text("1 of 2 steps · blocked")
        first, second = await compared.locator("ol > li").all()
        await expect(first).to_contain_text("Created one.txt")
        await expect(first).to_contain_text("grep -q 1 one.txt passed.")
        await expect(second).to_contain_text("No call was made for it.")
        await expect(compared).to_contain_text(re.compile("Outside the plan.*extra.txt.*you allowed it"))
        assert await violations(page) == []


IS_UNCOVERED = """() => {
  const { x, y, width, height } = document.activeElement.getBoundingClientRect();
  return [y + 4, y + height - 4].every((at) => document.elementFromPoint(x + width / 2, at) === document.activeElement);
}"""


@proves("APR-6/3", "UI-4")
async def test_a_budget_is_set_on_the_plan_and_asks_when_it_is_spent(tmp_path):
    two = [PLAN, *(call("create_file", path=name, content="1\n") for name in ("one.txt", "two.txt")), "Both."]
    async with at_the_page(tmp_path, replies=two, viewport={"width": 1280, "height": 700}) as (page, _):
        await start_chat(page, "plan two notes", role="Planner")
        plan = page.get_by_label("Plan", exact=True)
        await page.evaluate(SLOW_CLICKS)
        for viewport in (PHONE, DESKTOP):
            await page.set_viewport_size(viewport)
            await plan.get_by_role("button", name="Edit").click()
            await expect(plan.get_by_label("Step 1: what should it do?")).to_be_in_viewport()
            back = plan.get_by_role("button", name="Back to the plan")
            await page.set_viewport_size({**viewport, "height": 500})
            await expect(page.get_by_text("Latest", exact=True)).to_be_attached()
            await page.wait_for_function(f"(it) => ({COVERED})(it).length === 0", arg=await back.element_handle())
            await page.set_viewport_size(viewport)
            if viewport == PHONE:
                await page.set_viewport_size({**PHONE, "height": 420})  # the keyboard is open
                await plan.get_by_label("Step 2: what should it do?").focus()
                assert await page.evaluate(IS_UNCOVERED), "the buttons that stay in view cover what is typed"
                await expect(plan.get_by_role("button", name="Execute edited plan")).to_be_in_viewport(ratio=1)
                await back.click()
        await plan.get_by_label("Changes and commands").fill("1")
        assert await violations(page) == []
        execute = plan.get_by_role("button", name="Execute edited plan")
        for viewport in (PHONE, DESKTOP):
            await page.set_viewport_size(viewport)
            await expect(execute).to_be_in_viewport(ratio=1)
        await execute.click()
        asked = page.get_by_label("Approvals")
        await expect(asked).to_contain_text("The budget of the approved plan is spent (1 of 1 calls).")
        await expect(asked).to_contain_text("two.txt")
        await expect(plan).to_contain_text("1 change or command")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("Both.")).to_be_visible()


async def test_the_comparison_fits_a_phone_and_the_dark(tmp_path):
    async with at_the_page(tmp_path, replies=WORK, viewport=PHONE, dark=True) as (page, _):
        await start_chat(page, "plan two notes", role="Planner")
        await page.get_by_role("button", name="Execute plan").click()
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("That is all.")).to_be_visible()
        await page.get_by_role("button", name="More about this chat").click()
        await page.get_by_role("menuitem", name="Plan against actual").click()
        await expect(page.get_by_role("dialog")).to_contain_text("Outside the plan")
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@proves("OPS-1/5")
async def test_the_meter_sums_tokens_and_cost_and_shows_how_full_the_context_is(tmp_path):
    usage = {"prompt_tokens": 4000, "completion_tokens": 100}
    replies = [Reply("One.", usage=usage), Reply("Two.", usage={**usage, "prompt_tokens": 6000})]
    async with ScriptedModel(replies) as model:
        entry = ProviderEntry(
            name="office",
            base_url=model.base_url,
            models=("large",),
            context_tokens=12_200,
            prices={"large": PriceEntry(input=10, output=100)},
        )
        async with at_the_page(tmp_path, providers=(entry,), model="office/large") as (page, _):
            await start_chat(page, "one")
            await expect(page.get_by_role("button", name="Used in this chat: 4.1k tokens, $0.05")).to_be_visible()
            await page.get_by_label("Message", exact=True).fill("two")
            await page.keyboard.press("Enter")
            meter = page.get_by_role("button", name="Used in this chat: 10k tokens, $0.12")
            await expect(meter).to_be_visible()
            await page.reload()
            await meter.click()
            await expect(page.get_by_role("meter")).to_have_attribute("value", "50")
            await expect(page.get_by_text("2 requests · 10,000 in · 200 out")).to_be_visible()
            assert await violations(page) == []
