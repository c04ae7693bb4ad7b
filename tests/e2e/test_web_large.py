"""A command that changed thousands of files, in a real browser: reviewed, partly taken back, restored. `make test-large` takes 20,000."""

import logging
import os
from typing import Any

from playwright.async_api import CDPSession, Page, expect

from e2e.browsing import at_the_page, start_chat
from support.scripted_model import call
from support.spec import proves

log = logging.getLogger(__name__)
FILES = int(os.environ.get("ANYCOWORK_LARGE_PAGE_FILES", "2000"))
PER_FOLDER = 50
WITHIN = 30_000 + FILES * 30  # ms; a busy machine takes minutes for 20,000
PATHS = [f"src/{number // PER_FOLDER:03}/{number}.txt" for number in range(FILES)]
COMMAND = "for file in src/*/*.txt; do echo more >> $file; done"
NODES = "document.querySelectorAll('*').length"
MOST_NODES = 3_000  # whatever the number of files: only those in sight are drawn
MOST_CPU = (
    4.0  # seconds of the page's own thread for one step, on a slow machine; a page that stalls takes tens of them
)


@proves("OPS-4/1", "OPS-4/2", "UI-6")
async def test_a_command_that_changed_thousands_of_files_is_reviewed_partly_reverted_and_restored(tmp_path):
    replies = [call("execute_command", command=COMMAND), "All done."]
    files = dict.fromkeys(PATHS, "old\n")
    async with at_the_page(tmp_path, replies=replies, files=files, command_timeout=300.0) as (page, client):
        page.set_default_timeout(WITHIN)
        cpu = await PageCpu.of(page)
        await start_chat(page, "append everywhere")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("All done.")).to_be_visible(timeout=WITHIN)
        assert (client.workspace / PATHS[-1]).read_text() == "old\nmore\n"
        await cpu.begin()
        await page.get_by_role("button", name="Review").click()
        await expect(page.get_by_role("listbox", name="Changed files")).to_be_focused()
        await page.keyboard.press("End")
        await expect(page.get_by_role("option", selected=True)).to_be_in_viewport()
        assert await page.evaluate(NODES) <= MOST_NODES
        await page.keyboard.press("Escape")
        await cpu.check("the review")

        chat = page.url.rpartition("/")[2]
        before = (await client.ask("GET", f"/context/{chat}/snapshots"))["snapshots"][0]
        restore = f"/context/{chat}/snapshots/{before['id']}/restore"
        done = await client.ask("POST", restore, {"paths": ["src/000", PATHS[-1]]})
        assert done["counts"]["restored"] == PER_FOLDER + 1
        assert (client.workspace / PATHS[0]).read_text() == "old\n"
        assert (client.workspace / PATHS[PER_FOLDER]).read_text() == "old\nmore\n"

        await cpu.begin()
        await page.get_by_role("button", name="Checkpoints").click()
        await expect(page.get_by_text(f"{FILES:,} files, lines not counted")).to_be_visible()
        await page.get_by_role("button", name="Go back to before this").last.click()
        back = page.get_by_role("dialog").get_by_role("button", name="Go back", exact=True)
        await expect(back).to_be_enabled(timeout=WITHIN)
        assert await page.evaluate(NODES) <= MOST_NODES
        await cpu.check("the preview")
        await back.click()
        await expect(page.get_by_text("The files were restored.")).to_be_visible(timeout=WITHIN)
        assert {path: (client.workspace / path).read_text() for path in PATHS} == files


class PageCpu:
    """CPU time of the page's main thread: what a person would wait for, whatever else the machine does."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session
        self._began = 0.0

    @classmethod
    async def of(cls, page: Page) -> "PageCpu":
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable", {"timeDomain": "threadTicks"})
        return cls(session)

    async def begin(self) -> None:
        self._began = await self._spent()

    async def check(self, step: str) -> None:
        """Fails if the page worked for long since the step began."""
        took = await self._spent() - self._began
        log.info("%s took %.2f s of the page's CPU", step, took)
        assert took < MOST_CPU, step

    async def _spent(self) -> float:
        metrics: list[dict[str, Any]] = (await self._session.send("Performance.getMetrics"))["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))
