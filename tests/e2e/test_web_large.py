"""A command that changed thousands of files, in a real browser: reviewed, partly taken back, restored. `make test-large` takes 20,000."""

import os

from playwright.async_api import expect

from e2e.browsing import at_the_page, start_chat
from support.scripted_model import call
from support.spec import proves

FILES = int(os.environ.get("ANYCOWORK_LARGE_PAGE_FILES", "2000"))
PER_FOLDER = 50
WITHIN = 30_000 + FILES * 30  # ms; a busy machine takes minutes for 20,000
PATHS = [f"src/{number // PER_FOLDER:03}/{number}.txt" for number in range(FILES)]
COMMAND = "for file in src/*/*.txt; do echo more >> $file; done"
NODES = "document.querySelectorAll('*').length"
MOST_NODES = 3_000  # whatever the number of files: only those in sight are drawn


@proves("OPS-4", "UI-6")
async def test_a_command_that_changed_thousands_of_files_is_reviewed_partly_reverted_and_restored(tmp_path):
    replies = [call("execute_command", command=COMMAND), "All done."]
    files = dict.fromkeys(PATHS, "old\n")
    async with at_the_page(tmp_path, replies=replies, files=files, command_timeout=300.0) as (page, client):
        page.set_default_timeout(WITHIN)
        await start_chat(page, "append everywhere")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("All done.")).to_be_visible(timeout=WITHIN)
        assert (client.workspace / PATHS[-1]).read_text() == "old\nmore\n"
        await page.get_by_role("button", name="Review").click()
        await expect(page.get_by_role("listbox", name="Changed files")).to_be_focused()
        await page.keyboard.press("End")
        await expect(page.get_by_role("option", selected=True)).to_be_in_viewport()
        assert await page.evaluate(NODES) <= MOST_NODES
        await page.keyboard.press("Escape")

        chat = page.url.rpartition("/")[2]
        before = (await client.ask("GET", f"/context/{chat}/snapshots"))["snapshots"][0]
        restore = f"/context/{chat}/snapshots/{before['id']}/restore"
        done = await client.ask("POST", restore, {"paths": ["src/000", PATHS[-1]]})
        assert done["counts"]["restored"] == PER_FOLDER + 1
        assert (client.workspace / PATHS[0]).read_text() == "old\n"
        assert (client.workspace / PATHS[PER_FOLDER]).read_text() == "old\nmore\n"

        await page.get_by_role("button", name="Checkpoints").click()
        await expect(page.get_by_text(f"{FILES:,} files, lines not counted")).to_be_visible()
        await page.get_by_role("button", name="Go back to before this").last.click()
        back = page.get_by_role("dialog").get_by_role("button", name="Go back", exact=True)
        await expect(back).to_be_enabled(timeout=WITHIN)
        assert await page.evaluate(NODES) <= MOST_NODES
        await back.click()
        await expect(page.get_by_text("The files were restored.")).to_be_visible(timeout=WITHIN)
        assert {path: (client.workspace / path).read_text() for path in PATHS} == files
