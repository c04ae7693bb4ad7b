"""Several people in real browsers: an admin adds them, a member approves, a viewer watches and cannot act."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page, expect

from e2e.browsing import PHONE, TIMEOUT_MS, at_the_page, start_chat, violations
from support.scripted_model import call
from support.spec import proves

PLAN = json.dumps(
    {"type": "plan", "goal": "Write a note", "steps": [{"action": "Write `one.txt`", "paths": ["one.txt"]}]}
)
WORK = [PLAN, call("create_file", path="one.txt", content="1\n"), "That is all."]


@asynccontextmanager
async def signed_in(browser: Browser, address: str, token: str, size: dict[str, int] = PHONE) -> AsyncIterator[Page]:
    """A browser of another person, who pastes their token into the sign-in field."""
    context = await browser.new_context(viewport={"width": size["width"], "height": size["height"]})
    page = await context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    try:
        await page.goto(address)
        await page.get_by_label("Paste your token").fill(token)
        await page.keyboard.press("Enter")
        yield page
    finally:
        await context.close()


async def add(page: Page, name: str, level: str) -> str:
    """Adds a person in the settings, and returns the token that is shown once."""
    await page.get_by_label("Name", exact=True).fill(name)
    await page.get_by_label("Access", exact=True).select_option(level)
    await page.get_by_role("button", name="Add person").click()
    await expect(page.get_by_text(f"The token of {name}.")).to_be_visible()
    token = await page.get_by_label("The new token").inner_text()
    assert await violations(page) == []
    await page.get_by_role("button", name="Done").click()
    return token.strip()


@proves("OPS-3/2", "OPS-3/3")
async def test_a_member_approves_a_plan_under_her_name_while_a_viewer_watches(tmp_path):
    async with at_the_page(tmp_path, replies=WORK) as (page, client):
        await page.goto(f"{client.url}/#/settings/people")
        await expect(page.get_by_text("Only you so far")).to_be_visible()
        ada_token, vic_token = await add(page, "Ada", "member"), await add(page, "Vic", "viewer")
        await page.goto(f"{client.url}/#/")
        await start_chat(page, "plan a note", role="Planner")
        await expect(page.get_by_role("button", name="Execute plan")).to_be_enabled()
        chat = page.url
        browser = page.context.browser
        assert browser is not None
        async with signed_in(browser, chat, ada_token) as ada, signed_in(browser, chat, vic_token) as vic:
            await expect(vic.get_by_text("You may only read here.")).to_be_visible()
            await expect(vic.locator("#composer")).to_have_count(0)
            await expect(vic.get_by_role("button", name="Execute plan")).to_be_disabled()
            assert await violations(vic) == []
            await ada.get_by_role("button", name="Execute plan").click()
            for watching in (vic, page):
                await expect(watching.get_by_label("Ada approved the plan")).to_be_visible()
                await expect(watching.get_by_text("That is all.")).to_be_visible()
            await expect(ada.get_by_label("You approved the plan")).to_be_visible()
        log = await client.session.get(f"{client.url}/context/{chat.rpartition('/')[2]}/audit/log")
        records = [
            json.loads(line["record"]) for line in map(json.loads, (await log.text()).splitlines()) if "record" in line
        ]
        deciders = [
            one["principal"] for one in records if one["type"] == "plan-update" and "approved" in json.dumps(one)
        ]
        assert deciders and deciders[0].startswith("person:") and deciders[0].endswith(":Ada")


@proves("OPS-3/1")
async def test_a_removed_person_is_signed_out_of_the_page(tmp_path):
    async with at_the_page(tmp_path) as (page, client):
        await page.goto(f"{client.url}/#/settings/people")
        token = await add(page, "Ada", "member")
        browser = page.context.browser
        assert browser is not None
        async with signed_in(browser, f"{client.url}/#/settings", token) as ada:
            await expect(ada.locator("#settings-page").get_by_text("Signed in as Ada (Member)")).to_be_visible()
            await expect(ada.get_by_role("link", name="API keys")).to_have_count(0)
            await page.get_by_role("button", name="Remove Ada").click()
            await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
            await expect(page.get_by_text("Only you so far")).to_be_visible()
            await ada.reload()
            await expect(ada.get_by_label("Paste your token")).to_be_visible()


async def press_everything(page: Page) -> set[str]:
    """Presses each enabled button that the page and its dialogs show, once, and one entry of each menu. Returns their names."""
    pressed: set[str] = set()
    for _ in range(MOST_PRESSED):
        top = page.locator("dialog[open], [role=menu]").last
        inside = await top.count() > 0
        controls = (top if inside else page.locator("body")).locator("button, [role=menuitem]")
        for control in await controls.all():
            if not await control.is_visible() or not await control.is_enabled():
                continue
            name = await control.get_attribute("aria-label") or await control.inner_text()
            if name not in pressed and not name.startswith(STAYS):
                pressed.add(name)
                await control.click(force=True)
                break
        else:
            if not inside:
                return pressed
            await page.keyboard.press("Escape")
            await expect(top).to_have_count(0)
    raise AssertionError(f"there is no end: {sorted(pressed)}")


MOST_PRESSED = 200
STAYS = ("Close the list of chats", "Print", "Show chats", "Sign out")  # lead away from what is tried
KEYS = ("Control+.", "Alt+c", "Alt+m", "Alt+f", "Alt+t", "Alt+r", "y", "n", "Shift+Y")


@proves("OPS-3/2")
async def test_nothing_that_a_viewer_can_press_asks_the_server_for_a_change(tmp_path):
    write = call("create_file", path="two.txt", content="2\n")
    async with at_the_page(tmp_path, replies=[call("create_file", path="one.txt", content="1\n"), "Done.", write]) as (
        page,
        client,
    ):
        vic = await client.ask("POST", "/people", {"name": "Vic", "access": "viewer"}, expect=201)
        chats = [await client.chat(), await client.chat()]
        await chats[0].send("write one.txt")
        await chats[0].decide()
        await chats[1].send("write two.txt")
        browser = page.context.browser
        assert browser is not None
        async with signed_in(browser, f"{client.url}/#/chat/{chats[0].id}", vic["token"]) as watching:
            await expect(watching.get_by_text("You may only read here.")).to_be_visible()
            asked: list[str] = []
            refused: list[str] = []
            pressed: set[str] = set()
            watching.on("request", lambda one: asked.append(one.url) if one.method not in ("GET", "HEAD") else None)
            watching.on("response", lambda one: refused.append(one.url) if one.status == 403 else None)
            for address in (f"chat/{chats[0].id}", f"chat/{chats[1].id}", "jobs", "settings", ""):
                await watching.goto(f"{client.url}/#/{address}")
                await expect(watching.get_by_role("heading", level=1)).to_be_visible()
                pressed |= await press_everything(watching)
                for key in KEYS:
                    await watching.keyboard.press(key)
            assert (asked, refused) == ([], [])
            await watching.goto(f"{client.url}/#/chat/{chats[0].id}")
            await expect(watching.get_by_role("button", name="Copy message").first).to_be_attached()
            for name in ("Edit and resend", "Fork from here", "Restore"):
                await expect(watching.get_by_role("button", name=name)).to_have_count(0)
            await watching.get_by_role("button", name="More about this chat").click()
            entries = {entry.strip() for entry in await watching.get_by_role("menuitem").all_inner_texts()}
            assert "Checkpoints" in entries and not entries & {
                "Files and changes",
                "Rename",
                "Pin",
                "Archive",
                "Delete this chat",
            }
            assert {"Copy message", "Review"} <= pressed, "what only reads is there"
        assert (await chats[1].show())["state"] == "awaiting_approval"


@proves("OPS-3/2")
async def test_a_demoted_person_sees_at_once_that_she_may_only_read(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, client):
        ada = await client.ask("POST", "/people", {"name": "Ada", "access": "member"}, expect=201)
        chat = await client.chat()
        await chat.send("hello")
        browser = page.context.browser
        assert browser is not None
        async with signed_in(browser, f"{client.url}/#/chat/{chat.id}", ada["token"]) as watching:
            await expect(watching.locator("#composer")).to_be_visible()
            await client.ask("PATCH", f"/people/{ada['id']}", {"access": "viewer"})
            await expect(watching.get_by_text("You may only read here.")).to_be_visible()
            await expect(watching.locator("#composer")).to_have_count(0)
            await client.ask("PATCH", f"/people/{ada['id']}", {"access": "member"})
            await expect(watching.locator("#composer")).to_be_visible()
