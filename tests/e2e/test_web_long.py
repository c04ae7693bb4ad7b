"""Long chats in a real browser: what is old comes when it is wanted, nothing jumps, and every message has an address."""

import asyncio
from contextlib import asynccontextmanager

from playwright.async_api import Page, expect

from anycowork.domain.journal import Change
from anycowork.domain.messages import Message, MessageType, Speaker
from e2e.browsing import at_the_page
from support.longchat import fill
from support.spec import proves

TOP_OF = "(id) => document.getElementById(id).getBoundingClientRect().top"
AT_REST = """async () => {
  const list = document.querySelector("[role=log] > div");
  const before = list.scrollTop;
  for (let frame = 0; frame < 5; frame += 1) await new Promise(requestAnimationFrame);
  return list.scrollTop === before;
}"""
# After each frame is painted: how far every row that stands in the window moved since the frame before.
WATCH = """() => {
  const placed = () => new Map([...document.querySelectorAll("[id^=row-]")]
    .filter((row) => getComputedStyle(row).visibility === "visible") // one that has not found its height is not seen yet
    .map((row) => [row.id, row.getBoundingClientRect()])
    .filter(([, { top, bottom }]) => bottom > 56 && top < innerHeight)
    .map(([id, { top }]) => [id, top]));
  let before = placed();
  window.watched = [];
  const look = () => {
    const now = placed();
    watched.push(now.size === 0 ? "blank" : Math.min(0, ...[...now].map(([id, top]) => top - (before.get(id) ?? top))));
    before = now;
    requestAnimationFrame(() => setTimeout(look));
  };
  look();
}"""
# A page of a hundred rows is about 10,000 px high. A second one is read ahead, a moment after the first.
READ_AHEAD = "() => document.querySelector('[role=log] > div').scrollHeight > 15_000"
# Further than rows are drawn ahead, at one go: what comes into the window has not found its height.
HOP = """async (by) => {
  document.querySelector("[role=log] > div").scrollTop -= by;
  for (let frame = 0; frame < 10; frame += 1) await new Promise(requestAnimationFrame);
}"""
COUNT = 1_000


@proves("UI-6", "MSG-2")
async def test_scrolling_up_brings_older_messages_and_what_is_read_stays_where_it_is(tmp_path):
    async with at_a_long_chat(tmp_path, count=400) as (page, ids, _):
        await expect(page.get_by_text("Number 399:")).to_be_visible()
        await page.wait_for_function(READ_AHEAD)
        seen: set[str] = set()
        for _ in range(400):
            seen |= set(await rows(page))
            if ids[0] in seen:
                break
            await wheel(page, -400)  # less than the window: every row passes through it
        assert set(ids) <= seen
        await expect(page.get_by_role("button", name="Latest")).to_be_visible()
        await page.get_by_role("button", name="Latest").click()
        await expect(page.get_by_text("Number 399:")).to_be_visible()
        assert await page.evaluate("document.querySelectorAll('*').length") <= 2_000


@proves("UI-6")
async def test_what_is_read_does_not_move_when_older_messages_come_in_front(tmp_path):
    async with at_a_long_chat(tmp_path) as (page, _, gate):
        await expect(page.get_by_text(f"Number {COUNT - 1}:")).to_be_visible()
        gate.clear()
        for _ in range(60):
            await wheel(page, -1500)
            if await page.get_by_text("Older messages…").is_visible():
                break
        await page.wait_for_function(AT_REST)
        held, before = await in_view(page)
        gate.set()
        await expect(page.get_by_text("Older messages…")).to_be_hidden()
        await page.wait_for_function(AT_REST)
        assert abs(await page.evaluate(TOP_OF, held) - before) <= 2


@proves("UI-6")
async def test_who_scrolls_up_through_many_pages_never_sees_a_row_jump_back_or_an_empty_window(tmp_path):
    async with at_a_long_chat(tmp_path) as (page, _, _):
        await expect(page.get_by_text(f"Number {COUNT - 1}:")).to_be_visible()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "before=" in request.url else None)
        await page.wait_for_function(READ_AHEAD)
        latest = page.get_by_role("button", name="Latest")  # shown once the page no longer holds on to the end
        for _ in range(60):  # on a busy machine a turn of the wheel is lost now and then
            await wheel(page, -300)
            if await latest.is_visible():
                break
        await expect(latest).to_be_visible()
        await page.wait_for_function(AT_REST)
        await page.evaluate(WATCH)
        for by in range(620, 780, 10):
            await page.evaluate(HOP, by)
            await page.wait_for_function(AT_REST)
        hopped = await page.evaluate("watched.splice(0)")
        assert min(moved for moved in hopped if moved != "blank") >= -2
        for _ in range(200):
            await page.mouse.wheel(0, -150)  # without a rest: the next turn comes while rows still find their height
            await page.evaluate("new Promise(requestAnimationFrame)")
        watched = await page.evaluate("watched")
        assert asked
        assert "blank" not in watched
        assert min(watched) >= -2


@proves("UI-6")
async def test_a_link_to_an_old_message_opens_the_chat_there(tmp_path):
    async with at_a_long_chat(tmp_path) as (page, ids, _):
        await expect(page.get_by_text(f"Number {COUNT - 1}:")).to_be_visible()
        address = page.url
        await page.goto(f"{address}/{ids[101]}")
        await expect(page.get_by_text("Number 101:")).to_be_in_viewport()
        await expect(page.locator(f"#row-{ids[101]}")).to_have_attribute("aria-current", "true")
        anonymous = await page.context.new_page()
        await anonymous.goto(f"{address}/{ids[500]}")
        await expect(anonymous.get_by_text("Question 500", exact=True)).to_be_in_viewport()
        await anonymous.goto(f"{address}/nowhere")
        await expect(anonymous.get_by_text("is not in this chat")).to_be_visible()


COPIED = "(text) => navigator.clipboard.readText().then((copied) => copied === text)"


@proves("UI-6")
async def test_a_message_gives_its_own_address(tmp_path):
    async with at_a_long_chat(tmp_path, count=4) as (page, ids, _):
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await page.get_by_text("Number 3:").hover()
        await page.get_by_role("button", name="Copy link").last.click()
        await page.wait_for_function(COPIED, arg=f"{page.url}/{ids[3]}")


@asynccontextmanager
async def at_a_long_chat(tmp_path, *, count: int = COUNT):
    """The page at a chat of so many messages, their ids, and the gate that the older ones come through."""
    async with at_the_page(tmp_path) as (page, client):
        chat = await client.chat(title="A long one")
        ids = await fill(client.server, chat.id, count)

        gate = asyncio.Event()
        gate.set()

        async def pass_on(route):
            await gate.wait()
            await route.continue_()

        await page.route("**/messages?before=*", pass_on)
        await page.goto(f"{page.url.split('#')[0]}#/chat/{chat.id}")
        yield page, ids, gate


async def rows(page: Page) -> list[str]:
    return await page.evaluate("[...document.querySelectorAll('[id^=row-]')].map((row) => row.id.slice(4))")


async def in_view(page: Page) -> tuple[str, float]:
    """A row in the middle of what is seen, and where it stands."""
    return tuple(
        await page.evaluate(
            """() => {
              const middle = innerHeight / 2;
              const row = [...document.querySelectorAll("[id^=row-]")].find((one) => one.getBoundingClientRect().bottom > middle);
              return [row.id, row.getBoundingClientRect().top];
            }"""
        )
    )


async def wheel(page: Page, by: int) -> None:
    await page.mouse.move(700, 400)
    await page.mouse.wheel(0, by)
    await page.wait_for_function(AT_REST)


@proves("UI-5")
async def test_messages_without_the_newer_fields_render_beside_new_ones(tmp_path):
    async with at_the_page(tmp_path, replies=["A new answer."]) as (page, client):
        chat = await client.chat()
        kinds = [(Speaker.USER, MessageType.TEXT), *((Speaker.ASSISTANT, kind) for kind in MessageType)]
        old = [Message(f"old-{at}", chat.id, by, f"Old words {at}.", kind) for at, (by, kind) in enumerate(kinds)]
        await client.server.database.journal.write(Change(chat.id, tuple(old)))
        await page.goto(page.url.split("#")[0].split("?")[0] + f"#/chat/{chat.id}")
        for at in range(len(old)):
            await expect(page.get_by_label("Conversation").get_by_text(f"Old words {at}.")).to_be_visible()
        await page.get_by_label("Message", exact=True).fill("and now?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("A new answer.")).to_be_visible()
