"""A member and a viewer walk through the whole page: what they may works, what they may not is absent, and no request is refused."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Page, Response, expect

from e2e.browsing import DESKTOP, PHONE, at_the_page, start_chat, violations
from e2e.test_web_people import signed_in
from support.jobs import plan, writing
from support.scripted_model import call
from support.spec import proves

SETTINGS_OF_ADMINS = (
    "models",
    "workspaces",
    "permissions",
    "keys",
    "people",
    "mcp",
    "plugins",
    "skills",
    "about",
)
BATCH = f"[{call('create_file', path='one.txt', content='1')}, {call('create_file', path='two.txt', content='2')}]"
REPLIES = [BATCH, "Both are decided."]


class Answers:
    """Everything that the server answered to this page, and what the page asked it to change."""

    def __init__(self, page: Page) -> None:
        self.refused: list[str] = []
        self.changes: list[str] = []
        page.on("response", self._note)

    def _note(self, response: Response) -> None:
        method = response.request.method
        if response.status >= 400:
            self.refused.append(f"{response.status} {method} {response.url}")
        if method not in ("GET", "HEAD"):
            self.changes.append(f"{method} {response.url}")


async def see_only_own_settings(page: Page, url: str, level: str) -> None:
    """The settings of admins have no link, and their addresses lead to what everybody may change."""
    await page.goto(f"{url}/#/settings")
    await expect(page.locator("#settings-page").get_by_text(f"({level})")).to_be_visible()
    await expect(page.get_by_text("Only admins change the other settings.")).to_be_visible()
    for name in SETTINGS_OF_ADMINS:
        await page.goto(f"{url}/#/settings/{name}")
        await expect(page.get_by_role("heading", name="Appearance").first).to_be_visible()
        await expect(page.locator(f'a[href="#/settings/{name}"]')).to_have_count(0)
    await page.goto(f"{url}/#/settings/limits")
    await expect(page.get_by_role("region", name="You", exact=True)).to_contain_text("Tokens today")
    await expect(page.get_by_role("region", name="Limits per day")).to_have_count(0)
    assert await violations(page) == []
    await page.goto(f"{url}/#/settings/appearance")
    await expect(page.get_by_role("radio", name="Dark")).to_be_enabled()
    assert await violations(page) == []


@proves("OPS-3/2", "OPS-3/3")
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_a_member_works_through_the_page_and_is_refused_nothing(tmp_path: Path, size: dict[str, int]) -> None:
    async with at_the_page(tmp_path, replies=REPLIES, files={"notes.txt": "hello\n"}) as (page, client):
        mia = await client.ask("POST", "/people", {"name": "Mia", "access": "member"}, expect=201)
        planned = await client.chat()
        job = await client.ask("POST", f"{planned.path}/jobs", {"plan": plan(writing("a"))}, expect=202)
        browser = page.context.browser
        assert browser is not None
        async with signed_in(browser, f"{client.url}/#/", mia["token"], size) as walking:
            answers = Answers(walking)
            await start_chat(walking, "write both")
            await expect(walking.get_by_text("An admin can remove it.")).to_be_visible()
            await walking.get_by_role("button", name=re.compile("^Deny( N)?$")).click()
            await walking.get_by_label("Message to the agent").press("Enter")
            await expect(walking.get_by_text("May the agent do this?")).to_be_visible()  # the other one still waits
            await page.goto(walking.url)
            await expect(page.get_by_text("denied by Mia").first).to_be_attached()
            await walking.get_by_role("button", name="Allow once").click()
            await expect(walking.get_by_text("Both are decided.")).to_be_visible()
            assert await violations(walking) == []
            await open_files(walking, size)
            await walking.get_by_role("treeitem", name="notes.txt").click()
            await expect(walking.get_by_label("Content of notes.txt")).to_contain_text("hello")
            await walking.goto(f"{client.url}/#/jobs/{job['id']}")
            await walking.get_by_role("button", name="Cancel the job").click()
            await walking.get_by_role("dialog").get_by_role("button", name="Cancel the job").click()
            await expect(walking.get_by_role("main").get_by_text("cancelled", exact=True)).to_be_visible()
            await see_only_own_settings(walking, client.url, "Member")
            assert answers.refused == []
        assert sorted(path.name for path in client.workspace.glob("*.txt")) == ["notes.txt", "two.txt"]


async def open_files(page: Page, size: dict[str, int]) -> None:
    if size == PHONE:
        await page.get_by_role("button", name="More about this chat").click()
        await page.get_by_role("menuitem", name="Files and changes").click()
    else:
        await page.get_by_role("button", name="Files and changes").click()
    await expect(page.get_by_role("tree", name="Files of the workspace")).to_be_visible()


@proves("OPS-3/2")
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_a_viewer_reads_through_the_page_and_is_offered_nothing_else(
    tmp_path: Path, size: dict[str, int]
) -> None:
    async with at_the_page(tmp_path, replies=REPLIES) as (page, client):
        vic = await client.ask("POST", "/people", {"name": "Vic", "access": "viewer"}, expect=201)
        chat, planned = await client.chat(), await client.chat()
        await chat.send("write both")
        job = await client.ask("POST", f"{planned.path}/jobs", {"plan": plan(writing("a"))}, expect=202)
        browser = page.context.browser
        assert browser is not None
        async with signed_in(browser, f"{client.url}/#/chat/{chat.id}", vic["token"], size) as walking:
            await expect(walking.get_by_text("2 calls wait for someone who may approve.")).to_be_visible()
            answers = Answers(walking)
            for name in ("Allow once", "Always allow", "Deny", "Deny all", "Stop", "Attach files", "Send"):
                await expect(walking.get_by_role("button", name=re.compile(f"^{name}"))).to_have_count(0)
            await expect(walking.locator("#composer, #approvals")).to_have_count(0)
            await expect(walking.get_by_text("waits for approval")).to_have_count(2)
            await expect(walking.get_by_text(re.compile("(waits?|waiting) for you", re.IGNORECASE))).to_have_count(0)
            await expect(walking.get_by_title(re.compile(r"\byour?\b", re.IGNORECASE))).to_have_count(0)
            assert await violations(walking) == []
            await walking.goto(f"{client.url}/#/chat/{planned.id}")
            await expect(
                walking.get_by_role("button", name=re.compile("^(Execute|Run|Approve)")).first
            ).to_be_disabled()
            await walking.goto(f"{client.url}/#/jobs/{job['id']}")
            await expect(walking.get_by_role("heading", level=1)).to_be_visible()
            await expect(walking.get_by_role("link", name="Read and approve the plan in the chat")).to_have_count(0)
            for name in ("Cancel the job", "Pause", "Approve"):
                await expect(walking.get_by_role("button", name=re.compile(f"^{name}"))).to_have_count(0)
            await walking.goto(f"{client.url}/#/jobs")
            await expect(walking.get_by_role("heading", level=1)).to_be_visible()
            assert await violations(walking) == []
            await walking.goto(f"{client.url}/#/")
            await expect(walking.get_by_role("heading", level=1)).to_be_visible()
            await expect(walking.get_by_label("Message", exact=True)).to_have_count(0)
            await see_only_own_settings(walking, client.url, "Viewer")
            assert (answers.refused, answers.changes) == ([], [])
        assert (await chat.show())["state"] == "awaiting_approval"
