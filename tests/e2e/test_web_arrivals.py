"""The start page while its answers arrive, in any order: nothing that a person chose or typed before is lost, and nothing moves."""

import asyncio
import re
from pathlib import Path

from playwright.async_api import Page, Route, expect

from anycowork.config.settings import ProviderEntry
from e2e.browsing import DESKTOP, DRAWN, PHONE, TIMEOUT_MS, Line, a_browser, a_page
from support.live_server import live_server
from support.scripted_model import ScriptedModel
from support.spec import proves

ANSWERS = ("roles", "providers", "workspaces", "settings", "context")
ROW = {"providers", "workspaces", "settings"}  # the names below the message


class HeldAnswers:
    """Answers of the server that the page asked for and gets only when they are let through."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._let = {name: asyncio.Event() for name in ANSWERS}

    async def hold(self) -> None:
        """Loads the page again; from now on each answer waits. By then it is signed in: before that, a reload would lose the session."""
        await expect(self._page.get_by_role("radio", name="Planner")).to_be_visible()
        for name in ANSWERS:
            await self._page.route(_asked(name), self._wait)
        await self._page.reload()

    async def let_through(self, name: str) -> None:
        async with self._page.expect_response(_asked(name), timeout=TIMEOUT_MS):
            self._let[name].set()
        await self._page.evaluate(DRAWN)

    async def _wait(self, route: Route) -> None:
        name = next(name for name in ANSWERS if _asked(name).search(route.request.url))
        await self._let[name].wait()
        await route.continue_()


def _asked(name: str) -> re.Pattern[str]:
    return re.compile(rf"/{name}(\?[^/]*)?$")


class StartPage:
    """A person who chooses whatever can be chosen by now, as soon as it can be. Folder and model come together: neither moves the other."""

    def __init__(self, page: Page, other: Path) -> None:
        self.page, self._other = page, other
        self._model = page.get_by_role("button", name="Model: ")
        self._folder = page.get_by_role("button", name="Folder: ")

    async def act_on(self, last: str, arrived: set[str]) -> None:
        if last == "roles":
            await self.page.get_by_role("radio", name="Actor").click()
        elif last in ROW and arrived >= ROW:
            await self._model.click()
            await expect(self.page.get_by_role("combobox", name="Search models")).to_be_focused()
            await self.page.get_by_role("option", name="two/second").click()
            await self._folder.click()
            await self.page.get_by_role("menuitemradio", name=str(self._other)).click()

    async def expect_kept(self, arrived: set[str]) -> None:
        await expect(self.page.get_by_label("Message", exact=True)).to_have_value("Do it")
        if "roles" in arrived:
            await expect(self.page.get_by_role("radio", name="Actor")).to_be_checked()
        if arrived >= ROW:
            await expect(self._model).to_have_accessible_name("Model: two/second")
            await expect(self._folder).to_have_attribute("title", str(self._other))
        else:
            await expect(self._model).to_be_hidden()
            await expect(self._folder).to_be_hidden()


@proves("UI-7")
async def test_what_is_chosen_and_typed_survives_every_order_of_arrivals(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with ScriptedModel() as model:
        two = ProviderEntry(name="two", base_url=model.base_url, models=("first", "second"))
        async with (
            live_server(tmp_path, providers=(two,), model="two/first") as client,
            a_browser() as browser,
        ):
            await client.ask("POST", "/workspaces", {"root": str(other)})
            for turn in range(len(ANSWERS)):
                order = [*ANSWERS[turn:], *ANSWERS[:turn]]
                async with a_page(browser, client.url, viewport=PHONE if turn % 2 else DESKTOP) as page:
                    await walk(page, order, other)
                [chat] = (await client.ask("GET", "/context?limit=1"))["contexts"]
                assert chat["workspace"] == str(other), order
                assert (chat["config"]["agent_role"], chat["config"]["model_id"]) == ("actor", "two/second"), order


async def walk(page: Page, order: list[str], other: Path) -> None:
    answers, person, arrived = HeldAnswers(page), StartPage(page, other), set[str]()
    await answers.hold()
    message = page.get_by_label("Message", exact=True)
    await expect(message).to_be_focused()
    await page.keyboard.type("Do it")
    for name in order:
        await answers.let_through(name)
        arrived.add(name)
        await person.act_on(name, arrived)
        await person.expect_kept(arrived)
    await message.press("Enter")
    await page.wait_for_url("**/#/chat/**")


@proves("UI-7")
async def test_no_role_moves_when_one_is_chosen_or_the_rest_of_the_page_arrives(tmp_path: Path) -> None:
    async with live_server(tmp_path, model=None, providers=()) as client, a_browser() as browser:
        for viewport in (DESKTOP, PHONE):
            async with a_page(browser, client.url, viewport=viewport) as page:
                answers = HeldAnswers(page)
                await answers.hold()
                await answers.let_through("roles")
                actor = page.get_by_role("radio", name="Actor")
                await expect(actor).to_be_visible()
                first = await actor.bounding_box()
                for name in ANSWERS[1:]:
                    await answers.let_through(name)
                await expect(page.get_by_role("button", name="Connect a model")).to_be_visible()
                assert await actor.bounding_box() == first
                for role in ("Actor", "Reviewer", "Commander"):
                    await page.get_by_role("radio", name=role).click()
                    assert await actor.bounding_box() == first


@proves("UI-6")
async def test_nothing_moves_when_the_line_is_cut_or_mended(tmp_path: Path) -> None:
    """What appears above a button between aiming and pressing takes the press."""
    async with (
        live_server(tmp_path) as client,
        Line("127.0.0.1", int(client.url.rsplit(":", 1)[1])) as line,
        a_browser() as browser,
        a_page(browser, line.url) as page,
    ):
        actor, message = page.get_by_role("radio", name="Actor"), page.get_by_label("Message", exact=True)
        await expect(page.get_by_text("scripted · scripted")).to_be_visible()
        before = [await actor.bounding_box(), await message.bounding_box()]
        line.cut()
        await expect(page.get_by_text("The server does not answer.")).to_be_visible()
        assert [await actor.bounding_box(), await message.bounding_box()] == before
        await actor.click()
        await expect(actor).to_be_checked()
        line.mend()
        await expect(page.get_by_text("The server does not answer.")).to_be_hidden()
        assert [await actor.bounding_box(), await message.bounding_box()] == before
        await expect(actor).to_be_checked()
