"""Small things in a real browser that people notice when they are missing."""

import asyncio
import json
import re

from playwright.async_api import expect

from e2e.browsing import PHONE, allow_all, at_the_page, start_chat
from support.live_server import TOKEN, LiveChat
from support.scripted_model import Reply, call
from support.spec import proves

LINES = "\n\n".join(f"line {number}" for number in range(120))


@proves("UI-6")
async def test_a_turn_goes_on_when_its_tab_is_closed(tmp_path):
    held = asyncio.Event()
    async with at_the_page(tmp_path, replies=[Reply("Done while you were away.", hold=held)]) as (page, client):
        other = await page.context.new_page()
        await other.goto(page.url)
        await start_chat(other, "work")
        address = other.url
        await client.model.asked(1)
        await other.close()
        held.set()
        [listed] = (await client.ask("GET", "/context"))["contexts"]
        await LiveChat(client, listed).rest()
        await page.goto(address)
        await expect(page.get_by_text("Done while you were away.")).to_be_visible()


async def test_a_table_is_scrolled_before_a_name_in_it_is_broken_into_letters(tmp_path):
    cells = "holds the state of one invocation, its parameters and the context of the command that it belongs to"
    table = f"| Class | What it does | Notes |\n|---|---|---|\n| `ParamType` | {cells} | {cells}, {cells} |"
    async with at_the_page(tmp_path, replies=[table], viewport=PHONE) as (page, _):
        await start_chat(page, "Show the classes")
        name = page.get_by_text("ParamType", exact=True)
        await expect(name).to_be_visible()
        assert await name.evaluate("it => it.getClientRects().length") == 1


@proves("UI-6")
async def test_the_end_stays_in_view_until_one_scrolls_up(tmp_path):
    held = asyncio.Event()
    reply = Reply(chunks=[LINES, "\n\nthe last line"], hold=held)
    async with at_the_page(tmp_path, replies=[reply]) as (page, _):
        await start_chat(page, "say much")
        await expect(page.get_by_text("line 119", exact=True)).to_be_in_viewport()
        await page.mouse.move(700, 400)
        await page.mouse.wheel(0, -2000)
        await expect(page.get_by_text("line 119", exact=True)).not_to_be_in_viewport()
        await expect(page.get_by_role("button", name="Latest")).to_be_visible()
        held.set()
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        await expect(page.get_by_text("the last line", exact=True)).not_to_be_in_viewport()
        await page.get_by_role("button", name="Latest").click()
        await expect(page.get_by_text("the last line", exact=True)).to_be_in_viewport()


@proves("UI-6")
async def test_the_end_stays_in_view_when_a_plan_is_executed(tmp_path):
    """Also where what follows comes as fast as what a click unfolds."""
    step = {"action": LINES, "tools_needed": ["create_file"], "paths": ["a.txt"]}
    plan = json.dumps({"type": "plan", "goal": "Write a.txt", "steps": [step]})
    replies = [plan, call("create_file", path="a.txt", content="a"), f"{LINES}\n\nthe last line"]
    async with at_the_page(tmp_path, replies=replies) as (page, _):
        await start_chat(page, "plan it", role="Planner")
        await page.evaluate("(now) => { performance.now = () => now; }", await page.evaluate("performance.now()"))
        await page.get_by_role("button", name="Execute plan").click()
        await expect(page.get_by_text("the last line", exact=True)).to_be_in_viewport()
        await expect(page.get_by_role("button", name="Restore", exact=True)).to_be_in_viewport()


@proves("UI-6")
async def test_who_wants_less_motion_gets_none(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, _):
        await start_chat(page, "hi")
        await page.get_by_role("button", name="Role: Actor. Change role").click()
        moves = await page.get_by_role("menu").evaluate(
            "(menu) => [getComputedStyle(menu).animationName, parseFloat(getComputedStyle(menu).animationDuration)]"
        )
        assert moves[0] == "rise" and moves[1] < 0.001


@proves("UI-6")
async def test_a_dialog_gives_the_focus_back_to_the_button_that_opened_it(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, _):
        await start_chat(page, "hi")
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        more = page.get_by_role("button", name="More about this chat")
        for item, leave in (("Rename", "Escape"), ("Delete this chat", "Keep it"), ("Checkpoints", "Close")):
            await more.focus()
            await page.keyboard.press("Enter")
            await page.get_by_role("menuitem", name=item).focus()
            await page.keyboard.press("Enter")
            await expect(page.get_by_role("dialog")).to_be_visible()
            if leave == "Escape":
                await page.keyboard.press("Escape")
            else:
                await page.get_by_role("button", name=leave).press("Enter")
            await expect(page.get_by_role("dialog")).to_be_hidden()
            await expect(more).to_be_focused()


@proves("UI-6")
async def test_in_a_low_window_stop_stays_in_view_beside_a_batch_of_approvals(tmp_path):
    batch = "\n".join(call("create_file", path=f"{name}.txt", content="x\n") for name in "abcd")
    low = {"width": 640, "height": 410}  # a window of 1280 by 820 at 200 %
    async with at_the_page(tmp_path, replies=[batch, "Done."], viewport=low) as (page, _):
        await start_chat(page, "make them")
        await expect(page.get_by_text("4 calls wait for you")).to_be_visible()
        await expect(page.get_by_role("button", name="Stop")).to_be_in_viewport(ratio=1)
        await expect(page.get_by_label("Message", exact=True)).to_be_in_viewport(ratio=1)
        await allow_all(page, 4)
        await expect(page.get_by_text("Done.")).to_be_visible()


@proves("UI-6")
async def test_who_signs_in_again_is_where_they_were(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, _):
        await start_chat(page, "hi")
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        address = page.url
        await page.context.clear_cookies()
        await page.reload()
        await page.get_by_label("Paste your token").fill(TOKEN)
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Hello.")).to_be_visible()
        assert page.url == address


@proves("UI-6")
async def test_the_drawer_of_a_phone_takes_the_focus_and_goes_with_escape_and_with_the_way_back(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."], viewport=PHONE) as (page, _):
        await start_chat(page, "hi")
        toggle, chats = (
            page.get_by_role("button", name="Show or hide the chats"),
            page.get_by_label("Chats", exact=True),
        )
        await toggle.press("Enter")
        await expect(chats).to_be_visible()
        await page.keyboard.press("Tab")
        await expect(chats.get_by_role("link", name="AnyCowork")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(chats).to_be_hidden()
        await expect(toggle).to_be_focused()
        await toggle.press("Enter")
        await expect(chats).to_be_visible()
        await page.go_back()
        await expect(page.get_by_role("heading", name="What do you want to get done?")).to_be_visible()
        await expect(chats).to_be_hidden()


@proves("UI-6")
async def test_a_window_that_becomes_narrow_hides_the_list_and_shows_it_again_when_wide(tmp_path):
    async with at_the_page(tmp_path) as (page, _):
        chats = page.get_by_role("navigation", name="Chats")
        await expect(chats).to_be_visible()
        await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        await expect(chats).to_be_hidden()
        await page.set_viewport_size({"width": 1024, "height": 700})
        await expect(chats).to_be_visible()


@proves("UI-6")
async def test_a_chat_that_takes_a_while_to_come_says_so(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."]) as (page, _):
        await start_chat(page, "hi")
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        gate = asyncio.Event()

        async def pass_on(route):
            await gate.wait()
            await route.continue_()

        await page.route("**/messages?limit=*", pass_on)
        await page.reload()
        await expect(page.get_by_text("Opening the chat…")).to_be_visible()
        gate.set()
        await expect(page.get_by_text("Hello.")).to_be_visible()
        await expect(page.get_by_text("Opening the chat…")).to_be_hidden()


@proves("UI-6")
async def test_a_chat_is_printed_whole_and_light_without_the_page_around_it(tmp_path):
    async with at_the_page(tmp_path, replies=[LINES, "The end."], dark=True) as (page, _):
        await start_chat(page, "many lines")
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        await page.get_by_label("Message", exact=True).fill("and the end")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("The end.")).to_be_visible()
        assert len(re.findall(rb"/Type /Page\b", await page.pdf(format="A4"))) >= 4
        await page.emulate_media(media="print")
        await page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        for words in ("line 0", "line 119", "and the end"):
            await expect(page.locator(".printed").get_by_text(words, exact=True)).to_be_visible()
        for name in ("Chats", "Message", "More about this chat"):
            await expect(page.get_by_label(name, exact=True)).to_be_hidden()
        assert await page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ink')") == "#1f1d1a"
        await page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        await page.emulate_media(media="screen")
        await expect(page.locator(".printed")).to_have_count(0)
        await expect(page.locator("html.dark")).to_have_count(1)


@proves("UI-6")
async def test_in_the_systems_own_colours_what_is_chosen_focused_or_decides_is_still_seen(tmp_path):
    async with at_the_page(tmp_path, replies=[call("create_file", path="a.txt", content="x")]) as (page, _):
        await page.emulate_media(forced_colors="active")
        drawn = "(node) => [getComputedStyle(node).outlineStyle, getComputedStyle(node).borderTopStyle]"
        assert (await page.get_by_role("radio", name="Actor").evaluate(drawn))[0] == "solid"
        assert (await page.get_by_role("radio", name="Planner").evaluate(drawn))[0] == "none"
        assert (await page.get_by_label("Message", exact=True).evaluate(drawn))[0] == "solid"
        await start_chat(page, "write")
        allow = page.get_by_role("button", name="Allow once")
        await expect(allow).to_be_visible()
        assert (await allow.evaluate(drawn))[1] == "solid"
