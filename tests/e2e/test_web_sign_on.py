"""Signing on with an OpenID provider in a real browser, which comes back from another site."""

from pathlib import Path

from playwright.async_api import expect

from e2e.browsing import TIMEOUT_MS, a_browser, violations
from support.signed_on import LATER, sign_on_server
from support.spec import proves


@proves("OPS-5/1")
@proves("OPS-5/3")
async def test_a_person_signs_on_works_and_is_asked_again_when_the_provider_ended_it(tmp_path: Path) -> None:
    async with sign_on_server(tmp_path, host="localhost") as there, a_browser() as browser:
        context = await browser.new_context()
        page = await context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        await page.goto(there.server.url)
        link = page.get_by_role("link", name="Sign in with Acme")
        await expect(link).to_be_visible()
        assert await violations(page) == []
        await link.click()
        await expect(page.get_by_role("heading", name="What do you want to get done?")).to_be_visible()
        assert await there.people() == {"Ada Lovelace": "member"} and "code" not in page.url
        there.provider.refusal = "invalid_grant"
        await there.look(LATER)
        await expect(link).to_be_visible()
        await context.close()
