"""Every page while its answers arrive one by one: whoever aims at a button presses that button, not the one that took its place, and
whoever opens a form again at once finds what was saved."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, Route, expect

from e2e.browsing import DESKTOP, DRAWN, PHONE, TIMEOUT_MS, a_browser, a_page, at_the_page
from e2e.every_page import REPLIES, addresses
from support.jobs import new_job, plan, writing
from support.live_server import LiveServer, live_server
from support.raw_mcp_server import offered, raw_server
from support.spec import proves

QUIET_FRAMES = 20  # the page asks for nothing more
# `make test-large` looks at every page in both ways, `make test` at each in one of them.
ALL_PAGES = "ANYCOWORK_ALL_PAGES" in os.environ
# Whoever aimed at the middle of a control a moment ago: what would a press there hit now? Then aims at all that can be seen.
MISSED = """() => {
  const CONTROLS = "button, a[href], input, select, textarea, summary, [role=radio], [role=option], [role=tab]";
  const named = (it) => `${it.tagName} ${it.getAttribute("aria-label") || it.textContent.slice(0, 40)}`;
  const seen = (it) => it.isConnected && it.checkVisibility({ visibilityProperty: true });
  const missed = [];
  for (const [it, { x, y, name }] of window.aimed ?? []) {
    if (!seen(it)) continue;
    const hit = document.elementFromPoint(x, y);
    if (hit && !it.contains(hit)) missed.push(`${name} -> ${named(hit.closest(CONTROLS) ?? hit)}`);
  }
  window.aimed = new Map();
  for (const it of document.querySelectorAll(CONTROLS)) {
    if (!seen(it)) continue;
    const box = it.getBoundingClientRect();
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    const hit = document.elementFromPoint(x, y);
    if (hit && it.contains(hit)) window.aimed.set(it, { x, y, name: named(it) });
  }
  return missed;
}"""


class AnswersOneByOne:
    """What the page asks for and gets one answer at a time. Its stream of events stays open."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._asked: list[Route] = []

    async def hold(self) -> None:
        await self._page.route(re.compile("^http"), self._catch)

    async def arrive(self, *, newest_first: bool) -> AsyncIterator[str]:
        """The addresses, each after its answer was drawn, until the page asks for nothing more."""
        while await self._is_asking():
            route = self._asked.pop(-1 if newest_first else 0)
            await route.fulfill(response=await route.fetch())
            await self._page.evaluate(DRAWN)
            yield route.request.url

    async def _is_asking(self) -> bool:
        for _ in range(QUIET_FRAMES):
            await self._page.evaluate(DRAWN)
            if self._asked:
                return True
        return False

    async def _catch(self, route: Route) -> None:
        asked = route.request
        if asked.resource_type != "fetch" or "event-stream" in asked.headers.get("accept", ""):
            await route.continue_()
        else:
            self._asked.append(route)


@proves("UI-7")
@pytest.mark.parametrize(("viewport", "newest_first"), [(DESKTOP, True), (PHONE, False)], ids=["desktop", "phone"])
async def test_no_button_moves_away_from_under_a_press_while_a_page_loads(
    tmp_path: Path, viewport: dict[str, int], newest_first: bool
) -> None:
    async with (
        live_server(tmp_path, replies=REPLIES) as client,
        a_browser() as browser,
        a_page(browser, client.url, viewport=viewport) as page,
    ):
        moved = {}
        every = await addresses(page, client)
        for address in every if ALL_PAGES else every[int(newest_first) :: 2]:
            await page.goto(f"{client.url}/{address}")  # its code is there afterwards: what is late then are answers
            answers = AnswersOneByOne(page)
            await answers.hold()
            await page.reload()
            found = [
                f"{url}: {missed}"
                async for url in answers.arrive(newest_first=newest_first)
                if (missed := await page.evaluate(MISSED))
            ]
            await page.unroute_all(behavior="ignoreErrors")
            if found:
                moved[address] = found
        assert moved == {}, json.dumps(moved, indent=1)


GREET = '+++\ndescription = "Greets."\n+++\n## Greet\nSay hello.\n'
# By form: the page, the buttons that open it, the field that is changed, the button that saves, and what is typed.
FORMS = {
    "model server": ("settings/models", ["Edit acme"], "Address", "Save and test", "{model}/other"),
    "agent": ("settings/agents", ["Edit critic"], "Instructions", "Save", "Be kind."),
    "role": ("settings/agents", ["Edit Translator"], "Description", "Save", "Translates well."),
    "workflow": ("settings/agents", ["Edit greet"], "Definition", "Save", "{workflow}"),
    "MCP server": ("settings/mcp", ["Edit raw"], "Hosts that it may reach", "Save and test", "example.org"),
    "limits of a job": ("{job}", ["Limits"], "Tokens", "Save the limits", "70000"),
    "title in the chat": ("{chat}", ["More about this chat", "Rename"], "Title", "Rename", "A better title"),
}
DIALOGS = {"MCP server", "limits of a job", "title in the chat"}


@proves("UI-7")
@pytest.mark.parametrize("form", FORMS)
async def test_a_form_that_is_opened_again_at_once_shows_what_was_saved(tmp_path: Path, form: str) -> None:
    address, buttons, label, save, value = FORMS[form]
    async with at_the_page(tmp_path) as (page, client):
        names = await something_to_edit(client, tmp_path)
        await page.goto("about:blank")  # what the page was still asking for is older than what there is to edit
        await page.goto(f"{client.url}/#/{address.format(**names)}")
        inside = page.get_by_role("dialog") if form in DIALOGS else page.get_by_role("main")
        field = inside.get_by_label(re.compile(f"^{label}")).first
        changed = value.format(**names)

        async def open_form() -> None:
            for button in buttons:
                await (
                    page.get_by_role("button", name=button, exact=True)
                    .or_(page.get_by_role("menuitem", name=button, exact=True))
                    .first.click()
                )

        await open_form()
        await field.fill(changed)
        answers = AnswersOneByOne(page)
        await expect(page.get_by_role("button", name=save, exact=True)).to_be_enabled()
        await answers.hold()
        await page.get_by_role("button", name=save, exact=True).click()
        await until_shown(field, answers, shown=False, newest_first=False)
        await open_form()
        await until_shown(field, answers, shown=True, newest_first=True)
        assert await field.input_value() == changed
        await page.unroute_all(behavior="ignoreErrors")


async def something_to_edit(client: LiveServer, folder: Path) -> dict[str, str]:
    await client.ask("POST", "/providers", {"name": "acme", "base_url": client.model.base_url, "models": ["large"]})
    await client.ask("PUT", "/settings", {"agents": {"critic": {"role": "planner", "prompt": "Be strict."}}})
    role = {"name": "translator", "tooltip": "Translates.", "permissions": ["read_files"], "prompt": "Translate."}
    await client.ask("POST", "/roles", role, expect=201)
    await client.ask("POST", "/workflows", {"name": "greet", "content": GREET}, expect=201)
    await client.ask("POST", "/mcp/servers", raw_server(folder / "far", [offered("look", {"type": "object"})]))
    chat = await client.chat()
    job = await new_job(client, chat, plan=plan(writing("a")))
    later = GREET.replace("hello", "good day")
    return {"workflow": later, "model": client.model.base_url, "chat": f"chat/{chat.id}", "job": f"jobs/{job['id']}"}


async def until_shown(field: Locator, answers: AnswersOneByOne, *, shown: bool, newest_first: bool) -> None:
    """Lets answers arrive one by one, and none that it does not take until the field is there, or gone."""
    async with asyncio.timeout(TIMEOUT_MS / 1000):
        while await field.is_visible() is not shown:
            async for _ in answers.arrive(newest_first=newest_first):
                if await field.is_visible() is shown:
                    return
