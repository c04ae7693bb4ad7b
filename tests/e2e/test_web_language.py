"""The page in German: as the browser asks, and as the person sets it."""

from playwright.async_api import expect

from e2e.browsing import at_the_page, violations
from support.spec import proves


@proves("UI-12")
async def test_the_page_speaks_german_when_the_person_asks_for_it_and_english_again(tmp_path):
    async with at_the_page(tmp_path, guide=True) as (page, _):
        await expect(page.get_by_role("heading", name="What do you want to get done?")).to_be_visible()
        await page.goto(page.url.split("#")[0] + "#/settings/appearance")
        await page.get_by_label("Language").select_option("de")
        await expect(page.get_by_role("heading", name="Darstellung")).to_be_visible()
        assert await page.evaluate("document.documentElement.lang") == "de"
        assert await violations(page) == []
        await page.goto(page.url.split("#")[0] + "#/")
        await expect(page.get_by_role("heading", name="Was möchten Sie erledigen?")).to_be_visible()
        await page.get_by_label("Nachricht", exact=True).fill("List the files")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name="Senden", exact=True)).to_be_visible()
        await page.goto(page.url.split("#")[0] + "#/settings/appearance")
        await page.get_by_label("Sprache").select_option("en")
        await expect(page.get_by_role("heading", name="Appearance")).to_be_visible()
