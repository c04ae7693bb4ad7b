"""What can be typed besides words, and what to do when a context is full: commands, mentions, compacting. One server for all."""

import re
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Page, expect

from anycowork.config.settings import ProviderEntry
from e2e.browsing import DESKTOP, PHONE, violations
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


@proves("UI-8")
async def test_commands_and_mentions_are_completed_by_keyboard_alone(
    page: Page, client: LiveServer, model: ScriptedModel
) -> None:
    (client.workspace / "lib").mkdir()
    (client.workspace / "lib" / "heron.py").write_text("class Heron:\n    pass\n")
    model.mind = lambda body: "Seen."
    chat = await client.chat(title="Birds")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    field = page.get_by_label("Message", exact=True)
    await field.focus()
    for typed, option in (
        ("look at @her", "@lib/heron.py File"),
        ("and @symbol:Her", "@symbol:Heron"),
        ("in @li", "@lib/ Folder"),
    ):
        await page.keyboard.type(typed)
        await expect(page.get_by_role("option", name=option)).to_be_visible()
        await expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
        await page.keyboard.press("Enter")
    await expect(field).to_have_value("look at @lib/heron.py and @symbol:Heron in @lib/ ")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Seen.")).to_be_visible()
    called = [one["payload"]["tool"] for one in await chat.of_type("tool_call")]
    assert called == ["read_file", "search_symbol", "list_directory"]
    for name in ("@lib/heron.py", "@symbol:Heron", "@lib/"):
        await expect(page.locator("article code", has_text=name).first).to_be_visible()

    await page.keyboard.type("/")
    await expect(page.get_by_role("option", name="/compact Shorten")).to_be_visible()
    assert await violations(page) == []
    await page.set_viewport_size(PHONE)
    assert await violations(page) == []
    await page.set_viewport_size(DESKTOP)
    await page.keyboard.type("role pl")
    await expect(page.get_by_role("option", name="planner")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("note").last).to_contain_text("Planner")
    await page.keyboard.type("/compact")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("group", name="Compacted")).to_be_visible()
    await page.keyboard.type("/help")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog", name="Commands and mentions")).to_be_visible()
    assert await violations(page) == []


@proves("UI-8")
async def test_a_selection_is_quoted_by_button_and_by_key(page: Page, client: LiveServer, model: ScriptedModel) -> None:
    model.mind = lambda body: "The heron waits.\n\nIt is patient."
    chat = await client.chat(title="Quotes")
    await chat.send("tell me")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    words = page.get_by_text("The heron waits.")
    await expect(words).to_be_visible()
    field = page.get_by_label("Message", exact=True)
    await words.click(click_count=3)
    quote = page.get_by_role("button", name="Quote", exact=True)
    await expect(quote).to_be_visible()
    assert await violations(page) == []
    await quote.click()
    await expect(field).to_have_value("> The heron waits.\n\n")
    await expect(field).to_be_focused()
    await expect(quote).to_have_count(0)

    await field.fill("")
    await words.click(click_count=3)
    await expect(quote).to_be_visible()
    await page.keyboard.press("Alt+q")
    await expect(field).to_have_value("> The heron waits.\n\n")
    await field.fill("")
    await expect(quote).to_have_count(0)  # nothing is selected: the message in focus is meant
    await page.get_by_role("button", name="Copy message").last.focus()
    await page.keyboard.press("Alt+q")
    await expect(field).to_have_value("> The heron waits.\n>\n> It is patient.\n\n")

    await page.set_viewport_size(PHONE)
    await field.fill("")
    await words.click(click_count=3)
    await expect(quote).to_be_visible()
    box = await quote.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"]
    await quote.click()
    await expect(field).to_have_value("> The heron waits.\n\n")


@proves("UI-8")
async def test_a_checkpoint_is_completed_and_what_is_not_found_is_said(
    page: Page, client: LiveServer, model: ScriptedModel
) -> None:
    replies = iter([call("create_file", path="nest.md", content="twigs\n"), "Built.", "I see."])
    model.mind = lambda body: next(replies)
    chat = await client.chat(title="Nests")
    await client.ask("PATCH", chat.path, {"autonomy": "edits"})
    await chat.send("build a nest")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    await expect(page.get_by_text("Built.")).to_be_visible()
    field = page.get_by_label("Message", exact=True)
    await field.focus()
    await page.keyboard.type("undo @checkpoint:")
    await expect(page.get_by_role("option", name="build a nest")).to_be_visible()
    await expect(page.get_by_role("option").first).to_have_attribute("aria-selected", "true")
    assert await violations(page) == []
    await page.keyboard.press("Enter")
    await expect(field).to_have_value(re.compile(r"^undo @checkpoint:[0-9a-f-]{18} $"))
    await page.keyboard.type("and see @gone.md now")
    await expect(page.get_by_role("listbox")).to_have_count(0)
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("I see.")).to_be_visible()
    await expect(page.get_by_text("Not found, or not readable without asking: @gone.md")).to_be_visible()
    await expect(page.get_by_text(re.compile(r"Checkpoint .*made at"))).to_be_visible()
    assert "- nest.md" in str(model.requests[-1]["messages"][-1]["content"])


@proves("UI-10")
async def test_the_title_keeps_its_room_beside_the_files(page: Page, client: LiveServer, model: ScriptedModel) -> None:
    model.mind = lambda body: "Hello."
    chat = await client.chat(title="A title that is long enough to be cut where there is no room")
    await chat.send("hi")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    title = page.get_by_role("heading", level=1)
    await expect(title).to_be_visible()
    await page.get_by_role("button", name="Files and changes").click()
    await expect(page.get_by_role("tree")).to_be_visible()
    box = await title.bounding_box()
    assert box and box["width"] >= 160
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await violations(page) == []
