"""Signing in, in a real browser: the page keeps working where it should, and a neighbouring port that steals the cookie gets nothing."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from playwright.async_api import Page, Route, expect

from e2e.browsing import a_browser, a_page, at_the_page, start_chat, violations
from support.live_server import TOKEN, live_server, new_session
from support.spec import proves

HOME = "What do you want to get done?"


async def expect_signed_in(page: Page) -> None:
    await expect(page.get_by_role("heading", name=HOME)).to_be_visible()


@asynccontextmanager
async def neighbour() -> AsyncIterator[tuple[str, "asyncio.Queue[str]"]]:
    """A server on another port of the same host that keeps the heads of what it is asked."""
    heads: asyncio.Queue[str] = asyncio.Queue()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.put_nowait((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n<p>hi</p>")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", heads


@proves("SEC-1", "SEC-5")
async def test_a_neighbouring_port_that_steals_the_cookie_can_do_nothing(tmp_path):
    async with at_the_page(tmp_path) as (page, client), neighbour() as (elsewhere, heads):
        await expect_signed_in(page)
        await page.goto(elsewhere)
        async with asyncio.timeout(60):
            head = await heads.get()
        cookie = re.search(r"(?im)^cookie: (.+)\r$", head)
        assert cookie, "the browser sends cookies to every port; if it no longer does, this test proves nothing"
        assert "page-key" not in head.lower()
        seen = await page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
        assert json.loads(seen) == ["", {}, {}]
        async with aiohttp.ClientSession(headers={"Cookie": cookie[1]}) as thief:
            for method, path, body in (
                ("GET", "/context", None),
                ("GET", "/events", None),
                ("PUT", "/settings", {"max_steps": 60}),
                ("POST", "/rules", {"effect": "allow", "tool": "*"}),
                ("POST", "/keys", {"name": "mine"}),
                ("POST", "/session", {}),
            ):
                async with thief.request(method, client.url + path, json=body) as answer:
                    assert answer.status == 401, path
            async with thief.get(client.url + "/") as answer:
                assert cookie[1].split("=")[1] not in await answer.text()
        assert (await client.ask("GET", "/keys"))["keys"] == []


@proves("SEC-1", "UI-6")
async def test_reload_a_second_tab_and_a_new_link_need_no_token(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, client):
        await expect_signed_in(page)
        assert "code" not in page.url and TOKEN not in page.url
        await page.reload()
        await expect_signed_in(page)
        second = await page.context.new_page()
        await second.goto(client.url)
        await expect_signed_in(second)
        code = (await client.ask("POST", "/session/codes", {}, expect=201))["code"]
        third = (
            await page.context.new_page()
        )  # `anycowork open` while the page is open: a new session for the same browser
        await third.goto(f"{client.url}/#code={code}")
        await expect_signed_in(third)
        await start_chat(page, "hi")  # the tabs that were there go on, their event streams too
        await expect(page.get_by_text("Hello.")).to_be_visible()
        await expect(
            second.get_by_role("navigation", name="Chats").get_by_role("link", name=re.compile("Hi"))
        ).to_be_visible()


@proves("SEC-1")
async def test_a_code_in_the_address_of_an_open_page_signs_in_and_its_digits_lead_on_to_a_model(tmp_path):
    async with live_server(tmp_path, model=None, providers=()) as client, a_browser() as browser:
        page = await (await browser.new_context()).new_page()
        await page.goto(client.url)
        await expect(page.get_by_label(re.compile("token"))).to_be_visible()
        offered = await client.ask("POST", "/session/codes", {}, expect=201)
        await page.evaluate("code => { location.hash = `code=${code}` }", offered["code"])
        await expect_signed_in(page)
        assert "code" not in page.url
        # What the README begins with stands there before the digits are entered, asks for them, and then goes on.
        await page.get_by_role("button", name="Connect a model").click()
        await expect(page.get_by_label(re.compile("six digits"))).to_be_focused()
        assert await violations(page) == []
        await page.keyboard.type(offered["confirmation"])
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("dialog", name="Connect a model")).to_be_visible()
        await page.context.close()


@proves("UI-6")
async def test_a_link_that_is_loaded_again_before_the_server_answers_still_signs_in(tmp_path):
    async with live_server(tmp_path) as client, a_browser() as browser:
        context = await browser.new_context()
        page = await context.new_page()
        code = (await client.ask("POST", "/session/codes", {}, expect=201))["code"]
        asked = asyncio.Event()

        async def hold_the_first(route: Route) -> None:
            if asked.is_set():
                await route.continue_()
            asked.set()  # the first is neither sent nor answered

        await context.route("**/session", hold_the_first)
        await page.goto(f"{client.url}/#code={code}")
        await asked.wait()
        await page.reload()
        await expect_signed_in(page)
        assert "code" not in page.url
        await context.close()


@proves("UI-6")
async def test_a_used_code_leads_to_the_sign_in_field_and_one_tab_signs_all_in(tmp_path):
    async with live_server(tmp_path) as client, a_browser() as browser:
        context = await browser.new_context()
        page, other = await context.new_page(), await context.new_page()
        await page.goto(f"{client.url}/#code=used-before")
        await expect(page.get_by_role("alert")).to_contain_text("anycowork open makes a new one")
        assert "code" not in page.url
        await other.goto(client.url)
        await expect(other.get_by_label(re.compile("token"))).to_be_visible()
        await expect(other.get_by_role("alert")).to_have_count(0)
        await page.get_by_label(re.compile("token")).fill(TOKEN)
        await page.keyboard.press("Enter")
        await expect_signed_in(page)
        await expect_signed_in(other)
        await context.close()


@proves("UI-6")
async def test_signing_out_asks_for_the_token_again(tmp_path):
    async with at_the_page(tmp_path) as (page, _):
        await expect_signed_in(page)
        await page.goto(page.url.split("#")[0] + "#/settings/appearance")
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label(re.compile("token"))).to_be_visible()
        await page.reload()
        await expect(page.get_by_label(re.compile("token"))).to_be_visible()


@proves("SEC-1", "UI-6")
async def test_a_restart_of_the_server_keeps_the_browser_signed_in(tmp_path):
    async with a_browser() as browser:
        state = None
        for url_seen in (None, "again"):
            async with live_server(tmp_path) as client, new_session():
                if url_seen is None:
                    async with a_page(browser, client.url) as page:
                        await expect_signed_in(page)
                        state = await page.context.storage_state()
                    continue
                for origin in state["origins"]:
                    origin["origin"] = client.url  # the second server took another port
                context = await browser.new_context(storage_state=state)
                page = await context.new_page()
                await page.goto(client.url)
                await expect_signed_in(page)
                await context.close()
