"""Every page while its answers arrive one by one: whoever aims at a button presses that button, not the one that took its place."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, Route

from e2e.browsing import DESKTOP, DRAWN, PHONE, a_browser, a_page
from e2e.every_page import REPLIES, addresses
from support.live_server import live_server
from support.spec import proves

QUIET_FRAMES = 20  # the page asks for nothing more
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
        await self._page.reload()

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
        for address in await addresses(page, client):
            await page.goto(f"{client.url}/{address}")
            answers = AnswersOneByOne(page)
            await answers.hold()
            found = [
                f"{url}: {missed}"
                async for url in answers.arrive(newest_first=newest_first)
                if (missed := await page.evaluate(MISSED))
            ]
            await page.unroute_all(behavior="ignoreErrors")
            if found:
                moved[address] = found
        assert moved == {}, json.dumps(moved, indent=1)
