"""Schedules and triggers in the settings, in a real browser: added, run, read, edited and removed, also on a phone."""

import re

from playwright.async_api import expect

from e2e.browsing import PHONE, at_the_page, violations
from support.spec import proves
from support.triggers import send


@proves("UI-5", "OPS-8/1")
async def test_a_schedule_is_added_run_read_edited_and_removed(tmp_path):
    async with at_the_page(tmp_path, replies=["It prints a clock."] * 3) as (page, client):
        await page.goto(page.url.split("#")[0] + "#/settings/schedules")
        await expect(page.get_by_text("No schedules yet.")).to_be_visible()
        await page.get_by_role("button", name="Add a schedule").click()
        form = page.get_by_role("form", name="New schedule")
        await expect(form.get_by_label("Name", exact=True)).to_be_focused()
        await form.get_by_label("Name", exact=True).fill("Morning")
        await form.get_by_label("Starts").select_option("workflow:explain_code")
        await form.get_by_label(re.compile(r"^Times \(")).fill("0 9 * *")
        await form.get_by_role("button", name="Save").click()
        await expect(form.get_by_text("It is missing", exact=False)).to_be_visible()
        await form.get_by_label(re.compile("^path")).fill("clock.py")
        await form.get_by_role("button", name="Save").click()
        await expect(form.get_by_text("five fields", exact=False)).to_be_visible()
        assert await violations(page) == []
        await form.get_by_label(re.compile(r"^Times \(")).fill("0 9 * * *")
        await form.get_by_role("button", name="Save").click()
        row = page.get_by_role("listitem", name="Morning")
        await expect(row.get_by_text("explain_code · At 09:00, every day (0 9 * * *)")).to_be_visible()
        await expect(row.get_by_text("It has not run yet.")).to_be_visible()
        await row.get_by_role("button", name="Run Morning now").click()
        await expect(row.get_by_role("link", name="answered")).to_be_visible(timeout=30_000)
        await row.get_by_role("button", name="Edit Morning").click()
        form = page.get_by_role("form", name="Edit Morning")
        await expect(form.get_by_label(re.compile("^path"))).to_have_value("clock.py")
        await form.get_by_label("Name", exact=True).fill("Evening")
        await form.get_by_role("button", name="Save").click()
        row = page.get_by_role("listitem", name="Evening")
        await row.get_by_role("checkbox", name="Evening is enabled").click()
        await expect(row.get_by_role("checkbox", name="Evening is enabled")).not_to_be_checked()
        await expect(row.get_by_text(re.compile("next"))).to_be_hidden()
        assert await violations(page) == []
        await row.get_by_role("link", name="answered").click()
        await expect(page.get_by_text("It prints a clock.")).to_be_visible()
        await page.go_back()
        await page.get_by_role("button", name="Delete Evening").click()
        await expect(page.get_by_text("No schedules yet.")).to_be_visible()
        assert (await client.ask("GET", "/schedules"))["schedules"] == []


@proves("UI-5", "OPS-8/2")
async def test_a_trigger_is_added_on_a_phone_and_its_request_is_seen(tmp_path):
    async with at_the_page(tmp_path, replies=["It prints a clock."] * 3, viewport=PHONE) as (page, client):
        await page.goto(page.url.split("#")[0] + "#/settings/schedules")
        await page.get_by_role("button", name="Add a trigger").click()
        form = page.get_by_role("form", name="New trigger")
        await form.get_by_label("Name", exact=True).fill("On push")
        await form.get_by_label("Starts").select_option("workflow:explain_code")
        await form.get_by_label(re.compile("^path from the request")).fill("/file")
        await form.get_by_role("button", name="Save").click()
        secret = await page.get_by_label("The trigger's secret").text_content()
        [trigger] = (await client.ask("GET", "/triggers"))["triggers"]
        await expect(page.get_by_text(f"/triggers/{trigger['id']}")).to_be_visible()
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert (await send(client, {**trigger, "secret": secret}, {"file": "clock.py"}))[0] == 202
        row = page.get_by_role("listitem", name="On push")
        await expect(row.get_by_role("link", name="answered")).to_be_visible(timeout=30_000)
        await page.get_by_role("button", name="Done").click()
        await expect(page.get_by_label("The trigger's secret")).to_be_hidden()
        await page.get_by_role("button", name="Delete On push").click()
        await expect(page.get_by_text("No triggers yet.")).to_be_visible()
