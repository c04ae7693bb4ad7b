"""No state shown is behind the record: a page that was open all along shows what a page opened now shows.

Everything is done through the API, as by another person or program: the open page has only the events to go by.
"""

import asyncio
import difflib
import json
import re
from contextlib import AsyncExitStack
from pathlib import Path

from playwright.async_api import Browser, Page, expect

from e2e.browsing import TIMEOUT_MS, a_browser, a_page
from support.jobs import by_task, new_job, plan, report, until, writing
from support.live_server import LiveServer, live_server
from support.scripted_model import Reply, call
from support.spec import proves

PLAN = json.dumps(
    {
        "type": "plan",
        "goal": "Write two notes",
        "steps": [
            {"action": "Write `one.txt`", "paths": ["one.txt"], "tools_needed": ["create_files"]},
            {"action": "Write `two.txt`", "paths": ["two.txt"], "dependencies": ["1"]},
        ],
    }
)
QUESTION = json.dumps(
    {
        "type": "question",
        "question": "Which file shall I keep?",
        "options": [{"label": "The first", "value": "a"}, {"label": "The second", "value": "b"}],
        "allow_custom": True,
    }
)
# Times of day and durations, and what only this page's person did.
PASSING = re.compile(r"\b\d+(?:\.\d+)? ?(?:s|ms|seconds?|minutes?)\b|\d{1,2}:\d{2}(?::\d{2})?(?: [AP]M)?| \[active\]")


ANNOUNCED = re.compile(r"\n  - paragraph(?:: .*)?\Z")


class OpenPages:
    """One page that stays open, and one that is opened anew for each comparison."""

    def __init__(self, browser: Browser, client: LiveServer, address: str, page: Page) -> None:
        self._browser, self._client, self._address, self._page = browser, client, address, page

    async def show_the_same(self, after: str) -> None:
        async with a_page(self._browser, self._client.url) as fresh:
            await fresh.goto(f"{self._client.url}/#{self._address}")
            await expect(fresh.get_by_role("main")).to_be_visible()
            live, new = "", "not read yet"
            for _ in range(TIMEOUT_MS // 250):
                live, new = await shown(self._page), await shown(fresh)
                if live == new:
                    return
                await fresh.wait_for_timeout(250)
        lines = difflib.unified_diff(live.splitlines(), new.splitlines(), "open all along", "opened now", n=1)
        raise AssertionError(f"{self._address} after {after}:\n" + "\n".join(lines))


async def shown(page: Page) -> str:
    """Everything that a person or a screen reader finds, but for announcements, which are for those who were there."""
    parts = [await page.get_by_role(role).first.aria_snapshot() for role in ("navigation", "main")]
    text = PASSING.sub("#", await page.title() + "\n" + "\n".join(parts))
    return ANNOUNCED.sub("", text)


@proves("UI-11")
async def test_a_page_that_was_open_all_along_shows_what_a_new_one_shows(tmp_path: Path) -> None:
    held = asyncio.Event()
    replies = [
        PLAN,
        call("create_file", path="one.txt", content="1\n"),
        call("create_file", path="two.txt", content="2\n"),
        "Both notes are written.",
        QUESTION,
        call("delete_file", path="one.txt") + call("delete_file", path="two.txt"),
        "One is gone.",
        Reply("I am on it.", hold=held),
        "That too.",
        *(call("list_directory", path=".") for _ in range(5)),
    ]
    async with live_server(tmp_path, replies=replies, max_steps=4) as client, a_browser() as browser:
        chat = await client.chat(role="planner")
        async with a_page(browser, client.url) as page:
            await page.goto(f"{client.url}/#/chat/{chat.id}")
            await expect(page.get_by_role("log", name="Conversation")).to_be_visible()
            pages = OpenPages(browser, client, f"/chat/{chat.id}", page)
            await chat.send("Plan two notes")
            await pages.show_the_same("a plan")
            plan = (await chat.of_type("plan"))[0]
            await client.ask("POST", f"{chat.path}/plans/{plan['id']}/approve", {})
            await chat.rest()
            await pages.show_the_same("an approved plan")
            await chat.send("Tidy up")
            await pages.show_the_same("a question")
            asked = (await chat.show())["waiting_for"]["question"]
            await client.ask("POST", f"{chat.path}/questions/{asked}/answer", {"value": "b"})
            await chat.rest()
            await pages.show_the_same("two approvals")
            first, second = await chat.approvals()
            await client.ask("POST", f"{chat.path}/approvals", {"decisions": [{"id": first["id"], "decision": "deny"}]})
            await pages.show_the_same("one of two denied")
            await client.ask(
                "POST", f"{chat.path}/approvals", {"decisions": [{"id": second["id"], "decision": "allow_once"}]}
            )
            await chat.rest()
            await pages.show_the_same("the other allowed")
            await chat.send("Go on", until="sent")
            await client.model.asked(8)
            await client.ask("POST", f"{chat.path}/messages", {"content": "And then this", "when": "idle"})
            await pages.show_the_same("a queued message")
            held.set()
            await client.model.asked(9)
            await chat.rest()
            await pages.show_the_same("the queue sent")
            await client.ask("PATCH", chat.path, {"title": "Notes", "pinned": True})
            await chat.switch("actor")
            await client.ask("PATCH", chat.path, {"autonomy": "edits"})
            await pages.show_the_same("a new title, role and autonomy")
            await chat.send("Look around")
            await pages.show_the_same("a limit")


@proves("UI-11")
async def test_open_pages_of_jobs_show_what_new_ones_show(tmp_path: Path) -> None:
    answers = {
        "one": [call("create_file", path="one.txt", content="1\n"), report("Wrote one.txt.")],
        "two": [call("delete_file", path="one.txt"), report("Left it as it is.")],
    }
    async with live_server(tmp_path) as client, a_browser() as browser, AsyncExitStack() as stack:
        client.model.mind = by_task(answers)  # type: ignore[arg-type]  # answers are of the wider type
        chat = await client.chat()
        job = await new_job(client, chat, plan=plan(writing("one"), writing("two", "one")))
        places = ("/jobs", f"/jobs/{job['id']}/two")  # the second is the job's page with one task opened
        pages = []
        for place in places:
            page = await stack.enter_async_context(a_page(browser, client.url))
            await page.goto(f"{client.url}/#{place}")
            await expect(page.get_by_role("main")).to_contain_text("Write the files")
            pages.append(OpenPages(browser, client, place, page))

        async def show_the_same(after: str) -> None:
            for page in pages:
                await page.show_the_same(after)

        await until(client, chat, job["id"], "awaiting_approval")
        await show_the_same("a job that waits for approval")
        await client.ask("POST", f"/jobs/{job['id']}/approve", {}, expect=202)
        await chat.rest()
        await show_the_same("a task's call that waits for approval")
        await chat.decide("deny", note="Keep it.")
        await until(client, chat, job["id"], "completed", "failed")
        await show_the_same("a job that has ended")
