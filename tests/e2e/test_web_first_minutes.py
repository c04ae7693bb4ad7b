"""A newcomer's first minutes in a real browser: a key in the clipboard, a model, a limit, and less asking."""

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from e2e.browsing import DESKTOP, DRAWN, PHONE, at_the_page, start_chat, violations
from support.scripted_model import HttpError, Reply, call
from support.spec import proves

README = Path(__file__).resolve().parents[2] / "README.md"
KEY = "sk-pasted-0123456789abcdef"


@proves("MOD-1", "MOD-2")
async def test_a_newcomer_follows_the_readme_with_a_pasted_key(tmp_path):
    """The words in bold are buttons, fields and choices; those in backticks are typed."""
    walk = README.read_text("utf-8").partition("### With your own key")[2].partition("\n![")[0]
    connect, other, address, name, key, test, role, allow, back = re.findall(r"\*\*(.+?)\*\*", walk)
    _, hello, create = re.findall(r"`(.+?)`", walk)
    replies = [
        HttpError(401),
        HttpError(401),
        "OK",
        "Hello!",
        call("create_file", path="hello.txt", content="Good day.\n"),
        "Made.",
    ]
    async with at_the_page(tmp_path, guide=True, replies=replies) as (page, client):
        await page.get_by_role("button", name=connect).click()
        form = page.get_by_role("dialog", name=connect)
        await expect(form.get_by_role("combobox")).to_be_focused()
        await form.get_by_role("combobox").select_option(label=other)
        typed = client.model.base_url.removesuffix("/v1")  # as people leave it out
        await form.get_by_label(re.compile(f"^{address}")).fill(f"{typed}/other")
        await form.get_by_label(re.compile(f"^{name}")).fill("office")
        await form.get_by_role("button", name=test).click()
        wrong = form.get_by_label(re.compile(f"^{address}"))
        await expect(wrong).to_have_accessible_description(re.compile(r"most end in /v1\.$"))
        await wrong.fill(typed)
        assert await violations(page) == []
        await form.get_by_role("button", name=test).click()
        refused = form.get_by_label(re.compile(f"^{key}"))
        await expect(refused).to_have_accessible_description("office asks for a key. Paste it here.")
        await refused.fill(KEY)
        await form.get_by_role("button", name=test).click()
        await expect(refused).to_have_attribute("aria-invalid", "true")
        await expect(refused).to_have_accessible_description(
            "office refused the key. Check it, and paste the right one."
        )
        # Nothing is kept: it does not stand in the settings either.
        assert [one["name"] for one in (await client.ask("GET", "/providers"))["providers"]] == ["guide"]
        await form.get_by_role("button", name=test).click()
        await expect(page.get_by_text("office is connected and answered")).to_be_visible()
        await expect(form).not_to_be_visible()
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        await start_chat(page, hello, role=role)
        await expect(page.get_by_text("Hello!", exact=True)).to_be_visible()
        assert client.model.headers[-1]["Authorization"] == f"Bearer {KEY}"
        assert KEY not in await page.content()

        await page.get_by_label("Message", exact=True).fill(create)
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name=allow).click()
        await expect(page.get_by_text("Made.", exact=True)).to_be_visible()
        assert (client.workspace / "hello.txt").read_text() == "Good day.\n"
        await page.get_by_role("button", name=back).click()
        await expect(page.get_by_text("Files were restored to an earlier state")).to_be_visible()
        assert not (client.workspace / "hello.txt").exists()


# Which corners of a control somebody who looks at the page cannot press.
COVERED = """(it) => {
  const { left, right, top, bottom } = it.getBoundingClientRect();
  return [[left + 3, top + 3], [right - 3, top + 3], [left + 3, bottom - 3], [right - 3, bottom - 3]]
    .filter(([x, y]) => !it.contains(document.elementFromPoint(x, y)));
}"""


@proves("LOOP-11")
@pytest.mark.parametrize("rounds", [1, 4], ids=["short", "long"])
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP, {"width": 844, "height": 390}], ids=["phone", "desktop", "low"])
async def test_the_button_that_continues_is_never_covered(tmp_path, viewport, rounds):
    told = "\n\n".join(f"Line {number}." for number in range(40))
    replies = [*[told] * (rounds - 1), call("list_directory", path="."), call("list_directory", path=".")]
    async with at_the_page(tmp_path, replies=replies, max_steps=1, viewport=viewport) as (page, client):
        chat = await client.chat()
        for number in range(rounds):
            await chat.send(f"Look around {number}")
        await page.goto(f"{client.url}/#/chat/{chat.id}")
        goes_on = page.get_by_role("button", name="Continue")
        await expect(goes_on).to_be_in_viewport(ratio=1)
        await page.wait_for_function(f"(it) => ({COVERED})(it).length === 0", arg=await goes_on.element_handle())
        await page.get_by_label("Message", exact=True).fill("one\ntwo\nthree\nfour")
        await page.evaluate(DRAWN)
        await page.wait_for_function(f"(it) => ({COVERED})(it).length === 0", arg=await goes_on.element_handle())


@proves("LOOP-11")
async def test_what_comes_after_continue_was_clicked_is_followed(tmp_path):
    told = "\n\n".join(f"Line {number}." for number in range(40))
    replies = [told, *[call("list_directory", path=".")] * 6, "I am done."]
    async with at_the_page(tmp_path, replies=replies, max_steps=4) as (page, client):
        chat = await client.chat()
        await chat.send("Tell me")
        await chat.send("Look around")
        await page.goto(f"{client.url}/#/chat/{chat.id}")
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_text("I am done.")).to_be_in_viewport()


@proves("LOOP-11")
async def test_a_turn_that_reached_its_limit_goes_on_by_one_key(tmp_path):
    """With the settings as they come: ten calls of a chat that asks, said beforehand, and no red card."""
    steps = [call("list_directory", path=".") for _ in range(10)]
    joined, hold = asyncio.Event(), asyncio.Event()
    replies = [Reply(steps[0], hold=joined), *steps[1:-1], Reply(steps[-1], hold=hold), "I am done."]
    async with at_the_page(tmp_path, replies=replies, viewport=PHONE) as (page, _):
        await start_chat(page, "Look around")
        await expect(page.get_by_text("Actor is working")).to_be_visible()
        joined.set()
        await expect(page.get_by_text("pauses after 1 more step")).to_be_visible()
        hold.set()
        stopped = page.get_by_label("Stopped at a limit")
        await expect(stopped.get_by_role("button", name="Continue")).to_be_visible()
        assert await violations(page) == []
        assert await page.locator("[role=log] .bg-bad-soft").count() == 0, "nothing went wrong"
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("Alt+c")
        await expect(page.get_by_text("I am done.")).to_be_visible()
        await expect(stopped).not_to_be_visible()


@proves("APR-9")
async def test_less_asks_after_one_choice_in_the_header_and_every_change_says_so(tmp_path):
    changes = [call("create_file", path=f"{name}.txt", content="1\n") for name in ("one", "two")]
    async with at_the_page(tmp_path, replies=[changes[0], "One.", changes[1], "Two."]) as (page, client):
        await start_chat(page, "Write one")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("One.", exact=True)).to_be_visible()
        await page.get_by_role("button", name=re.compile("^Autonomy: Ask")).click()
        await page.get_by_role("menuitemradio", name=re.compile("^Edits")).click()
        await expect(page.get_by_role("button", name=re.compile("^Autonomy: Edits"))).to_be_visible()
        assert await violations(page) == []
        await page.get_by_label("Message", exact=True).fill("Write two")
        await page.keyboard.press("Enter")
        await expect(page.get_by_text("Two.", exact=True)).to_be_visible()
        assert (client.workspace / "two.txt").read_text() == "1\n"
        await page.get_by_role("button", name=re.compile("Created two.txt")).click()
        await expect(page.get_by_role("log")).to_contain_text("allowed by autonomy: edits")
