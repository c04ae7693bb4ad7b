"""The page when things are not smooth: a slow server, one that is away, two tabs at once, a thumb instead of a mouse."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page, Route, expect

from e2e.browsing import (
    DESKTOP,
    PHONE,
    Line,
    a_browser,
    a_page,
    allow_all,
    at_the_page,
    hold_toasts,
    start_chat,
    violations,
)
from support.live_server import TOKEN, live_server
from support.scripted_model import Script, call
from support.spec import proves

PLAN = json.dumps({"type": "plan", "goal": "Write a note", "steps": [{"action": "Write `a.txt`", "paths": ["a.txt"]}]})
WRITE = call("create_file", path="a.txt", content="first\n")


@asynccontextmanager
async def over_a_line(
    tmp_path, replies: list[Script], viewport: dict[str, int] = DESKTOP
) -> AsyncIterator[tuple[Page, Line]]:
    async with (
        live_server(tmp_path, replies=replies) as client,
        Line("127.0.0.1", int(client.url.rsplit(":", 1)[1])) as line,
        a_browser() as browser,
        a_page(browser, line.url, viewport=viewport) as page,
    ):
        yield page, line


@proves("UI-6")
async def test_what_is_said_while_a_dialog_is_open_can_be_read_and_pressed(tmp_path):
    async with over_a_line(tmp_path, [WRITE, "Written."]) as (page, line):
        await start_chat(page, "write")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("Written.")).to_be_visible()
        await page.get_by_role("button", name="Checkpoints").click()
        back = page.get_by_role("dialog").get_by_role("button", name="Restore to before this")
        await expect(back).to_be_enabled()
        await hold_toasts(page)
        line.cut()
        await back.click()
        said = page.get_by_text("The server does not answer. Is it still running?")
        await expect(said).to_have_count(1)
        assert await violations(page) == []
        await page.get_by_role("button", name="Dismiss").click()
        await expect(said).to_have_count(0)
        await expect(page.get_by_role("dialog")).to_be_visible()


@proves("UI-6")
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("language", ["en", "de"])
async def test_no_toast_covers_that_the_server_does_not_answer(tmp_path, viewport, language):
    async with over_a_line(tmp_path, ["Hello!"], viewport=viewport) as (page, line):
        await start_chat(page, "hello")
        await expect(page.get_by_text("Hello!", exact=True)).to_be_visible()
        await page.evaluate(f"localStorage.setItem('anycowork.language', '{language}')")
        await page.reload()
        await expect(page.get_by_text("Hello!", exact=True)).to_be_visible()
        await hold_toasts(page)
        line.cut()
        banner = page.locator("p[role=status]", has=page.locator(".lucide-wifi-off"))
        await expect(banner).to_be_visible()
        await page.locator("#composer").fill("are you there?")
        await page.keyboard.press("Enter")
        toast = page.locator(".rise", has=page.locator(".lucide-circle-alert")).first
        await expect(toast).to_be_visible()
        above, below = await banner.bounding_box(), await toast.bounding_box()
        assert above and below and above["y"] + above["height"] <= below["y"], (above, below)


async def test_a_double_click_executes_a_plan_once_and_complains_of_nothing(tmp_path):
    async with at_the_page(tmp_path, replies=[PLAN, WRITE, "Done."]) as (page, _):
        approved: list[str] = []

        async def slowly(route: Route) -> None:
            approved.append(route.request.url)
            await asyncio.sleep(0.3)  # the answer of a slow server: both clicks come before it
            await route.continue_()

        await page.route("**/approve", slowly)
        await start_chat(page, "plan it", role="Planner")
        await page.get_by_role("button", name="Execute plan").dblclick()
        await expect(page.get_by_text("Done.")).to_be_visible()
        assert len(approved) == 1
        await expect(page.get_by_role("button", name="Dismiss")).to_have_count(0)


@proves("UI-6")
async def test_a_chat_that_could_not_be_reached_opens_by_itself_and_keeps_the_draft(tmp_path):
    async with over_a_line(tmp_path, ["Here I am."]) as (page, line):
        await start_chat(page, "where?")
        await expect(page.get_by_text("Here I am.")).to_be_visible()
        await page.get_by_label("Message", exact=True).fill("half a thought")
        chat = page.url
        await page.goto(chat.split("#")[0] + "#/")
        await expect(page.get_by_role("heading", name="What do you want to get done?")).to_be_visible()
        line.cut()
        await expect(page.get_by_text("Reconnecting")).to_be_visible()
        await page.goto(chat)
        await expect(page.get_by_role("heading", name="This chat cannot be reached")).to_be_visible()
        line.mend()
        await expect(page.get_by_text("Here I am.")).to_be_visible()
        await expect(page.get_by_label("Message", exact=True)).to_have_value("half a thought")


@proves("UI-6")
async def test_two_tabs_tell_the_same_of_a_chat(tmp_path):
    async with at_the_page(tmp_path, replies=[WRITE, "Written."]) as (page, _):
        await start_chat(page, "write")
        await expect(page.get_by_label("Approvals")).to_be_visible()
        other = await page.context.new_page()
        await other.goto(page.url)
        await expect(other.get_by_label("Approvals")).to_be_visible()
        # At once; whoever comes second may find that there is nothing left to press.
        allow = "document.querySelector('#approvals footer button')?.click()"
        await asyncio.gather(page.evaluate(allow), other.evaluate(allow))
        for tab in (page, other):
            await tab.bring_to_front()
            await expect(tab.get_by_text("Written.")).to_be_visible()
            await expect(tab.locator(".lucide-circle-alert")).to_have_count(0)  # nobody did anything wrong
        await page.bring_to_front()
        await _choose(page, "Rename")
        await page.get_by_label("Title").fill("A name of its own")
        await page.keyboard.press("Enter")
        await expect(other.get_by_role("heading", level=1)).to_have_text("A name of its own")
        await expect(other.get_by_role("navigation").get_by_text("A name of its own")).to_be_visible()
        await _choose(page, "Delete this chat")
        await page.get_by_role("button", name="Delete", exact=True).click()
        await expect(other.get_by_role("heading", name="Chat not found")).to_be_visible()
        await expect(other.get_by_role("navigation").get_by_text("A name of its own")).to_have_count(0)


@proves("UI-6")
async def test_a_chat_opens_however_many_others_are_open_in_tabs(tmp_path):
    """A browser opens six connections to a server: a stream of events for each tab left none for the next page."""
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, client):
        chats = [await client.chat(role="actor", title=f"Chat {number}") for number in range(6)]
        tabs = [page, *[await page.context.new_page() for _ in chats[1:]]]
        for number, (tab, chat) in enumerate(zip(tabs, chats, strict=True)):
            await tab.goto(f"{client.url}/#/chat/{chat.id}")
            await expect(tab.get_by_role("heading", level=1)).to_have_text(f"Chat {number}")
        await chats[0].send("hello")  # its tab gave its connection to the others
        await expect(page.get_by_text("Hello.", exact=True)).to_be_visible()


@proves("UI-6")
async def test_another_device_sees_at_once_that_a_chat_came_has_another_name_or_went(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, client):
        await expect(page.get_by_text("No chats yet.")).to_be_visible()
        chat = await client.chat(role="actor", title="From the other desk")
        listed = page.get_by_role("navigation", name="Chats").get_by_role("link", name="From the other desk")
        await listed.click()
        await client.ask("PATCH", chat.path, {"title": "Another name"})
        await expect(page.get_by_role("heading", level=1)).to_have_text("Another name")
        await expect(listed).to_have_count(0)
        await client.ask("DELETE", chat.path)
        await expect(page.get_by_role("heading", name="Chat not found")).to_be_visible()
        await expect(page.get_by_text("No chats yet.")).to_be_visible()


@proves("UI-6")
async def test_at_phone_width_what_decides_is_large_and_the_title_can_be_read(tmp_path):
    batch = "\n".join(call("create_file", path=f"notes/{number}.txt", content="x\n") for number in range(12))
    async with at_the_page(tmp_path, replies=[batch, "All of them."], viewport=PHONE) as (page, _):
        await start_chat(page, "Write twelve notes")
        await expect(page.get_by_label("Approvals")).to_contain_text("12 calls wait for you")
        small = await page.evaluate(_SMALL)
        assert small == []
        title = await page.get_by_role("heading", level=1).bounding_box()
        assert title is not None
        assert title["width"] > 100
        for name in ("Allow once", "Stop"):
            button = await page.get_by_role("button", name=name).bounding_box()
            assert button is not None
            assert button["y"] > PHONE["height"] / 2
        assert await violations(page) == []
        await allow_all(page, 12)
        await expect(page.get_by_label("Changed in this turn")).to_contain_text("12 files changed")
        assert await violations(page) == []


@proves("UI-1")
async def test_what_waits_for_a_person_stands_first_in_the_list(tmp_path):
    async with at_the_page(tmp_path, replies=[WRITE, "Written."]) as (page, client):
        waiting = await client.chat(role="actor")
        await waiting.send("write")
        for number in range(60):  # more than the list is read at a time
            await client.chat(role="planner", title=f"Later {number}")
        await page.reload()
        lines = page.get_by_role("navigation", name="Chats").get_by_role("listitem")
        await expect(lines.nth(0)).to_have_text("Waiting for you")
        await expect(lines.nth(1)).to_contain_text("approve")
        await expect(page).to_have_title("(1) AnyCowork")
        await waiting.decide()
        await expect(page.get_by_text("Waiting for you")).to_have_count(0)
        await expect(lines.nth(0)).to_contain_text("Write")


@proves("UI-6")
async def test_who_has_hundreds_of_chats_finds_any_and_goes_from_one_that_waits_to_the_next(tmp_path):
    async with at_the_page(tmp_path, replies=[WRITE, WRITE, "Written."], viewport=PHONE) as (page, client):
        await client.chat(title="The needle of long ago")
        for name in ("first", "second"):
            await (await client.chat(role="actor", title=f"The {name} to wait")).send("write")
        for number in range(60):
            await client.chat(title=f"Hay {number}")
        await page.reload()
        await expect(page.get_by_role("button", name="2 others wait for you")).to_be_visible()
        await page.keyboard.press("Alt+w")
        await expect(page.get_by_role("heading", level=1)).to_have_text("The second to wait")
        await expect(page.get_by_role("button", name="1 other waits for you")).to_be_visible()
        assert await violations(page) == []
        await page.keyboard.press("Alt+w")
        await expect(page.get_by_role("heading", level=1)).to_have_text("The first to wait")
        await page.keyboard.press("Control+k")
        await page.keyboard.type("needle")
        await expect(page.get_by_role("option", name="The needle of long ago")).to_be_visible()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("The needle of long ago")


@proves("UI-6")
async def test_a_message_whose_answer_was_lost_is_sent_once_however_often_it_is_pressed(tmp_path):
    async with at_the_page(tmp_path, replies=["Here I am.", "Once."]) as (page, client):
        answers = ["lost", "lost"]

        async def lose(route: Route) -> None:
            """The server hears the message, and its answer is lost on the way back."""
            if answers:
                answers.pop()
                await route.fetch()
                await route.abort()
            else:
                await route.continue_()

        await hold_toasts(page)
        await page.route("**/messages", lose)
        await page.get_by_label("Message", exact=True).fill("where?")
        for press in (page.keyboard.press("Enter"), page.get_by_role("button", name="Start").click()):
            await press
            await expect(page.get_by_text("The server does not answer")).to_be_visible()
            await page.get_by_role("button", name="Dismiss").click()
        await page.get_by_role("button", name="Start").click()
        await page.wait_for_url("**/#/chat/**")
        await expect(page.get_by_text("Here I am.")).to_be_visible()
        contexts = (await client.ask("GET", "/context"))["contexts"]
        assert len(contexts) == 1
        messages = (await client.ask("GET", f"/context/{contexts[0]['id']}/messages"))["messages"]
        assert [message["content"] for message in messages] == ["where?", "Here I am."]


@proves("UI-6")
async def test_in_a_tunnel_words_are_kept_the_reason_is_said_and_all_goes_on_after_it(tmp_path):
    async with live_server(tmp_path, replies=["Before.", "After."]) as client, a_browser() as browser:
        phone = await browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        page = await phone.new_page()
        await page.goto(f"{client.url}/?token={TOKEN}")
        await page.get_by_role("radio", name="Actor").tap()
        await page.get_by_label("Message", exact=True).fill("before the tunnel")
        await page.get_by_role("button", name="Start").tap()
        await expect(page.get_by_text("Before.")).to_be_visible()
        await phone.set_offline(True)
        field = page.get_by_label("Message", exact=True)
        await field.fill("in the tunnel")
        await page.get_by_role("button", name="Send", exact=True).tap()
        await expect(page.get_by_text("This device has no network. Try again when it is back.")).to_be_visible()
        await expect(field).to_have_value("in the tunnel")
        await phone.set_offline(False)
        await page.get_by_role("button", name="Send", exact=True).tap()
        await expect(page.get_by_text("After.")).to_be_visible()
        await expect(field).not_to_be_focused()  # or the keyboard on the screen would cover the answer
        await phone.close()


@proves("UI-6")
async def test_a_device_that_lost_its_network_goes_on_with_the_server_it_runs_itself(tmp_path):
    rule = {"tool": "run_command", "resource": "make *", "effect": "allow", "scope": "global"}
    async with at_the_page(tmp_path, replies=["Still here."]) as (page, client):
        await client.ask("POST", "/rules", rule)
        await expect(page.get_by_role("radio", name="Actor")).to_be_visible()
        await page.evaluate("() => window.dispatchEvent(new Event('offline'))")
        await page.goto(page.url.split("#")[0] + "#/settings/permissions")
        await expect(page.get_by_text("make *")).to_be_visible()
        await page.goto(page.url.split("#")[0] + "#/")
        await start_chat(page, "anybody there?")
        await expect(page.get_by_text("Still here.")).to_be_visible()


@proves("UI-6")
async def test_a_server_reached_by_its_name_over_plain_http_works_as_well(tmp_path):
    """Browsers give such a page less: no randomUUID, no clipboard."""
    async with (
        live_server(tmp_path, replies=[WRITE, "Written."], allowed_hosts=("house.example",)) as client,
        a_browser("--host-resolver-rules=MAP house.example 127.0.0.1") as browser,
        a_page(browser, client.url.replace("127.0.0.1", "house.example")) as page,
    ):
        assert await page.evaluate("isSecureContext") is False
        await start_chat(page, "write")
        await page.get_by_role("button", name="Allow once").click()
        answer = page.get_by_role("article").filter(has_text="Written.")
        await answer.get_by_role("button", name="Copy message").click()
        await page.get_by_label("Message", exact=True).focus()
        await page.keyboard.press("Control+v")
        await expect(page.get_by_label("Message", exact=True)).to_have_value("Written.")


async def _choose(page: Page, name: str) -> None:
    await page.get_by_role("button", name="More about this chat").click()
    await page.get_by_role("menuitem", name=re.compile(name)).click()


_SMALL = """() => [...document.querySelectorAll("main > header button, #approvals > footer button, #approvals > header button, form button")]
  .filter((button) => button.offsetParent && Math.min(button.offsetHeight, button.offsetWidth) < 44)
  .map((button) => button.getAttribute("aria-label") || button.textContent)"""
