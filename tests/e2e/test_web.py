"""The web UI in a real browser against the real server: the newcomer's walk, and what must hold on every screen."""

import asyncio
import json
import re
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect

from e2e.browsing import (
    DESKTOP,
    PHONE,
    Line,
    a_browser,
    a_page,
    at_the_page,
    decide_by_key,
    hold_toasts,
    look_at_usage,
    start_chat,
    violations,
    violations_in_both_schemes,
)
from support.live_server import live_server
from support.scripted_model import Reply, call
from support.spec import proves

QUESTION = json.dumps(
    {
        "type": "question",
        "question": "Which file shall I keep?",
        "options": [{"label": "The first", "value": "a"}, {"label": "The second", "value": "b"}],
        "default": "b",
        "allow_custom": True,
    }
)
PLAN = json.dumps(
    {
        "type": "plan",
        "goal": "Write two notes",
        "steps": [
            {"action": "Write `one.txt`", "paths": ["one.txt"], "tools_needed": ["create_files"]},
            {"action": "Write `two.txt`", "paths": ["two.txt"], "dependencies": ["1"]},
        ],
        "risks": ["None to speak of"],
        "estimated_total_time": "1 min",
    }
)


@proves("UI-1", "UI-2", "PLN-3")
async def test_a_newcomer_walks_from_the_first_page_to_a_changed_file_without_a_key(tmp_path):
    async with at_the_page(tmp_path, guide=True) as (page, client):
        await expect(page.get_by_role("heading", name="You can start right away")).to_be_visible()
        assert await violations(page) == []
        await page.get_by_role("button", name="Continue with the guide").click()
        await start_chat(page, 'Plan: create hello.txt with "Hello!" then run `cat hello.txt`', role="Planner")
        await expect(page.get_by_role("button", name=re.compile("^Role: Planner"))).to_have_attribute(
            "data-colour", "blue"
        )

        plan = page.get_by_label("Plan", exact=True)
        await plan.get_by_role("button", name="Ask for changes").click()
        await expect(page.get_by_text("Say what should change")).to_be_visible()
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        await plan.get_by_role("button", name="Edit").click()
        await plan.get_by_label("Step 1: what should it do?").fill("Create `hello.txt` with `Good day!`")
        await plan.get_by_role("button", name="Execute edited plan").click()
        await expect(plan).to_contain_text("Good day!")

        await expect(page.get_by_role("button", name=re.compile("^Role: Actor"))).to_have_attribute(
            "data-colour", "green"
        )
        await expect(page.get_by_text("All 2 steps are done.")).to_be_visible()
        assert (client.workspace / "hello.txt").read_text().strip() == "Good day!"
        await page.get_by_role("button", name=re.compile("Created hello.txt")).click()
        await expect(page.get_by_label("Changes", exact=True)).to_contain_text("Good day!")

        await page.get_by_label("Message", exact=True).fill('Replace "Good day" with "Good night" in hello.txt')
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Approvals")).to_contain_text("hello.txt")
        assert await violations(page) == []
        await decide_by_key(page, "y")
        await expect(page.get_by_text("Replaced")).to_be_visible()
        assert (client.workspace / "hello.txt").read_text().strip() == "Good night!"


@proves("UI-2")
async def test_a_question_is_answered_with_its_button_and_the_turn_goes_on(tmp_path):
    async with at_the_page(tmp_path, replies=[QUESTION, "I keep the second."]) as (page, _):
        await start_chat(page, "tidy up")
        await page.get_by_role("button", name="The second suggested").click()
        await expect(page.get_by_text("You answered: The second")).to_be_visible()
        await expect(page.get_by_text("I keep the second.")).to_be_visible()


@proves("UI-6")
async def test_a_batch_of_approvals_is_decided_by_keyboard_alone(tmp_path):
    batch = "\n".join(call("create_file", path=f"{name}.txt", content=name) for name in ("one", "two", "three"))
    async with at_the_page(tmp_path, replies=[batch, "Two of three."]) as (page, client):
        await start_chat(page, "write three")
        dock = page.get_by_label("Approvals")
        await expect(dock).to_contain_text("3 calls wait for you")
        await decide_by_key(page, "n")
        await expect(page.get_by_label("Message to the agent")).to_be_focused()
        await page.keyboard.type("not this one")
        await page.keyboard.press("Enter")
        await expect(dock).to_contain_text("2 calls wait for you")
        await decide_by_key(page, "Shift+Y")
        await expect(dock.get_by_role("button", name="Allow all 2")).to_be_enabled()
        await decide_by_key(page, "Shift+Y")
        await expect(page.get_by_text("Two of three.")).to_be_visible()
        assert sorted(file.name for file in client.workspace.iterdir()) == ["three.txt", "two.txt"]
        assert "not this one" in json.dumps(client.model.requests[-1])


@proves("UI-1")
async def test_switching_the_role_during_a_turn_asks_first_and_then_stops_it(tmp_path):
    held = asyncio.Event()
    async with at_the_page(tmp_path, replies=[Reply("Working on it", hold=held)]) as (page, client):
        await start_chat(page, "do it")
        await client.model.asked(1)
        await page.get_by_role("button", name=re.compile("^Role: Actor")).click()
        await page.get_by_role("menuitemradio", name=re.compile("Reviewer")).click()
        await page.get_by_role("button", name="Stop and switch").click()
        await expect(page.get_by_role("button", name=re.compile("^Role: Reviewer"))).to_be_visible()
        await expect(page.get_by_role("button", name="Send", exact=True)).to_be_visible()
        held.set()


@proves("UI-6", "EVT-2")
async def test_a_cut_line_is_said_and_after_it_nothing_is_missing_or_doubled(tmp_path):
    held = asyncio.Event()
    words = " ".join(f"word{number}" for number in range(300))
    async with (
        live_server(tmp_path, replies=[Reply(words, chunks=[words[:700], words[700:]], hold=held)]) as client,
        Line("127.0.0.1", int(client.url.rsplit(":", 1)[1])) as line,
        a_browser() as browser,
        a_page(browser, line.url) as page,
    ):
        await start_chat(page, "say it")
        await expect(page.get_by_text("word50 ")).to_be_visible()
        line.cut()
        await expect(page.get_by_text("The server does not answer.")).to_be_visible()
        held.set()
        line.mend()
        await expect(page.get_by_text("The server does not answer.")).to_be_hidden()
        await expect(page.get_by_text("word299")).to_be_visible()
        await expect(page.locator(".prose")).to_have_text(words)
        await page.mouse.move(700, 400)
        await page.mouse.wheel(0, -2000)
        await expect(page.get_by_label("Conversation").get_by_text("say it", exact=True)).to_have_count(1)


@proves("UI-6", "EVT-2/4")
async def test_two_tabs_follow_one_chat_over_one_stream(tmp_path):
    async with (
        live_server(tmp_path, replies=["First.", "Second."]) as client,
        Line("127.0.0.1", int(client.url.rsplit(":", 1)[1])) as line,
        a_browser() as browser,
        a_page(browser, line.url) as page,
    ):
        await start_chat(page, "one")
        await expect(page.get_by_text("First.")).to_be_visible()
        other = await page.context.new_page()
        await other.goto(page.url)
        await expect(other.get_by_text("First.")).to_be_visible()
        await page.get_by_label("Message", exact=True).fill("two")
        await page.keyboard.press("Enter")
        await expect(other.get_by_text("Second.")).to_be_visible()
        assert (
            len([asked for asked in line.asked if asked.endswith("/events")]) == 2
        )  # this chat's, and that of all chats


@proves("SEC-3")
async def test_hostile_words_of_a_model_load_nothing_and_run_nothing(tmp_path):
    hostile = (
        "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\">\n\n"
        "![pixel](http://127.0.0.1:9/pixel.png)\n\n[bank](javascript:document.title='hacked')\n\n"
        '[your bank](https://evil.example/)\n\n<iframe src="http://127.0.0.1:9/"></iframe>\n\nThe end.'
    )
    async with at_the_page(tmp_path, replies=[hostile]) as (page, client):
        hosts: set[str] = set()
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        await start_chat(page, "show me")
        await expect(page.get_by_text("The end.")).to_be_visible()
        await expect(page.get_by_role("link", name=re.compile("your bank"))).to_contain_text("(evil.example)")
        assert await page.locator(".prose script, .prose img, .prose iframe").count() == 0
        assert "hacked" not in await page.title()
        assert hosts == {urlsplit(client.url).netloc}


@proves("UI-6")
@pytest.mark.parametrize(("viewport", "dark"), [(DESKTOP, False), (PHONE, True)], ids=["desktop", "phone"])
async def test_what_a_person_works_with_is_accessible_and_fits(tmp_path, viewport, dark):
    """Each window begins in another scheme, and is looked at in both. `test_web_screens.py` looks at every other screen."""
    replies = [
        PLAN,
        call("create_file", path="one.txt", content="1\n"),
        call("create_file", path="two.txt", content="2\n"),
        "All is **well**, see `one.txt`.\n\n```python\nx = 1\n```",
    ]
    first = "dark" if dark else "light"
    async with at_the_page(tmp_path, replies=replies, dark=dark, viewport=viewport) as (page, _):

        async def looks_right() -> None:
            await expect(page.locator("html.dark")).to_have_count(int(dark))
            assert await violations_in_both_schemes(page, first=first) == []
            await expect(page.locator("html.dark")).to_have_count(int(not dark))
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            await page.emulate_media(color_scheme=first, reduced_motion="reduce")

        await looks_right()
        await start_chat(page, "plan it", role="Planner")
        await expect(page.get_by_label("Plan", exact=True)).to_be_visible()
        await looks_right()
        await page.get_by_role("button", name="Execute plan").click()
        await expect(page.get_by_text("All is")).to_be_visible()
        await looks_right()
        await look_at_usage(page)
        await expect(page.get_by_role("meter")).to_be_visible()
        await looks_right()
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="More about this chat").click()
        await page.get_by_role("menuitem", name="Plan against actual").click()
        await expect(page.get_by_role("dialog")).to_contain_text("Done")
        await looks_right()
        await page.keyboard.press("Escape")
        await page.goto(page.url.split("#")[0] + "#/settings/api-keys")
        await page.get_by_label("What the key is for").fill("editor")
        await page.get_by_role("button", name="Create key").click()
        await expect(page.get_by_label("The new key")).to_be_visible()
        await looks_right()


@proves("UI-6")
async def test_at_phone_width_the_chats_are_a_drawer(tmp_path):
    async with at_the_page(tmp_path, replies=["Hello."], viewport=PHONE) as (page, _):
        await start_chat(page, "hi")
        await expect(page.get_by_role("navigation", name="Chats")).to_be_hidden()
        await page.get_by_role("button", name="Show or hide the chats").click()
        await page.get_by_role("navigation", name="Chats").get_by_role("link", name="New chat").click()
        await expect(page.get_by_role("heading", name="What do you want to get done?")).to_be_visible()
        await expect(page.get_by_role("navigation", name="Chats")).to_be_hidden()


async def test_a_link_to_a_chat_opens_it_and_a_wrong_token_is_refused(tmp_path):
    async with at_the_page(tmp_path, replies=["Here."]) as (page, client):
        await start_chat(page, "where?")
        await expect(page.get_by_text("Here.")).to_be_visible()
        link = page.url
        await page.context.clear_cookies()
        anonymous = await page.context.new_page()
        await anonymous.goto(link.replace("127.0.0.1", "localhost"))
        await anonymous.get_by_label(re.compile("your token")).fill("wrong")
        await anonymous.keyboard.press("Enter")
        await expect(anonymous.get_by_role("alert")).to_contain_text("not valid")
        assert client.url.startswith("http://127.0.0.1")


@proves("UI-3")
async def test_thinking_and_results_fold_away_and_the_diff_stands_under_its_tool(tmp_path):
    edit = Reply(call("create_file", path="a.txt", content="first line\n"), reasoning="A file is wanted.")
    async with at_the_page(tmp_path, replies=[edit, Reply("Written.", reasoning="All is done.")]) as (page, _):
        await start_chat(page, "write a.txt")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("Written.")).to_be_visible()
        conversation = page.get_by_label("Conversation")
        await expect(conversation).not_to_contain_text("A file is wanted.")
        await expect(conversation).not_to_contain_text("first line")
        await conversation.get_by_role("button", name=re.compile("^Thought")).last.click()
        await expect(conversation).to_contain_text("All is done.")
        await conversation.get_by_role("button", name=re.compile("Created a.txt")).click()
        await expect(conversation.get_by_label("Changes", exact=True)).to_contain_text("first line")


@proves("ROL-6")
async def test_a_role_of_the_team_is_chosen_like_any_other(tmp_path):
    roles = tmp_path / "data" / "roles"
    roles.mkdir(parents=True, mode=0o700)
    (tmp_path / "data").chmod(0o700)
    (roles / "gardener.toml").write_text(
        'name = "gardener"\npermissions = ["read_files"]\nprompt = "You tend the notes."\ntooltip = "Tends the notes."\n'
    )
    async with at_the_page(tmp_path, replies=["Watered."]) as (page, _):
        await start_chat(page, "how are they?", role="Gardener")
        await expect(page.get_by_text("Watered.")).to_be_visible()
        await expect(page.get_by_role("button", name=re.compile("^Role: Gardener"))).to_have_attribute(
            "title", "Tends the notes."
        )


@proves("UI-1")
async def test_a_refusal_by_the_role_offers_the_switch(tmp_path):
    replies = [call("delete_file", path="a.txt"), "I may not delete it.", "Gone."]
    async with at_the_page(tmp_path, replies=replies, files={"a.txt": "x"}) as (page, _):
        await start_chat(page, "delete a.txt", role="Planner")
        await page.get_by_role("button", name="Switch to Actor").click()
        await expect(page.get_by_role("button", name=re.compile("^Role: Actor"))).to_be_visible()


@proves("UI-5")
async def test_a_change_is_taken_back_after_a_look_and_the_way_back_is_undone(tmp_path):
    replies = [call("create_file", path="a.txt", content="first\n"), "Written."]
    async with at_the_page(tmp_path, replies=replies) as (page, client):
        await start_chat(page, "write a.txt")
        await page.get_by_role("button", name="Allow once").click()
        await expect(page.get_by_text("Written.")).to_be_visible()
        await page.get_by_role("button", name="Checkpoints").click()
        assert await violations(page) == []
        await hold_toasts(page)
        await page.get_by_role("button", name="Restore to before this").click()
        await expect(page.get_by_label("What would change", exact=True)).to_contain_text("first")
        assert await violations(page) == []
        await page.get_by_role("dialog").get_by_role("button", name="Restore", exact=True).click()
        await expect(page.get_by_text("Files were restored to an earlier state")).to_be_visible()
        assert not (client.workspace / "a.txt").exists()
        await expect(page.get_by_label("Changed in this turn")).to_be_hidden()
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_text("Files were restored to an earlier state")).to_have_count(2)
        assert (client.workspace / "a.txt").read_text() == "first\n"
        await expect(page.get_by_label("Changed in this turn")).to_contain_text("a.txt")


@proves("UI-5")
async def test_one_press_restores_what_the_turn_changed_and_asks_where_others_changed_it_since(tmp_path):
    replies = [call("create_file", path="a.txt", content="first\n"), "Written."] * 2
    async with at_the_page(tmp_path, replies=replies) as (page, client):
        await start_chat(page, "write a.txt")
        await page.get_by_role("button", name="Allow once").click()
        restore = page.get_by_label("Changed in this turn").get_by_role("button", name="Restore")
        await restore.click()
        await expect(page.get_by_text("Files were restored to an earlier state")).to_be_visible()
        assert not (client.workspace / "a.txt").exists()
        await page.get_by_label("Message", exact=True).fill("again")
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Allow once").click()
        await expect(restore).to_be_visible()
        (client.workspace / "a.txt").write_text("mine\n")
        await restore.click()
        await expect(page.get_by_role("dialog").get_by_text("Changed by someone else meanwhile")).to_be_visible()
        assert (client.workspace / "a.txt").read_text() == "mine\n"


@proves("UI-5")
async def test_a_standing_answer_says_its_rule_and_is_revoked_in_the_settings(tmp_path):
    replies = [
        call("create_file", path="notes/a.txt", content="1"),
        call("create_file", path="notes/b.txt", content="2"),
        "Both.",
    ]
    async with at_the_page(tmp_path, replies=replies) as (page, client):
        await start_chat(page, "write both")
        await expect(page.get_by_label("Approvals")).to_contain_text(
            "save a rule: The agent may create any file in notes"
        )
        await page.get_by_role("button", name="Always").click()
        await expect(page.get_by_text("Both.")).to_be_visible()
        await page.goto(page.url.split("#")[0] + "#/settings/permissions")
        assert await violations(page) == []
        await page.get_by_role("button", name=re.compile("^Remove the rule: The agent may create")).click()
        await expect(page.get_by_text("No rules yet")).to_be_visible()
        assert (await client.ask("GET", "/rules"))["rules"] == []
