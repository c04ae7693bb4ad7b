"""What can be typed besides words, and what to do when a context is full: commands, mentions, compacting. One server for all."""

from pathlib import Path

import pytest_asyncio
from playwright.async_api import Page, expect

from anycowork.config.settings import ProviderEntry
from e2e.browsing import DESKTOP, PHONE, a_browser, a_page, violations
from support.live_server import LiveServer, live_server
from support.scripted_model import ScriptedModel, call
from support.spec import proves

NOTES = {f"{n}.txt": f"note-{n} " + "word " * 1_600 for n in range(12)}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model():
    async with ScriptedModel() as model:
        yield model


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(tmp_path_factory, model: ScriptedModel):
    entry = ProviderEntry(name="small", base_url=model.base_url, models=("m",), context_tokens=6_000)
    folder = tmp_path_factory.mktemp("composer")
    async with live_server(folder, providers=(entry,), model="small/m", files=NOTES) as client:
        yield client


@pytest_asyncio.fixture(loop_scope="session")
async def page(client: LiveServer):
    async with a_browser() as browser, a_page(browser, client.url) as page:
        yield page


@proves("LOOP-11/3", "UI-11")
async def test_a_full_context_is_compacted_and_continued_by_one_click(
    page: Page, client: LiveServer, model: ScriptedModel, tmp_path: Path
) -> None:
    reads = iter(range(12))
    model.mind = lambda body: call("read_file", path=f"{next(reads)}.txt")
    chat = await client.chat(title="Notes")
    await client.ask("PATCH", chat.path, {"autonomy": "edits"})
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    await chat.send("read the notes")
    await expect(page.get_by_role("region", name="The context is full")).to_be_visible()
    assert await violations(page) == []
    model.mind = lambda body: "All are read."
    await page.get_by_role("button", name="Compact").click()
    await expect(page.get_by_text("All are read.")).to_be_visible()
    await page.get_by_role("button", name="What the model is shown instead").click()
    await expect(page.get_by_text('read_file "0.txt" (ok)')).to_be_visible()
    assert await violations(page) == []
    await page.set_viewport_size(PHONE)
    assert await violations(page) == []
    await page.set_viewport_size(DESKTOP)
    await page.get_by_role("button", name="Undo", exact=True).click()
    await expect(page.get_by_text("Compacting was undone")).to_be_visible()
