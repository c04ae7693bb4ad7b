"""A folder's instructions in a real browser: said calmly, read before they are trusted, used then, and asked for again after a change."""

from playwright.async_api import expect

from e2e.browsing import PHONE, at_the_page, start_chat, violations
from support.instructions import NAME, shown, told
from support.spec import proves


@proves("SEC-4", "UI-5")
async def test_instructions_are_read_trusted_used_and_asked_for_again_after_a_change(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello.", "With tabs.", "As before."], viewport=PHONE) as (page, client):
        (client.workspace / NAME).write_text("Use tabs.\n")
        await start_chat(page, "good day")
        await expect(page.get_by_text("Hello.")).to_be_visible()
        line = page.get_by_role("note").filter(has_text="This folder has instructions for agents (AGENTS.md)")
        await expect(line).to_be_visible()
        assert await violations(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

        await line.get_by_role("button", name="Read and trust…").click()
        dialog = page.get_by_role("dialog", name=NAME)
        await expect(dialog.get_by_label(f"Content of {NAME}")).to_contain_text("Use tabs.")
        assert await violations(page) == []
        await dialog.get_by_role("button", name="Trust this content").click()
        await expect(line).to_be_hidden()
        await expect(page.get_by_role("note").filter(has_text="is trusted with its current content")).to_be_visible()
        assert ((await shown(client)) or {})["state"] == "trusted"

        message = page.get_by_label("Message", exact=True)
        await message.fill("go on")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("With tabs.")).to_be_visible()
        assert ["Use tabs." in prompt for prompt in told(client)] == [False, True]

        (client.workspace / NAME).write_text("Use spaces.\n")
        await message.fill("and now?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("As before.")).to_be_visible()
        changed = page.get_by_role("note").filter(has_text="have changed")
        await changed.get_by_role("button", name="Not now").click()
        await expect(changed).to_be_hidden()
        assert "Use tabs." not in told(client)[-1] and "Use spaces." not in told(client)[-1]
