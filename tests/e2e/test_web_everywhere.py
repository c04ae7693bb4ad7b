"""Every page of the settings, MCP servers, search, attachments and jobs at phone width and by keyboard alone. One server for all."""

import asyncio
import json
import re
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from playwright.async_api import Page, Route, expect

from anycowork.config.settings import ProviderEntry
from e2e.browsing import fits, has_focus, tab_to, violations
from support.images import png
from support.jobs import approved, plan, writing
from support.live_server import LiveServer, live_server
from support.raw_mcp_server import offered, raw_server
from support.scripted_model import Reply, ScriptedModel
from support.skills import put_skill
from support.spec import proves

PAGES = {
    "models": "Models",
    "workspaces": "Workspaces",
    "permissions": "Rules",
    "agents": "Roles",
    "mcp": "MCP servers",
    "plugins": "Plugins",
    "skills": "Skills",
    "schedules": "Schedules",
    "api-keys": "API keys",
    "limits": "Limits",
    "appearance": "Appearance",
    "about": "About",
}
PIXELS = {"name": "flag.png", "mimeType": "image/png", "buffer": png(120, 80)}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def client(tmp_path_factory) -> AsyncIterator[LiveServer]:
    folder = tmp_path_factory.mktemp("everywhere")
    async with ScriptedModel() as model:
        eyes = ProviderEntry(name="eyes", base_url=model.base_url, models=("gpt-4o",))
        async with live_server(folder, providers=(eyes,), model="eyes/gpt-4o", files={"a.md": "a\n"}) as server:
            server.model = model
            yield server


@proves("UI-6", "UI-12")
async def test_every_page_of_the_settings_fits_a_phone_in_light_and_dark(
    phone: Page, client: LiveServer, tmp_path: Path
) -> None:
    await client.ask("POST", "/mcp/servers", raw_server(tmp_path / "far", [offered("sample")], name="wide"), expect=201)
    await client.ask("POST", "/mcp/servers/wide/connect", {})
    await client.ask(
        "POST", "/rules", {"tool": "update_file", "resource": "/notes/*", "effect": "deny", "scope": "global"}
    )
    await client.chat(title="A chat whose title is far longer than a phone is wide, and has more words than a line")
    needs = {"allowed_tools": f"Read Bash({'run-' * 30}x)", "metadata": f"\n  anycowork-paths: {'reports' * 20}/**"}
    skill = put_skill(client.workspace / ".agents" / "skills", f"long-{'name' * 14}", **needs)
    await phone.route("**/settings", with_a_long_path)
    await phone.reload()
    for name, title in PAGES.items():
        await phone.goto(f"{client.url}/#/settings/{name}")
        await expect(phone.get_by_role("region", name=re.compile(title)).first).to_be_visible()
        if name == "skills":
            await phone.get_by_role("button", name="Read it").click()
            await expect(phone.get_by_role("button", name="Trust this content")).to_be_visible()
            declared = phone.get_by_label(re.compile("^What long-.* declares"))
            assert await declared.evaluate("(list) => list.scrollWidth <= list.clientWidth"), "what it declares is cut"
        await fits(phone)
    shutil.rmtree(skill)
    await client.ask("DELETE", "/mcp/servers/wide")


async def with_a_long_path(route: Route) -> None:
    """Answers as the server does, on a machine whose tools lie in a folder with a long name."""
    if route.request.resource_type not in ("fetch", "xhr") or route.request.method != "GET":
        await route.continue_()
        return
    answer = await route.fetch()
    body = await answer.json()
    body["sandbox"]["visible"] = [f"/home/person/{'tools_without_a_space_' * 5}"]
    await route.fulfill(response=answer, json=body)


@proves("UI-6", "UI-12")
async def test_a_limit_is_found_and_changed_by_keyboard_alone(page: Page, client: LiveServer) -> None:
    await tab_to(page, page.get_by_role("link", name="Settings"))
    await page.keyboard.press("Enter")
    await tab_to(page, page.get_by_role("link", name="Limits"))
    await page.keyboard.press("Enter")
    field = page.get_by_label("Tool calls per turn", exact=True)
    await tab_to(page, field)
    await page.keyboard.press("Control+a")
    await page.keyboard.type("17")
    async with page.expect_response(lambda answer: answer.request.method == "PUT"):
        await page.keyboard.press("Enter")
    await expect(field).to_have_value("17")
    assert (await client.ask("GET", "/settings"))["max_steps"] == 17


@proves("UI-6", "MCP-1/1")
async def test_a_server_is_added_tested_and_removed_by_keyboard_alone(
    page: Page, client: LiveServer, tmp_path: Path
) -> None:
    config = raw_server(tmp_path / "near", [offered("sample")], name="near")
    await page.goto(f"{client.url}/#/settings/mcp")
    form = page.get_by_role("form", name="Add a server")
    await tab_to(page, form.get_by_label("Name"))
    await page.keyboard.type("near")
    await page.keyboard.press("Tab")
    await page.keyboard.type(f"{sys.executable} {' '.join(config['args'])}")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("ready", exact=True)).to_be_visible(timeout=90_000)  # a sandbox with Python in it
    assert await has_focus(page)
    switch = page.get_by_role("checkbox", name="near may ask your model")
    await page.locator("#settings-page").focus()
    await tab_to(page, switch)
    await page.keyboard.press("Space")
    await expect(switch).to_be_checked()
    await expect(switch).to_be_focused()
    await page.locator("#settings-page").focus()
    await tab_to(page, page.get_by_role("button", name="Remove near"))
    await page.keyboard.press("Enter")
    await tab_to(page, page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Remove near")).to_have_count(0)
    assert await has_focus(page)
    assert await violations(page) == []


@proves("UI-6", "UI-9")
async def test_a_message_is_searched_and_its_chat_pinned_and_archived_at_phone_width(
    phone: Page, client: LiveServer
) -> None:
    client.model.replies[:] = ["The heron eats frogs."]
    chat = await client.chat(title="Birds")
    await chat.send("What does it eat?")
    chats = phone.get_by_role("navigation", name="Chats")
    await phone.get_by_role("button", name="Show or hide the chats").click()
    await chats.get_by_role("searchbox", name="Search chats").fill("heron frog")
    found = chats.get_by_role("link", name="The heron eats frogs.")
    await expect(found).to_be_visible()
    await fits(phone)
    await found.click()
    await expect(phone.get_by_role("log")).to_contain_text("The heron eats frogs.")
    await expect(chats).to_be_hidden()
    for item in ("Pin", "Archive"):
        await phone.get_by_role("button", name="More about this chat").click()
        await phone.get_by_role("menuitem", name=item, exact=True).click()
    await phone.get_by_role("button", name="Show or hide the chats").click()
    await chats.get_by_role("searchbox", name="Search chats").fill("")
    await chats.get_by_role("button", name="Archived chats").click()
    await expect(chats.get_by_role("link", name="Birds")).to_be_visible()
    await fits(phone)


@proves("UI-6", "UI-9")
async def test_a_message_is_searched_and_its_chat_renamed_by_keyboard_alone(page: Page, client: LiveServer) -> None:
    client.model.replies[:] = ["The otter sleeps."]
    chat = await client.chat(title="Rivers")
    await chat.send("What does it do?")
    await tab_to(page, page.get_by_role("searchbox", name="Search chats"))
    await page.keyboard.type("otter")
    found = page.get_by_role("link", name="The otter sleeps.")
    await tab_to(page, found)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log")).to_contain_text("The otter sleeps.")
    menu = page.get_by_role("button", name="More about this chat")
    await tab_to(page, menu)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menu")).to_be_visible()
    await page.keyboard.type("Ren")
    await expect(page.get_by_role("menuitem", name="Rename")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Title")).to_be_focused()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("Streams")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Streams")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    assert await has_focus(page)


@proves("UI-6", "UI-8")
async def test_an_image_is_attached_sent_and_shown_at_phone_width(phone: Page, client: LiveServer) -> None:
    client.model.replies[:] = ["A flag."]
    chat = await client.chat(title="Flags")
    await phone.goto(f"{client.url}/#/chat/{chat.id}")
    await attach(phone)
    await fits(phone)
    await phone.get_by_label("Message", exact=True).fill("What is it?")
    await phone.get_by_role("button", name="Send").click()
    await expect(phone.get_by_role("log")).to_contain_text("A flag.")
    await expect(phone.get_by_role("img", name="Image: flag.png")).to_be_visible()
    await fits(phone)
    assert "image_url" in json.dumps(client.model.requests[-1])


@proves("UI-6", "UI-8")
async def test_an_image_is_attached_removed_and_sent_by_keyboard_alone(page: Page, client: LiveServer) -> None:
    client.model.replies[:] = ["Another flag."]
    chat = await client.chat(title="Keys")
    await page.goto(f"{client.url}/#/chat/{chat.id}")
    message = page.get_by_label("Message", exact=True)
    await attach(page)
    remove = page.get_by_role("button", name="Remove flag.png")
    await page.locator("#main").focus()
    await tab_to(page, remove)
    await page.keyboard.press("Enter")
    await expect(remove).to_have_count(0)
    await expect(message).to_be_focused()
    await attach(page)
    await tab_to(page, message)
    await page.keyboard.type("What is it?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("log")).to_contain_text("Another flag.")


async def attach(page: Page) -> None:
    button = page.get_by_role("button", name="Attach files")
    await expect(button).to_be_visible()
    async with page.expect_file_chooser() as chooser:
        await button.press("Enter")
    await (await chooser.value).set_files([PIXELS])  # type: ignore[list-item]  # Playwright's own dictionary type
    await expect(page.get_by_role("img", name="flag.png")).to_be_visible()


@proves("UI-4/3", "UI-6")
async def test_a_job_is_found_read_and_cancelled_by_keyboard_alone(page: Page, client: LiveServer) -> None:
    chat = await client.chat(title="Two files")
    client.model.replies[:] = [Reply("Never.", hold=asyncio.Event())]
    job = await approved(client, chat, plan=plan(writing("a"), writing("b", "a")))
    await tab_to(page, page.get_by_role("link", name="Jobs"))
    await page.keyboard.press("Enter")
    await tab_to(page, page.get_by_role("main").get_by_role("link").first)
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/#/jobs/{job['id']}")
    await tab_to(page, page.get_by_role("navigation", name="Which task waits for which").get_by_role("link").nth(1))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("region", name="write b.txt")).to_be_visible()
    assert await has_focus(page)
    cancel = page.get_by_role("button", name="Cancel the job")
    await page.locator("#main").focus()
    await tab_to(page, cancel)
    asked = page.get_by_role("dialog", name="Cancel this job?")
    await page.keyboard.press("Enter")
    await expect(asked).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(asked).to_have_count(0)
    await expect(cancel).to_be_focused()
    await page.keyboard.press("Enter")
    await tab_to(page, asked.get_by_role("button", name="Cancel the job"))
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("main").get_by_text("cancelled", exact=True).first).to_be_visible()
    await expect(asked).to_have_count(0)
    assert await has_focus(page)
    assert await violations(page) == []
