"""A developer's day at the page: search, pins and the archive, export, and messages that wait while the agent works. One server for all."""

import asyncio
import json
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Page, expect

from e2e.browsing import violations
from support.live_server import LiveServer, live_server
from support.scripted_model import Reply, call
from support.spec import proves


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(tmp_path_factory):
    async with live_server(tmp_path_factory.mktemp("day")) as client:
        yield client


async def choose(page: Page, item: str) -> None:
    await page.get_by_role("button", name="More about this chat").click()
    await page.get_by_role("menuitem", name=item).click()


@proves("UI-9")
async def test_a_message_is_found_by_its_words_and_opened_at_its_place(page: Page, client: LiveServer) -> None:
    client.model.replies[:] = ["The heron eats frogs.", *["Nothing new."] * 3]
    chat = await client.chat(title="Birds")
    for request in ("What does it eat?", "And now?", "And now?", "And now?"):
        await chat.send(request)
    await page.get_by_role("searchbox", name="Search chats").fill("heron frog")
    found = page.get_by_role("link", name="The heron eats frogs.")
    await expect(found.locator("mark")).to_have_text(["heron", "frogs"])
    assert await violations(page) == []
    await found.click()
    await expect(page.locator("[aria-current=true]")).to_contain_text("The heron eats frogs.")
    await page.get_by_role("searchbox", name="Search chats").fill('"(* no such words')
    await expect(page.get_by_text("No title and no message has these words.")).to_be_visible()


@proves("UI-9")
async def test_a_chat_is_renamed_pinned_archived_and_brought_back(page: Page, client: LiveServer) -> None:
    await client.chat(title="Foxes")  # pinned chats stand above the groups: one that is not has to be there
    chat = await client.chat(title="Dogs")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    chats = page.get_by_role("navigation", name="Chats")
    await choose(page, "Pin")
    await expect(chats.get_by_role("listitem").first).to_have_text("Pinned")
    await expect(chats.get_by_role("listitem").nth(1)).to_contain_text("Dogs")
    await choose(page, "Rename")
    await page.get_by_label("Title").fill("Wolves")
    await page.keyboard.press("Enter")
    await expect(chats.get_by_role("link", name="Wolves")).to_be_visible()
    await choose(page, "Archive")
    await expect(chats.get_by_role("link", name="Wolves")).to_have_count(0)
    await chats.get_by_role("button", name="Archived chats").click()
    await expect(chats.get_by_role("link", name="Wolves")).to_be_visible()
    assert await violations(page) == []
    await choose(page, "Move out of the archive")
    await chats.get_by_role("button", name="Back to all chats").click()
    await expect(chats.get_by_role("link", name="Wolves")).to_be_visible()
    await chats.get_by_role("button", name="Group by workspace").click()
    await expect(chats.get_by_text(client.workspace.name)).to_be_visible()


@proves("UI-9")
async def test_a_chat_is_exported_from_its_menu(page: Page, client: LiveServer, tmp_path: Path) -> None:
    client.model.replies[:] = ["Meow."]
    chat = await client.chat(title="Cats")
    await chat.send("Say something")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    await expect(page.get_by_text("Meow.")).to_be_visible()
    for item, name in {
        "Export as Markdown": "Cats.md",
        "Export as JSON": "Cats.json",
        "Export as HTML report": "Cats.html",
    }.items():
        async with page.expect_download() as downloading:
            await choose(page, item)
        file = await downloading.value
        assert file.suggested_filename == name
        await file.save_as(tmp_path / name)
        assert "Meow." in (tmp_path / name).read_text()
    assert json.loads((tmp_path / "Cats.json").read_text())["title"] == "Cats"


@proves("UI-7")
async def test_messages_typed_while_the_agent_works_wait_survive_a_reload_and_are_sent(
    page: Page, client: LiveServer
) -> None:
    hold = asyncio.Event()
    client.model.replies[:] = [Reply("First done.", hold=hold), "Second done."]
    chat = await client.chat(title="Work")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    field = page.get_by_label("Message", exact=True)
    await field.fill("first")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Stop")).to_be_visible()
    for words in ("secnd", "never"):
        await field.fill(words)
        await page.keyboard.press("Enter")
        await expect(field).to_have_value("")
    queue = page.get_by_label("Queued messages")
    await expect(queue.get_by_role("listitem")).to_have_count(2)
    await page.reload()
    await expect(queue.get_by_role("listitem")).to_have_count(2)
    assert await violations(page) == []
    await queue.get_by_role("listitem").nth(1).get_by_role("button", name="Remove").click()
    await expect(queue.get_by_role("listitem")).to_have_count(1)
    await queue.get_by_role("button", name="Edit").click()
    await page.get_by_label("Queued message", exact=True).fill("second")
    await queue.get_by_role("button", name="Save").click()
    await expect(queue.get_by_role("listitem")).to_contain_text("second")
    hold.set()
    await expect(page.get_by_text("Second done.")).to_be_visible()
    await expect(queue).to_have_count(0)
    log = page.get_by_role("log")
    await expect(log).to_contain_text("second")
    await expect(log).not_to_contain_text("never")


@proves("UI-7")
async def test_a_message_is_edited_and_sent_again_with_the_files_of_then(page: Page, client: LiveServer) -> None:
    client.model.replies[:] = [call("create_file", path="two.txt", content="two\n"), "Two is there."]
    chat = await client.chat(title="Numbers")
    await client.ask("PATCH", chat.path, {"autonomy": "edits"})
    await chat.send("make two")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    client.model.replies[:] = ["Three, then."]
    own = page.get_by_role("article", name="You")
    await own.hover()
    await own.get_by_role("button", name="Edit and resend").click()
    dialog = page.get_by_role("dialog", name="Edit and resend")
    await dialog.get_by_label("New message").fill("make three")
    await dialog.get_by_label("Restore the files as they were then").check()
    await expect(dialog.get_by_role("group", name="What would change", exact=True)).to_contain_text("two.txt")
    assert await violations(page) == []
    await dialog.get_by_role("button", name="Send", exact=True).click()
    await expect(page.get_by_text("Three, then.")).to_be_visible()
    assert chat.id not in page.url and not (client.workspace / "two.txt").exists()
    await expect(page.get_by_role("log")).to_contain_text("make three")
    assert "make three" not in str(await chat.messages()), "the first chat stays as it was"
    await page.get_by_role("article", name="You").hover()
    await page.get_by_role("article", name="You").get_by_role("button", name="Fork from here").click()
    dialog = page.get_by_role("dialog", name="Fork from here")
    await dialog.get_by_label("Copy the files as they were then into a new folder").check()
    await expect(dialog).to_contain_text("Deleting the chat keeps the folder.")
    assert await violations(page) == []
    await dialog.get_by_role("button", name="Fork", exact=True).click()
    await expect(page.get_by_role("log")).to_contain_text(f"{client.workspace.name}-copy")
    assert client.workspace.with_name(f"{client.workspace.name}-copy").is_dir()
