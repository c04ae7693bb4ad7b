"""A command that changed thousands of files, in a real browser: reviewed, partly taken back, restored. `make test-large` takes 20,000."""

import asyncio
import logging
import os
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import CDPSession, Page, expect

from e2e.browsing import at_the_page, start_chat
from support.scripted_model import call
from support.spec import proves

log = logging.getLogger(__name__)
FILES = int(os.environ.get("ANYCOWORK_LARGE_PAGE_FILES", "1000"))
PER_FOLDER = 50
WITHIN = 30_000 + FILES * 30  # ms; a busy machine takes minutes for 20,000
PATHS = [f"src/{number // PER_FOLDER:03}/{number}.txt" for number in range(FILES)]
COMMAND = "for file in src/*/*.txt; do echo more >> $file; done"
REVERTED = PATHS[0]
FOLDER = "src/001"
RESTORED = "Files were restored to an earlier state: {:,} files restored"  # the chat says so for good; a toast goes
NODES = "document.querySelectorAll('*').length"
MOST_IDLE = 0.05  # of one core while it waits and shows how far a restore is
WATCH_LONG_TASKS = """() => {
  window.longest = 0;
  const seen = (list) => list.getEntries().forEach(({ duration }) => { window.longest = Math.max(window.longest, duration); });
  new PerformanceObserver(seen).observe({ type: "longtask" });
}"""
MOST_NODES = 3_000  # whatever the number of files: only those in sight are drawn
MOST_CPU = (
    10.0  # seconds of the page's own thread for one step, on a slow machine; a page that stalls takes tens of them
)


@pytest.mark.timeout(300 + FILES / 5)
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

        await _revert_one_file(page, client.workspace, cpu)
        await _restore_one_folder(page, client.workspace, cpu)

        await cpu.begin()
        await page.get_by_role("button", name="Checkpoints").click()
        await expect(page.get_by_text(f"{FILES:,} files, lines not counted")).to_be_visible()
        await page.get_by_role("button", name="Restore to before this").last.click()
        back = page.get_by_role("dialog").get_by_role("button", name="Restore", exact=True)
        await expect(page.get_by_text(f"{FILES - PER_FOLDER - 1:,} files will change.")).to_be_visible(timeout=WITHIN)
        await expect(back).to_be_enabled()
        assert await page.evaluate(NODES) <= MOST_NODES
        await cpu.check("the preview")
        await cpu.begin()
        async with _restored(page):
            await back.click()
        await expect(page.get_by_text(RESTORED.format(FILES - PER_FOLDER - 1))).to_be_visible(timeout=WITHIN)
        await cpu.check("the restore")
        # On a thread: 20,000 files that are not in memory take seconds, and the server runs on this loop.
        assert await asyncio.to_thread(_contents, client.workspace) == files


def _restored(page: Page) -> AbstractAsyncContextManager[object]:
    """Waits for the answer, and not by looking at the page again and again: that would be the page's CPU too."""
    return page.expect_response(lambda answer: answer.url.endswith("/restore"), timeout=WITHIN)


def _contents(workspace: Path) -> dict[str, str]:
    return {path: (workspace / path).read_text() for path in PATHS}


async def _revert_one_file(page: Page, workspace: Path, cpu: "PageCpu") -> None:
    """In the list of changes, as a person who reads them does."""
    await cpu.begin()
    await page.get_by_role("button", name="Files and changes").click()
    await page.get_by_role("tab", name="Changes").click()
    listed = page.get_by_role("list", name="Changed files")
    await expect(listed).to_be_visible(timeout=WITHIN)
    await listed.get_by_role("button", name=REVERTED).click()
    await page.get_by_role("button", name=f"Restore file {REVERTED}").click()
    await expect(page.get_by_text(f"You took back changes of {REVERTED}")).to_be_visible(timeout=WITHIN)
    await expect(listed.get_by_role("button", name=REVERTED)).to_have_count(0, timeout=WITHIN)
    await page.get_by_role("button", name="Close files").click()
    await expect(listed).to_have_count(0)
    await cpu.check("the revert of a file")
    assert (workspace / REVERTED).read_text() == "old\n"


async def _restore_one_folder(page: Page, workspace: Path, cpu: "PageCpu") -> None:
    """In the preview of a restore of everything."""
    await cpu.begin()
    await page.get_by_role("button", name="Checkpoints").click()
    await page.get_by_role("button", name="Restore to before this").last.click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text(f"{FILES - 1:,} files will change.")).to_be_visible(timeout=WITHIN)
    await dialog.get_by_label("Only this folder or file").fill(FOLDER)
    await dialog.get_by_role("button", name="Show", exact=True).click()
    await expect(dialog.get_by_text(f"{PER_FOLDER} files will change.")).to_be_visible(timeout=WITHIN)
    async with _restored(page):
        await dialog.get_by_role("button", name="Restore", exact=True).click()
    await expect(page.get_by_text(RESTORED.format(PER_FOLDER))).to_be_visible(timeout=WITHIN)
    await expect(dialog).to_have_count(0)
    await cpu.check("the restore of a folder")
    assert {(workspace / path).read_text() for path in PATHS if path.startswith(f"{FOLDER}/")} == {"old\n"}
    assert (workspace / PATHS[-1]).read_text() == "old\nmore\n"


class PageCpu:
    """CPU time of the page's main thread: what a person would wait for, whatever else the machine does.

    The longest single task is logged too; it is clock time, so that nothing is decided by it.
    """

    def __init__(self, page: Page, session: CDPSession) -> None:
        self._page = page
        self._session = session
        self._began, self._clock = 0.0, 0.0

    @classmethod
    async def of(cls, page: Page) -> "PageCpu":
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable", {"timeDomain": "threadTicks"})
        await page.evaluate(WATCH_LONG_TASKS)
        return cls(page, session)

    async def begin(self) -> None:
        self._began, self._clock = await self._spent(), time.monotonic()
        await self._page.evaluate("window.longest = 0")

    async def check(self, step: str) -> None:
        """Fails if the page worked for long since the step began."""
        took = await self._spent() - self._began
        longest = await self._page.evaluate("window.longest")
        waited = time.monotonic() - self._clock
        log.info("%s took %.2f s of the page's CPU in %.0f s, its longest task %d ms", step, took, waited, longest)
        assert took < MOST_CPU + MOST_IDLE * waited, step

    async def _spent(self) -> float:
        metrics: list[dict[str, Any]] = (await self._session.send("Performance.getMetrics"))["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))
